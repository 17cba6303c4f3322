//===- CumSum.cpp - Running sums and products -----------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// cumsum: dense. Lanes are neighbouring rows, or there is one lane where the
/// axis is the innermost.
class CumSumRoutine : public RowsRoutine<nn::CumSumOp> {
public:
  CumSumRoutine()
      : RowsRoutine("cumsum",
                    "running sums and products; lanes are neighbouring rows") {}

protected:
  KernelInfo emitOp(KernelBuilder &k, nn::CumSumOp op,
                    StringRef symbol) const override;
  double stepsPerElement(nn::CumSumOp) const override { return 1; }
};

KernelInfo CumSumRoutine::emitOp(KernelBuilder &k, nn::CumSumOp op,
                                 StringRef symbol) const {
  RowGroups rows(k, AxisView(shapeOf(op.getInput()), op.getAxis()));
  const AxisView &view = rows.view;
  bool product = op.getProduct();
  auto kind = product ? nn::BinaryKind::mul : nn::BinaryKind::add;
  return rows.emit(
      k, op, symbol, 2.0,
      [&](const Elements &in, const Elements &out, Index unit) {
        bool vectors = rows.lanes > 1;
        Type type = vectors ? Type(k.vec(k.VL, in.compute())) : in.compute();
        Value neutral = k.number(product, type);
        Index group = k.rem(unit, rows.groups);
        Index start =
            k.add(k.mul(k.div(unit, rows.groups), view.size * view.inner),
                  k.mul(group, rows.lanes));
        rows.forActive(k, group, [&](int64_t active) {
          k.loop(0, view.size, 1, {neutral}, [&](Value i, ValueRange s) {
            Index step =
                op.getReverse() ? k.sub(view.size - 1, Index(i)) : Index(i);
            Index at = k.add(start, k.mul(step, view.inner));
            Value x = vectors ? in.load(at, k.VL, active) : in.load(at);
            Value result = emitBinary(k, kind, s[0], x);
            Value y = op.getExclusive() ? s[0] : result;
            if (vectors)
              out.store(y, at, active);
            else
              out.store(y, at);
            return Values{result};
          });
        });
      });
}

} // namespace

Variants codegen::cumSumRoutine() { return onlyRoutine<CumSumRoutine>(); }
