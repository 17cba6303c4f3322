//===- Combinations.h - Choices worth scheduling ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_COMBINATIONS_H
#define NNV12_COMPILER_SEARCH_COMBINATIONS_H

#include "compiler/search/Search.h"

namespace nnv12::search {

/// Algorithm 1, line 2: the combinations to look at. All of them where they are
/// at most `limit`; else those that some balance of execute, preparation and
/// storage makes best: for weights (1, p, s) each layer by itself takes the
/// candidate with the least  execute + p * preparation + s * bytes / bandwidth.
/// The best of a min-max problem lies near one of these (a Lagrangian
/// relaxation yields them); the local search mends the rest. `usable` as
/// of usableCandidates().
std::vector<Choice>
combinations(const Problem &problem,
             const std::vector<std::vector<unsigned>> &usable, size_t limit);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_COMBINATIONS_H
