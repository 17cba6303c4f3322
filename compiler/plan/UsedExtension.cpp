//===- UsedExtension.cpp - The least target of a model --------------------===//

#include "compiler/plan/UsedExtension.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/processors/Processor.h"

using namespace mlir;
using namespace nnv12;
using codegen::CpuRoutine;
using codegen::Extension;

Extension nnv12::usableExtension(func::FuncOp main,
                                 const codegen::Target &target) {
  if (target.isBase())
    return Extension::None;
  Extension result = Extension::None;
  ExecutionOrder order(main);
  for (Operation *layer : order.layers())
    for (const Routine *routine : hostRoutines().agreeing(layer)) {
      const CpuRoutine &cpu = CpuRoutine::of(*routine);
      if (cpu.isFor(layer, target))
        result = std::max(result, cpu.extension(layer));
    }
  return target.upTo(result).extension;
}

FailureOr<PlanDevice> nnv12::planDeviceFor(func::FuncOp main, StringRef target,
                                           StringRef profile) {
  auto device = planDevice(main->getParentOp()->getLoc(), target, profile,
                           /*given=*/nullptr);
  if (succeeded(device))
    device->target = device->target.upTo(usableExtension(main, device->target));
  return device;
}

Extension nnv12::usedExtension(const ModelPlan &plan) {
  Extension result = Extension::None;
  for (const PlannedLayer &layer : plan.layers)
    for (unsigned number : {layer.chosen, layer.later})
      result =
          std::max(result, CpuRoutine::of(*layer.candidates[number].routine)
                               .extension(layer.layer.op));
  return plan.device.target.upTo(result).extension;
}
