//===- Barrier.cpp - One barrier among commands ---------------------------===//
#include "runtime/gpu/Barrier.h"

namespace nnv12::runtime {

void recordBarrier(const Barrier &barrier, const Vulkan &vk,
                   VkCommandBuffer commands) {
  auto all = makeStruct<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  all.srcAccessMask = barrier.written;
  all.dstAccessMask = barrier.used;
  vk.CmdPipelineBarrier(commands, barrier.from, barrier.to, 0, 1, &all, 0,
                        nullptr, 0, nullptr);
}

} // namespace nnv12::runtime
