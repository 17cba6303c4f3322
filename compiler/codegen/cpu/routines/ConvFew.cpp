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

#include "compiler/codegen/common/Epilogue.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/TransposePhases.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <type_traits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

constexpr int64_t mostChannels = 3;

/// Outputs along one dimension that take the same taps.
struct Positions {
  int64_t firstOutput, outputs, outputStep;
  int64_t firstTap, taps, tapStep;
  int64_t input,
      inputStep;    ///< of the first output and tap; from output to output
  int64_t tapInput; ///< from tap to tap
  int64_t lowest() const {
    return input + std::min<int64_t>(0, (taps - 1) * tapInput);
  }
  int64_t highest() const {
    return input + std::max<int64_t>(0, (taps - 1) * tapInput);
  }
};
using Axis = SmallVector<Positions>;

Axis convAxis(int64_t outputs, int64_t kernel, int64_t stride, int64_t dilation,
              int64_t low) {
  return {{0, outputs, 1, 0, kernel, 1, -low, stride, dilation}};
}

Axis transposeAxis(int64_t outputs, int64_t kernel, int64_t stride,
                   int64_t dilation, int64_t low) {
  Axis axis;
  for (const Phase &p : phasesOf(outputs, kernel, stride, dilation, low))
    axis.push_back({p.firstOutput, p.outputs, stride, p.firstTap, p.taps,
                    p.tapStep, p.input, 1, -p.inputStep});
  return axis;
}

