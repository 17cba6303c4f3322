//===- Barrier.h - One barrier among commands -------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_BARRIER_H
#define NNV12_RUNTIME_GPU_BARRIER_H

#include "runtime/gpu/Vulkan.h"

namespace nnv12::runtime {

/// Uses of all memory before and after the barrier.
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
