//===- NetDescent.h - A choice for a net, made better -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_NETDESCENT_H
#define NNV12_COMPILER_SEARCH_NETDESCENT_H

#include "compiler/search/DeadEnds.h"

namespace nnv12::search {

/// Coordinate descent: one layer after another takes the live signature that
/// makes the whole cheapest, until none changes or `steps` reach `limit`. Makes
/// impossible choices possible where it can. Adds to `steps`.
std::vector<uint32_t> descend(const NetView &view, const LiveSignatures &live,
                              std::vector<uint32_t> chosen, uint64_t limit,
                              uint64_t &steps);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_NETDESCENT_H
