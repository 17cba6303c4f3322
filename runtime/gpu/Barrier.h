//===- Barrier.h - One barrier among commands -------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_BARRIER_H
#define NNV12_RUNTIME_GPU_BARRIER_H

#include "runtime/gpu/Vulkan.h"

namespace nnv12::runtime {

/// What of the memory, all of it, is done before and after.
struct Barrier {
  VkPipelineStageFlags from;
  VkAccessFlags written;
  VkPipelineStageFlags to;
  VkAccessFlags used;
};

void recordBarrier(const Barrier &barrier, const Vulkan &vk,
                   VkCommandBuffer commands);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_BARRIER_H
