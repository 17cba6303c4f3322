//===- MockCommands.h - Commands of the device of tests ---------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_GPU_MOCKCOMMANDS_H
#define NNV12_TEST_UNIT_GPU_MOCKCOMMANDS_H

#include "test/unit/gpu/MockObjects.h"

#include <type_traits>

namespace nnv12::test::mocked {

/// As Vulkan declares them, with vk in front of their names.
#define NNV12_DECLARE(name) std::remove_pointer_t<PFN_vk##name> name
NNV12_DECLARE(CreateCommandPool);
NNV12_DECLARE(AllocateCommandBuffers);
NNV12_DECLARE(BeginCommandBuffer);
NNV12_DECLARE(EndCommandBuffer);
NNV12_DECLARE(CmdBindPipeline);
NNV12_DECLARE(CmdBindDescriptorSets);
NNV12_DECLARE(CmdPushConstants);
NNV12_DECLARE(CmdDispatch);
NNV12_DECLARE(CmdPipelineBarrier);
NNV12_DECLARE(CmdCopyBuffer);
NNV12_DECLARE(CreateQueryPool);
NNV12_DECLARE(CmdResetQueryPool);
NNV12_DECLARE(CmdWriteTimestamp);
NNV12_DECLARE(GetQueryPoolResults);
NNV12_DECLARE(QueueSubmit);
NNV12_DECLARE(QueueWaitIdle);
NNV12_DECLARE(CreateFence);
NNV12_DECLARE(ResetFences);
NNV12_DECLARE(GetFenceStatus);
NNV12_DECLARE(WaitForFences);
NNV12_DECLARE(CreateSemaphore);
NNV12_DECLARE(GetSemaphoreCounterValueKHR);
NNV12_DECLARE(WaitSemaphoresKHR);
#undef NNV12_DECLARE

constexpr auto DestroyCommandPool = destroy<CommandPool, VkCommandPool>;
constexpr auto DestroyQueryPool = destroy<Queries, VkQueryPool>;
constexpr auto DestroyFence = destroy<Fence, VkFence>;
constexpr auto DestroySemaphore = destroy<Semaphore, VkSemaphore>;

} // namespace nnv12::test::mocked

#endif // NNV12_TEST_UNIT_GPU_MOCKCOMMANDS_H
