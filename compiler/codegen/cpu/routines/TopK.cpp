//===- TopK.cpp - The largest elements along an axis ----------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// topk: dense. Sorts the indices of a row in scratch, bottom up, by merging:
/// it is stable, so that the lower index stays first among equals, and no
/// comparison, of NaN for example, can lead it out of the row.
class TopKRoutine : public RowsRoutine<nn::TopKOp> {
public:
  TopKRoutine()
      : RowsRoutine(
            "topk",
            "the largest elements along an axis, by a stable merge sort") {}

protected:
  KernelInfo emitOp(KernelBuilder &k, nn::TopKOp op,
                    StringRef symbol) const override;
  double stepsPerElement(nn::TopKOp op) const override {
    return 10.0 * (passesOf(shapeOf(op.getInput())[op.getAxis()]) + 1);
  }

private:
  /// Merging passes over a row of n elements.
  static int passesOf(int64_t n) { return n ? llvm::Log2_64_Ceil(n) : 0; }
};

KernelInfo TopKRoutine::emitOp(KernelBuilder &k, nn::TopKOp op,
                               StringRef symbol) const {
  AxisView view(shapeOf(op.getInput()), op.getAxis());
  int64_t n = view.size, count = op.getK();
  int passes = passesOf(n);
  UnitGrid grid({n && count ? view.outer : 0, view.inner},
                n * stepsPerElement(op));
  AxisView kept = view;
  kept.size = count;
  KernelInfo info = emitUnits(
      k, op, symbol, grid, kept.tileMap(grid, 1),
      [&](ValueRange operands, Value scratch, Index unit) {
        Elements values(k, operands[0], op.getValues()),
            in(k, operands[2], op.getInput());
        IndexList list{k, scratch};
        bool isUnsigned = in.element.isUnsignedInteger();
        auto better = [&](Value x, Value y) {
          return emitBinary(k,
                            op.getLargest() ? nn::BinaryKind::greater
                                            : nn::BinaryKind::less,
                            x, y, isUnsigned);
        };
        Index outer = k.div(unit, view.inner), inner = k.rem(unit, view.inner);
        Index row = k.add(k.mul(outer, n * view.inner), inner);
        auto valueOf = [&](Value i) {
          return in.load(k.add(row, k.mul(Index(i), view.inner)));
        };
        k.loop(0, n, 1, [&](Value i) { list.set(Index(i), i); });
        for (int pass = 0; pass < passes; ++pass) {
          int64_t width = int64_t(1) << pass;
          Index source = pass % 2 ? n : 0, target = pass % 2 ? 0 : n;
          k.loop(0, n, 2 * width, [&](Value start) {
            Value middle = k.val(k.min(Index(start, width), n));
            Value last = k.val(k.min(Index(start, 2 * width), n));
            k.loop(
                Index(start), Index(last), 1, {start, middle},
                [&](Value at, ValueRange s) {
                  Value left = s[0], right = s[1];
                  Value leftLeft = k.less(Index(left), Index(middle));
                  Value rightLeft = k.less(Index(right), Index(last));
                  // An exhausted side is read at its last place, and not
                  // taken.
                  Value i = list[k.add(
                      source, k.min(Index(left), k.sub(Index(middle), 1)))];
                  Value j = list[k.add(
                      source, k.min(Index(right), k.sub(Index(last), 1)))];
                  Value takeRight =
                      k.bitAnd(rightLeft, better(valueOf(j), valueOf(i)));
                  Value no = k.bitXor(leftLeft, k.iconst(1, k.b.getI1Type()));
                  takeRight = k.bitOr(takeRight, k.bitAnd(rightLeft, no));
                  Value step = arith::IndexCastUIOp::create(
                      k.b, k.b.getIndexType(), takeRight);
                  list.set(k.add(target, Index(at)), k.select(takeRight, j, i));
                  Value one = k.constant(1);
                  return Values{
                      arith::AddIOp::create(
                          k.b, left, arith::SubIOp::create(k.b, one, step)),
                      arith::AddIOp::create(k.b, right, step)};
                });
          });
        }
        Index sorted = passes % 2 ? n : 0;
        Index target = k.add(k.mul(outer, count * view.inner), inner);
        k.loop(0, count, 1, [&](Value i) {
          Value place = list[k.add(sorted, Index(i))];
          Index at = k.add(target, k.mul(Index(i), view.inner));
          values.store(valueOf(place), at);
          k.store(arith::IndexCastOp::create(k.b, k.b.getI64Type(), place),
                  operands[1], at);
        });
      });
  info.scratchBytes = 2 * n * sizeof(int32_t);
  return info;
}

} // namespace

Variants codegen::topKRoutine() { return onlyRoutine<TopKRoutine>(); }
