//===- HostBundles.cpp - Bundles of one model by several plans ------------===//

#include "tools/nnv12c/HostBundles.h"

#include "dialects/plan/PlanDialect.h"
#include "tools/nnv12c/Stage.h"

using namespace mlir;
using namespace nnv12;

HostBundles::HostBundles(const CompileOptions &options, ModuleOp model,
                         const codegen::Target &target)
    : options(options), model(model), target(target),
      shared(*model.getContext(), options, target) {}

/// Without the numbers of weights, which no plan depends on.
static std::string textOf(ModuleOp model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.useLocalScope().assumeVerified().elideLargeElementsAttrs(16);
  model.print(os, flags);
  return text;
}

static void dropTimes(plan::ProgramOp program) {
  program.removeColdAttr();
  program.removeWarmAttr();
  for (Operation &op : program.getBody().getOps())
    for (StringRef time : {"start", "end"})
      op.removeAttr(time);
}

FailureOr<unsigned> HostBundles::plan(const Costs &costs, PlanOptions how,
                                      ModuleOp other) {
  Stage stage(options, "plan");
  // It is this machine's CPUs that are compared.
  how.gpu.clear();
  ModuleOp planned = other ? other : model;
  auto selected = selectLayouts(planned.lookupSymbol<func::FuncOp>("main"),
                                {target, costs.profile, costs.mayLack}, how,
                                /*constantsStay=*/false);
  if (failed(selected))
    return failure();
  auto lowered = lowerPlan(selected->plan, selected->main, shared.kernels);
  if (failed(lowered))
    return failure();
  double coldMs = double(lowered->planned.getCold().value_or(0)) * 1e-6;
  auto written = lowered->planned->getParentOfType<ModuleOp>();
  std::string text = textOf(written);
  dropTimes(lowered->planned);
  plans.push_back({std::move(*selected), text, textOf(written), coldMs});
  return plans.size() - 1;
}

FailureOr<std::string> HostBundles::write(unsigned number,
                                          const std::string &file) {
  const Plan &plan = plans[number];
  func::FuncOp main = plan.selected.main;
  BundleBuilder builder("", /*programs=*/1);
  builder.bundle.threads = options.plan.threads;
  if (failed(builder.describeTensors(main)))
    return failure();
  auto lowered = lowerPlan(plan.selected.plan, main, shared.kernels);
  if (failed(lowered) || failed(emitLowered(options, builder, *lowered)))
    return failure();
  auto code = shared.compile(options);
  if (failed(code) ||
      failed(addLowered(options, builder, *lowered, std::move(*code))))
    return failure();
  // A full disk is no fault of the model.
  std::string fault;
  ScopedDiagnosticHandler handler(model.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    fault = diagnostic.str();
                                    return success();
                                  });
  if (failed(builder.write(*model.getContext(), file, /*signingKey=*/"")))
    return fault;
  return std::string();
}
