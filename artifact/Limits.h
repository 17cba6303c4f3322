//===- Limits.h - How much a bundle may say ---------------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_LIMITS_H
#define NNV12_ARTIFACT_LIMITS_H

#include <cstdint>

namespace nnv12::artifact {

/// Limits that no sensible bundle meets; they keep later sums from overflowing.
constexpr uint64_t maxBytes = uint64_t(1) << 46;
constexpr uint64_t maxTiles = uint64_t(1) << 31;
constexpr uint64_t maxScratch = uint64_t(1) << 30;
constexpr uint32_t maxRank = 64;
/// The alignment of a memory's first byte: nobody needs more than a huge page.
constexpr uint64_t mostAlignment = uint64_t(1) << 21;
constexpr uint32_t maxLanes = 64;
constexpr uint32_t maxPrograms = 64; ///< and of targets
constexpr uint32_t maxProcessors = 64;
constexpr uint32_t maxProperties = 4096;
/// The number of operations, and of switches.
constexpr uint32_t maxOperations = 1u << 20;

/// Pixels of all sets of a video.
constexpr uint64_t maxPixels = uint64_t(1) << 26;
/// The numbers of a window of video, without their sign.
constexpr uint32_t maxReach = 1u << 20;

/// The alignment of memories unless they say otherwise, and of memories that a
/// GPU works in: at least the most that Vulkan lets a device ask for
/// (minStorageBufferOffsetAlignment).
constexpr uint64_t memoryAlignment = 64;
constexpr uint64_t gpuAlignment = 256;
/// Limits of a pipeline. A device's own limits may be lower; the code that
/// makes a pipeline compares them.
constexpr uint32_t maxBindings = 32;
constexpr uint32_t maxPushWords = 32;
constexpr uint32_t maxConstants = 32;
constexpr uint32_t maxInvocations = 1024;
constexpr uint32_t maxShared = 16384;
constexpr uint32_t maxModuleWords = 1u << 20;
/// Along each axis of a dispatch.
constexpr uint32_t maxGroups = 65535;

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_LIMITS_H
