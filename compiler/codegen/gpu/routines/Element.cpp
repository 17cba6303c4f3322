//===- Element.cpp - Any layer, one element an invocation -----------------===//

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

#include <cassert>

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// Elements that the tensor has in memory, padding included.
int64_t storedElements(Value tensor) {
  return nn::Layout::of(nn::typeOf(tensor)).size();
}

/// Emits the element of the result at a position in its memory, and stores it.
void emitElement(GpuBuilder &k, Operation *layer, ElementEmitter &e,
                 const ElementProgram &program, Coord offset, Value output) {
  const TensorView &out = program.output;
  Coords index(out.shape.size(), Coord(0));
  int64_t stride = 1;
  for (const nn::Layout::Axis &axis : llvm::reverse(out.axes)) {
    assert(axis.stride == stride && "axes are in the order of memory");
    Coord position = e.at.rem(e.at.div(offset, stride), axis.extent);
    index[axis.dim] = e.at.add(index[axis.dim], e.at.mul(position, axis.step));
    stride *= axis.extent;
  }
  // Padding becomes zero.
  Condition inside;
  for (size_t d = 0; d < out.shape.size(); ++d) {
    if (index[d].hi < out.shape[d])
      continue;
    inside = e.at.both(inside, e.at.less(index[d], out.shape[d]));
    index[d].hi = out.shape[d] - 1;
  }
  e.setRoot(index, out, offset);
  Type element = nn::typeOf(layer->getResult(0)).getElementType();
  Value x = e.guarded(inside, k.number(0, computeType(element)),
                      [&] { return e.element(program.root, index); });
  k.store(toStorage(k, x, element), output, offset.base);
}

/// The recursion through layers of the CPU's routine of that name, with one
/// lane an invocation.
class ElementRoutine : public GpuRoutine {
public:
  ElementRoutine()
      : GpuRoutine(
            "gpu.element",
            "any layer of one result, one element an invocation; chains of "
            "layers in one pass") {}
  bool isFallback() const override { return true; }
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
  std::string misfit(Operation *layer) const override {
    if (!hasElementKernel(layer))
      return noElementKernel;
    auto isTooLarge = [](Value tensor) {
      return nn::storageSize(tensor) > GpuTarget::maxBufferBytes;
    };
    if (llvm::any_of(layer->getOperands(), isTooLarge) ||
        isTooLarge(layer->getResult(0)))
      return GpuTarget::tooLarge;
    if (layer->getNumOperands() >= GpuTarget::maxBindings)
      return "it has more operands than a kernel binds (" +
             std::to_string(GpuTarget::maxBindings) + ")";
    // Places in tensors that exist only in between are 32 bits wide as well.
    for (Operation *op : ElementProgram::of(layer).ops)
      if (storedElements(op->getResult(0)) > int64_t(INT32_MAX) / 2)
        return "a tensor has too many elements for indices of 32 bits";
    return "";
  }

  KernelNeeds needs(Operation *layer) const override {
    return KernelNeeds(ElementProgram::of(layer));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override;
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    // Elements are those that memory begins with.
    RankedTensorType type = nn::typeOf(layer->getResult(0));
    int64_t unit = positionsTogether(type, dim);
    return FrontMemory::of(type, dim, unit).pieces == 1 ? unit : 0;
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    FrontMemory front = frontOfResult(layer, cut);
    GpuDispatch dispatch = FlatGrid::over(front, FlatGrid::invocations);
    dispatch.append({front.size});
    return oneStep(layer, cut, keyOfCode(layer), std::move(dispatch),
                   elementSteps(layer));
  }
};

void ElementRoutine::emit(GpuBuilder &k, Operation *layer, unsigned) const {
  ElementEmitter e(k, k.b.getI32Type());
  ElementProgram program = ElementProgram::of(layer);
  simplifyViews(e, program);
  SmallVector<Type> operands;
  auto bind = [&](Value tensor) {
    operands.push_back(storageType(nn::typeOf(tensor).getElementType()));
  };
  bind(layer->getResult(0));
  llvm::for_each(layer->getOperands(), bind);
  int64_t elements = storedElements(layer->getResult(0));
  k.kernel(operands, 1, FlatGrid::localSize, [&](ValueRange memories) {
    if (program.output.elements() == 0)
      return;
    for (auto [leaf, memory] : llvm::zip(program.leaves, memories.drop_front()))
      e.addLeaf(leaf, memory);
    // The word says how many elements to compute; the constant keeps a wrong
    // one inside of the result.
    Value count = k.minUnsigned(k.pushWord(0), k.constant(elements));
    FlatGrid::forEach(k, count, [&](Value place) {
      emitElement(k, layer, e, program, Coord(place, 0, elements - 1),
                  memories.front());
    });
  });
}

} // namespace

const Routine *gpuElementRoutine() { return theRoutine<ElementRoutine>(); }

} // namespace nnv12::codegen
