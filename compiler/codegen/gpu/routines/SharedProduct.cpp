//===- SharedProduct.cpp - Sums of blocks in shared memory ----------------===//

#include "compiler/codegen/gpu/routines/SharedProduct.h"

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// An invocation's part of a square.
struct Shares : SharedProduct::Square {
  explicit Shares(const SharedProduct::Square &square) : Square(square) {}

  int64_t outQuads() const { return side / 4; }
  int64_t lanes() const { return invocations / outQuads(); } ///< of pixels
  int64_t pixels() const { return side / lanes(); } ///< of an invocation
  /// Vectors of four channels that each invocation brings, of the inputs and as
  /// many of the weights.
  int64_t loads() const { return side * quads / invocations; }
};

/// Vectors between two blocks of weights in shared memory: neighbouring
/// invocations read from different banks.
constexpr int64_t weightStride = block * quads + quads;

/// Which of a sum's parts: a tap of a block of input channels.
struct Tap {
  Value block, row, col;
};

class ProductEmitter : GpuEmitter {
public:
  enum Word : unsigned {
    OutPixels, ///< of a channel that are computed; zero: nothing to do
    OutPlane,  ///< from channel to channel of the result
    InPixels,
    InBlocks,
    OutBlocks,
    OutChannels,
    OutWidth,
    InWidth,
    StrideRows,
    StrideCols,
    Batch,
    PartBlocks, ///< blocks of input channels that a group sums over
    WeightBlock,
    WeightBatch,
    FlatWords,
    // Only kernels for windows have these.
    KernelRows = FlatWords,
    KernelCols,
    DilationRows,
    DilationCols,
    Top,
    Left,
    InHeight,
    WindowWords
  };
  static unsigned words(bool hasWindow) {
    return hasWindow ? WindowWords : FlatWords;
  }

  ProductEmitter(GpuBuilder &k, const SharedProduct::Kernel &kernel,
                 ValueRange memories)
      : GpuEmitter(k), square(kernel.square), hasWindow(kernel.hasWindow),
        four(k.vec(4)), output(memories[0]), input(memories[1]),
        weights(memories[2]),
        epilogue(k, kernel.epilogue, words(hasWindow), memories) {}
  void emit();

private:
  void findPlaces() {
    local = k.localId(Dim::X);
    outQuad = rem(local, square.outQuads());
    lane = div(local, square.outQuads());
    firstPixel = mul(k.groupId(Dim::X), square.side);
    firstBlock = mul(k.groupId(Dim::Y), square.side / block);
    Value z = k.groupId(Dim::Z), images = atLeastOne(Batch);
    batch = rem(z, images);
    part = div(z, images);
    Value last = sub(word(OutPixels), 1), width = atLeastOne(OutWidth);
    Value lastBlock = sub(word(OutBlocks), 1);
    for (int64_t i = 0; i < square.loads(); ++i) {
      Value v = add(local, i * square.invocations);
      // Pixels that are none read those of the last one.
      Value p = k.minUnsigned(add(firstPixel, div(v, quads)), last);
      Value row = mul(div(p, width), word(StrideRows)),
            col = mul(rem(p, width), word(StrideCols));
      if (hasWindow) {
        row = sub(row, word(Top));
        col = sub(col, word(Left));
      }
      inputRow.push_back(row);
      inputCol.push_back(col);
      inputQuad.push_back(rem(v, quads));
      Value outBlock =
          k.minUnsigned(add(firstBlock, div(v, block * quads)), lastBlock);
      Value panel =
          add(mul(outBlock, word(WeightBlock)), mul(batch, word(WeightBatch)));
      weightPlace.push_back(add(panel, rem(v, block * quads)));
    }
  }

  /// Behind the last one of the group there is none: that one again.
  Tap next(const Tap &tap) {
    Value lastBlock = sub(end, 1);
    if (!hasWindow)
      return {k.minUnsigned(add(tap.block, 1), lastBlock), tap.row, tap.col};
    Value zero = k.constant(0);
    Value col = add(tap.col, 1);
    Value isRow = k.lessUnsigned(col, word(KernelCols));
    Value row = add(tap.row, 1);
    Value isBlock = k.lessUnsigned(row, word(KernelRows));
    Value nextBlock = select(isBlock, tap.block, add(tap.block, 1));
    return {k.minUnsigned(select(isRow, tap.block, nextBlock), lastBlock),
            select(isRow, tap.row, select(isBlock, row, zero)),
            select(isRow, col, zero)};
  }

