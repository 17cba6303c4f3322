//===- Pool.cpp - Pooling in channel blocks -------------------------------===//
//
// pool.nChw16c: input and result in blocks of 16 channels, of f32 or, for a
// maximum, of 8-bit integers.
//
//   for tile = (image and channel block, row block)
//     for output row, column tile, vector of the block
//       for kernel row: every input pixel is loaded once for all columns
//
// An average is the sum divided by how many elements count, which differs at
// the borders: columns are known now, rows when the kernel runs.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/SlidingWindow.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class PoolEmitter {
public:
  PoolEmitter(KernelBuilder &k, nn::PoolOp op,
              const std::optional<Cells> &cells = std::nullopt)
      : k(k), isMax(op.getKind() == nn::PoolKind::max),
        countPadding(op.getCountIncludePad()), high(countedPadsHigh(op)),
        window(k.target, WindowShape(op), cells, high.back()), w(window.w),
        element(op.getType().getElementType()), isByte(element.isInteger(8)),
        lanes(isByte ? block : k.VL) {}
  KernelInfo emit(nn::PoolOp op, StringRef symbol);

private:
  Value combine(Value acc, Value x);
  /// The result of a window without elements.
  Value none();
  void microKernel(ValueRange args, const ColumnTile &tile);

  KernelBuilder &k;
  bool isMax, countPadding;
  ArrayRef<int64_t> high;
  SlidingWindow window;
  const WindowShape &w;
  Type element;
  bool isByte;
  int64_t lanes; ///< of a vector of elements
};

Value PoolEmitter::none() {
  if (isByte)
    return k.iconst(element.isUnsignedInteger() ? 0 : -128,
                    k.vec(lanes, k.b.getI8Type()));
  double none = isMax ? -std::numeric_limits<double>::infinity() : 0.0;
  return k.fconst(none, k.vec(k.VL));
}

Value PoolEmitter::combine(Value acc, Value x) {
  if (isByte && element.isUnsignedInteger())
    return arith::MaxUIOp::create(k.b, x, acc);
  if (isByte)
    return arith::MaxSIOp::create(k.b, x, acc);
  if (!isMax)
    return arith::AddFOp::create(k.b, acc, x);
  Value larger = arith::CmpFOp::create(k.b, arith::CmpFPredicate::OGT, x, acc);
  return k.select(larger, x, acc);
}

/// Arguments: in, out, their offsets, the kernel rows inside the input, those
/// that count, the rows' distance where the kernel is compact and, where blocks
/// have padding, the channels from the block's first one on.
void PoolEmitter::microKernel(ValueRange args, const ColumnTile &tile) {
  Value in = args[0], out = args[1], inAt = args[2], outAt = args[3],
        rows = args[4], countedRows = args[5];
  Index rowStep = window.isCompact() ? Index(args[6]) : window.rowStep();
  Type f32 = k.b.getF32Type();
  Value rowCount = arith::UIToFPOp::create(
      k.b, f32, arith::IndexCastOp::create(k.b, k.b.getI32Type(), countedRows));
  auto compute = [&](Index vector) {
    Index lane = k.mul(vector, lanes);
    Values acc(tile.count, none());
    acc = k.loop(0, rows, 1, acc, [&](Value ky, ValueRange carried) {
      Values acc(carried);
      for (auto &[column, taps] : tile.columns) {
        Value x = k.load(
            in,
            k.add(k.add(inAt, k.mul(ky, rowStep)), k.add(lane, column * block)),
            lanes);
        for (ColumnTile::Tap tap : taps)
          acc[tap.pixel] = combine(acc[tap.pixel], x);
      }
      return acc;
    });
    for (int64_t p = 0; p < tile.count; ++p) {
      if (!isMax) {
        int64_t cols = countPadding ? tile.counted[p] : tile.inside[p];
        Value count =
            arith::MulFOp::create(k.b, rowCount, k.fconst(double(cols), f32));
        acc[p] = arith::DivFOp::create(k.b, acc[p], k.broadcast(count, k.VL));
      }
      // A window outside of the input has none, or the average of nothing.
      if (window.hasPadding())
        acc[p] = k.keepLanes(acc[p], k.sub(args.back(), lane));
      k.store(acc[p], out, k.add(k.add(outAt, p * block), lane));
    }
  };
  if (window.isCompact())
    k.repeat(block / lanes, compute);
  else
    for (int64_t vector = 0; vector < block / lanes; ++vector)
      compute(vector);
}

