//===- Selection.h - One routine and storage for every layer ----*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_SELECTION_H
#define NNV12_COMPILER_SELECT_SELECTION_H

#include "compiler/select/CostTable.h"

namespace nnv12 {

/// All candidates of a model and which of them a plan takes.
struct Selection {
  struct Layer {
    ExecutedLayer layer;
    std::vector<CostedCandidate> candidates;
    unsigned chosen = 0;
    /// Continuous mode: the option whose routine takes over; `chosen` where
    /// none does.
    unsigned warm = 0;
  };
  std::vector<Layer> layers;
  search::Plan plan;
  unsigned threads = 1;
  /// Every kernel whose cost the search has used.
  std::vector<device::KernelFeatures> kernels;
};

/// Searches (search::plan) over all candidates of `main`'s layers.
Selection selectRoutines(mlir::func::FuncOp main,
                         const device::DeviceProfile &profile,
                         const codegen::Target &target,
                         const PlanOptions &plan);

/// Writes what was chosen onto the layers:
///   nn.layer         the number in execution order
///   nn.routine       the routine
///   nn.storage       how the main weights are kept, where there are any
///   nn.place         lane and index of its preparation (search::Place), where
///   it has one nn.warm_routine  what takes over in continuous mode, where
///   another one does
void annotate(const Selection &selection);
/// Removes what annotate() wrote, from all of `main`.
void clearAnnotations(mlir::func::FuncOp main);

/// What annotate() wrote, read back and checked.
struct ChosenCandidate {
  ExecutedLayer layer;
  Candidate candidate;
  const Routine *warm = nullptr; ///< null: the same
  std::optional<search::Place> place;
};
/// Fails with a diagnostic at the layer whose attributes are missing or wrong.
mlir::FailureOr<std::vector<ChosenCandidate>>
chosenCandidates(mlir::func::FuncOp main);

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_SELECTION_H
