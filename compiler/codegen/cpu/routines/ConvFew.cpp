//===- ConvFew.cpp - Convolution to very few channels ---------------------===//
//
// conv.few and conv_transpose.few: one to three output channels, which would
// leave most lanes of a block of 16 empty. The lanes are input channels here
// instead: input in blocks of 16 channels, weights [O][I/16][kh][kw][16 i],
// result dense.
//
//   for tile = (image, row block)
//     if padded: copy the rows with a zero halo to scratch
//     for phase (of a transposed convolution), row, column tile: micro-kernel
//       for channel block, kernel row, kernel column, vector of the block,
//           pixel, output channel: multiply-add lane by lane
//       add up the lanes of a vector's worth of pixels into one vector
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/LinearMemory.h"
#include "compiler/codegen/cpu/routines/Phases.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <type_traits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

constexpr int64_t mostChannels = 3;

using Phases = SmallVector<Phase>;

/// The inputs that all phases of an axis together read, seen from output 0
/// of each.
struct Span {
  int64_t low = 0, high = 0, outputs = 0, inputStep = 1;
  explicit Span(const Phases &axis) : inputStep(axis[0].inputStep) {
    assert(
        llvm::all_of(
            axis, [&](const Phase &p) { return p.inputStep == inputStep; }) &&
        "all go over the input alike");
    bool first = true;
    for (const Phase &p : axis) {
      outputs = std::max(outputs, p.outputs);
      if (p.taps == 0)
        continue;
      low = first ? p.lowest() : std::min(low, p.lowest());
      high = first ? p.highest() : std::max(high, p.highest());
      first = false;
    }
  }
  int64_t count(int64_t outputs) const {
    return (outputs - 1) * inputStep + high - low + 1;
  }
  bool isOutside(int64_t size) const {
    return low < 0 || low + count(outputs) > size;
  }
};

class FewChannelsEmitter {
public:
  FewChannelsEmitter(KernelBuilder &k, const WindowShape &w, Epilogue epilogue,
                     Phases rows, Phases cols)
      : k(k), w(w), epilogue(epilogue), rows(std::move(rows)),
        cols(std::move(cols)), copy(w, divideCeil(w.channels, block), block) {
    assert(w.outChannels >= 1 && w.outChannels <= mostChannels &&
           "registers hold the sums of a pixel");
    // As many pixels as accumulators allow: a power of two up to a vector.
    int64_t most = std::min<int64_t>(
        k.VL, llvm::bit_floor(
                  uint64_t((k.target.vectorRegisters - 8) / w.outChannels)));
    tilePixels = std::max<int64_t>(1, most);
  }
  KernelInfo emit(Operation *layer, StringRef symbol);

private:
  void microKernel(ValueRange args, const Phase &y, const Phase &x,
                   int64_t pixels);
  Value sumLanes(Values vectors);
  std::string nameOf(const Phase &y, const Phase &x, int64_t pixels) const {
    std::string name;
    llvm::raw_string_ostream os(name);
    os << "few_" << pixels << 'x' << w.outChannels << "_k" << y.taps << 'x'
       << x.taps << "_t" << y.tapStep << '_' << x.tapStep << "_of"
       << w.kernelRows << 'x' << w.kernelCols << "_i"
       << y.tapInput * copy.columns << '_' << x.tapInput << '_' << x.inputStep
       << "_s" << x.outputStep << "_p" << w.outHeight * w.outWidth << '_'
       << copy.planes << epilogue.suffix();
    return name;
  }

  KernelBuilder &k;
  WindowShape w;
  Epilogue epilogue;
  Phases rows, cols;
  int64_t tilePixels;
  HaloCopy copy;
};

/// Lane i of the result is the sum of the lanes of vector i.
Value FewChannelsEmitter::sumLanes(Values vectors) {
  int64_t VL = k.VL;
  assert(int64_t(vectors.size()) <= VL && "a lane for each vector");
  vectors.resize(VL, k.fconst(0, k.vec(VL)));
  for (int64_t run = 1; run < VL; run *= 2) {
    Values next;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      SmallVector<int64_t> low, high;
      for (int64_t group = 0; group < VL; group += 2 * run)
        for (int64_t which : {int64_t(0), VL})
          for (int64_t l = 0; l < run; ++l) {
            low.push_back(which + group + l);
            high.push_back(which + group + run + l);
          }
      next.push_back(arith::AddFOp::create(
          k.b, vector::ShuffleOp::create(k.b, vectors[i], vectors[i + 1], low),
          vector::ShuffleOp::create(k.b, vectors[i], vectors[i + 1], high)));
    }
    vectors = next;
  }
  return vectors[0];
}

