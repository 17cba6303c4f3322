//===- GpuWarmUp.cpp - First dispatches that compute nothing --------------===//
#include "runtime/gpu/GpuWarmUp.h"

#include "runtime/gpu/Barrier.h"
#include "runtime/gpu/DispatchCommand.h"

namespace nnv12::runtime {

using artifact::Fault;

bool GpuWarmUp::create(const bundle::Gpu *gpu, GpuDevice &on,
                       const GpuMemory &places, const GpuPipelines &made,
                       Fault &fault) {
  device = &on;
  memory = &places;
  pipelines = &made;
  uint32_t bindings = 0;
  for (const bundle::GpuPipeline *pipeline : *gpu->pipelines())
    bindings += pipeline->bindings();
  descriptors =
      createDescriptorPool(gpu->pipelines()->size(), bindings, on, fault);
  return descriptors && commands.create(on, fault);
}

void GpuWarmUp::destroy() {
  commands.destroy();
  if (descriptors)
    device->vulkan().DestroyDescriptorPool(device->device(), descriptors,
                                           nullptr);
}

/// A kernel without push constants computes something: in memory that holds
/// nothing, to which it is bound.
bool GpuWarmUp::run(const uint32_t *indices, uint32_t count, Fault &fault) {
  static constexpr uint32_t zeros[artifact::maxPushWords] = {};
  VkDescriptorBufferInfo places[artifact::maxBindings];
  for (VkDescriptorBufferInfo &place : places)
    place = {memory->staging().buffer, 0, artifact::gpuAlignment};
  Lock lock(turn);
  uint32_t unused;
  VkCommandBuffer to;
  if (!commands.begin(unused, to, fault))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    // Those before it may write to the same memory.
    recordBarrier({VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
                  device->vulkan(), to);
    if (!recordDispatch({&(*pipelines)[indices[i]], places, zeros, {1, 1, 1}},
                        *device, descriptors, to, fault))
      return false;
  }
  return commands.submit(fault) && commands.finish(fault);
}

} // namespace nnv12::runtime
