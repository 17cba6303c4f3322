//===- HostPlans.h - The plan that is fastest on this machine ---*- C++ -*-===//
//
// A plan is as good as the costs that it was made with, and no cost says what
// else a machine does: measured costs can give a worse plan than predicted
// ones. So several plans are made, and run.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_HOSTPLANS_H
#define NNV12_TOOLS_NNV12C_HOSTPLANS_H

#include "tools/nnv12c/HostBundles.h"

namespace nnv12 {

/// One way to plan for this machine.
struct HostPlan {
  std::string name; ///< of the costs
  Costs costs;
  std::optional<unsigned> lanes = std::nullopt; ///< see PlanOptions
  unsigned number = 0;                          ///< of the plan, in HostBundles
  std::string report = {}; ///< lines for people, of the one that is chosen
};

/// Compares plans with these costs, with predicted ones, and with predicted
/// ones but for kernels, and the best of these with no preparation lane, one
/// less and one more. Returns the one whose first inference has the smallest
/// median in cold runs that take turns (PlanRace.h). The cache remembers it by
/// the text of the first, so that a second compile gives the same bytes.
/// Where bundles cannot be run it is the first, with a warning.
mlir::FailureOr<HostPlan> chooseHostPlan(const Costs &measured,
                                         const codegen::Target &target,
                                         const PlanOptions &options,
                                         const TuneOptions &tuning,
                                         HostBundles &bundles);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_HOSTPLANS_H