/// Arguments: in, weights, out, bias?, residual?, then offsets of in, weights
/// and out, and the input distance of channel blocks.
void FewChannelsEmitter::microKernel(ValueRange args, const Phase &y,
                                     const Phase &x, int64_t pixels) {
  LinearMemory memory = LinearMemory::take(args, epilogue);
  Value inAt = args[0], weightsAt = args[1], outAt = args[2], inBlock = args[3];
  int64_t outChannels = w.outChannels, blocks = copy.planes;
  int64_t tapWeights = block, rowWeights = w.kernelCols * block,
          blockWeights = w.kernelRows * rowWeights,
          channelWeights = blocks * blockWeights;
  bool empty = y.taps == 0 || x.taps == 0;

  Values acc(pixels * outChannels, k.fconst(0, k.vec(k.VL)));
  acc = k.loop(0, empty ? 0 : blocks, 1, acc, [&](Value c, ValueRange carried) {
    Index blockIn = k.add(inAt, k.mul(c, inBlock));
    Index blockWeightsAt = k.add(weightsAt, k.mul(c, blockWeights));
    return k.loop(
        0, y.taps, 1, Values(carried), [&](Value ky, ValueRange carried) {
          Index rowIn = k.add(blockIn, k.mul(ky, y.tapInput * copy.rowSize()));
          Index rowAt =
              k.add(blockWeightsAt, k.mul(ky, y.tapStep * rowWeights));
          return k.loop(
              0, x.taps, 1, Values(carried), [&](Value kx, ValueRange carried) {
                Values acc(carried);
                Index tapIn = k.add(rowIn, k.mul(kx, x.tapInput * block));
                Index tapAt = k.add(rowAt, k.mul(kx, x.tapStep * tapWeights));
                for (int64_t v = 0; v < block; v += k.VL) {
                  Values weight;
                  for (int64_t o = 0; o < outChannels; ++o)
                    weight.push_back(
                        k.load(memory.weights,
                               k.add(tapAt, o * channelWeights + v), k.VL));
                  for (int64_t p = 0; p < pixels; ++p) {
                    Value pixel =
                        k.load(memory.in,
                               k.add(tapIn, p * x.inputStep * block + v), k.VL);
                    for (int64_t o = 0; o < outChannels; ++o)
                      acc[p * outChannels + o] =
                          k.fma(pixel, weight[o], acc[p * outChannels + o]);
                  }
                }
                return acc;
              });
        });
  });
  int64_t plane = w.outHeight * w.outWidth;
  for (int64_t o = 0; o < outChannels; ++o) {
    Values ofChannel;
    for (int64_t p = 0; p < pixels; ++p)
      ofChannel.push_back(acc[p * outChannels + o]);
    Value sum = sumLanes(ofChannel);
    if (epilogue.bias)
      sum = arith::AddFOp::create(k.b, sum,
                                  k.broadcast(k.load(memory.bias, o), k.VL));
    auto place = [&](int64_t p) {
      return Index(outAt, o * plane + p * x.outputStep);
    };
    Value result = epilogue.apply(k, sum, [&]() -> Value {
      if (x.outputStep == 1)
        return k.loadPart(memory.residual, place(0), k.VL, pixels);
      Value r = k.fconst(0, k.vec(k.VL));
      for (int64_t p = 0; p < pixels; ++p)
        r = k.insert(k.load(memory.residual, place(p)), r, p);
      return r;
    });
    if (x.outputStep == 1) {
      k.storePart(result, memory.out, place(0), pixels);
      continue;
    }
    for (int64_t p = 0; p < pixels; ++p)
      k.store(k.extract(result, p), memory.out, place(p));
  }
}

