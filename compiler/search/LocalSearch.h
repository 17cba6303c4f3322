//===- LocalSearch.h - Improves a plan on the simulator ---------*- C++ -*-===//
//
// Not in the paper, whose cost adds up each lane's work. The simulator also
// shows an execute that waits for a preparation which stands too far back in a
// queue, and reads that share the storage. Single changes mend them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_LOCALSEARCH_H
#define NNV12_COMPILER_SEARCH_LOCALSEARCH_H

#include "compiler/search/Assignment.h"
#include "compiler/search/Search.h"

namespace nnv12::search {

/// Holds the best assignment seen. Its objective: the simulated finish,
/// `warmWeight` of the executes, and `memoryWeight` of prepared bytes; where
/// storage is slow, early executes as well.
class LocalSearch {
public:
  /// `usable`: the candidates to choose from, as of usableCandidates().
  LocalSearch(const Problem &problem, const Options &options,
              const std::vector<std::vector<unsigned>> &usable);

  /// Offers a start; the best few are kept.
  void consider(const Assignment &assignment);
  /// List scheduling for a choice: layer by layer, each preparation where it is
  /// ready first; and the same with the execute lane left to executes and the
  /// first layer.
  void considerLists(const Choice &choice);

  /// Descends from the starts: a layer's candidate, its lane, the place of its
  /// preparation in the queue, each as long as one helps. Then random changes
  /// of one or two layers. Ends after the steps that the options allow, or with
  /// a score that is not above `target`. Without Options::pipeline lanes stay.
  void improve(double target);

  const Assignment &best() const { return bestAssignment; }
  uint64_t steps() const { return simulator.steps(); }

private:
  /// The objective, or `never` if it exceeds the cutoff.
  double score(const Assignment &assignment, double cutoff);
  /// All single changes of layer `i`; keeps each that makes `value`, the score
  /// of `assignment`, less, and tells whether there was one.
  bool tryAll(uint32_t i, Assignment &assignment, double &value);
  void keepIfBest(const Assignment &assignment, double value);
  bool exhausted() const { return simulator.steps() >= limit; }

  const Problem &problem;
  const Options options;
  const std::vector<std::vector<unsigned>> &usable;
  const double slow; ///< slowness() of the device
  Simulator simulator;
  std::vector<std::vector<Job>> jobs; ///< memory for score()
  struct Start {
    double score;
    Assignment assignment;
  };
  std::vector<Start> starts; ///< the best first
  Assignment bestAssignment;
  double bestScore = Simulator::never;
  uint64_t limit = 0;
};

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_LOCALSEARCH_H
