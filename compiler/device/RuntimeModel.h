//===- RuntimeModel.h - What plans count on of the runtime ------*- C++ -*-===//
//
// The numbers of runtime/Policy.h, in bytes, which say what the runtime does
// and so how long that takes; and what a bundle is like before it is made.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_RUNTIMEMODEL_H
#define NNV12_COMPILER_DEVICE_RUNTIMEMODEL_H

#include <cstdint>

namespace nnv12::device {

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

/// Where weights begin in a bundle of medium size, behind metadata and code, of
/// which nothing is known before the plan. From 78 KB (SqueezeNet) to 385 KB
/// (seg_pan for aarch64) are seen, a tenth of what is asked for early.
constexpr uint64_t usualWeightsOffset = 192 << 10;
/// Of such a bundle.
constexpr unsigned usualLayers = 60;

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_RUNTIMEMODEL_H
