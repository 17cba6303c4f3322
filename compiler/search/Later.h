//===- Later.h - Which routines take over after the first run ---*- C++ -*-===//
//
// The routines of a first run are the fastest for it, but not for those that
// follow. A routine that takes over gains time in each later run and takes
// memory: weights in its form, and its code. Layers may share both, which then
// count once. The network pays as a whole: a routine that gains much for few
// bytes may bring in others that alone would not be worth their own.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_LATER_H
#define NNV12_COMPILER_SEARCH_LATER_H

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace nnv12::search {

/// A routine that can take over a layer.
struct LaterRoutine {
  double gain = 0;             ///< milliseconds of all threads, a later run
  std::vector<uint32_t> needs; ///< of LaterProblem::bytes, each once
};

struct LaterProblem {
  /// Sizes of needs of some routine that are not there without.
  std::vector<double> bytes;
  /// By layer, the routines that can take over.
  std::vector<std::vector<LaterRoutine>> layers;
  /// Milliseconds that a byte must gain, on average over all that takes over.
  double price = 0;
  /// Bytes that all may take.
  double most = std::numeric_limits<double>::infinity();
};

/// By layer, the index of the routine that takes over, if one does.
using LaterChoice = std::vector<std::optional<unsigned>>;

/// The choice with the largest gain of those that gain the price of their bytes
/// and take no more than `most`: by single changes and by changes of all layers
/// that share something, so the best in most cases, and near it in the rest. If
/// routines gain the same, the one with fewer bytes, then the first.
LaterChoice chooseLater(const LaterProblem &problem);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_LATER_H
