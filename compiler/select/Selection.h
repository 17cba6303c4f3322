//===- Selection.h - One routine and storage for every layer ----*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_SELECTION_H
#define NNV12_COMPILER_SELECT_SELECTION_H

#include "compiler/select/CostTable.h"

namespace nnv12 {

/// All candidates of a model and which of them a plan takes.
struct Selection {
  struct Layer {
    ExecutedLayer layer;
    std::vector<CostedCandidate> candidates;
    unsigned chosen = 0;
    /// The option whose routine takes over after the first inference; `chosen`
    /// where none does.
    unsigned warm = 0;
  };
  std::vector<Layer> layers;
  search::Plan plan;
  unsigned threads = 1;
  /// Every kernel whose cost the search has used.
  std::vector<KernelFacts> kernels;
};

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_SELECTION_H
