//===- GpuWarmUp.cpp - First dispatches that compute nothing --------------===//
#include "runtime/gpu/GpuWarmUp.h"

#include "runtime/gpu/DispatchCommand.h"

namespace nnv12::runtime {

using artifact::Fault;

bool GpuWarmUp::create(const bundle::Gpu *gpu, GpuDevice &device,
                       const GpuMemory &memory, const GpuPipelines &pipelines,
                       Fault &fault) {
  device_ = &device;
  memory_ = &memory;
  pipelines_ = &pipelines;
  uint32_t bindings = 0;
  for (const bundle::GpuPipeline *pipeline : *gpu->pipelines())
    bindings += pipeline->bindings();
  descriptors_ =
      createDescriptorPool(gpu->pipelines()->size(), bindings, device, fault);
  return descriptors_ && commands_.create(device, fault);
}

void GpuWarmUp::destroy() {
  commands_.destroy();
  if (descriptors_)
    device_->vulkan().DestroyDescriptorPool(device_->device(), descriptors_,
                                            nullptr);
}

/// A kernel without push constants computes something: in memory that holds
/// nothing, to which it is bound.
bool GpuWarmUp::run(const uint32_t *indices, uint32_t count, Fault &fault) {
  static constexpr uint32_t zeros[artifact::maxPushWords] = {};
  VkDescriptorBufferInfo places[artifact::maxBindings];
  for (VkDescriptorBufferInfo &place : places)
    place = {memory_->staging().buffer, 0, artifact::gpuAlignment};
  Lock lock(turn_);
  uint32_t unused;
  VkCommandBuffer commands;
  if (!commands_.begin(unused, commands, fault))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    // Kernels before it may write to the same memory.
    recordBarrier({VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
                  device_->vulkan(), commands);
    if (!recordDispatch({&(*pipelines_)[indices[i]], places, zeros, {1, 1, 1}},
                        *device_, descriptors_, commands, fault))
      return false;
  }
  return commands_.submit(fault) && commands_.finish(fault);
}

} // namespace nnv12::runtime
