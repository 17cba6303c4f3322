//===- GpuRoutine.cpp - How a GPU computes a layer ------------------------===//

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/codegen/gpu/SpirvLowering.h"

#include "artifact/Digest.h"
#include "compiler/routines/KernelKey.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// A kernel as it is written, before anything is made of it.
struct Code {
  GpuBuilder builder;
  OwningOpRef<ModuleOp> module;

  Code(Operation *layer, const GpuRoutine &routine, HalfKernel kernel,
       const GpuTarget &target)
      : builder(*layer->getContext(), target, kernel.half),
        module(builder.module) {
    routine.emit(builder, layer, kernel.kernel);
  }
};

} // namespace

GpuDispatch GpuDispatch::over(TileMap memory,
                              std::array<int64_t, 3> positions) {
  GpuDispatch result;
  for (unsigned axis : {0, 1, 2}) {
    int64_t taken = positions[2 - axis],
            extent = memory.parts[0].box.extent(axis);
    result.groups[2 - axis] = uint32_t(llvm::divideCeil(extent, taken));
    memory.shareOut({axis}, taken);
  }
  result.maps.push_back(std::move(memory));
  return result;
}

std::string GpuRoutine::refusal(Operation *layer,
                                const GpuTarget &target) const {
  std::string reason = misfit(layer);
  return reason.empty() ? needs(layer).refusal(target) : reason;
}

GpuSteps GpuRoutine::steps(Operation *layer) const {
  return stepsOf(layer, wholeCut(layer));
}

GpuSteps GpuRoutine::front(Operation *layer, Cut cut) const {
  if (isWholeCut(layer, cut))
    return steps(layer);
  assert(cut.dim < numCutDims && cut.at > 0 &&
         cut.at < cutExtent(layer, cut.dim) && "a position of the result");
  assert(cutUnit(layer, cut.dim) && cut.at % cutUnit(layer, cut.dim) == 0 &&
         "a front can end there");
  GpuSteps result = stepsOf(layer, cut);
  setTouchedParts(result, layer, *this, cut);
  return result;
}

std::string GpuRoutine::keyOfCode(Operation *layer) const {
  GpuTarget all = GpuTarget::everything();
  Code code(layer, *this, HalfKernel(), all);
  std::string text;
  llvm::raw_string_ostream(text) << *code.module;
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return name().str() + " " +
         llvm::toHex(llvm::ArrayRef(digest.bytes, 16), /*LowerCase=*/true);
}

GpuSteps GpuRoutine::oneStep(Operation *layer, Cut cut, std::string key,
                             GpuDispatch dispatch, double inner) const {
  GpuSteps result;
  result.kernels.push_back(std::move(key));
  if (llvm::is_contained(dispatch.groups, 0u))
    return result;
  GpuStep step;
  static_cast<GpuDispatch &>(step) = std::move(dispatch);
  using Kind = GpuStepOperand::Kind;
  for (unsigned i = 0; i < layer->getNumResults(); ++i)
    step.operands.push_back({Kind::Result, i});
  for (unsigned i = 0; i < layer->getNumOperands(); ++i)
    step.operands.push_back({Kind::Operand, i});
  step.grid = workOfFront(work(layer), layer, cut);
  step.grid.steps = inner;
  result.steps.push_back(std::move(step));
  return result;
}

/// The name by which device profiles know a step. The kernel's number, if
/// there are several, and the variant follow the routine's name, since the
/// times of different kernels have nothing in common.
static std::string timedName(StringRef routine, const GpuSteps &steps,
                             size_t i) {
  const GpuStep &step = steps.steps[i];
  std::string name = steps.family.empty() ? routine.str() : steps.family;
  if (steps.kernels.size() > 1)
    name += "." + std::to_string(step.kernel);
  if (!step.variant.empty())
    name += "." + step.variant;
  return name;
}

std::vector<KernelFacts> codegen::stepFacts(Operation *layer,
                                            const GpuRoutine &routine,
                                            const GpuSteps &plain,
                                            const GpuSteps &steps,
                                            const GpuTarget &target) {
  std::string key = kernelKey(layer, routine, target.name);
  std::vector<KernelFacts> result;
  for (auto [i, step] : llvm::enumerate(steps.steps)) {
    result.push_back(
        {step.grid, timedName(routine.name(), plain, i),
         i ? key + "." + std::to_string(i) : key,
         double(step.groups[0]) * step.groups[1] * step.groups[2]});
    ++result.back().barriers; // that before it
  }
  return result;
}

FailureOr<SpirvModule> codegen::compileKernel(Operation *layer,
                                              const GpuRoutine &routine,
                                              HalfKernel kernel,
                                              const GpuTarget &target) {
  Code code(layer, routine, kernel, target);
  return lowerToSpirv(*code.module, target);
}

void codegen::printGpuRoutines(llvm::raw_ostream &os) {
  os << "\n## Routines of GPUs\n\nIn order of preference "
        "([GPUs](gpu.md)).\n\n| routine | what it is |\n|---|---|\n";
  for (const Routine *routine : gpuRoutines().all())
    os << "| `" << routine->name() << "` | " << routine->summary() << " |\n";
}
