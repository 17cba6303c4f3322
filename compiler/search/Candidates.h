//===- Candidates.h - Which candidates a search looks at --------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_CANDIDATES_H
#define NNV12_COMPILER_SEARCH_CANDIDATES_H

#include "compiler/search/Search.h"

namespace nnv12::search {

/// The rule by which a candidate is dominated.
enum class Dominance {
  /// Algorithm 1, line 1: not faster in preparation as a whole, nor in execute.
  Paper,
  /// Not better in anything that the simulator looks at: bytes, core's work on
  /// either kind of core, execute, memory. Drops nothing that any plan could
  /// use.
  Every
};

/// Whether weights are stored as plans without C keep them.
inline bool isAsInTheModel(const Candidate &candidate) {
  return candidate.storage == plan::StoredForm{plan::Storage::raw};
}

/// Indices of the candidates of each layer that the options allow and that no
/// other one dominates; of equal ones the first. Never empty.
std::vector<std::vector<unsigned>> usableCandidates(const Problem &problem,
                                                    const Options &options,
                                                    Dominance dominance);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_CANDIDATES_H
