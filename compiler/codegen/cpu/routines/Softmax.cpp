//===- Softmax.cpp - Softmax and its logarithm ----------------------------===//
//
// softmax: dense, along any axis. Along the innermost one a row is read as
// vectors; along another, the lanes are neighbouring rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// One row whose elements follow each other.
void emitRow(KernelBuilder &k, const Elements &in, const Elements &out,
             Index start, int64_t n, bool log) {
  Type type = in.compute();
  FloatMath scalar(k, type), m(k, k.vec(k.VL, type));
  auto load = [&](Index i, int64_t active) {
    return in.load(k.add(start, i), k.VL, active);
  };
  Value largest =
      foldRow(k, n, scalar.c(-std::numeric_limits<double>::infinity()), load,
              [&](Value x, Value y) {
                FloatMath any(k, x.getType());
                return any.select(any.greater(x, y), x, y);
              });
  Value max = k.broadcast(largest, k.VL);
  // f32 and f64 store the exponentials on the way; narrower types compute them
  // twice.
  bool keep = !log && in.element == type;
  auto power = [&](Index i, int64_t active) {
    return m.expUpTo88(m.sub(load(i, active), max));
  };
  Value sum = foldRow(
      k, n, scalar.c(0),
      [&](Index i, int64_t active) {
        Value e = power(i, active);
        if (keep)
          out.store(e, k.add(start, i), active);
        return e;
      },
      [&](Value x, Value y) { return FloatMath(k, x.getType()).add(x, y); });
  Value factor =
      k.broadcast(log ? scalar.log(sum) : scalar.div(scalar.c(1), sum), k.VL);
  forVectors(k, n, k.VL, [&](Index i, int64_t active) {
    Value y = log    ? m.sub(m.sub(load(i, active), max), factor)
              : keep ? m.mul(out.load(k.add(start, i), k.VL, active), factor)
                     : m.mul(power(i, active), factor);
    out.store(y, k.add(start, i), active);
  });
}

/// `active` rows side by side, `stride` elements between the elements of one.
void emitRows(KernelBuilder &k, const Elements &in, const Elements &out,
              Index start, int64_t n, int64_t stride, int64_t active,
              bool log) {
  VectorType type = k.vec(k.VL, in.compute());
  FloatMath m(k, type);
  auto at = [&](Value i) { return k.add(start, k.mul(Index(i), stride)); };
  auto load = [&](Value i) { return in.load(at(i), k.VL, active); };
  Value max = k.loop(0, n, 1, {m.c(-std::numeric_limits<double>::infinity())},
                     [&](Value i, ValueRange s) {
                       Value x = load(i);
                       return Values{m.select(m.greater(x, s[0]), x, s[0])};
                     })[0];
  bool keep = !log && in.element == in.compute();
  Value sum = k.loop(0, n, 1, {m.c(0)}, [&](Value i, ValueRange s) {
    Value e = m.expUpTo88(m.sub(load(i), max));
    if (keep)
      out.store(e, at(i), active);
    return Values{m.add(s[0], e)};
  })[0];
  Value factor = log ? m.log(sum) : m.div(m.c(1), sum);
  k.loop(0, n, 1, [&](Value i) {
    Value y = log    ? m.sub(m.sub(load(i), max), factor)
              : keep ? m.mul(out.load(at(i), k.VL, active), factor)
                     : m.mul(m.expUpTo88(m.sub(load(i), max)), factor);
    out.store(y, at(i), active);
  });
}

class SoftmaxRoutine : public RowsRoutine<nn::SoftmaxOp> {
public:
  SoftmaxRoutine()
      : RowsRoutine("softmax", "softmax and its logarithm along an axis") {}

protected:
  KernelInfo emitOp(KernelBuilder &k, nn::SoftmaxOp op,
                    StringRef symbol) const override {
    RowGroups rows(k, AxisView(shapeOf(op.getInput()), op.getAxis()));
    const AxisView &view = rows.view;
    return rows.emit(
        k, op, symbol, stepsPerElement(op),
        [&](const Elements &in, const Elements &out, Index unit) {
          Index start = k.mul(k.div(unit, rows.groups), view.size * view.inner);
          if (view.inner == 1)
            return emitRow(k, in, out, start, view.size, op.getLog());
          Index group = k.rem(unit, rows.groups);
          start = k.add(start, k.mul(group, k.VL));
          rows.forActive(k, group, [&](int64_t active) {
            emitRows(k, in, out, start, view.size, view.inner, active,
                     op.getLog());
          });
        });
  }

  double stepsPerElement(nn::SoftmaxOp) const override { return 16; }
};

} // namespace

Variants codegen::softmaxRoutine() { return onlyRoutine<SoftmaxRoutine>(); }
