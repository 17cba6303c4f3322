//===- Vulkan.cpp - Functions of a Vulkan library, found at run time ------===//
#include "runtime/gpu/Vulkan.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace nnv12::runtime {

using artifact::Fault;

// Names one behind another: of many strings each would have an address that
// the loader has to fill in.
#define NNV12_NAME(name) "vk" #name "\0"
static const char instanceNames[] = NNV12_VULKAN_INSTANCE(NNV12_NAME);
static const char deviceNames[] = NNV12_VULKAN_DEVICE(NNV12_NAME);
static const char optionalNames[] = NNV12_VULKAN_OPTIONAL(NNV12_NAME);
#undef NNV12_NAME

/// Fills `functions`, one after another, with the answers of `find`. Null, or
/// the first name that it does not know.
template <typename Find>
static const char *findAll(const char *names, void *functions, Find find) {
  auto *place = static_cast<char *>(functions);
  const char *missing = nullptr;
  for (; *names; names += strlen(names) + 1) {
    PFN_vkVoidFunction function = find(names);
    if (!function && !missing)
      missing = names;
    memcpy(place, &function, sizeof function);
    place += sizeof function;
  }
  return missing;
}

bool Vulkan::load(const char *library, Fault &fault) {
  if (!library)
    library = "libvulkan.so.1";
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fault.set(Fault::Unsupported, "no Vulkan here: %.200s", dlerror());
  void *address = dlsym(handle, "vkGetInstanceProcAddr");
  memcpy(&GetInstanceProcAddr, &address, sizeof address);
  return address ||
         fault.set(Fault::Unsupported, "%.200s: found no vkGetInstanceProcAddr",
                   library);
}

bool Vulkan::createInstance(VkInstance &instance, Fault &fault) const {
  auto create = reinterpret_cast<PFN_vkCreateInstance>(
      GetInstanceProcAddr(nullptr, "vkCreateInstance"));
  if (!create)
    return fault.set(Fault::Unsupported, "found no vkCreateInstance");
  auto application =
      makeStruct<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "nnv12";
  application.apiVersion = VK_API_VERSION_1_1;
  auto info =
      makeStruct<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  return check(create(&info, nullptr, &instance), "vkCreateInstance", fault);
}

static bool report(const char *missing, Fault &fault) {
  return !missing ||
         fault.set(Fault::Unsupported, "the driver lacks %s", missing);
}

bool Vulkan::findInstance(VkInstance instance, Fault &fault) {
  return report(findAll(instanceNames, &DestroyInstance,
                        [&](const char *name) {
                          return GetInstanceProcAddr(instance, name);
                        }),
                fault);
}

bool Vulkan::findDevice(VkDevice device, Fault &fault) {
  auto find = [&](const char *name) { return GetDeviceProcAddr(device, name); };
  findAll(optionalNames, &GetSemaphoreCounterValueKHR, find);
  return report(findAll(deviceNames, &DestroyDevice, find), fault);
}

/// The name of an error, for people.
static const char *describe(VkResult result) {
  // From -1 down.
  static const char names[] = "out of memory\0"
                              "out of device memory\0"
                              "initialization failed\0"
                              "the device was lost\0"
                              "memory cannot be mapped\0"
                              "a layer is missing\0"
                              "an extension is missing\0"
                              "a feature is missing\0"
                              "the driver is too old\0";
  const char *name = names;
  for (int i = -1; *name; --i, name += strlen(name) + 1)
    if (result == i)
      return name;
  return result == VK_TIMEOUT ? "no answer" : "an error of the driver";
}

bool check(VkResult result, const char *what, Fault &fault) {
  return result == VK_SUCCESS || fault.set(Fault::Unsupported, "%s: %s (%d)",
                                           what, describe(result), int(result));
}

} // namespace nnv12::runtime
