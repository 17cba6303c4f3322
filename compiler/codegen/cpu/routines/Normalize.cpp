//===- Normalize.cpp - Zero mean and unit variance ------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// normalize: dense, the last dimensions as rows. Mean and variance are two
/// passes over a row, which stays in the cache: one pass would cancel.
class NormalizeRoutine : public RowsRoutine<nn::NormalizeOp> {
public:
  NormalizeRoutine()
      : RowsRoutine("normalize", "zero mean and unit variance of rows") {}

protected:
  KernelInfo emitOp(KernelBuilder &k, nn::NormalizeOp op,
                    StringRef symbol) const override;
  double stepsPerElement(nn::NormalizeOp) const override { return 4; }
};

KernelInfo NormalizeRoutine::emitOp(KernelBuilder &k, nn::NormalizeOp op,
                                    StringRef symbol) const {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  int64_t rows = llvm::product_of(shape.take_front(op.getAxis())),
          n = llvm::product_of(shape.drop_front(op.getAxis()));
  if (n == 0)
    rows = 0;
  UnitGrid grid({rows}, stepsPerElement(op) * n);
  KernelInfo info = emitUnits(
      k, op, symbol, grid,
      TileMap::grid({{rows, n}, {n, 1}}, grid.cuts({0}, {1})),
      [&](ValueRange operands, Value, Index row) {
        Elements out(k, operands[0], op.getOutput()),
            in(k, operands[1], op.getInput());
        Type type = in.compute();
        FloatMath scalar(k, type), m(k, k.vec(k.VL, type));
        auto add = [&](Value x, Value y) {
          return FloatMath(k, x.getType()).add(x, y);
        };
        Index start = k.mul(row, n);
        auto load = [&](Index i, int64_t active) {
          return in.load(k.add(start, i), k.VL, active);
        };
        Value sum = foldRow(k, n, scalar.c(0), load, add);
        Value mean = scalar.div(sum, scalar.c(double(n)));
        Value means = k.broadcast(mean, k.VL);
        Value squares = foldRow(
            k, n, scalar.c(0),
            [&](Index i, int64_t active) {
              Value d = m.sub(load(i, active), means);
              return m.mul(d, d);
            },
            add);
        Value variance = scalar.div(squares, scalar.c(double(n)));
        Value deviation = scalar.sqrt(
            scalar.add(variance, scalar.c(op.getEpsilon().convertToDouble())));
        Value factor = k.broadcast(scalar.div(scalar.c(1), deviation), k.VL);
        forVectors(k, n, k.VL, [&](Index i, int64_t active) {
          out.store(m.mul(m.sub(load(i, active), means), factor),
                    k.add(start, i), active);
        });
      });
  info.inPlaceOperands = {0};
  return info;
}

} // namespace

Variants codegen::normalizeRoutine() { return onlyRoutine<NormalizeRoutine>(); }