KernelInfo FewChannelsEmitter::emit(Operation *layer, StringRef symbol) {
  Span rowSpan(rows), colSpan(cols);
  if (rowSpan.isOutside(w.height) || colSpan.isOutside(w.width))
    copy.copyColumns(colSpan.low, colSpan.count(colSpan.outputs));

  // Row blocks worth a thread's while, and whose copy stays in the cache.
  double work =
      double(w.batch * w.outHeight * w.outWidth * copy.planes * w.outChannels) *
      double(rows[0].taps * cols[0].taps + 2);
  int64_t rowBytes = copy.planes * rowSpan.inputStep * copy.rowSize() * 4;
  int64_t rowBlocks =
      std::max<int64_t>(int64_t(std::min(work / 8000, 16.0)) / w.batch,
                        copy.copies ? rowSpan.outputs * rowBytes /
                                          (k.target.secondLevelCache * 2 / 5)
                                    : 0);
  rowBlocks = std::clamp<int64_t>(rowBlocks, 1, rowSpan.outputs);
  int64_t rowBlock = divideCeil(rowSpan.outputs, rowBlocks);
  rowBlocks = divideCeil(rowSpan.outputs, rowBlock);

  copy.rows = rowSpan.count(rowBlock);
  int64_t inBatch = copy.planes * w.height * w.width * block;
  int64_t outBatch = w.outChannels * w.outHeight * w.outWidth;

  k.kernel(
      symbol, layer,
      [&](ValueRange operands, Value scratch, Value begin, Value end) {
        LinearMemory memory = LinearMemory::of(operands, epilogue);
        if (copy.copies)
          memory.in = scratch;
        k.loop(begin, end, 1, [&](Value t) {
          Index firstRow = k.mul(k.rem(t, rowBlocks), rowBlock);
          Index batch = k.div(t, rowBlocks);
          // Where the input of output row firstRow, tap 0 of input 0 lies.
          Index origin =
              k.add(k.mul(batch, inBatch),
                    k.mul(firstRow, rowSpan.inputStep * w.width * block));
          if (copy.copies) {
            copy.emit(k, operands[1], k.mul(batch, inBatch),
                      k.add(k.mul(firstRow, rowSpan.inputStep), rowSpan.low),
                      scratch);
            origin = Index(-(rowSpan.low * copy.columns + colSpan.low) * block);
          }
          for (const Phase &y : rows)
            for (const Phase &x : cols) {
              Index last = k.min(k.add(firstRow, rowBlock), y.outputs);
              auto call = [&](Index row, Index col, int64_t pixels) {
                Index in =
                    k.add(k.add(origin, k.mul(k.sub(row, firstRow),
                                              y.inputStep * copy.rowSize())),
                          k.add(k.mul(col, x.inputStep * block),
                                (y.input * copy.columns + x.input) * block));
                Index out =
                    k.add(k.add(k.mul(batch, outBatch),
                                k.mul(row, y.outputStep * w.outWidth)),
                          k.add(k.mul(col, x.outputStep),
                                y.firstOutput * w.outWidth + x.firstOutput));
                k.callMicroKernel(
                    nameOf(y, x, pixels), memory.arguments(),
                    {in, (y.firstTap * w.kernelCols + x.firstTap) * block, out,
                     copy.planeSize()},
                    [&](ValueRange args) { microKernel(args, y, x, pixels); });
              };
              k.loop(firstRow, last, 1, [&](Value row) {
                int64_t whole = x.outputs / tilePixels,
                        rest = x.outputs % tilePixels;
                k.repeat(whole, [&](Index i) {
                  call(row, k.mul(i, tilePixels), tilePixels);
                });
                if (rest)
                  call(row, whole * tilePixels, rest);
              });
            }
        });
      });
  KernelInfo info;
  info.tiles = w.batch * rowBlocks;
  info.maps = {TileMap::grid(
      {{w.batch, outBatch},
       {w.outChannels, w.outHeight * w.outWidth},
       {w.outHeight, w.outWidth},
       {w.outWidth, 1}},
      {{0, w.batch, 1}, {2, rowBlocks, rowBlock * rows[0].outputStep}})};
  info.scratchBytes = copy.scratchBytes();
  // Each element of a residual is read just before the result's is written.
  if (epilogue.residual)
    info.inPlaceOperands.push_back(layer->getNumOperands() - 1);
  return info;
}

template <typename Op> class ConvFew : public CpuRoutine {
public:
  ConvFew()
      : CpuRoutine(isTransposed<Op> ? "conv_transpose.few" : "conv.few",
                   Twine(isTransposed<Op> ? "transposed, " : "") +
                       "up to three output channels; lanes are input "
                       "channels") {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<Op>(layer);
    if (!op || !hasBlockableWindow(op))
      return noBlockableWindow<Op>;
    if (op.getGroups() != 1)
      return "it has several groups";
    ArrayRef<int64_t> in = shapeOf(op.getInput()),
                      out = shapeOf(op.getOutput());
    return in[1] >= block / 2 && out[1] <= mostChannels &&
                   llvm::all_of(op.getStrides(),
                                [](int64_t s) { return s <= 8; })
               ? ""
               : "it has few input or many output channels, or a stride above "
                 "8";
  }
  LayoutRequest layouts(Operation *layer) const override {
    int64_t rank = shapeOf(layer->getOperand(0)).size();
    LayoutRequest request = Routine::layouts(layer);
    request.operands[0] = blockedTag(rank);
    request.operands[1] =
        isTransposed<Op> ? transposedRowTag(rank) : blockedTag(rank);
    return request;
  }
  Work work(Operation *layer) const override {
    int64_t channels = shapeOf(layer->getOperand(0))[1];
    return {definedMultiplyAdds(layer) / double(channels) *
                double(llvm::alignTo(channels, block)),
            bytesOf(layer)};
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<Op>(layer);
    WindowShape w(op);
    auto axis = isTransposed<Op> ? phasesOf : onePhase;
    FewChannelsEmitter emitter(
        k, w, Epilogue::of(op),
        axis(w.outHeight, w.kernelRows, w.strideRows, w.dilationRows, w.top),
        axis(w.outWidth, w.kernelCols, w.strideCols, w.dilationCols, w.left));
    return emitter.emit(layer, symbol);
  }
};

} // namespace

Variants codegen::convFewRoutine() {
  return onlyRoutine<ConvFew<nn::ConvOp>>();
}
Variants codegen::convTransposeFewRoutine() {
  return onlyRoutine<ConvFew<nn::ConvTransposeOp>>();
}
