//===- Annotations.h - A selection, written onto layers ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_ANNOTATIONS_H
#define NNV12_COMPILER_SELECT_ANNOTATIONS_H

#include "compiler/select/Selection.h"

namespace nnv12 {

/// Writes what was chosen onto the layers:
///   nn.layer         the number in execution order
///   nn.routine       the routine
///   nn.storage       how the main weights are kept, where there are any
///   nn.place         lane and index of its preparation (search::Place), where
///                    it has one
///   nn.warm_routine  what takes over after the first inference, where another
///                    one does
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

#endif // NNV12_COMPILER_SELECT_ANNOTATIONS_H
