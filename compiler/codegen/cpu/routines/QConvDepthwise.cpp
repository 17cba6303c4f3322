//===- QConvDepthwise.cpp - Depthwise convolution of 8-bit integers -------===//
//
// qconv.depthwise.nChw16c: input and result in blocks of 16 channels, weights
// as quads of columns [O/16][kh][kw/4][16 o][4 kw].
//
//   for tile = (image and channel block, row block)
//     copy the rows with their padding to scratch
//     for row group, column group: micro-kernel
//       for input row, quad of kernel columns, column:
//         four neighbouring pixels are 64 bytes: by a permutation each channel
//         gets its four; they serve all output rows that need this input row
//
// Where a dot product takes several instructions, the copy has floats, and the
// micro-kernel sums products of floats: all are integers below 2^24, so that
// nothing is rounded.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DotProduct.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/QConvLayouts.h"
#include "compiler/codegen/cpu/routines/QuantizedEnd.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// Output pixels of a micro-kernel.
struct PixelTile {
  int64_t rows, cols;
};

class QDepthwiseEmitter {
public:
  QDepthwiseEmitter(KernelBuilder &k, nn::QConvOp op)
      : k(k), w(op), end(QuantizedEnd::of(op)),
        quads(divideCeil(w.kernelCols, int64_t(4))),
        blocks(divideCeil(w.channels, block)), copy(w, /*planes=*/1, block, 1),
        usesDots(DotProduct::isFast(k.target)), tile(chooseTile(k.target, w)) {
    // Quads reach beyond the window.
    int64_t reach = usesDots ? (4 * quads - w.kernelCols) * w.dilationCols : 0;
    copy.makesFloats = !usesDots;
    copy.flips = DotProduct::flips(k.target);
    copy.copyColumns(-w.left, w.inputCols(w.outWidth) + reach);
    planRows();
    copy.rows = w.inputRows(std::min(rowBlock, w.outHeight));
  }
  KernelInfo emit(nn::QConvOp op, StringRef symbol);

private:
  static PixelTile chooseTile(const Target &target, const WindowShape &w) {
    // The sums stay in registers, besides a kernel's weights and a permuted
    // input; several rows share the permutations.
    bool usesDots = DotProduct::isFast(target);
    int64_t sums = target.vectorRegisters >= 32 ? (usesDots ? 20 : 12) : 8;
    if (DotProduct::flips(target)) // neighbours share permutations, which wait
      sums = std::clamp<int64_t>(
          24 - w.kernelRows * divideCeil(w.kernelCols, 4), 4, 16);
    PixelTile tile;
    tile.rows = usesDots && w.strideRows < w.kernelRows
                    ? std::min<int64_t>(
                          {4, w.outHeight, std::max<int64_t>(sums / 2, 1)})
                    : 1;
    tile.cols = std::clamp<int64_t>(sums / tile.rows, 1, w.outWidth);
    return tile;
  }
  void planRows();
  std::string nameOf(const PixelTile &t) const {
    std::string name;
    llvm::raw_string_ostream os(name);
    os << "qdepthwise_" << t.rows << 'x' << t.cols << "_k" << w.kernelRows
       << 'x' << w.kernelCols << "_s" << w.strideRows << '_' << w.strideCols
       << "_d" << w.dilationRows << '_' << w.dilationCols << "_w"
       << copy.rowSize() << "_o" << w.outWidth << end.suffix();
    // Results beyond the channels are not stored.
    if (w.channels % block)
      os << "_c" << w.channels;
    return name;
  }
  void microKernel(ValueRange args, const PixelTile &t);
  /// Sums of one vector of the block's channels, by row and column.
  Values dotSums(const LinearMemory &memory, Index inAt, Index weightsAt,
                 Index channel, int64_t vector, const PixelTile &t);
  Values floatSums(const LinearMemory &memory, Index inAt, Index weightsAt,
                   Index channel, int64_t vector, const PixelTile &t);
  /// Floats of a block's weights, for floatSums(): [kh][kw][16].
  void widenWeights(Value from, Index fromAt, Value to, Index toAt);
  Value biasOf(const LinearMemory &memory, Index channel, int64_t vector) {
    return end.bias ? k.load(memory.bias, k.add(channel, vector * k.VL), k.VL)
                    : k.iconst(0, k.vec(k.VL, k.b.getI32Type()));
  }

