//===- CumSum.cpp - Running sums and products -----------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"
#include "compiler/routines/Work.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// cumsum: dense. Lanes are neighbouring rows, or there is one lane where the
/// axis is the innermost.
class CumSumRoutine : public CpuRoutine {
public:
  CumSumRoutine()
      : CpuRoutine("cumsum",
                   "running sums and products; lanes are neighbouring rows") {}
  bool matches(Operation *layer) const override {
    return isa<nn::CumSumOp>(layer);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  llvm::StringRef symbol) const override;
  Work work(Operation *layer) const override {
    return {double(elementsOf(layer->getResult(0))), bytesOf(layer)};
  }
};

KernelInfo CumSumRoutine::emit(KernelBuilder &k, Operation *layer,
                               llvm::StringRef symbol) const {
  auto op = cast<nn::CumSumOp>(layer);
  AxisView view(shapeOf(op.getInput()), op.getAxis());
  int64_t lanes = view.inner > 1 ? k.VL : 1;
  int64_t groups = (view.inner + lanes - 1) / lanes;
  UnitGrid grid({view.elements() ? view.outer : 0, groups},
                2.0 * view.size * lanes);
  KernelInfo info;
  info.tiles = grid.tiles();
  info.maps = {view.tileMap(grid, lanes)};
  info.inPlaceOperands = {0};
  k.kernel(symbol, memoriesOf(layer),
           [&](ValueRange operands, Value, Value begin, Value end) {
             Elements out(k, operands[0], op.getOutput()),
                 in(k, operands[1], op.getInput());
             Type type =
                 lanes > 1 ? Type(k.vec(lanes, in.compute())) : in.compute();
             bool product = op.getProduct();
             auto kind = product ? nn::BinaryKind::mul : nn::BinaryKind::add;
             Value neutral = isa<FloatType>(in.compute())
                                 ? k.fconst(product, type)
                                 : k.iconst(product, type);
             auto run = [&](Index start, int64_t active) {
               k.loop(0, view.size, 1, {neutral}, [&](Value i, ValueRange s) {
                 Index step = op.getReverse() ? k.sub(view.size - 1, Index(i))
                                              : Index(i);
                 Index at = k.add(start, k.mul(step, view.inner));
                 Value x = lanes > 1 ? in.load(at, lanes, active) : in.load(at);
                 Value result = emitBinary(k, kind, s[0], x);
                 Value y = op.getExclusive() ? s[0] : result;
                 if (lanes > 1)
                   out.store(y, at, active);
                 else
                   out.store(y, at);
                 return Values{result};
               });
             };
             forUnits(k, grid, begin, end, [&](Index unit) {
               Index group = k.rem(unit, groups);
               Index start =
                   k.add(k.mul(k.div(unit, groups), view.size * view.inner),
                         k.mul(group, lanes));
               int64_t tail = view.inner % lanes;
               if (!tail)
                 return run(start, lanes);
               if (groups == 1)
                 return run(start, tail);
               k.ifElse(
                   k.less(group, groups - 1), {},
                   [&] {
                     run(start, lanes);
                     return Values();
                   },
                   [&] {
                     run(start, tail);
                     return Values();
                   });
             });
           });
  return info;
}

} // namespace

const Routine *cumSumRoutine() {
  static const CumSumRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
