//===- SharedProduct.cpp - Sums of blocks in shared memory ----------------===//

#include "compiler/codegen/gpu/routines/SharedProduct.h"

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

constexpr int64_t block = BlockedWindow::block, quads = BlockedWindow::quads;

/// What of a square an invocation does.
struct Shares : SharedProduct::Square {
  explicit Shares(const SharedProduct::Square &square) : Square(square) {}

  int64_t outQuads() const { return side / 4; }
  int64_t lanes() const { return invocations / outQuads(); } ///< of pixels
  int64_t pixels() const { return side / lanes(); } ///< of an invocation
  /// Vectors of four channels that each invocation brings, of the inputs and as
  /// many of the weights.
  int64_t loads() const { return side * quads / invocations; }
};

/// Vectors between two blocks of weights in shared memory: what neighbouring
/// invocations read lies in other banks.
constexpr int64_t weightStride = block * quads + quads;

enum Word : unsigned {
  OutPixels, ///< of a channel; zero: nothing to do
  InPixels,
  InBlocks,
  OutBlocks,
  OutWidth,
  InWidth,
  StrideRows,
  StrideCols,
  Batch,
  PartBlocks, ///< blocks of input channels that a group sums over
  WeightBlock,
  WeightBatch,
  ProductWords
};

class Emitter {
public:
  Emitter(GpuBuilder &k, const SharedProduct::Square &square, const Epilogue &e,
          ValueRange memories)
      : k(k), square(square), four(k.vec(4)), output(memories[0]),
        input(memories[1]), weights(memories[2]),
        epilogue(k, e, ProductWords, memories[3], memories[4]) {}
  void emit();

private:
  Value word(unsigned w) { return k.pushWord(w); }
  Value add(Index x, Index y) { return k.val(k.add(x, y)); }
  Value mul(Index x, Index y) { return k.val(k.mul(x, y)); }
  Value quotient(Value x, Value y) { return arith::DivUIOp::create(k.b, x, y); }
  Value remainder(Value x, Value y) {
    return arith::RemUIOp::create(k.b, x, y);
  }
  void findPlaces();
  /// A block's inputs, then its weights, of what this invocation brings.
  Values bring(Value inBlock);
  void keep(const Values &brought);
  Values sum(ValueRange sums);

  GpuBuilder &k;
  const Shares square;
  VectorType four;
  Value output, input, weights;
  PushEpilogue epilogue;

  Value sharedInput, sharedWeights;
  Value local, batch, part;
  Value outQuad;     ///< in the square
  Value lane;        ///< the first of the invocation's pixels in the square
  Value firstPixel;  ///< of the square
  Value firstBlock;  ///< of the square's outputs
  Values inputPlace; ///< what it brings: vectors in a block of the input
  Values weightPlace;
};

void Emitter::findPlaces() {
  using Dim = GpuBuilder::Dim;
  local = k.localId(Dim::X);
  outQuad = k.val(k.rem(local, square.outQuads()));
  lane = k.val(k.div(local, square.outQuads()));
  firstPixel = mul(k.groupId(Dim::X), square.side);
  firstBlock = mul(k.groupId(Dim::Y), square.side / block);
  // With all words zero nothing may divide by one of them.
  Value one = k.constant(1);
  auto atLeastOne = [&](unsigned w) {
    return Value(arith::MaxUIOp::create(k.b, word(w), one));
  };
  Value z = k.groupId(Dim::Z), images = atLeastOne(Batch);
  batch = remainder(z, images);
  part = quotient(z, images);
  Value last = k.val(k.sub(word(OutPixels), 1)), width = atLeastOne(OutWidth);
  Value lastBlock = k.val(k.sub(word(OutBlocks), 1));
  for (int64_t i = 0; i < square.loads(); ++i) {
    Value v = add(local, i * square.invocations);
    // Pixels that are none read those of the last one.
    Value p = k.minUnsigned(add(firstPixel, k.div(Index(v), quads)), last);
    Value row = mul(quotient(p, width), word(StrideRows)),
          col = mul(remainder(p, width), word(StrideCols));
    Value place = add(mul(row, word(InWidth)), col);
    inputPlace.push_back(add(mul(place, quads), k.rem(Index(v), quads)));
    Value outBlock = k.minUnsigned(
        add(firstBlock, k.div(Index(v), block * quads)), lastBlock);
    Value panel =
        add(mul(outBlock, word(WeightBlock)), mul(batch, word(WeightBatch)));
    weightPlace.push_back(add(panel, k.rem(Index(v), block * quads)));
  }
}