KernelInfo PoolEmitter::emit(nn::PoolOp op, StringRef symbol) {
  KernelInfo info = window.plan(
      double(w.outHeight * w.outWidth * w.kernelRows * w.kernelCols));
  int64_t inPlane = w.height * w.width * block,
          outPlane = w.outHeight * w.outWidth * block;
  int64_t countedBottom = high.size() == 1 ? 0 : high[0];
  k.kernel(symbol, op, [&](ValueRange operands, Value, Value begin, Value end) {
    auto computeRow = [&](const OutputRow &row) {
      Index plane = row.plane, y = row.row;
      KernelRows rows = window.kernelRows(k, y);
      Index inside = k.sub(rows.high, rows.low), counted = inside;
      if (countPadding) {
        Index below = k.max(0, k.sub(w.height + countedBottom, rows.top));
        counted = k.min(k.div(k.add(below, w.dilationRows - 1), w.dilationRows),
                        w.kernelRows);
      }
      Index firstRow = k.add(rows.top, k.mul(rows.low, w.dilationRows));
      Index in = k.add(k.add(k.mul(plane, inPlane), -w.left * block),
                       k.mul(firstRow, w.width * block));
      Index out = k.add(k.mul(plane, outPlane), k.mul(y, w.outWidth * block));
      window.forEachTile(k, row, [&](const ColumnTile &tile, Index first) {
        std::string name =
            (isByte         ? (element.isUnsignedInteger() ? "pool_max_ui8_k"
                                                           : "pool_max_i8_k")
             : isMax        ? "pool_max_k"
             : countPadding ? "pool_average_all_k"
                            : "pool_average_k") +
            std::to_string(w.kernelCols) + "_s" + std::to_string(w.strideCols) +
            "_d" + std::to_string(w.dilationCols) +
            (window.isCompact()
                 ? ""
                 : "_" + std::to_string(w.dilationRows * w.width)) +
            (window.hasPadding() ? "_padded_" : "_") + tile.name;
        SmallVector<Index> at = {k.add(in, k.mul(first, w.strideCols * block)),
                                 k.add(out, k.mul(first, block)), inside,
                                 counted};
        if (window.isCompact())
          at.push_back(window.rowStep());
        if (window.hasPadding())
          at.push_back(
              k.sub(w.channels, k.mul(k.rem(plane, window.blocks), block)));
        k.callMicroKernel(name, {operands[1], operands[0]}, at,
                          [&](ValueRange args) { microKernel(args, tile); });
      });
    };
    window.forEachRow(k, operands[0], begin, end, computeRow);
  });
  return info;
}

/// Whether it is that, with one or two spatial dimensions.
bool isMaximumOfBytes(nn::PoolOp op) {
  size_t rank = shapeOf(op.getInput()).size();
  return op.getKind() == nn::PoolKind::max && (rank == 3 || rank == 4) &&
         op.getType().getElementType().isInteger(8) &&
         elementsOf(op.getInput()) > 0 && elementsOf(op.getOutput()) > 0;
}

class Pool : public CpuRoutine {
public:
  Pool()
      : CpuRoutine("pool.nChw16c",
                   "maximum or average of a window; lanes are channels") {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::PoolOp>(layer);
    if (!op || !(hasBlockableWindow(op) || isMaximumOfBytes(op)))
      return "it is no pooling of f32, nor a maximum of 8-bit integers, with "
             "one or two spatial dimensions";
    return misfitOfColumns(op.getKernel().back());
  }
  LayoutRequest layouts(Operation *layer) const override {
    std::string tag = blockedTag(shapeOf(layer->getOperand(0)).size());
    return {{tag}, {tag}};
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::PoolOp>(layer);
    return PoolEmitter(k, op).emit(op, symbol);
  }
  std::optional<Cells> cells(Operation *layer) const override {
    return cellsOfPlane(layer, SlidingWindow::cellCols, CellGrain::Fine);
  }
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    auto op = cast<nn::PoolOp>(layer);
    return PoolEmitter(k, op, size).emit(op, symbol);
  }
  Work work(Operation *layer) const override {
    auto op = cast<nn::PoolOp>(layer);
    WindowShape w(op);
    return {w.insideTaps() * double(llvm::alignTo(w.channels, block)),
            bytesOf(layer)};
  }
};

} // namespace

Variants codegen::poolRoutine() { return onlyRoutine<Pool>(); }
