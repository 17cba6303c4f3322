//===- ChosenPlan.h - The search's view of what was chosen ------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_CHOSENPLAN_H
#define NNV12_COMPILER_SELECT_CHOSENPLAN_H

#include "compiler/select/Annotations.h"

namespace nnv12 {

/// A problem in which nothing is left to choose for the CPUs, and its schedule.
struct ChosenPlan {
  /// Of each layer candidate 0 is what was chosen, as it runs first; candidate
  /// 1 what runs later: by the routine that takes over, if one does.
  search::Problem problem;
  search::Choice cold, warm;
  search::Schedule schedule;
  /// Milliseconds from opening the bundle to what the schedule has first.
  double start = 0;
  double warmTime = 0; ///< of the executes of `warm`
};

/// The schedule is that which select-routines has found together with the
/// routines; where a layer does not say it is searched for. Fails with a
/// diagnostic at a layer whose place the device does not have.
mlir::FailureOr<ChosenPlan> chosenPlan(llvm::ArrayRef<ChosenCandidate> layers,
                                       const device::DeviceProfile &profile,
                                       CostTable &costs,
                                       const PlanOptions &options);

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_CHOSENPLAN_H