  KernelBuilder &k;
  const WindowShape w;
  const QuantizedEnd end;
  const int64_t quads, blocks;
  HaloCopy copy;
  const bool usesDots;
  const PixelTile tile;
  int64_t rowBlock = 1, rowBlocks = 1;
};

} // namespace

/// Row blocks of whole row groups, large enough to be worth a tile.
void QDepthwiseEmitter::planRows() {
  constexpr double tileMultiplyAdds = 300e3;
  constexpr int64_t mostScratch = 24 * 1024, wantedTiles = 8;
  int64_t groups = divideCeil(w.outHeight, tile.rows);
  double groupWork =
      double(tile.rows * w.outWidth * w.kernelRows * quads * 4) * double(block);
  int64_t perTile = std::max<int64_t>(1, int64_t(tileMultiplyAdds / groupWork));
  // Enough tiles for threads, where there are few channels.
  int64_t planes = w.batch * blocks;
  perTile =
      std::min(perTile, std::max<int64_t>(1, groups * planes / wantedTiles));
  perTile = std::clamp<int64_t>(perTile, 1, groups);
  int64_t size = usesDots ? 1 : 4; // of an element of the copy
  while (perTile > 1 &&
         w.inputRows(perTile * tile.rows) * copy.rowSize() * size > mostScratch)
    --perTile;
  rowBlock = perTile * tile.rows;
  rowBlocks = divideCeil(w.outHeight, rowBlock);
}

Values QDepthwiseEmitter::dotSums(const LinearMemory &memory, Index inAt,
                                  Index weightsAt, Index channel,
                                  int64_t vector, const PixelTile &t) {
  DotProduct dot(k);
  Values acc(t.rows * t.cols, biasOf(memory, channel, vector));
  SmallVector<Values> weights;
  for (int64_t i = 0; i < w.kernelRows * quads; ++i)
    weights.push_back(dot.w(
        memory.weights, k.add(weightsAt, i * 4 * block + vector * k.VL * 4)));
  std::fill(acc.begin(), acc.end(), dot.start(acc[0], weights));
  // An input row serves the output rows whose windows have it: pairs of an
  // output row and a kernel row.
  std::map<int64_t, SmallVector<std::pair<int64_t, int64_t>>> uses;
  for (int64_t row = 0; row < t.rows; ++row)
    for (int64_t ky = 0; ky < w.kernelRows; ++ky)
      uses[row * w.strideRows + ky * w.dilationRows].push_back({row, ky});
  for (auto &[input, pairs] : uses)
    for (int64_t q = 0; q < quads; ++q)
      for (int64_t col = 0; col < t.cols; ++col) {
        Index pixel = k.add(
            inAt, input * copy.rowSize() +
                      (col * w.strideCols + 4 * q * w.dilationCols) * block);
        Values x = dot.neighbours(memory.in, pixel, w.dilationCols * block,
                                  vector * k.VL);
        for (auto [row, ky] : pairs) {
          Value &sum = acc[row * t.cols + col];
          sum = dot.add(sum, x, weights[ky * quads + q]);
        }
      }
  return acc;
}

Values QDepthwiseEmitter::floatSums(const LinearMemory &memory, Index inAt,
                                    Index weightsAt, Index channel,
                                    int64_t vector, const PixelTile &t) {
  VectorType ints = k.vec(k.VL, k.b.getI32Type());
  Values acc(t.rows * t.cols, k.fconst(0, k.vec(k.VL)));
  for (int64_t ky = 0; ky < w.kernelRows; ++ky)
    for (int64_t kx = 0; kx < w.kernelCols; ++kx) {
      Value weight = k.load(
          memory.weights,
          k.add(weightsAt, (ky * w.kernelCols + kx) * block + vector * k.VL),
          k.VL);
      for (int64_t row = 0; row < t.rows; ++row)
        for (int64_t col = 0; col < t.cols; ++col) {
          int64_t pixel =
              (row * w.strideRows + ky * w.dilationRows) * copy.rowSize() +
              (col * w.strideCols + kx * w.dilationCols) * block;
          Value x = k.load(memory.in, k.add(inAt, pixel + vector * k.VL), k.VL);
          Value &sum = acc[row * t.cols + col];
          sum = k.fma(x, weight, sum);
        }
    }
  Value bias = biasOf(memory, channel, vector);
  for (Value &sum : acc)
    sum = arith::AddIOp::create(
        k.b, Value(arith::FPToSIOp::create(k.b, ints, sum)), bias);
  return acc;
}

