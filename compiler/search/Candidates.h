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

/// The index of the candidate with the fastest execute; among equals, of the
/// one with the least to prepare.
template <typename Prepared>
unsigned fastest(const std::vector<Candidate> &candidates,
                 const Prepared &prepared) {
  unsigned best = 0;
  for (unsigned c = 1; c < candidates.size(); ++c) {
    double a = candidates[c].execute, b = candidates[best].execute;
    if (a < b ||
        (a == b && prepared(candidates[c]) < prepared(candidates[best])))
      best = c;
  }
  return best;
}

/// Indices of candidates that the parts of NNV12 in use, and mapped weights,
/// leave. Each restriction holds where it leaves a candidate.
std::vector<unsigned>
allowedCandidates(const std::vector<Candidate> &candidates,
                  const Options &options);

/// Indices of the candidates of each layer that the options allow and that no
/// other one dominates; of equal ones the first. Never empty.
std::vector<std::vector<unsigned>> usableCandidates(const Problem &problem,
                                                    const Options &options,
                                                    Dominance dominance);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_CANDIDATES_H
