//===- Search.h - Finds a cold plan -----------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_SEARCH_H
#define NNV12_COMPILER_SEARCH_SEARCH_H

#include "compiler/search/Problem.h"

namespace nnv12::search {

/// The parts of NNV12 that are switched on, for ablation (Figure 13).
struct Options {
  /// K: choose candidates for the cold inference. Off: of each layer the
  /// candidate with the fastest execute (the warm choice).
  bool selectKernels = true;
  /// P: preparation lanes. Off: the execute lane first prepares all layers, then
  /// executes them.
  bool pipeline = true;
  /// Local search on the simulator after Algorithm 1 (not in the paper).
  bool localSearch = true;
  double budget = 500; ///< milliseconds of search, at most, beyond Algorithm 1
};

/// When every operation starts and ends under the static schedule, without
/// stealing. The objective of everything here.
Timeline simulate(const Problem &problem, const Choice &choice,
                  const Schedule &schedule);

/// Algorithm 1, lines 3 to 19: lanes for a fixed choice; then, if asked for,
/// local search over the assignment and order of preparations.
Schedule schedule(const Problem &problem, const Choice &choice,
                  const Options &options = {});

/// All of Algorithm 1: drops dominated candidates, searches combinations and
/// schedules them. Deterministic: the budget is counted in simulator steps.
Plan plan(const Problem &problem, const Options &options = {});

/// The best plan there is, by trying all. For problems with few layers: the
/// tests' oracle.
Plan exactPlan(const Problem &problem);

/// A time before which no plan can finish.
double lowerBound(const Problem &problem);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_SEARCH_H
