//===- Vulkan.h - Functions of Vulkan, found at run time --------*- C++ -*-===//
//
// Nothing is linked: a machine without Vulkan has no GPU for us, and that is
// all. Functions come from vkGetInstanceProcAddr alone, so that the library may
// as well be a driver of Android, an application's own, or a test's.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_VULKAN_H
#define NNV12_RUNTIME_GPU_VULKAN_H

#include "artifact/Fault.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace nnv12::runtime {

// Functions of an instance, of a device, and of a device that may lack them.
#define NNV12_VULKAN_INSTANCE(X)                                               \
  X(DestroyInstance)                                                           \
  X(EnumeratePhysicalDevices)                                                  \
  X(GetPhysicalDeviceProperties2)                                              \
  X(GetPhysicalDeviceFeatures2)                                                \
  X(GetPhysicalDeviceMemoryProperties)                                         \
  X(GetPhysicalDeviceQueueFamilyProperties)                                    \
  X(EnumerateDeviceExtensionProperties)                                        \
  X(CreateDevice)                                                              \
  X(GetDeviceProcAddr)
#define NNV12_VULKAN_DEVICE(X)                                                 \
  X(DestroyDevice)                                                             \
  X(GetDeviceQueue)                                                            \
  X(QueueSubmit)                                                               \
  X(QueueWaitIdle)                                                             \
  X(AllocateMemory)                                                            \
  X(FreeMemory)                                                                \
  X(MapMemory)                                                                 \
  X(FlushMappedMemoryRanges)                                                   \
  X(InvalidateMappedMemoryRanges)                                              \
  X(CreateBuffer)                                                              \
  X(DestroyBuffer)                                                             \
  X(GetBufferMemoryRequirements)                                               \
  X(BindBufferMemory)                                                          \
  X(CreateShaderModule)                                                        \
  X(DestroyShaderModule)                                                       \
  X(CreatePipelineCache)                                                       \
  X(DestroyPipelineCache)                                                      \
  X(GetPipelineCacheData)                                                      \
  X(CreateComputePipelines)                                                    \
  X(DestroyPipeline)                                                           \
  X(CreatePipelineLayout)                                                      \
  X(DestroyPipelineLayout)                                                     \
  X(CreateDescriptorSetLayout)                                                 \
  X(DestroyDescriptorSetLayout)                                                \
  X(CreateDescriptorPool)                                                      \
  X(DestroyDescriptorPool)                                                     \
  X(AllocateDescriptorSets)                                                    \
  X(UpdateDescriptorSets)                                                      \
  X(CreateCommandPool)                                                         \
  X(DestroyCommandPool)                                                        \
  X(AllocateCommandBuffers)                                                    \
  X(BeginCommandBuffer)                                                        \
  X(EndCommandBuffer)                                                          \
  X(CmdBindPipeline)                                                           \
  X(CmdBindDescriptorSets)                                                     \
  X(CmdPushConstants)                                                          \
  X(CmdDispatch)                                                               \
  X(CmdPipelineBarrier)                                                        \
  X(CmdCopyBuffer)                                                             \
  X(CmdResetQueryPool)                                                         \
  X(CmdWriteTimestamp)                                                         \
  X(CreateQueryPool)                                                           \
  X(DestroyQueryPool)                                                          \
  X(GetQueryPoolResults)                                                       \
  X(CreateFence)                                                               \
  X(DestroyFence)                                                              \
  X(ResetFences)                                                               \
  X(GetFenceStatus)                                                            \
  X(WaitForFences)                                                             \
  X(CreateSemaphore)                                                           \
  X(DestroySemaphore)
#define NNV12_VULKAN_OPTIONAL(X)                                               \
  X(GetSemaphoreCounterValueKHR)                                               \
  X(WaitSemaphoresKHR)                                                         \
  X(GetMemoryHostPointerPropertiesEXT)

/// The functions that the runtime calls.
struct Vulkan {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define NNV12_DECLARE(name) PFN_vk##name name;
  NNV12_VULKAN_INSTANCE(NNV12_DECLARE)
  NNV12_VULKAN_DEVICE(NNV12_DECLARE)
  NNV12_VULKAN_OPTIONAL(NNV12_DECLARE)
#undef NNV12_DECLARE

  /// Loads the library of this name; null: libvulkan.so.1. It is never closed:
  /// drivers keep threads, and functions that the system calls at the end.
  /// False, with a line that says why.
  [[nodiscard]] bool load(const char *library, artifact::Fault &fault);
  [[nodiscard]] bool createInstance(VkInstance &instance,
                                    artifact::Fault &fault) const;
  /// Functions of an instance; all others by its device.
  [[nodiscard]] bool findInstance(VkInstance instance, artifact::Fault &fault);
  [[nodiscard]] bool findDevice(VkDevice device, artifact::Fault &fault);
};

/// A struct of Vulkan with its kind set, and all else zero.
template <typename T> T makeStruct(VkStructureType type) {
  T result = {};
  result.sType = type;
  return result;
}

/// Whether `result` is a success; else the fault is `what` and why, a line.
[[nodiscard]] bool check(VkResult result, const char *what,
                         artifact::Fault &fault);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_VULKAN_H
