//===- DispatchCommand.cpp - Dispatches and barriers to record ------------===//
#include "runtime/gpu/DispatchCommand.h"

#include <algorithm>

namespace nnv12::runtime {

VkDescriptorPool createDescriptorPool(uint32_t dispatches, uint32_t bindings,
                                      GpuDevice &device,
                                      artifact::Fault &fault) {
  // Vulkan knows no pool of nothing.
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               std::max(bindings, 1u)};
  auto info = makeStruct<VkDescriptorPoolCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = std::max(dispatches, 1u);
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool;
  (void)device.make(device.vulkan().CreateDescriptorPool, info, pool,
                    "vkCreateDescriptorPool", fault);
  return pool;
}

bool recordDispatch(const DispatchCommand &dispatch, GpuDevice &device,
                    VkDescriptorPool pool, VkCommandBuffer commands,
                    artifact::Fault &fault) {
  const Vulkan &vk = device.vulkan();
  const MadePipeline &made = *dispatch.pipeline;
  VkDescriptorSetLayout layout = device.setLayout(made.key.bindings, fault);
  if (!layout)
    return false;
  auto info = makeStruct<VkDescriptorSetAllocateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = pool;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  VkDescriptorSet set;
  if (!check(vk.AllocateDescriptorSets(device.device(), &info, &set),
             "vkAllocateDescriptorSets", fault))
    return false;
  // From binding 0 on, one behind another.
  auto write =
      makeStruct<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  write.dstSet = set;
  write.descriptorCount = made.key.bindings;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = dispatch.places;
  vk.UpdateDescriptorSets(device.device(), 1, &write, 0, nullptr);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made.pipeline);
  vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                           made.layout, 0, 1, &set, 0, nullptr);
  if (made.key.pushWords)
    vk.CmdPushConstants(commands, made.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        made.key.pushWords * sizeof(uint32_t), dispatch.push);
  vk.CmdDispatch(commands, dispatch.groups[0], dispatch.groups[1],
                 dispatch.groups[2]);
  return true;
}

void recordBarrier(const Barrier &barrier, const Vulkan &vk,
                   VkCommandBuffer commands) {
  auto all = makeStruct<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  all.srcAccessMask = barrier.written;
  all.dstAccessMask = barrier.used;
  vk.CmdPipelineBarrier(commands, barrier.from, barrier.to, 0, 1, &all, 0,
                        nullptr, 0, nullptr);
}

} // namespace nnv12::runtime
