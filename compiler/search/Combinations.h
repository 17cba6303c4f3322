//===- Combinations.h - Choices worth scheduling ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_COMBINATIONS_H
#define NNV12_COMPILER_SEARCH_COMBINATIONS_H

#include "compiler/search/Search.h"

namespace nnv12::search {

/// The weights of a millisecond of preparation and of one of reading, beside
/// one of execution.
struct Balance {
  double preparation = 0, storage = 0;
};

/// Those that combinations() looks at. The first is that of warm inferences.
const std::vector<Balance> &balances();

/// The cost of a candidate by itself: its execute, and its preparation and
/// reading by their weights.
double value(const Device &device, const Candidate &candidate, Balance balance);

/// Algorithm 1, line 2: the combinations to look at. All of them where they are
/// at most `limit`; else those that some balance of execute, preparation and
/// storage makes best: each layer by itself takes the candidate with the least
/// value(). The best of a min-max problem lies near one of these (a Lagrangian
/// relaxation yields them); the local search mends the rest. `usable` as
/// of usableCandidates().
std::vector<Choice>
combinations(const Problem &problem,
             const std::vector<std::vector<unsigned>> &usable, size_t limit);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_COMBINATIONS_H
