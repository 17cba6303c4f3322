//===- Normalize.cpp - Zero mean and unit variance ------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"
#include "compiler/routines/Work.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// normalize: dense, the last dimensions as rows. Mean and variance are two
/// passes over a row, which stays in the cache: one pass would cancel.
class NormalizeRoutine : public CpuRoutine {
public:
  NormalizeRoutine()
      : CpuRoutine("normalize", "zero mean and unit variance of rows") {}
  bool matches(Operation *layer) const override {
    return isa<nn::NormalizeOp>(layer);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  llvm::StringRef symbol) const override;
  Work work(Operation *layer) const override {
    return {stepsPerElement * double(elementsOf(layer->getResult(0))),
            bytesOf(layer)};
  }

private:
  static constexpr double stepsPerElement = 4;
};

KernelInfo NormalizeRoutine::emit(KernelBuilder &k, Operation *layer,
                                  llvm::StringRef symbol) const {
  auto op = cast<nn::NormalizeOp>(layer);
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  int64_t rows = 1, n = 1;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < int64_t(op.getAxis()) ? rows : n) *= shape[d];
  if (n == 0)
    rows = 0;
  UnitGrid grid({rows}, stepsPerElement * n);
  KernelInfo info;
  info.tiles = grid.tiles();
  info.maps = {TileMap::grid({{rows, n}, {n, 1}}, grid.cuts({0}, {1}))};
  info.inPlaceOperands = {0};
  k.kernel(symbol, memoriesOf(layer),
           [&](ValueRange operands, Value, Value begin, Value end) {
             Elements out(k, operands[0], op.getOutput()),
                 in(k, operands[1], op.getInput());
             Type type = in.compute();
             FloatMath scalar(k, type), m(k, k.vec(k.VL, type));
             auto add = [&](Value x, Value y) {
               return FloatMath(k, x.getType()).add(x, y);
             };
             forUnits(k, grid, begin, end, [&](Index row) {
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
               Value deviation = scalar.sqrt(scalar.add(
                   variance, scalar.c(op.getEpsilon().convertToDouble())));
               Value factor =
                   k.broadcast(scalar.div(scalar.c(1), deviation), k.VL);
               forVectors(k, n, k.VL, [&](Index i, int64_t active) {
                 out.store(m.mul(m.sub(load(i, active), means), factor),
                           k.add(start, i), active);
               });
             });
           });
  return info;
}

} // namespace

const Routine *normalizeRoutine() {
  static const NormalizeRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
