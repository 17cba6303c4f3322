//===- Arena.h - Places buffers in one arena --------------------*- C++ -*-===//
//
// Pure: knows nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_LAYERS_ARENA_H
#define NNV12_COMPILER_LAYERS_ARENA_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12 {

/// A buffer that is needed from operation `first` to operation `last`, both
/// included.
struct Lifetime {
  uint64_t size; ///< bytes
  int64_t first;
  int64_t last;
};

struct Arena {
  std::vector<uint64_t> offsets; ///< one a buffer, multiples of the alignment
  uint64_t size = 0;             ///< bytes of the whole arena
};

/// Gives each buffer an offset so that no two that live at the same time
/// overlap: the largest first, each into the smallest gap that holds it.
/// Deterministic. O(n^2) for n buffers.
Arena placeInArena(const std::vector<Lifetime> &buffers,
                   uint64_t alignment = 64);

/// Bytes of all buffers that are needed, for each of so many operations.
std::vector<uint64_t> sumLiveBytes(const std::vector<Lifetime> &buffers,
                                   size_t operations);

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_ARENA_H
