//===- DeadEnds.h - Signatures that no best choice needs --------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_DEADENDS_H
#define NNV12_COMPILER_SEARCH_DEADENDS_H

#include "compiler/search/NetView.h"

namespace nnv12::search {

/// Signatures that are worth considering, ascending, a layer.
using LiveSignatures = std::vector<std::vector<uint32_t>>;

/// Drops impossible signatures, and each that is dearer than another of its
/// layer by more than all adapts around the layer could give back; where it is
/// by as much, the lower number stays. Some cheapest choice remains. A
/// layer without any signature left: no choice is possible. Adds to `steps`.
LiveSignatures withoutDeadEnds(const NetView &view, uint64_t &steps);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_DEADENDS_H