  Value loadInput(size_t i, Value plane, const Tap &tap) {
    Value row = inputRow[i], col = inputCol[i], isInside;
    if (hasWindow) {
      row = add(row, mul(tap.row, word(DilationRows)));
      col = add(col, mul(tap.col, word(DilationCols)));
      isInside = both(k.lessUnsigned(row, word(InHeight)),
                      k.lessUnsigned(col, word(InWidth)));
      Value zero = k.constant(0);
      row = select(isInside, row, zero);
      col = select(isInside, col, zero);
    }
    Value place =
        add(mul(add(mul(row, word(InWidth)), col), quads), inputQuad[i]);
    Value x = k.load(input, add(plane, place));
    return hasWindow ? select(isInside, x, k.fconst(0, four)) : x;
  }

  /// The inputs, then the weights of a tap that this invocation brings.
  Values bring(const Tap &tap) {
    Value plane = mul(
        mul(add(mul(batch, word(InBlocks)), tap.block), word(InPixels)), quads);
    Value panel = tap.block;
    if (hasWindow)
      panel =
          add(mul(add(mul(panel, word(KernelRows)), tap.row), word(KernelCols)),
              tap.col);
    panel = mul(panel, block * quads);
    Values brought;
    for (size_t i = 0; i < inputRow.size(); ++i)
      brought.push_back(loadInput(i, plane, tap));
    for (Value place : weightPlace)
      brought.push_back(k.load(weights, add(panel, place)));
    return brought;
  }

  void keep(const Values &brought) {
    for (int64_t i = 0; i < square.loads(); ++i) {
      Value v = add(local, i * square.invocations);
      k.store(brought[i], sharedInput, v);
      Value outBlock = div(v, block * quads);
      k.store(brought[square.loads() + i], sharedWeights,
              add(mul(outBlock, weightStride), rem(v, block * quads)));
    }
  }

  Values sum(ValueRange init) {
    Value weight =
        add(mul(div(outQuad, quads), weightStride), rem(outQuad, quads));
    return k.loop(0, quads, 1, Values(init), [&](Value q, ValueRange before) {
      Values sums(before);
      Values in;
      for (int64_t i = 0; i < square.pixels(); ++i) {
        Value pixel = add(lane, i * square.lanes());
        in.push_back(k.load(sharedInput, k.add(k.mul(pixel, quads), q)));
      }
      Value first = add(weight, k.mul(q, 4 * quads));
      for (int64_t channel = 0; channel < 4; ++channel) {
        Value w = k.load(sharedWeights, k.add(first, channel * quads));
        for (int64_t i = 0; i < square.pixels(); ++i)
          sums[i] =
              k.fma(k.broadcast(k.extract(in[i], channel), 4), w, sums[i]);
      }
      return sums;
    });
  }

  const Shares square;
  const bool hasWindow;
  VectorType four;
  Value output, input, weights;
  PushEpilogue epilogue;

  Value sharedInput, sharedWeights;
  Value local, batch, part;
  Value outQuad;    ///< in the square
  Value lane;       ///< the first of the invocation's pixels in the square
  Value firstPixel; ///< of the square
  Value firstBlock; ///< of the square's outputs
  Value end;        ///< of the blocks that the group sums over
  // The places that it brings: row and column of a window's first tap in the
  // input, which are large unsigned numbers in the padding, and vectors in a
  // pixel or in the weights of an output block.
  Values inputRow, inputCol, inputQuad;
  Values weightPlace;
};

