//===- SelectLayouts.cpp - Layouts by the costs of the whole net ----------===//

#include "compiler/plan/UsedExtension.h"
#include "compiler/select/LayoutSelection.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"

namespace nnv12 {
#define GEN_PASS_DEF_SELECTLAYOUTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct SelectLayoutsPass : nnv12::impl::SelectLayoutsBase<SelectLayoutsPass> {
  using SelectLayoutsBase::SelectLayoutsBase;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return module.emitError("found no function @main");
    auto device = planDeviceFor(main, target, profile);
    if (failed(device))
      return failure();
    PlanOptions options;
    options.threads = threads;
    options.mode = mode;
    options.layouts = solver;
    options.layoutSeed = seed;
    if (margin >= 0)
      options.layoutMargin = margin;
    auto selected = selectLayouts(main, *device, options, constantsStay);
    if (failed(selected))
      return failure();
    changed += selected->changed;
    if (!selected->module)
      return success();
    adapts += llvm::range_size(selected->main.getOps<nn::AdaptOp>());
    selected->main->moveBefore(main);
    main.erase();
    return success();
  }
};
} // namespace
