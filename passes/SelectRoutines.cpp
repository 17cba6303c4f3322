//===- SelectRoutines.cpp - Choose how each layer is computed -------------===//

#include "compiler/device/CostModel.h"
#include "compiler/plan/Selection.h"
#include "dialects/nn/NNDialect.h"
#include "passes/PlanningPass.h"

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
    plan::clearAnnotations(main);
    plan::Selection selection = plan::select(
        main, *device->profile, device->target, threads, mode, parts);
    std::string missing =
        device::missingKernels(*device->profile, selection.kernels);
    if (!missing.empty() && !allowPredicted)
      return module.emitError(missing);
    plan::annotate(selection);
    for (const plan::Selection::Layer &layer : selection.layers) {
      candidates += layer.options.size();
      switched += layer.options[layer.warm].option.routine !=
                  layer.options[layer.chosen].option.routine;
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
