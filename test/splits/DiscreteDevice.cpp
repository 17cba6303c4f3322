//===- DiscreteDevice.cpp - Vulkan whose devices have their own memory ----===//
//
// The machine's own otherwise. A session is told to load it, so that it copies
// between its memory and the device's, as it need not for lavapipe.
//
//===----------------------------------------------------------------------===//
#include <vulkan/vulkan_core.h>

#include <cstring>
#include <dlfcn.h>

static PFN_vkGetInstanceProcAddr instanceFunctions;
static PFN_vkGetPhysicalDeviceProperties2 getProperties;

static VKAPI_ATTR void VKAPI_CALL
discreteProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *all) {
  getProperties(device, all);
  all->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (!instanceFunctions)
    instanceFunctions = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        dlsym(dlopen("libvulkan.so.1", RTLD_NOW), "vkGetInstanceProcAddr"));
  PFN_vkVoidFunction found = instanceFunctions(instance, name);
  if (strcmp(name, "vkGetPhysicalDeviceProperties2") != 0)
    return found;
  getProperties = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(discreteProperties);
}
