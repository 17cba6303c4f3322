//===- SelectRoutines.cpp - Choose how each layer is computed -------------===//

#include "compiler/device/CostModel.h"
#include "compiler/plan/Device.h"
#include "compiler/plan/Selection.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"

namespace nnv12 {
#define GEN_PASS_DEF_SELECTROUTINES
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct SelectRoutines : nnv12::impl::SelectRoutinesBase<SelectRoutines> {
  SelectRoutines() = default;
  SelectRoutines(SelectRoutinesOptions options, SharedProfile profile = nullptr)
      : SelectRoutinesBase(std::move(options)), given(std::move(profile)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      module.emitError("found no function @main");
      return signalPassFailure();
    }
    auto device = plan::planDevice(module.getLoc(), target, profile, given);
    if (failed(device))
      return signalPassFailure();
    plan::clearAnnotations(main);
    plan::Selection selection = plan::select(main, *device->profile,
                                             device->target, threads, mode, parts);
    std::string missing =
        device::missingKernels(*device->profile, selection.kernels);
    if (!missing.empty() && !allowPredicted) {
      module.emitError(missing);
      return signalPassFailure();
    }
    plan::annotate(selection);
    for (const plan::Selection::Layer &layer : selection.layers) {
      candidates += layer.options.size();
      switched += layer.options[layer.warm].option.routine !=
                  layer.options[layer.chosen].option.routine;
    }
  }

  SharedProfile given;
};
} // namespace

std::unique_ptr<Pass> nnv12::createSelectRoutines(SelectRoutinesOptions options,
                                                  SharedProfile profile) {
  return std::make_unique<SelectRoutines>(std::move(options), std::move(profile));
}
