//===- GpuRoutine.cpp - How a GPU computes a layer ------------------------===//

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/codegen/gpu/SpirvLowering.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

std::string GpuRoutine::refusalOfKernel(Operation *layer,
                                        const GpuTarget &target) const {
  GpuTarget all = GpuTarget::everything();
  GpuBuilder builder(*layer->getContext(), all);
  OwningOpRef<ModuleOp> module(builder.module);
  emit(builder, layer, SpirvModule::entry);
  if (failed(simplifyForSpirv(*module)))
    return "it cannot be simplified";
  GpuNeeds needs = needsOf(*module);
  if (!needs.impossible.empty())
    return "it computes in " + needs.impossible + ", as no GPU does";
  if (GpuFeatures missing = needs.features.missingFrom(target.features);
      !missing.empty())
    return "it needs " + missing.text() + ", which " + target.name + " lacks";
  return "";
}

const GpuRoutine *codegen::chooseGpuRoutine(Operation *layer,
                                            const GpuTarget &target,
                                            std::string &reason) {
  for (const Routine *routine : gpuRoutines().all()) {
    const GpuRoutine &own = GpuRoutine::of(*routine);
    reason = own.refusal(layer, target);
    if (reason.empty())
      return &own;
  }
  return nullptr;
}

FailureOr<SpirvModule> codegen::compileLayer(Operation *layer,
                                             const GpuRoutine &routine,
                                             const GpuTarget &target) {
  if (std::string reason = routine.refusal(layer, target); !reason.empty())
    return layer->emitError() << routine.name() << ": " << reason;
  GpuBuilder builder(*layer->getContext(), target);
  OwningOpRef<ModuleOp> module(builder.module);
  routine.emit(builder, layer, SpirvModule::entry);
  return lowerToSpirv(*module, target);
}

void codegen::printGpuRoutines(llvm::raw_ostream &os) {
  os << "\n## Routines of GPUs\n\nIn order of preference. No plan has them "
        "yet ([GPUs](gpu.md)).\n\n| routine | what it is |\n|---|---|\n";
  for (const Routine *routine : gpuRoutines().all())
    os << "| `" << routine->name() << "` | " << routine->summary() << " |\n";
}
