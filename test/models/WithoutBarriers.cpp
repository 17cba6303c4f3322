//===- WithoutBarriers.cpp - Vulkan whose barriers do nothing -------------===//
//
// The machine's own otherwise. A session is told to load it, to see that
// Vulkan's validation layer sees it.
//
//===----------------------------------------------------------------------===//
#include <vulkan/vulkan_core.h>

#include <cstring>
#include <dlfcn.h>

static PFN_vkGetInstanceProcAddr instanceFunctions;
static PFN_vkGetDeviceProcAddr deviceFunctions;

static VKAPI_ATTR void VKAPI_CALL noBarrier(
    VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
    VkDependencyFlags, uint32_t, const VkMemoryBarrier *, uint32_t,
    const VkBufferMemoryBarrier *, uint32_t, const VkImageMemoryBarrier *) {}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
deviceFunction(VkDevice device, const char *name) {
  if (strcmp(name, "vkCmdPipelineBarrier") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(noBarrier);
  return deviceFunctions(device, name);
}

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (!instanceFunctions)
    instanceFunctions = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        dlsym(dlopen("libvulkan.so.1", RTLD_NOW), "vkGetInstanceProcAddr"));
  PFN_vkVoidFunction found = instanceFunctions(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") != 0)
    return found;
  deviceFunctions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(deviceFunction);
}
