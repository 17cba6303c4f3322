//===- PlanModel.cpp - Decide how one target computes a model -------------===//

#include "compiler/plan/ProgramWriter.h"
#include "compiler/plan/UsedExtension.h"
#include "passes/Passes.h"

namespace nnv12 {
#define GEN_PASS_DEF_PLANMODEL
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct PlanModel : nnv12::impl::PlanModelBase<PlanModel> {
  using PlanModelBase::PlanModelBase;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  PlanOptions planOptions() const {
    PlanOptions result;
    result.threads = threads;
    if (lanes >= 0)
      result.lanes = unsigned(lanes);
    result.mode = mode;
    result.memory = memory;
    result.parts = parts;
    result.gpu = gpu;
    result.gpuForce = gpuForce;
    result.gpuForceFrom = gpuForceFrom;
    result.split = split;
    result.gpuHalf = gpuHalf;
    result.gpuCache = gpuCache;
    result.keepsNarrow = keepsNarrow;
    return result;
  }

  LogicalResult run(ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return module.emitError("found no function @main");
    auto device = planDeviceFor(main, target, profile);
    if (failed(device))
      return failure();
    device->mayPredict = allowPredicted;
    for (auto old :
         llvm::make_early_inc_range(module.getOps<plan::ProgramOp>()))
      if (old.getTarget() == device->target.name)
        old.erase();
    FailureOr<ModelPlan> plan = planModel(main, *device, planOptions());
    if (failed(plan) || failed(writeProgram(*plan, module)))
      return failure();
    count(*plan);
    return success();
  }

  void count(const ModelPlan &plan) {
    for (const PlannedLayer &layer : plan.layers) {
      candidates += layer.candidates.size();
      switched += layer.laterRoutine() != nullptr;
      if (!layer.layer.mainOperand)
        continue;
      const plan::StoredForm &form = layer.first().storage;
      bypassed += form.storage == plan::Storage::transformed;
      compressed += form.codec == plan::Codec::zstd;
      narrowed += form.narrow.has_value();
    }
    if (plan.overlay)
      for (const PlacedStretch &stretch : plan.overlay->stretches)
        if (stretch.warm)
          onGpu += stretch.range.count;
  }
};
} // namespace
