//===- ModelPlan.h - The plan of a model ------------------------*- C++ -*-===//
//
// The plan of a model for one target: which routine computes each layer, how
// its weights are kept, which lane prepares them in which order, and which
// layers a coprocessor takes over. All of it is decided here, once; later
// steps only read it. ProgramWriter.h writes it as a plan.program.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PLAN_MODELPLAN_H
#define NNV12_COMPILER_PLAN_MODELPLAN_H

#include "compiler/layers/ExecutionOrder.h"
#include "compiler/plan/CostTable.h"
#include "compiler/plan/OverlayPlan.h"

#include <memory>

namespace nnv12 {

struct PlanDevice {
  codegen::Target target;
  std::shared_ptr<const device::DeviceProfile> profile; ///< never null
  /// Times that a measured profile lacks are predicted; else it is refused.
  bool mayPredict = false;
};

/// The target of this name with its costs: `given` if not null, else the
/// profile in file `path`, else the built-in one. Fails with a diagnostic at
/// `location` if there is no such target, the file is no profile, or it is for
/// another architecture.
mlir::FailureOr<PlanDevice>
planDevice(mlir::Location location, llvm::StringRef target,
           llvm::StringRef path,
           std::shared_ptr<const device::DeviceProfile> given);

struct ModelPlan {
  ModelPlan(mlir::func::FuncOp main, const PlanDevice &device, unsigned threads)
      : device(device), threads(threads), order(main) {}

  PlanDevice device;
  unsigned threads; ///< of the execute lane
  /// Routines that take over later are prepared behind the first result, not
  /// beside the first inference.
  bool laterWaits = false;
  ExecutionOrder order;
  std::vector<PlannedLayer> layers; ///< by their numbers in `order`

  /// The layers as the search sees them once all is chosen: candidate 0 runs
  /// first, candidate 1 later.
  search::Problem problem;
  search::Plan cpu;     ///< candidate 0 of each layer, and the schedule
  search::Choice later; ///< candidate 1 of each layer
  /// Milliseconds from opening the bundle to the schedule's first operation.
  double start = 0;
  double warmTime = 0; ///< milliseconds of the executes of `later`
  /// The coprocessor's part; none where it takes over nothing.
  std::optional<OverlayPlan> overlay;

  /// Every kernel whose cost the search has used.
  std::vector<KernelFacts> kernels;
};

/// Milliseconds from opening the bundle to the first result, as predicted.
double coldTime(const ModelPlan &plan);

/// Plans the layers of `main` on `device`. Fails with a diagnostic where the
/// options name no GPU that there is, or a measured profile lacks kernels that
/// it must have. Where a GPU was asked for and takes over nothing, a remark
/// says why.
mlir::FailureOr<ModelPlan> planModel(mlir::func::FuncOp main,
                                     const PlanDevice &device,
                                     const PlanOptions &options);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_MODELPLAN_H
