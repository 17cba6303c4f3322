//===- ComparisonShow.h - Comparisons as text and JSON ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_COMPARISONSHOW_H
#define NNV12_TOOLS_NNV12_PROF_COMPARISONSHOW_H

#include "tools/nnv12-prof/Comparison.h"

namespace nnv12::prof {

/// For people: the run, and the `top` layers that changed most (0: all).
void printComparison(const Comparison &comparison, const Limits &limits,
                     unsigned top);

/// All of it, for programs. `before` and `after` are the bundles' names.
std::string comparisonJson(const std::string &before, const std::string &after,
                           const Comparison &comparison, const Limits &limits);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_COMPARISONSHOW_H
