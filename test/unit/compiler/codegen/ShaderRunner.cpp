//===- ShaderRunner.cpp - Runs SPIR-V on this machine ---------------------===//

#include "ShaderRunner.h"
#include "GroupCheck.h"

#include "artifact/SpirvVerifier.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <numeric>

#if __has_include(<vulkan/vulkan.h>)
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <vulkan/vulkan.h>
#define NNV12_HAS_VULKAN_HEADERS 1
#else
#define NNV12_HAS_VULKAN_HEADERS 0
#endif

#if NNV12_HAS_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>
#endif

using namespace nnv12;
using namespace nnv12::test;
using codegen::GpuDispatch;
using codegen::GpuFeature;
using codegen::GpuFeatures;
using codegen::SpirvModule;

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

#if NNV12_HAS_VULKAN_HEADERS

// Functions of an instance, then of a device.
#define NNV12_INSTANCE_FUNCTIONS(X)                                            \
  X(CreateDevice)                                                              \
  X(EnumeratePhysicalDevices)                                                  \
  X(EnumerateDeviceExtensionProperties)                                        \
  X(GetDeviceProcAddr)                                                         \
  X(GetPhysicalDeviceFeatures2)                                                \
  X(GetPhysicalDeviceMemoryProperties)                                         \
  X(GetPhysicalDeviceProperties)                                               \
  X(GetPhysicalDeviceQueueFamilyProperties)
#define NNV12_DEVICE_FUNCTIONS(X)                                              \
  X(AllocateCommandBuffers)                                                    \
  X(AllocateDescriptorSets)                                                    \
  X(AllocateMemory)                                                            \
  X(BeginCommandBuffer)                                                        \
  X(BindBufferMemory)                                                          \
  X(CmdBindDescriptorSets)                                                     \
  X(CmdBindPipeline)                                                           \
  X(CmdDispatch)                                                               \
  X(CmdDispatchBase)                                                           \
  X(CmdPushConstants)                                                          \
  X(CreateBuffer)                                                              \
  X(CreateCommandPool)                                                         \
  X(CreateComputePipelines)                                                    \
  X(CreateDescriptorPool)                                                      \
  X(CreateDescriptorSetLayout)                                                 \
  X(CreatePipelineLayout)                                                      \
  X(CreateShaderModule)                                                        \
  X(DestroyBuffer)                                                             \
  X(DestroyDescriptorPool)                                                     \
  X(DestroyDescriptorSetLayout)                                                \
  X(DestroyPipeline)                                                           \
  X(DestroyPipelineLayout)                                                     \
  X(DestroyShaderModule)                                                       \
  X(EndCommandBuffer)                                                          \
  X(FreeMemory)                                                                \
  X(GetBufferMemoryRequirements)                                               \
  X(GetDeviceQueue)                                                            \
  X(MapMemory)                                                                 \
  X(QueueSubmit)                                                               \
  X(QueueWaitIdle)                                                             \
  X(ResetCommandPool)                                                          \
  X(UpdateDescriptorSets)

struct ShaderRunner::Device {
  VkPhysicalDevice physical = nullptr;
  VkDevice handle = nullptr;
  VkQueue queue = nullptr;
  VkCommandPool pool = nullptr;
  VkCommandBuffer commands = nullptr;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
#define X(name) PFN_vk##name name = nullptr;
  NNV12_INSTANCE_FUNCTIONS(X)
  NNV12_DEVICE_FUNCTIONS(X)
#undef X
  int messages = 0; ///< of the validation layer, since the start