Values Emitter::bring(Value inBlock) {
  Value plane =
      mul(mul(add(mul(batch, word(InBlocks)), inBlock), word(InPixels)), quads);
  Value panel = mul(inBlock, block * quads);
  Values brought;
  for (Value place : inputPlace)
    brought.push_back(k.load(input, add(plane, place)));
  for (Value place : weightPlace)
    brought.push_back(k.load(weights, add(panel, place)));
  return brought;
}

void Emitter::keep(const Values &brought) {
  for (int64_t i = 0; i < square.loads(); ++i) {
    Value v = add(local, i * square.invocations);
    k.store(brought[i], sharedInput, v);
    Index outBlock = k.div(Index(v), block * quads);
    k.store(
        brought[square.loads() + i], sharedWeights,
        k.add(k.mul(outBlock, weightStride), k.rem(Index(v), block * quads)));
  }
}

Values Emitter::sum(ValueRange init) {
  Value weight = add(k.mul(k.div(Index(outQuad), quads), weightStride),
                     k.rem(Index(outQuad), quads));
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
        sums[i] = k.fma(k.broadcast(k.extract(in[i], channel), 4), w, sums[i]);
    }
    return sums;
  });
}

void Emitter::emit() {
  sharedInput = k.shared(square.side * quads, four);
  sharedWeights = k.shared(square.side / block * weightStride, four);
  findPlaces();
  Value first = mul(part, word(PartBlocks));
  Value end = k.minUnsigned(add(first, word(PartBlocks)), word(InBlocks));
  Values sums =
      k.loop(first, end, 1, Values(square.pixels(), k.fconst(0, four)),
             [&](Value inBlock, ValueRange before) {
               Values brought = bring(inBlock);
               k.barrier();
               keep(brought);
               k.barrier();
               return sum(before);
             });

  Value outBlock = add(firstBlock, k.div(Index(outQuad), quads));
  Value quad = k.val(k.rem(Index(outQuad), quads));
  k.ifThen(k.lessUnsigned(outBlock, word(OutBlocks)), [&] {
    Value bias = epilogue.start(add(mul(outBlock, quads), quad));
    // Parts lie behind each other, each as the result does.
    Value image = add(mul(part, word(Batch)), batch);
    Value plane =
        mul(add(mul(image, word(OutBlocks)), outBlock), word(OutPixels));
    for (int64_t i = 0; i < square.pixels(); ++i) {
      Value pixel = add(firstPixel, add(lane, i * square.lanes()));
      k.ifThen(k.lessUnsigned(pixel, word(OutPixels)), [&] {
        Value place = add(mul(add(plane, pixel), quads), quad);
        Value x = arith::AddFOp::create(k.b, sums[i], bias);
        k.store(epilogue.finish(x, place), output, place);
      });
    }
  });
}

} // namespace

std::string SharedProduct::key(const Square &square, const Epilogue &epilogue) {
  std::string side = std::to_string(square.side);
  return "gpu.conv.shared." + side + "x" + side +
         PushEpilogue::suffix(epilogue);
}

int64_t SharedProduct::groups(const Square &square) const {
  return divideCeil(outPixels, square.side) *
         divideCeil(outBlocks, square.side / block) * batch;
}

GpuStep SharedProduct::step(const Square &square,
                            const Epilogue &epilogue) const {
  GpuStep step;
  step.groups = {uint32_t(divideCeil(outPixels, square.side)),
                 uint32_t(divideCeil(outBlocks, square.side / block)),
                 uint32_t(batch * parts)};
  for (int64_t word :
       {outPixels, inPixels, inBlocks, outBlocks, outWidth, inWidth, strideRows,
        strideCols, batch, partBlocks(), weightBlock, weightBatch})
    step.push.push_back(uint32_t(word));
  assert(step.push.size() == ProductWords && "a value for each word");
  PushEpilogue::append(step.push, epilogue);
  double outputs = double(batch * outBlocks * outPixels * block);
  step.grid.steps = double(partBlocks());
  step.grid.barriers = unsigned(2 * partBlocks());
  step.grid.multiplyAdds = outputs * double(inBlocks * block);
  return step;
}

void SharedProduct::emit(GpuBuilder &k, const Square &square,
                         const Epilogue &epilogue, llvm::StringRef symbol) {
  SmallVector<GpuBuilder::Operand> operands(5, {k.vec(4)});
  operands.front().isWritten = true;
  k.kernel(symbol, operands, ProductWords + PushEpilogue::Words,
           {int32_t(square.invocations), 1, 1}, [&](ValueRange memories) {
             Emitter(k, square, epilogue, memories).emit();
           });
}
