//===- StretchLifetimes.h - How stretches lengthen lifetimes ----*- C++ -*-===//
//
// A GPU that takes over layers reads and writes tensors of the CPUs' arena, at
// other times than CPUs would.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_LAYERS_STRETCHLIFETIMES_H
#define NNV12_COMPILER_LAYERS_STRETCHLIFETIMES_H

#include "compiler/layers/ExecutionOrder.h"

namespace nnv12 {

/// Layers [first, end) that a GPU may take over, or computes together with the
/// CPUs.
struct StretchRange {
  int64_t first, end;
  bool isSplit;
};

struct StretchLifetimes {
  std::vector<Lifetime> lifetimes; ///< by tensor of the order
  /// By tensor: it may not give its memory to another one in place, and it may
  /// not take another one's.
  std::vector<bool> isKept, isApart;

  /// With these stretches:
  ///   - A tensor from before a stretch that dies in it lives to its end. So
  ///     CPUs can compute the stretch again if the GPU fails in the middle.
  ///   - A tensor that a split stretch leaves lives from its first layer on,
  ///     apart from others: the GPU may write to it at any time.
  static StretchLifetimes of(const ExecutionOrder &order,
                             llvm::ArrayRef<StretchRange> stretches);
};

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_STRETCHLIFETIMES_H