  std::string open(GpuFeatures &features);
  std::string run(const SpirvModule &module, const GpuDispatch &dispatch,
                  const std::vector<size_t> &bindings,
                  std::vector<Bytes> &memories);

private:
  std::string openInstance();
  std::string openDevice(GpuFeatures &features);
  bool hasExtension(const char *name);
  uint32_t memoryType(uint32_t bits);
  /// A module as the driver has compiled it.
  struct Pipeline {
    VkDescriptorSetLayout setLayout;
    VkPipelineLayout layout;
    VkShaderModule shader;
    VkPipeline handle;
  };
  Pipeline make(const SpirvModule &module, std::string &error);
  const Pipeline &pipelineOf(const SpirvModule &module, std::string &error);
  void destroy(const Pipeline &pipeline);
  /// Runs groups [first, end) of the dispatch; all where there is no end.
  std::string submit(const SpirvModule &module, const Pipeline &pipeline,
                     VkDescriptorSet set, const GpuDispatch &dispatch,
                     int64_t first = 0, int64_t end = -1);
  /// Pipelines of the latest modules: many layers have the same, and software
  /// devices compile for tenths of a second.
  std::list<std::pair<SpirvModule, Pipeline>> pipelines;
  static constexpr size_t mostPipelines = 64;
  PFN_vkGetInstanceProcAddr getInstanceFunction = nullptr;
  VkInstance instance = nullptr;
};

/// A structure of Vulkan with its kind set and all else zero.
template <typename T> static T blank(VkStructureType type) {
  T result{};
  result.sType = type;
  return result;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL
onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
          VkDebugUtilsMessageTypeFlagsEXT, // NOLINT: the interface's order
          const VkDebugUtilsMessengerCallbackDataEXT *data, void *count) {
  ++*static_cast<int *>(count);
  std::fprintf(stderr, "validation layer: %s\n", data->pMessage);
  return VK_FALSE;
}

std::string ShaderRunner::Device::openInstance() {
  void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "there is no libvulkan.so.1";
  getInstanceFunction = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      dlsym(library, "vkGetInstanceProcAddr"));
  auto global = [&](const char *name) {
    return getInstanceFunction(nullptr, name);
  };
  auto create =
      reinterpret_cast<PFN_vkCreateInstance>(global("vkCreateInstance"));
  auto layers = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
      global("vkEnumerateInstanceLayerProperties"));
  if (!create || !layers)
    return "libvulkan.so.1 is none";
  uint32_t count = 0;
  layers(&count, nullptr);
  std::vector<VkLayerProperties> known(count);
  layers(&count, known.data());
  const char *validation = "VK_LAYER_KHRONOS_validation";
  const char *utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  auto application =
      blank<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_1;
  auto messenger = blank<VkDebugUtilsMessengerCreateInfoEXT>(
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = onMessage;
  messenger.pUserData = &messages;
  auto info =
      blank<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  bool isValidated = false;
  for (const VkLayerProperties &layer : known)
    isValidated |= std::strcmp(layer.layerName, validation) == 0;
  if (isValidated) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &utils;
  } else {
    std::printf("SKIPPED: Vulkan's validation layer is not installed\n");
  }
  if (VkResult result = create(&info, nullptr, &instance))
    return "vkCreateInstance: " + std::to_string(result);
  if (isValidated) {
    auto listen = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        getInstanceFunction(instance, "vkCreateDebugUtilsMessengerEXT"));
    VkDebugUtilsMessengerEXT unused;
    if (listen)
      listen(instance, &messenger, nullptr, &unused);
  }
#define X(name)                                                                \
  name = reinterpret_cast<PFN_vk##name>(                                       \
      getInstanceFunction(instance, "vk" #name));
  NNV12_INSTANCE_FUNCTIONS(X)
#undef X
  return "";
}

bool ShaderRunner::Device::hasExtension(const char *name) {
  uint32_t count = 0;
  EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  EnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data());
  for (const VkExtensionProperties &extension : all)
    if (std::strcmp(extension.extensionName, name) == 0)
      return true;
  return false;
}

