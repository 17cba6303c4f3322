//===- Exact.h - The best plan by trying all --------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_EXACT_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_EXACT_H

#include "compiler/search/Search.h"

namespace nnv12::search {

/// The best plan there is, by trying all: the search's oracle. For problems
/// with few layers.
Plan exactPlan(const Problem &problem);

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_EXACT_H
