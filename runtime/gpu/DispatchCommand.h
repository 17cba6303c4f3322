//===- DispatchCommand.h - Dispatches and barriers to record ----*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_DISPATCHCOMMAND_H
#define NNV12_RUNTIME_GPU_DISPATCHCOMMAND_H

#include "runtime/gpu/GpuDevice.h"

namespace nnv12::runtime {

/// A dispatch of a pipeline.
struct DispatchCommand {
  const MadePipeline *pipeline;
  const VkDescriptorBufferInfo *places; ///< by binding
  const uint32_t *push;                 ///< as many words as the pipeline takes
  uint32_t groups[3];
};

/// A pool for the descriptor sets of so many dispatches, which bind so many
/// storage buffers together; null where there is none.
VkDescriptorPool createDescriptorPool(uint32_t dispatches, uint32_t bindings,
                                      GpuDevice &device,
                                      artifact::Fault &fault);

/// Records it, with a descriptor set of its own from `pool`.
[[nodiscard]] bool recordDispatch(const DispatchCommand &dispatch,
                                  GpuDevice &device, VkDescriptorPool pool,
                                  VkCommandBuffer commands,
                                  artifact::Fault &fault);

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

#endif // NNV12_RUNTIME_GPU_DISPATCHCOMMAND_H
