//===- SelectRoutines.cpp - Choose how each layer is computed -------------===//

#include "compiler/select/SelectRoutines.h"
#include "compiler/device/CostModel.h"
#include "compiler/select/Annotations.h"
#include "dialects/nn/NNDialect.h"
#include "passes/plan/PlanningPass.h"

namespace nnv12 {
#define GEN_PASS_DEF_SELECTROUTINES
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct SelectRoutines
    : PlanningPass<nnv12::impl::SelectRoutinesBase<SelectRoutines>> {
  using PlanningPass::PlanningPass;

  LogicalResult run(ModuleOp module, func::FuncOp main) override {
    auto device = this->device(module.getLoc(), target);
    if (failed(device))
      return failure();
    clearAnnotations(main);
    Selection selection =
        selectRoutines(main, *device->profile, device->target,
                       {threads, lanesOf(lanes), mode, memory, parts});
    std::string missing =
        device::missingKernels(*device->profile, selection.kernels);
    if (!missing.empty() && !allowPredicted)
      return module.emitError(missing);
    annotate(selection);
    for (const Selection::Layer &layer : selection.layers) {
      candidates += layer.candidates.size();
      switched += layer.candidates[layer.warm].routine !=
                  layer.candidates[layer.chosen].routine;
    }
    return success();
  }
};
} // namespace

std::unique_ptr<Pass> nnv12::createSelectRoutines(SelectRoutinesOptions options,
                                                  SharedProfile profile) {
  return std::make_unique<SelectRoutines>(std::move(options),
                                          std::move(profile));
}