std::string ShaderRunner::Device::openDevice(GpuFeatures &features) {
  uint32_t count = 0;
  EnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  EnumeratePhysicalDevices(instance, &count, devices.data());
  for (VkPhysicalDevice candidate : devices) {
    VkPhysicalDeviceProperties p;
    GetPhysicalDeviceProperties(candidate, &p);
    // The software one gives the same numbers on every machine.
    if (p.apiVersion >= VK_API_VERSION_1_1 &&
        (!physical || p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)) {
      physical = candidate;
      properties = p;
    }
  }
  if (!physical)
    return "there is no device of Vulkan 1.1";
  GetPhysicalDeviceMemoryProperties(physical, &memory);
  GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  uint32_t family = 0;
  while (family < count &&
         !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++family;
  if (family == count)
    return "the device does not compute";

  // All that kernels may ask for is switched on.
  auto narrow = blank<VkPhysicalDeviceShaderFloat16Int8FeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR);
  auto bytes = blank<VkPhysicalDevice8BitStorageFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR);
  auto halves = blank<VkPhysicalDevice16BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  auto all = blank<VkPhysicalDeviceFeatures2>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  all.pNext = &halves;
  std::vector<const char *> extensions;
  if (hasExtension(VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    bytes.pNext = all.pNext;
    all.pNext = &bytes;
  }
  if (hasExtension(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    narrow.pNext = all.pNext;
    all.pNext = &narrow;
  }
  GetPhysicalDeviceFeatures2(physical, &all);
  VkPhysicalDeviceFeatures plain{};
  plain.shaderInt16 = all.features.shaderInt16;
  plain.shaderInt64 = all.features.shaderInt64;
  plain.shaderFloat64 = all.features.shaderFloat64;
  all.features = plain;
  // Kernels do no arithmetic of half precision, and use no other storage.
  narrow.shaderFloat16 = VK_FALSE;
  bytes.uniformAndStorageBuffer8BitAccess = VK_FALSE;
  bytes.storagePushConstant8 = VK_FALSE;
  halves.uniformAndStorageBuffer16BitAccess = VK_FALSE;
  halves.storagePushConstant16 = VK_FALSE;
  halves.storageInputOutput16 = VK_FALSE;
  auto note = [&](VkBool32 has, GpuFeature feature) {
    if (has)
      features.add(feature);
  };
  note(plain.shaderInt64, GpuFeature::Int64);
  note(plain.shaderFloat64, GpuFeature::Float64);
  note(plain.shaderInt16, GpuFeature::Int16);
  note(narrow.shaderInt8, GpuFeature::Int8);
  note(bytes.storageBuffer8BitAccess, GpuFeature::Storage8);
  note(halves.storageBuffer16BitAccess, GpuFeature::Storage16);

  float priority = 1;
  auto queues = blank<VkDeviceQueueCreateInfo>(
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queues.queueFamilyIndex = family;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  auto info = blank<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &all;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  info.enabledExtensionCount = uint32_t(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (VkResult result = CreateDevice(physical, &info, nullptr, &handle))
    return "vkCreateDevice: " + std::to_string(result);
#define X(name)                                                                \
  name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(handle, "v"          \
                                                                  "k" #name));
  NNV12_DEVICE_FUNCTIONS(X)
#undef X
  GetDeviceQueue(handle, family, 0, &queue);
  auto poolInfo = blank<VkCommandPoolCreateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  poolInfo.queueFamilyIndex = family;
  CreateCommandPool(handle, &poolInfo, nullptr, &pool);
  auto buffers = blank<VkCommandBufferAllocateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  buffers.commandPool = pool;
  buffers.commandBufferCount = 1;
  AllocateCommandBuffers(handle, &buffers, &commands);
  std::printf("Vulkan device: %s, with %s\n", properties.deviceName,
              features.text().c_str());
  return "";
}

std::string ShaderRunner::Device::open(GpuFeatures &features) {
  std::string reason = openInstance();
  return reason.empty() ? openDevice(features) : reason;
}

uint32_t ShaderRunner::Device::memoryType(uint32_t bits) {
  constexpr VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while (type < memory.memoryTypeCount &&
         (!(bits >> type & 1) ||
          (memory.memoryTypes[type].propertyFlags & wanted) != wanted))
    ++type;
  assert(type < memory.memoryTypeCount && "Vulkan promises such memory");
  return type;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

ShaderRunner::Device::Pipeline
ShaderRunner::Device::make(const SpirvModule &module, std::string &error) {
  Pipeline result{};
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < module.bindings; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                        VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto setInfo = blank<VkDescriptorSetLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  setInfo.bindingCount = module.bindings;
  setInfo.pBindings = bindings.data();
  CreateDescriptorSetLayout(handle, &setInfo, nullptr, &result.setLayout);
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            module.pushWords * 4};
  auto layoutInfo = blank<VkPipelineLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layoutInfo.setLayoutCount = 1;
  layoutInfo.pSetLayouts = &result.setLayout;
  layoutInfo.pushConstantRangeCount = 1;
  layoutInfo.pPushConstantRanges = &range;
  CreatePipelineLayout(handle, &layoutInfo, nullptr, &result.layout);
  auto shaderInfo = blank<VkShaderModuleCreateInfo>(
      VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  shaderInfo.codeSize = module.words.size() * 4;
  shaderInfo.pCode = module.words.data();
  CreateShaderModule(handle, &shaderInfo, nullptr, &result.shader);
  auto pipelineInfo = blank<VkComputePipelineCreateInfo>(
      VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  pipelineInfo.stage = blank<VkPipelineShaderStageCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  pipelineInfo.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipelineInfo.stage.module = result.shader;
  pipelineInfo.stage.pName = SpirvModule::entry;
  pipelineInfo.layout = result.layout;
  pipelineInfo.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
  if (VkResult code = CreateComputePipelines(
          handle, VK_NULL_HANDLE, 1, &pipelineInfo, nullptr, &result.handle))
    error = "vkCreateComputePipelines: " + std::to_string(code);
  return result;
}

const ShaderRunner::Device::Pipeline &
ShaderRunner::Device::pipelineOf(const SpirvModule &module,
                                 std::string &error) {
  for (auto it = pipelines.begin(); it != pipelines.end(); ++it)
    if (it->first == module) {
      pipelines.splice(pipelines.begin(), pipelines, it);
      return it->second;
    }
  if (pipelines.size() == mostPipelines) {
    destroy(pipelines.back().second);
    pipelines.pop_back();
  }
  pipelines.emplace_front(module, make(module, error));
  return pipelines.front().second;
}

void ShaderRunner::Device::destroy(const Pipeline &pipeline) {
  DestroyPipeline(handle, pipeline.handle, nullptr);
  DestroyShaderModule(handle, pipeline.shader, nullptr);
  DestroyPipelineLayout(handle, pipeline.layout, nullptr);
  DestroyDescriptorSetLayout(handle, pipeline.setLayout, nullptr);
}

std::string ShaderRunner::Device::submit(const SpirvModule &module,
                                         const Pipeline &pipeline,
                                         VkDescriptorSet set,
                                         const GpuDispatch &dispatch,
                                         int64_t first, int64_t end) {
  ResetCommandPool(handle, pool, 0);
  auto begin = blank<VkCommandBufferBeginInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  BeginCommandBuffer(commands, &begin);
  CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                        pipeline.layout, 0, 1, &set, 0, nullptr);
  CmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                   module.pushWords * 4, dispatch.push.data());
  auto [x, y, z] = dispatch.groups;
  if (end < 0)
    CmdDispatch(commands, x, y, z);
  for (int64_t g = first; g < end; ++g)
    CmdDispatchBase(commands, uint32_t(g % x), uint32_t(g / x % y),
                    uint32_t(g / x / y), 1, 1, 1);
  EndCommandBuffer(commands);
  auto info = blank<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  if (VkResult result = QueueSubmit(queue, 1, &info, VK_NULL_HANDLE))
    return "vkQueueSubmit: " + std::to_string(result);
  if (VkResult result = QueueWaitIdle(queue))
    return "vkQueueWaitIdle: " + std::to_string(result);
  return "";
}

std::string ShaderRunner::Device::run(const SpirvModule &module,
                                      const GpuDispatch &dispatch,
                                      const std::vector<size_t> &places,
                                      std::vector<Bytes> &memories) {
  constexpr size_t canary = 4096;
  constexpr char pattern = char(0xa5);
  std::string error;
  int before = messages;
  assert(places.size() == module.bindings && "a memory for each binding");
  assert(dispatch.push.size() == module.pushWords && "a value for each word");

  // One buffer: canary, memory, canary, memory, … canary. The end of a memory
  // is exact; its beginning as the device wants it.
  size_t alignment =
      std::max<size_t>(properties.limits.minStorageBufferOffsetAlignment, 16);
  std::vector<size_t> offsets;
  size_t total = canary;
  for (const Bytes &memory : memories) {
    total = (total + alignment - 1) / alignment * alignment;
    offsets.push_back(total);
    total += memory.size() + canary;
  }
  std::vector<char> image(total, pattern);
  for (size_t i = 0; i < memories.size(); ++i)
    std::copy(memories[i].begin(), memories[i].end(), &image[offsets[i]]);

  VkBuffer buffer;
  auto bufferInfo =
      blank<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  bufferInfo.size = total;
  bufferInfo.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  CreateBuffer(handle, &bufferInfo, nullptr, &buffer);
  VkMemoryRequirements needs;
  GetBufferMemoryRequirements(handle, buffer, &needs);
  auto allocation =
      blank<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = memoryType(needs.memoryTypeBits);
  VkDeviceMemory storage;
  void *mapped = nullptr;
  if (AllocateMemory(handle, &allocation, nullptr, &storage) ||
      BindBufferMemory(handle, buffer, storage, 0) ||
      MapMemory(handle, storage, 0, VK_WHOLE_SIZE, 0, &mapped)) {
    return "no memory for " + std::to_string(total) + " bytes";
  }
  char *bytes = static_cast<char *>(mapped);
  std::memcpy(bytes, image.data(), total);

  const Pipeline &pipeline = pipelineOf(module, error);
  VkDescriptorPoolSize poolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                module.bindings};
  auto poolInfo = blank<VkDescriptorPoolCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  poolInfo.maxSets = 1;
  poolInfo.poolSizeCount = 1;
  poolInfo.pPoolSizes = &poolSize;
  VkDescriptorPool descriptors;
  CreateDescriptorPool(handle, &poolInfo, nullptr, &descriptors);
  auto setAllocation = blank<VkDescriptorSetAllocateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  setAllocation.descriptorPool = descriptors;
  setAllocation.descriptorSetCount = 1;
  setAllocation.pSetLayouts = &pipeline.setLayout;
  VkDescriptorSet set;
  AllocateDescriptorSets(handle, &setAllocation, &set);
  std::vector<VkDescriptorBufferInfo> infos(module.bindings);
  std::vector<VkWriteDescriptorSet> writes(module.bindings);
  for (uint32_t i = 0; i < module.bindings; ++i) {
    infos[i] = {buffer, offsets[places[i]],
                memories[places[i]].size() + canary};
    writes[i] =
        blank<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &infos[i];
  }
  UpdateDescriptorSets(handle, uint32_t(writes.size()), writes.data(), 0,
                       nullptr);

  GpuDispatch nothing = dispatch;
  std::fill(nothing.push.begin(), nothing.push.end(), 0);
  if (error.empty())
    error = submit(module, pipeline, set, nothing);
  if (error.empty() && std::memcmp(bytes, image.data(), total) != 0)
    error = "with all push words zero it writes something";
  if (error.empty())
    error = submit(module, pipeline, set, dispatch);
  std::vector<llvm::MutableArrayRef<char>> written;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!(module.written >> i & 1))
      continue;
    Bytes &memory = memories[places[i]];
    written.emplace_back(bytes + offsets[places[i]], memory.size());
    memory.assign(bytes + offsets[places[i]],
                  bytes + offsets[places[i]] + memory.size());
    std::copy(memory.begin(), memory.end(), &image[offsets[places[i]]]);
  }
  // The bytes that it may write are the image's as well now.
  for (size_t i = 0; error.empty() && i < total; ++i)
    if (bytes[i] != image[i])
      error = "it writes beyond its results, or to an operand";
  if (error.empty() && !dispatch.maps.empty())
    error = checkGroups(dispatch, written, [&](int64_t first, int64_t end) {
      return submit(module, pipeline, set, dispatch, first, end);
    });
  if (messages != before && error.empty())
    error = "the validation layer has something to say";

  DestroyDescriptorPool(handle, descriptors, nullptr);
  DestroyBuffer(handle, buffer, nullptr);
  FreeMemory(handle, storage, nullptr);
  return error;
}

#else

struct ShaderRunner::Device {
  std::string open(GpuFeatures &) {
    return "the tests were built without Vulkan's headers";
  }
  std::string run(const SpirvModule &, const GpuDispatch &,
                  const std::vector<size_t> &, std::vector<Bytes> &) {
    return "";
  }
};

#endif // NNV12_HAS_VULKAN_HEADERS

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

ShaderRunner::ShaderRunner() {
  device = new Device;
  reason_ = device->open(features_);
  if (!isAvailable())
    std::printf("SKIPPED: no kernel runs on a GPU, for %s\n", reason_.c_str());
}

ShaderRunner &ShaderRunner::instance() {
  static ShaderRunner runner;
  return runner;
}

std::string ShaderRunner::run(const SpirvModule &module,
                              const GpuDispatch &dispatch,
                              const std::vector<size_t> &bindings,
                              std::vector<Bytes> &memories) {
  assert(isAvailable() && "there is a device");
  std::vector<size_t> all = bindings;
  for (const Bytes &table : module.tables) {
    all.push_back(memories.size());
    memories.push_back(table);
  }
  std::string error = device->run(module, dispatch, all, memories);
  memories.resize(memories.size() - module.tables.size());
  return error;
}

std::vector<Bytes> ShaderRunner::run(const SpirvModule &module,
                                     const GpuDispatch &dispatch,
                                     std::vector<Bytes> operands,
                                     std::string &error) {
  auto isWritten = [&](size_t i) { return module.written >> i & 1; };
  std::vector<size_t> bindings(operands.size());
  std::iota(bindings.begin(), bindings.end(), size_t(0));
  for (size_t i : bindings)
    if (isWritten(i))
      operands[i] = garbage(operands[i].size());
  error = run(module, dispatch, bindings, operands);
  std::vector<Bytes> results;
  for (size_t i : bindings)
    if (isWritten(i))
      results.push_back(std::move(operands[i]));
  return results;
}

/// The checks that the runtime makes before a driver sees the module.
static std::string verify(const SpirvModule &module) {
  artifact::SpirvInterface facts = {};
  facts.words = module.words.data();
  facts.numWords = module.words.size();
  facts.bindings = module.bindings;
  facts.written = module.written;
  facts.pushWords = module.pushWords;
  std::copy_n(module.localSize.begin(), 3, facts.local);
  facts.shared = module.sharedBytes;
  facts.features = module.features.bits;
  std::vector<std::max_align_t> scratch(
      artifact::spirvScratchSize(facts) / sizeof(std::max_align_t) + 1);
  artifact::Fault fault;
  if (artifact::verifySpirv(facts, scratch.data(),
                            scratch.size() * sizeof(std::max_align_t), fault))
    return "";
  return std::string("SpirvVerifier: ") + fault.text;
}

#if NNV12_HAS_SPIRV_TOOLS
/// The verdict of spirv-val, without a process for each module.
static std::string validateByTools(const SpirvModule &module) {
  static const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
  spv_diagnostic diagnostic = nullptr;
  spv_result_t result = spvValidateBinary(context, module.words.data(),
                                          module.words.size(), &diagnostic);
  std::string text;
  if (result != SPV_SUCCESS)
    text = std::string("spirv-val: ") +
           (diagnostic ? diagnostic->error : "it is not valid");
  spvDiagnosticDestroy(diagnostic);
  return text;
}
#else
static std::string validateByTools(const SpirvModule &) {
  static const bool isSaid = [] {
    std::printf("SKIPPED: the tests were built without SPIRV-Tools\n");
    return true;
  }();
  (void)isSaid;
  return "";
}
#endif

std::string test::validate(const SpirvModule &module) {
  // Many layers have the same kernels.
  static std::map<std::vector<uint32_t>, std::vector<SpirvModule>> seen;
  std::vector<SpirvModule> &alike = seen[module.words];
  if (std::find(alike.begin(), alike.end(), module) != alike.end())
    return "";
  std::string error = verify(module);
  if (error.empty())
    error = validateByTools(module);
  if (error.empty())
    alike.push_back(module);
  return error;
}