void QDepthwiseEmitter::widenWeights(Value from, Index fromAt, Value to,
                                     Index toAt) {
  VectorType ints = k.vec(k.VL, k.b.getI32Type()), floats = k.vec(k.VL);
  for (int64_t ky = 0; ky < w.kernelRows; ++ky)
    for (int64_t vector = 0; vector < block / k.VL; ++vector)
      for (int64_t kx = 0; kx < w.kernelCols; ++kx) {
        Value bytes = k.load(
            from,
            k.add(fromAt, ((ky * quads + kx / 4) * block + vector * k.VL) * 4),
            4 * k.VL);
        // Byte kx % 4 of each lane, with its sign.
        Value code = vector::BitCastOp::create(k.b, ints, bytes);
        code =
            arith::ShLIOp::create(k.b, code, k.iconst(24 - kx % 4 * 8, ints));
        code = arith::ShRSIOp::create(k.b, code, k.iconst(24, ints));
        k.store(arith::SIToFPOp::create(k.b, floats, code), to,
                k.add(toAt, (ky * w.kernelCols + kx) * block + vector * k.VL));
      }
}

/// Arguments: in, weights, out and the operands of the end, then the offsets of
/// in, weights, out and the block's first channel.
void QDepthwiseEmitter::microKernel(ValueRange args, const PixelTile &t) {
  LinearMemory memory = end.take(args);
  Index inAt = args[0], weightsAt = args[1], outAt = args[2], channel = args[3];
  QuantizedEnd::Shared shared = end.shared(k, memory);
  for (int64_t vector = 0; vector < block / k.VL; ++vector) {
    QuantizedEnd::Columns columns = end.columns(memory, [&](Value from) {
      return k.load(from, k.add(channel, vector * k.VL), k.VL);
    });
    Values sums = usesDots
                      ? dotSums(memory, inAt, weightsAt, channel, vector, t)
                      : floatSums(memory, inAt, weightsAt, channel, vector, t);
    Index kept = w.channels % block ? k.sub(w.channels - vector * k.VL, channel)
                                    : Index(k.VL);
    SmallVector<QuantizedEnd::Piece> pieces;
    for (int64_t row = 0; row < t.rows; ++row)
      for (int64_t col = 0; col < t.cols; ++col)
        pieces.push_back(
            {sums[row * t.cols + col], columns,
             k.add(outAt, (row * w.outWidth + col) * block + vector * k.VL),
             kept, k.VL});
    end.store(k, pieces, memory, shared);
  }
}