/// The inputs that all positions of an axis together read, seen from output 0
/// of each.
struct Span {
  int64_t low = 0, high = 0, outputs = 0, inputStep = 1;
  explicit Span(const Axis &axis) : inputStep(axis[0].inputStep) {
    assert(llvm::all_of(
               axis,
               [&](const Positions &p) { return p.inputStep == inputStep; }) &&
           "all go over the input alike");
    bool first = true;
    for (const Positions &p : axis) {
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
                     Axis rows, Axis cols)
      : k(k), w(w), epilogue(epilogue), rows(std::move(rows)),
        cols(std::move(cols)) {
    assert(w.outChannels >= 1 && w.outChannels <= mostChannels &&
           "registers hold the sums of a pixel");
    // As many pixels as accumulators allow: a power of two up to a vector.
    int64_t most = std::min<int64_t>(
        k.VL, llvm::bit_floor(
                  uint64_t((k.target.vectorRegisters - 8) / w.outChannels)));
    tilePixels = std::max<int64_t>(1, most);
  }
  KernelInfo emit(StringRef symbol, unsigned operandCount);

private:
  void microKernel(ValueRange args, const Positions &y, const Positions &x,
                   int64_t pixels);
  Value sumLanes(Values vectors);
  std::string nameOf(const Positions &y, const Positions &x,
                     int64_t pixels) const;

  KernelBuilder &k;
  WindowShape w;
  Epilogue epilogue;
  Axis rows, cols;
  int64_t tilePixels, copyWidth = 0;
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

std::string FewChannelsEmitter::nameOf(const Positions &y, const Positions &x,
                                       int64_t pixels) const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "few_" << pixels << 'x' << w.outChannels << "_k" << y.taps << 'x'
     << x.taps << "_t" << y.tapStep << '_' << x.tapStep << "_of" << w.kernelRows
     << 'x' << w.kernelCols << "_i" << y.tapInput * copyWidth << '_'
     << x.tapInput << '_' << x.inputStep << "_s" << x.outputStep << "_p"
     << w.outHeight * w.outWidth << '_' << divideCeil(w.channels, block)
     << epilogue.suffix();
  return name;
}

/// Arguments: in, weights, out, bias?, residual?, then offsets of in, weights
/// and out, and the input distance of channel blocks.
void FewChannelsEmitter::microKernel(ValueRange args, const Positions &y,
                                     const Positions &x, int64_t pixels) {
  size_t next = 0;
  Value in = args[next++], weights = args[next++], out = args[next++];
  Value bias = epilogue.bias ? args[next++] : Value();
  Value residual = epilogue.residual ? args[next++] : Value();
  Value inAt = args[next++], weightsAt = args[next++], outAt = args[next++],
        inBlock = args[next++];
  int64_t outChannels = w.outChannels, blocks = divideCeil(w.channels, block);
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
          Index rowIn =
              k.add(blockIn, k.mul(ky, y.tapInput * copyWidth * block));
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
                    weight.push_back(k.load(
                        weights, k.add(tapAt, o * channelWeights + v), k.VL));
                  for (int64_t p = 0; p < pixels; ++p) {
                    Value pixel = k.load(
                        in, k.add(tapIn, p * x.inputStep * block + v), k.VL);
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
    if (bias)
      sum = arith::AddFOp::create(k.b, sum, k.broadcast(k.load(bias, o), k.VL));
    auto place = [&](int64_t p) {
      return Index(outAt, o * plane + p * x.outputStep);
    };
    Value result = epilogue.apply(k, sum, [&]() -> Value {
      if (x.outputStep == 1)
        return k.loadPart(residual, place(0), k.VL, pixels);
      Value r = k.fconst(0, k.vec(k.VL));
      for (int64_t p = 0; p < pixels; ++p)
        r = k.insert(k.load(residual, place(p)), r, p);
      return r;
    });
    if (x.outputStep == 1) {
      k.storePart(result, out, place(0), pixels);
      continue;
    }
    for (int64_t p = 0; p < pixels; ++p)
      k.store(k.extract(result, p), out, place(p));
  }
}

KernelInfo FewChannelsEmitter::emit(StringRef symbol, unsigned operandCount) {
  Span rowSpan(rows), colSpan(cols);
  bool copies = rowSpan.isOutside(w.height) || colSpan.isOutside(w.width);
  int64_t inBlocks = divideCeil(w.channels, block);
  copyWidth = copies ? colSpan.count(colSpan.outputs) : w.width;

  // Row blocks worth a thread's while, and whose copy stays in the cache.
  double work =
      double(w.batch * w.outHeight * w.outWidth * inBlocks * w.outChannels) *
      double(rows[0].taps * cols[0].taps + 2);
  int64_t rowBytes = inBlocks * copyWidth * rowSpan.inputStep * block * 4;
  int64_t rowBlocks = std::max<int64_t>(
      int64_t(std::min(work / 8000, 16.0)) / w.batch,
      copies ? rowSpan.outputs * rowBytes / (k.target.secondLevelCache * 2 / 5)
             : 0);
  rowBlocks = std::clamp<int64_t>(rowBlocks, 1, rowSpan.outputs);
  int64_t rowBlock = divideCeil(rowSpan.outputs, rowBlocks);
  rowBlocks = divideCeil(rowSpan.outputs, rowBlock);

  HaloCopy copy;
  copy.planes = inBlocks;
  copy.height = w.height;
  copy.width = w.width;
  copy.pixel = block;
  copy.left = -colSpan.low;
  copy.rows = rowSpan.count(rowBlock);
  copy.copyWidth = copyWidth;
  int64_t inBatch = inBlocks * w.height * w.width * block;
  int64_t outBatch = w.outChannels * w.outHeight * w.outWidth;

  SmallVector<Type> types(operandCount + 1, k.b.getF32Type());
  k.kernel(
      symbol, types,
      [&](ValueRange operands, Value scratch, Value begin, Value end) {
        SmallVector<Value> memories = {copies ? scratch : operands[1],
                                       operands[2], operands[0]};
        memories.append(operands.begin() + 3, operands.end());
        SmallVector<Type> types(memories.size(), k.b.getF32Type());
        k.loop(begin, end, 1, [&](Value t) {
          Index firstRow = k.mul(k.rem(t, rowBlocks), rowBlock);
          Index batch = k.div(t, rowBlocks);
          // Where the input of output row firstRow, tap 0 of input 0 lies.
          Index origin =
              k.add(k.mul(batch, inBatch),
                    k.mul(firstRow, rowSpan.inputStep * w.width * block));
          if (copies) {
            copy.emit(k, operands[1], k.mul(batch, inBatch),
                      k.add(k.mul(firstRow, rowSpan.inputStep), rowSpan.low),
                      scratch);
            origin = Index(-(rowSpan.low * copyWidth + colSpan.low) * block);
          }
          for (const Positions &y : rows)
            for (const Positions &x : cols) {
              Index last = k.min(k.add(firstRow, rowBlock), y.outputs);
              auto call = [&](Index row, Index col, int64_t pixels) {
                auto function = k.microKernel(
                    nameOf(y, x, pixels), types, 4,
                    [&](ValueRange args) { microKernel(args, y, x, pixels); });
                Index in =
                    k.add(k.add(origin, k.mul(k.sub(row, firstRow),
                                              y.inputStep * copyWidth * block)),
                          k.add(k.mul(col, x.inputStep * block),
                                (y.input * copyWidth + x.input) * block));
                Index out =
                    k.add(k.add(k.mul(batch, outBatch),
                                k.mul(row, y.outputStep * w.outWidth)),
                          k.add(k.mul(col, x.outputStep),
                                y.firstOutput * w.outWidth + x.firstOutput));
                k.call(
                    function, memories,
                    {in, (y.firstTap * w.kernelCols + x.firstTap) * block, out,
                     copies ? copy.planeSize() : w.height * w.width * block});
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
  info.scratchBytes = copies ? copy.size() * 4 : 0;
  // Each element of a residual is read just before the result's is written.
  if (epilogue.residual)
    info.inPlaceOperands.push_back(operandCount - 1);
  return info;
}

template <typename Op> class ConvFew : public CpuRoutine {
public:
  using CpuRoutine::CpuRoutine;
  bool matches(Operation *layer) const override {
    auto op = dyn_cast<Op>(layer);
    if (!op || !hasBlockableWindow(op) || op.getGroups() != 1)
      return false;
    ArrayRef<int64_t> in = shapeOf(op.getInput()),
                      out = shapeOf(op.getOutput());
    return in[1] >= block / 2 && out[1] <= mostChannels &&
           llvm::all_of(op.getStrides(), [](int64_t s) { return s <= 8; });
  }
  LayoutRequest layouts(Operation *layer) const override {
    int64_t rank = shapeOf(layer->getOperand(0)).size();
    LayoutRequest request = Routine::layouts(layer);
    request.operands[0] = blockedTag(rank);
    request.operands[1] = std::is_same_v<Op, nn::ConvOp>
                              ? blockedTag(rank)
                              : transposedRowTag(rank);
    return request;
  }
  Work work(Operation *layer) const override {
    int64_t channels = shapeOf(layer->getOperand(0))[1];
    return {definedMultiplyAdds(layer) / double(channels) *
                double(llvm::alignTo(channels, block)),
            bytesOf(layer)};
  }
  static WindowShape windowOf(Op op) {
    return WindowShape(op, shapeOf(op.getWeights()).drop_front(2));
  }
};

class ConvFewForward : public ConvFew<nn::ConvOp> {
public:
  ConvFewForward()
      : ConvFew("conv.few",
                "up to three output channels; lanes are input channels") {}
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::ConvOp>(layer);
    WindowShape w = windowOf(op);
    FewChannelsEmitter emitter(k, w, Epilogue::of(op),
                               convAxis(w.outHeight, w.kernelRows, w.strideRows,
                                        w.dilationRows, w.top),
                               convAxis(w.outWidth, w.kernelCols, w.strideCols,
                                        w.dilationCols, w.left));
    return emitter.emit(symbol, op->getNumOperands());
  }
};

class ConvFewTranspose : public ConvFew<nn::ConvTransposeOp> {
public:
  ConvFewTranspose()
      : ConvFew("conv_transpose.few", "transposed, up to three output "
                                      "channels; lanes are input channels") {}
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::ConvTransposeOp>(layer);
    WindowShape w = windowOf(op);
    FewChannelsEmitter emitter(
        k, w, Epilogue::of(op),
        transposeAxis(w.outHeight, w.kernelRows, w.strideRows, w.dilationRows,
                      w.top),
        transposeAxis(w.outWidth, w.kernelCols, w.strideCols, w.dilationCols,
                      w.left));
    return emitter.emit(symbol, op->getNumOperands());
  }
};

} // namespace

namespace nnv12::codegen {
const Routine *convFewRoutine() {
  static const ConvFewForward routine;
  return &routine;
}
const Routine *convTransposeFewRoutine() {
  static const ConvFewTranspose routine;
  return &routine;
}
} // namespace nnv12::codegen