void ProductEmitter::emit() {
  sharedInput = k.shared(square.side * quads, four);
  sharedWeights = k.shared(square.side / block * weightStride, four);
  findPlaces();
  Value first = mul(part, word(PartBlocks));
  end = k.minUnsigned(add(first, word(PartBlocks)), word(InBlocks));
  Value count = sub(end, first), zero = k.constant(0);
  if (hasWindow)
    count = mul(count, mul(word(KernelRows), word(KernelCols)));
  // Carried: the sums, the brought vectors, and the tap they come from.
  const size_t pixels = square.pixels(), loads = 2 * square.loads();
  Tap tap = {first, zero, zero};
  Values carried(pixels, k.fconst(0, four));
  llvm::append_range(carried, bring(tap));
  llvm::append_range(carried, Values{tap.block, tap.row, tap.col});
  Values last = k.loop(0, count, 1, carried, [&](Value, ValueRange before) {
    k.barrier();
    keep(Values(before.slice(pixels, loads)));
    k.barrier();
    ValueRange from = before.take_back(3);
    Tap following = next({from[0], from[1], from[2]});
    Values brought = bring(following);
    Values after = sum(before.take_front(pixels));
    llvm::append_range(after, brought);
    llvm::append_range(after,
                       Values{following.block, following.row, following.col});
    return after;
  });
  Values sums(ValueRange(last).take_front(pixels));

  Value outBlock = add(firstBlock, div(outQuad, quads));
  Value quad = rem(outQuad, quads);
  k.ifThen(k.lessUnsigned(outBlock, word(OutBlocks)), [&] {
    Value vector = add(mul(outBlock, quads), quad);
    Value bias = epilogue.start(vector);
    ChannelMask mask(k, mul(vector, 4), word(OutChannels));
    // Parts lie behind each other, each as the result does.
    Value image = add(mul(part, word(Batch)), batch);
    Value plane =
        mul(add(mul(image, word(OutBlocks)), outBlock), word(OutPlane));
    for (int64_t i = 0; i < square.pixels(); ++i) {
      Value pixel = add(firstPixel, add(lane, i * square.lanes()));
      k.ifThen(k.lessUnsigned(pixel, word(OutPixels)), [&] {
        Value place = add(mul(add(plane, pixel), quads), quad);
        Value x = arith::AddFOp::create(k.b, sums[i], bias);
        k.store(mask.apply(epilogue.finish(x, place)), output, place);
      });
    }
  });
}

} // namespace

std::string SharedProduct::Kernel::key() const {
  return (hasWindow ? "gpu.conv.shared.window." : "gpu.conv.shared.") +
         square.name() + PushEpilogue::suffix(epilogue);
}

void SharedProduct::Kernel::emit(GpuBuilder &k) const {
  k.kernel(SmallVector<Type>(5, k.vec(4)),
           ProductEmitter::words(hasWindow) + PushEpilogue::Words,
           {int32_t(square.invocations), 1, 1}, [&](ValueRange memories) {
             ProductEmitter(k, *this, memories).emit();
           });
}

int64_t SharedProduct::groups(const Square &square) const {
  return divideCeil(outPixels, square.side) *
         divideCeil(outBlocks, square.side / block) * batch;
}

TileMap SharedProduct::result() const {
  return blockedMemory(batch * parts, outBlocks, outPixels);
}

GpuStep SharedProduct::step(const Kernel &kernel, TileMap result) const {
  const int64_t side = kernel.square.side;
  assert((kernel.hasWindow || window.taps() == 1) && "a kernel for windows");
  assert((parts - 1) * partBlocks() < inBlocks && "each part has blocks");
  const int64_t outPlane = result.axes[1].stride / block;
  GpuStep step = {
      GpuDispatch::over(std::move(result), {side, side / block, 1})};
  step.append({outPixels, outPlane, inPixels, inBlocks, outBlocks, outChannels,
               outWidth, inWidth, strideRows, strideCols, batch, partBlocks(),
               weightBlock, weightBatch});
  if (kernel.hasWindow)
    step.append({window.rows, window.cols, window.dilationRows,
                 window.dilationCols, window.top, window.left,
                 window.inHeight});
  assert(step.push.size() == ProductEmitter::words(kernel.hasWindow) &&
         "a value for each word");
  PushEpilogue::append(step.push, kernel.epilogue);
  step.variant = kernel.hasWindow ? "window" : "flat";
  double outputs = double(batch * outBlocks * outPixels * block);
  step.grid.steps = double(partBlocks() * window.taps());
  step.grid.barriers = unsigned(2 * partBlocks() * window.taps());
  step.grid.multiplyAdds =
      outputs * double(inBlocks * block) * double(window.taps());
  return step;
}