KernelInfo QDepthwiseEmitter::emit(nn::QConvOp op, StringRef symbol) {
  int64_t inPlane = w.height * w.width * block, outRow = w.outWidth * block,
          outPlane = w.outHeight * outRow;
  int64_t weightBlock = w.kernelRows * quads * 4 * block;
  auto body = [&](ValueRange operands, Value scratch, Value begin, Value end_) {
    LinearMemory memory = end.memory(operands);
    Value fill = memory.padding ? k.load(memory.padding, 0) : Value();
    Value in = memory.in, weights = memory.weights;
    memory.in = scratch;
    int64_t weightsAt = copy.planeSize(); // of floats
    if (!usesDots)
      memory.weights = scratch;
    Values memories = memory.arguments();
    k.loop(begin, end_, 1, [&](Value t) {
      Index plane = k.div(t, rowBlocks), channelBlock = k.rem(plane, blocks),
            row = k.mul(k.rem(t, rowBlocks), rowBlock);
      copy.emit(k, in, k.mul(plane, inPlane),
                k.sub(k.mul(row, w.strideRows), w.top), scratch, fill);
      Index blockWeights = k.mul(channelBlock, weightBlock);
      if (!usesDots) {
        widenWeights(weights, blockWeights, scratch, weightsAt);
        blockWeights = weightsAt;
      }
      auto call = [&](PixelTile part, Index r, Index c) {
        k.callMicroKernel(
            nameOf(part), memories,
            {k.add(k.mul(r, w.strideRows * copy.rowSize()),
                   k.mul(c, w.strideCols * block)),
             blockWeights,
             k.add(k.add(k.mul(plane, outPlane), k.mul(k.add(row, r), outRow)),
                   k.mul(c, block)),
             k.mul(channelBlock, block)},
            [&](ValueRange args) { microKernel(args, part); });
      };
      auto columns = [&](int64_t rows, Index r) {
        int64_t whole = w.outWidth / tile.cols, rest = w.outWidth % tile.cols;
        k.repeat(whole, [&](Index i) {
          call({rows, tile.cols}, r, k.mul(i, tile.cols));
        });
        if (rest)
          call({rows, rest}, r, whole * tile.cols);
      };
      // Whole row groups of the block, then a smaller one, in the last block.
      Index count = k.min(rowBlock, k.sub(w.outHeight, row));
      int64_t odd = w.outHeight % tile.rows;
      k.loop(0, k.sub(count, tile.rows - 1), tile.rows,
             [&](Value r) { columns(tile.rows, r); });
      if (odd) {
        Index done = k.mul(k.div(count, tile.rows), tile.rows);
        k.ifThen(k.less(done, count), [&] { columns(odd, done); });
      }
    });
  };
  k.kernel(symbol, op, body, {},
           usesDots ? Type(k.b.getI8Type()) : Type(k.b.getF32Type()));
  KernelInfo info;
  int64_t planes = w.batch * blocks;
  info.tiles = planes * rowBlocks;
  info.scratchBytes = copy.scratchBytes() +
                      (usesDots ? 0 : w.kernelRows * w.kernelCols * block * 4);
  info.maps = {
      TileMap::grid({{planes, outPlane}, {w.outHeight, outRow}, {outRow, 1}},
                    {{0, planes, 1}, {1, rowBlocks, rowBlock}})};
  return info;
}

namespace {

class QConvDepthwise : public CpuRoutine {
public:
  QConvDepthwise()
      : CpuRoutine("qconv.depthwise.nChw16c",
                   "one 8-bit channel a group; lanes are channels, quads are "
                   "columns") {}
  std::string misfit(Operation *layer) const override {
    if (std::string misfit = misfitOfBytes(layer); !misfit.empty())
      return misfit;
    auto op = cast<nn::QConvOp>(layer);
    WindowShape w(op);
    constexpr int64_t mostTaps = 100; // the code is one straight line
    if (w.channels != int64_t(op.getGroups()) || w.outChannels != w.channels ||
        w.channels == 1)
      return "its groups are not one channel each, of input and output";
    if (op.getRows())
      return "it adds a number for each position";
    return w.kernelRows * w.kernelCols <= mostTaps
               ? ""
               : "its window has more taps than are unrolled";
  }
  Extension extension(Operation *) const override {
    return Extension::DotProducts;
  }
  LayoutRequest layouts(Operation *layer) const override {
    return quantizedLayouts(cast<nn::QConvOp>(layer), columnQuadTag);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::QConvOp>(layer);
    return QDepthwiseEmitter(k, op).emit(op, symbol);
  }
  Work work(Operation *layer) const override {
    auto op = cast<nn::QConvOp>(layer);
    WindowShape w(op);
    double taps = double(w.kernelRows * llvm::alignTo(w.kernelCols, 4));
    return {taps * double(w.outHeight * w.outWidth * w.batch) *
                double(llvm::alignTo(w.channels, block)),
            bytesOf(layer)};
  }
};

} // namespace

Variants codegen::qconvDepthwiseRoutine() {
  return onlyRoutine<QConvDepthwise>();
}
