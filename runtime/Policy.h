//===- Policy.h - Numbers by which the runtime acts -------------*- C++ -*-===//
//
// In bytes. The compiler, which must say how long that takes, has them as
// compiler/device/RuntimeModel.h; a test compares the two.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_POLICY_H
#define NNV12_RUNTIME_POLICY_H

#include <cstdint>

namespace nnv12::runtime {

/// Of pages that the runtime asks for where the system has such, of anonymous
/// memory and of mapped files alike; also what it has read of a file by then,
/// and reads ahead of a lane.
constexpr uint64_t hugePageSize = uint64_t(2) << 20;

/// Memory that fills less than this of its last huge page has the rest in
/// small ones, whose first use takes as long then. An arena of more has its
/// first huge page before the bundle is opened (nnv12_bundle::makeEarlyMemory).
constexpr uint64_t leastInHugePage = hugePageSize / 8;

/// How much of memory of so many bytes is in huge pages, the last of which may
/// be larger than what it holds.
constexpr uint64_t inHugePages(uint64_t size) {
  return (size + hugePageSize - leastInHugePage) & ~(hugePageSize - 1);
}

/// Fewer bytes of weights are not worth a call to take them out of memory once
/// they were decoded or transformed.
constexpr uint64_t leastForgotten = 256 << 10;

/// What opening a bundle asks storage for at once. Of a smaller one all has
/// come by then, and it has no early memory.
constexpr uint64_t headSize = 256 << 10;

/// What the first layers need of the weights, with which a run can begin: asked
/// for with metadata and code.
constexpr uint64_t firstWeights = 128 << 10;

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_POLICY_H
