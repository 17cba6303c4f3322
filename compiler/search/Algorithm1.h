//===- Algorithm1.h - The paper's kernel scheduler --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_ALGORITHM1_H
#define NNV12_COMPILER_SEARCH_ALGORITHM1_H

#include "compiler/search/Assignment.h"

namespace nnv12::search {

/// Lines 3 to 20 of NNV12's Algorithm 1: which lane prepares which layer, for a
/// fixed choice. Layer 1 is prepared on the execute lane; others are dealt to
/// the preparation lanes, balanced, and moved to the head of the execute lane
/// while that lane has less to do than the busiest preparation lane.
///
/// Where the paper's listing leaves a gap: layers that the big-core loop steps
/// over stay on the preparation lanes (by line 12 they would be on none), and
/// both loops end when they move nothing.
Assignment algorithm1(const Problem &problem, const Choice &choice);

/// Time of each lane: its preparations, and the executes on lane 0. The
/// objective of Algorithm 1 is the largest of these sums, which know neither
/// order nor dependencies nor shared bandwidth.
std::vector<double> loadsOf(const Problem &problem,
                            const Assignment &assignment);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_ALGORITHM1_H
