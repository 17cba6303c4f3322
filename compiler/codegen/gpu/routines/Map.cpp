//===- Map.cpp - Functions of single elements, four at once ---------------===//

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "dialects/nn/ConstantData.h"
#include "mlir/IR/OwningOpRef.h"

#include <cassert>

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// Pointwise layers of f32 in one layout, whatever it is, or of one element:
/// memory is a row of vectors. The module knows no extents.
class MapRoutine : public GpuRoutine {
public:
  MapRoutine()
      : GpuRoutine(
            "gpu.map",
            "pointwise layers of tensors in one layout, four elements an "
            "invocation") {}
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
  std::string misfit(Operation *layer) const override {
    if (!hasElementKernel(layer) || !isNonEmptyF32(layer))
      return "it is not computed element by element in f32";
    if (layer->getNumOperands() >= GpuTarget::maxBindings)
      return "it has more operands than a kernel binds (" +
             std::to_string(GpuTarget::maxBindings) + ")";
    // An element does not know its own index.
    auto isAlike = [](Operation *op) {
      if (auto constant = dyn_cast<nn::ConstantOp>(op))
        return nn::ConstantData::get(constant.getResult())->splat().has_value();
      return isa<nn::Elementwise>(op);
    };
    ElementProgram program = ElementProgram::of(layer);
    if (!llvm::all_of(program.ops, isAlike))
      return "its tensors do not lie in memory alike";
    // Layouts are looked at here, since any will do as long as it is one.
    GpuTarget all = GpuTarget::everything();
    GpuBuilder builder(*layer->getContext(), all);
    OwningOpRef<ModuleOp> module(builder.module);
    ElementEmitter e(builder, builder.b.getI32Type());
    simplifyViews(e, program);
    int64_t elements = program.output.elements();
    bool isFlat = program.output.shape.size() == 1 &&
                  program.output.axes.size() == 1 &&
                  llvm::all_of(program.leaves, [&](Value leaf) {
                    const TensorView &view = e.view(leaf);
                    return view.elements() == 1 || view.isLike(program.output);
                  });
    if (!isFlat)
      return "its tensors do not lie in memory alike";
    if (elements % lanes || elements < lanes)
      return "its elements are no whole vectors of four";
    if (elements * 4 > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
    return "";
  }

  KernelNeeds needs(Operation *layer) const override {
    return KernelNeeds(ElementProgram::of(layer));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override;
  GpuSteps steps(Operation *layer) const override {
    int64_t elements = nn::storageSize(layer->getResult(0)) / 4;
    GpuDispatch dispatch =
        FlatGrid::over(elements, FlatGrid::invocations * lanes);
    dispatch.append({elements / lanes});
    return oneStep(layer, keyOfCode(layer), std::move(dispatch),
                   elementSteps(layer));
  }
};

void MapRoutine::emit(GpuBuilder &k, Operation *layer, unsigned) const {
  ElementEmitter e(k, k.b.getI32Type());
  ElementProgram program = ElementProgram::of(layer);
  simplifyViews(e, program);
  auto isScalar = [&](Value leaf) { return e.view(leaf).elements() == 1; };
  SmallVector<Type> operands = {k.vec(lanes)};
  for (Value leaf : program.leaves)
    operands.push_back(isScalar(leaf) ? Type(k.b.getF32Type()) : k.vec(lanes));
  k.kernel(operands, 1, FlatGrid::localSize, [&](ValueRange memories) {
    FlatGrid::forEach(k, k.pushWord(0), [&](Value place) {
      e.withLanes(lanes, lanes, [&] {
        for (auto [leaf, memory] :
             llvm::zip(program.leaves, memories.drop_front()))
          e.addValue(leaf, k.load(memory, isScalar(leaf) ? Index(0) : place));
        // Where an element lies no longer matters.
        Value x = e.allLanes(e.element(program.root, Coord(0)));
        k.store(x, memories.front(), place);
      });
    });
  });
}

} // namespace

const Routine *gpuMapRoutine() { return theRoutine<MapRoutine>(); }

} // namespace nnv12::codegen
