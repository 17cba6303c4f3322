//===- PlannedLayer.h - A layer with its chosen routines --------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_PLANNEDLAYER_H
#define NNV12_COMPILER_PLAN_PLANNEDLAYER_H

#include "compiler/plan/ExecutedLayers.h"
#include "compiler/routines/Routine.h"
#include "compiler/search/Problem.h"
#include "dialects/plan/StoredForm.h"

namespace nnv12 {

/// A routine together with a way to keep its weights.
struct Candidate {
  const Routine *routine = nullptr;
  plan::StoredForm storage;
};

struct CostedCandidate : Candidate {
  search::Candidate costs;
  /// Whether all kernels of it are in the profile; else some are predicted.
  bool measured = false;
};

/// The candidate of each routine that has the shortest execute, the fastest
/// routine first.
std::vector<const CostedCandidate *>
fastestOfRoutines(const std::vector<CostedCandidate> &candidates);

struct PlannedLayer {
  ExecutedLayer layer;
  std::vector<CostedCandidate> candidates; ///< on the execute lane
  unsigned chosen = 0;
  /// The candidate whose routine takes over after the first inference; `chosen`
  /// where none does.
  unsigned later = 0;
  /// Milliseconds that a preparation lane takes to make the weights of `later`,
  /// where they have another form than the first routine's.
  double laterTransform = 0;

  const CostedCandidate &first() const { return candidates[chosen]; }
  /// Null: no other routine takes over.
  const Routine *laterRoutine() const {
    const Routine *routine = candidates[later].routine;
    return routine == first().routine ? nullptr : routine;
  }
};

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_PLANNEDLAYER_H
