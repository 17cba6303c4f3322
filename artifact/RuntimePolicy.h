//===- RuntimePolicy.h - Numbers by which the runtime acts ------*- C++ -*-===//
//
// Numbers are in bytes. The runtime acts by them, and the compiler predicts
// times by them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_RUNTIMEPOLICY_H
#define NNV12_ARTIFACT_RUNTIMEPOLICY_H

#include <cstdint>

namespace nnv12 {

/// The size of huge pages, which the runtime asks for where the system has
/// them, for anonymous memory and for mapped files. Reading uses it as a unit,
/// too: for its progress through a file, and to read ahead of a lane.
constexpr uint64_t hugePageSize = uint64_t(2) << 20;

/// Memory that fills less than this of its last huge page has the rest in
/// small ones, whose first use takes as long then. An arena of more has its
/// first huge page before the bundle is opened (LoadedBundle::makeEarlyMemory).
constexpr uint64_t leastInHugePage = hugePageSize / 8;

/// The bytes that are in huge pages if memory has `size` bytes. The last huge
/// page may reach beyond `size`.
constexpr uint64_t inHugePages(uint64_t size) {
  return (size + hugePageSize - leastInHugePage) & ~(hugePageSize - 1);
}

/// Fewer bytes of weights are not worth a call to take them out of memory once
/// they were decoded or transformed.
constexpr uint64_t leastForgotten = 256 << 10;

/// The bytes that opening asks storage for at once. All of a smaller bundle has
/// come by then, and it has no early memory.
constexpr uint64_t headSize = 256 << 10;

/// The bytes of weights that the first layers need to begin a run. Opening asks
/// for them together with metadata and code.
constexpr uint64_t firstWeights = 128 << 10;

} // namespace nnv12

#endif // NNV12_ARTIFACT_RUNTIMEPOLICY_H
