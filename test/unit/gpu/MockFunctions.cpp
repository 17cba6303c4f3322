//===- MockFunctions.cpp - Functions of a Vulkan library for tests --------===//
#include "runtime/gpu/Vulkan.h"
#include "test/unit/gpu/MockCommands.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace nnv12::test;
using namespace nnv12::test::mocked;

/// Never destroyed: objects that are left on purpose stay reachable.
Mock &mocked::mock = *new Mock;

namespace {

//===----------------------------------------------------------------------===//
// Instances and devices
//===----------------------------------------------------------------------===//

VkResult CreateInstance(const VkInstanceCreateInfo *, Allocator,
                        VkInstance *instance) {
  auto *object = mock.add(new Instance, *instance);
  for (const MockDevice &device : mock.devices)
    object->devices.push_back({&device});
  return VK_SUCCESS;
}

void DestroyInstance(VkInstance instance, Allocator) {
  mock.remove<Instance>(instance);
}

VkResult EnumeratePhysicalDevices(VkInstance instance, uint32_t *count,
                                  VkPhysicalDevice *devices) {
  auto &all = mock.get<Instance>(instance).devices;
  uint32_t room = devices ? *count : uint32_t(all.size());
  *count = std::min(room, uint32_t(all.size()));
  for (uint32_t i = 0; devices && i < *count; ++i)
    devices[i] = reinterpret_cast<VkPhysicalDevice>(&all[i]);
  return *count < all.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

const MockDevice &factsOf(VkPhysicalDevice device) {
  return *reinterpret_cast<Physical *>(device)->facts;
}

void GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                  VkPhysicalDeviceProperties2 *all) {
  const MockDevice &facts = factsOf(device);
  VkPhysicalDeviceProperties &it = all->properties;
  it = {};
  it.apiVersion = facts.api;
  it.driverVersion = facts.driverVersion;
  it.vendorID = 0x12;
  it.deviceID = 0x34;
  it.deviceType = facts.type;
  strcpy(it.deviceName, facts.name);
  memset(it.pipelineCacheUUID, 7, VK_UUID_SIZE);
  VkPhysicalDeviceLimits &limits = it.limits;
  limits.maxPerStageDescriptorStorageBuffers = facts.bindings;
  limits.maxDescriptorSetStorageBuffers = facts.bindings;
  limits.maxPushConstantsSize = facts.pushBytes;
  limits.maxComputeSharedMemorySize = facts.sharedBytes;
  limits.maxComputeWorkGroupInvocations = facts.invocations;
  limits.maxStorageBufferRange = facts.bufferBytes;
  for (int i = 0; i < 3; ++i) {
    limits.maxComputeWorkGroupCount[i] = facts.groups;
    limits.maxComputeWorkGroupSize[i] = i < 2 ? 128 : 64;
  }
  limits.minStorageBufferOffsetAlignment = 256;
  limits.nonCoherentAtomSize = facts.atom;
  if (auto *id = inChain<VkPhysicalDeviceIDProperties>(
          all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)) {
    memset(id->deviceUUID, 0, VK_UUID_SIZE);
    memset(id->driverUUID, 9, VK_UUID_SIZE);
    id->deviceUUID[0] = facts.uuid;
  }
  if (auto *sizes = inChain<VkPhysicalDeviceMaintenance3Properties>(
          all->pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES))
    sizes->maxMemoryAllocationSize = facts.largestAllocation;
  if (auto *host = inChain<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
          all->pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT))
    host->minImportedHostPointerAlignment = 4096;
}

void GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                VkPhysicalDeviceFeatures2 *all) {
  all->features = {};
  all->features.robustBufferAccess = factsOf(device).robust;
  if (auto *waits = inChain<VkPhysicalDeviceTimelineSemaphoreFeaturesKHR>(
          all->pNext,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES_KHR))
    waits->timelineSemaphore = factsOf(device).timeline;
}

bool isUnified(const MockDevice &facts) {
  return facts.type == VK_PHYSICAL_DEVICE_TYPE_CPU ||
         facts.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

/// Type 0 is the device's own, but for devices that share all; CPUs see type 1.
void GetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                       VkPhysicalDeviceMemoryProperties *all) {
  const MockDevice &facts = factsOf(device);
  *all = {};
  all->memoryTypeCount = 2;
  VkMemoryPropertyFlags seen =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
      (facts.cached ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : 0) |
      (facts.coherent ? VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : 0);
  all->memoryTypes[0].propertyFlags =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (isUnified(facts) ? seen : 0);
  all->memoryTypes[1].propertyFlags = seen;
}

void GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device,
                                            uint32_t *count,
                                            VkQueueFamilyProperties *families) {
  *count = 1;
  families[0] = {};
  families[0].queueCount = 1;
  families[0].timestampValidBits = factsOf(device).timestampBits;
  families[0].queueFlags =
      factsOf(device).computes ? VK_QUEUE_COMPUTE_BIT : VK_QUEUE_TRANSFER_BIT;
}

VkResult EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                            const char *, uint32_t *count,
                                            VkExtensionProperties *list) {
  const MockDevice &facts = factsOf(device);
  std::vector<const char *> names;
  if (facts.timeline)
    names.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  if (facts.import)
    names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (facts.feedback)
    names.push_back(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  if (list)
    for (uint32_t i = 0; i < *count && i < names.size(); ++i)
      strcpy(list[i].extensionName, names[i]);
  *count = uint32_t(names.size());
  return VK_SUCCESS;
}

VkResult CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                      Allocator, VkDevice *device) {
  auto *object = mock.add(new Device, *device);
  object->facts = &factsOf(physical);
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
    const char *name = info->ppEnabledExtensionNames[i];
    object->hasTimeline |=
        strcmp(name, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME) == 0;
    object->hasImport |=
        strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0;
  }
  return VK_SUCCESS;
}

void DestroyDevice(VkDevice device, Allocator) { mock.remove<Device>(device); }

void GetDeviceQueue(VkDevice device, uint32_t, uint32_t, VkQueue *queue) {
  *queue = reinterpret_cast<VkQueue>(device);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

VkResult AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                        Allocator, VkDeviceMemory *memory) {
  const MockDevice &facts = *mock.get<Device>(device).facts;
  auto *import = inChain<VkImportMemoryHostPointerInfoEXT>(
      const_cast<void *>(info->pNext),
      VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  if (import && facts.importFails)
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  auto *object = mock.add(new Memory, *memory);
  object->isCoherent = facts.coherent;
  object->isVisible = info->memoryTypeIndex == 1 || isUnified(facts);
  if (import) {
    object->imported = static_cast<uint8_t *>(import->pHostPointer);
    if (info->allocationSize % 4096)
      mock.accuse("imported a part of a page");
    return VK_SUCCESS;
  }
  mock.allocated += info->allocationSize;
  object->own.assign(info->allocationSize, facts.mapAlignment);
  if (!object->isCoherent)
    object->mapped.assign(info->allocationSize, facts.mapAlignment);
  return VK_SUCCESS;
}

constexpr auto FreeMemory = destroy<Memory, VkDeviceMemory>;

VkResult MapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize,
                   VkMemoryMapFlags, void **address) {
  auto &object = mock.get<Memory>(memory);
  if (!object.isVisible)
    mock.accuse("mapped memory that CPUs do not see");
  *address = object.isCoherent ? object.own.data() : object.mapped.data();
  return VK_SUCCESS;
}

void copyRange(VkDevice device, const VkMappedMemoryRange &range, bool isOut) {
  auto &object = mock.get<Memory>(range.memory);
  uint64_t atom = mock.get<Device>(device).facts->atom;
  uint64_t size = range.size == VK_WHOLE_SIZE ? object.own.size() - range.offset
                                              : range.size;
  if (range.offset % atom ||
      (size % atom && range.offset + size != object.own.size()) ||
      range.offset + size > object.own.size()) {
    mock.accuse("a range of mapped memory that is not aligned");
    return;
  }
  if (object.isCoherent)
    return;
  auto &from = isOut ? object.own : object.mapped;
  auto &to = isOut ? object.mapped : object.own;
  std::copy_n(from.data() + range.offset, size, to.data() + range.offset);
}

VkResult FlushMappedMemoryRanges(VkDevice device, uint32_t,
                                 const VkMappedMemoryRange *ranges) {
  copyRange(device, *ranges, /*isOut=*/false);
  return VK_SUCCESS;
}

VkResult InvalidateMappedMemoryRanges(VkDevice device, uint32_t,
                                      const VkMappedMemoryRange *ranges) {
  copyRange(device, *ranges, /*isOut=*/true);
  return VK_SUCCESS;
}

VkResult GetMemoryHostPointerPropertiesEXT(
    VkDevice device, VkExternalMemoryHandleTypeFlagBits, const void *address,
    VkMemoryHostPointerPropertiesEXT *properties) {
  (void)mock.get<Device>(device);
  if (reinterpret_cast<uintptr_t>(address) % 4096)
    mock.accuse("imported from the middle of a page");
  properties->memoryTypeBits = 3;
  return VK_SUCCESS;
}

VkResult CreateBuffer(VkDevice, const VkBufferCreateInfo *info, Allocator,
                      VkBuffer *buffer) {
  if (info->size == 0)
    mock.accuse("made a buffer of nothing");
  mock.add(new Buffer, *buffer)->size = info->size;
  return VK_SUCCESS;
}

constexpr auto DestroyBuffer = destroy<Buffer, VkBuffer>;

void GetBufferMemoryRequirements(VkDevice, VkBuffer buffer,
                                 VkMemoryRequirements *needs) {
  *needs = {(mock.get<Buffer>(buffer).size + 255) & ~uint64_t(255), 256, 3};
}

VkResult BindBufferMemory(VkDevice, VkBuffer buffer, VkDeviceMemory memory,
                          VkDeviceSize) {
  mock.get<Buffer>(buffer).memory = &mock.get<Memory>(memory);
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

VkResult CreateShaderModule(VkDevice device,
                            const VkShaderModuleCreateInfo *info, Allocator,
                            VkShaderModule *module) {
  auto *object = mock.add(new Module, *module);
  constexpr uint32_t header = 5, executionMode = 16;
  for (size_t i = header; i < info->codeSize / 4; i += info->pCode[i] >> 16) {
    uint32_t opcode = info->pCode[i] & 0xffff;
    if (opcode == opFAdd || opcode == opFMul)
      object->operation = opcode;
    if (opcode == executionMode)
      object->local = info->pCode[i + 3];
    if (object->local > mock.get<Device>(device).facts->invocations)
      mock.accuse("larger workgroups than the device takes");
  }
  return VK_SUCCESS;
}

constexpr auto DestroyShaderModule = destroy<Module, VkShaderModule>;

/// A driver's compiled code: its header, and something behind it.
std::vector<uint8_t> cacheData() {
  VkPipelineCacheHeaderVersionOne head = {
      sizeof head, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, 0x12, 0x34, {}};
  memset(head.pipelineCacheUUID, 7, VK_UUID_SIZE);
  std::vector<uint8_t> bytes(sizeof head + 100, 0xcc);
  memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

VkResult CreatePipelineCache(VkDevice, const VkPipelineCacheCreateInfo *info,
                             Allocator, VkPipelineCache *cache) {
  std::vector<uint8_t> good = cacheData();
  if (info->initialDataSize &&
      (info->initialDataSize != good.size() ||
       memcmp(info->pInitialData, good.data(), good.size()) != 0))
    mock.accuse("gave the driver a damaged cache");
  if (!info->initialDataSize != !info->pInitialData)
    mock.accuse("gave the driver half of a cache");
  mock.add(new Cache, *cache);
  return VK_SUCCESS;
}

constexpr auto DestroyPipelineCache = destroy<Cache, VkPipelineCache>;

VkResult GetPipelineCacheData(VkDevice, VkPipelineCache, size_t *size,
                              void *data) {
  std::vector<uint8_t> all = cacheData();
  if (data)
    memcpy(data, all.data(), std::min(*size, all.size()));
  bool isCut = data && *size < all.size();
  *size = all.size();
  return isCut ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult CreateComputePipelines(VkDevice, VkPipelineCache, uint32_t count,
                                const VkComputePipelineCreateInfo *infos,
                                Allocator, VkPipeline *pipelines) {
  VkResult result = mock.enter("vkCreateComputePipelines");
  for (uint32_t i = 0; i < count; ++i) {
    pipelines[i] = nullptr;
    // One that fails may have made some before.
    if (result && i)
      continue;
    mock.add(new Pipeline, pipelines[i])->module =
        mock.get<Module>(infos[i].stage.module);
  }
  return result;
}

constexpr auto DestroyPipeline = destroy<Pipeline, VkPipeline>;

VkResult CreatePipelineLayout(VkDevice device,
                              const VkPipelineLayoutCreateInfo *info, Allocator,
                              VkPipelineLayout *layout) {
  const MockDevice &facts = *mock.get<Device>(device).facts;
  if (info->pushConstantRangeCount &&
      info->pPushConstantRanges->size > facts.pushBytes)
    mock.accuse("more push constants than the device takes");
  mock.add(new Layout, *layout);
  return VK_SUCCESS;
}

constexpr auto DestroyPipelineLayout = destroy<Layout, VkPipelineLayout>;

VkResult CreateDescriptorSetLayout(VkDevice device,
                                   const VkDescriptorSetLayoutCreateInfo *info,
                                   Allocator, VkDescriptorSetLayout *layout) {
  if (info->bindingCount > mock.get<Device>(device).facts->bindings)
    mock.accuse("more storage buffers than the device takes");
  mock.add(new Layout, *layout)->bindings = info->bindingCount;
  return VK_SUCCESS;
}

constexpr auto DestroyDescriptorSetLayout =
    destroy<Layout, VkDescriptorSetLayout>;

VkResult CreateDescriptorPool(VkDevice, const VkDescriptorPoolCreateInfo *info,
                              Allocator, VkDescriptorPool *pool) {
  auto *object = mock.add(new Pool, *pool);
  object->mostSets = info->maxSets;
  object->bindings = info->pPoolSizes->descriptorCount;
  return VK_SUCCESS;
}

constexpr auto DestroyDescriptorPool = destroy<Pool, VkDescriptorPool>;

VkResult AllocateDescriptorSets(VkDevice,
                                const VkDescriptorSetAllocateInfo *info,
                                VkDescriptorSet *sets) {
  auto &pool = mock.get<Pool>(info->descriptorPool);
  uint32_t bindings = mock.get<Layout>(*info->pSetLayouts).bindings;
  if (pool.sets.size() == pool.mostSets || pool.bindings < bindings)
    return VK_ERROR_OUT_OF_POOL_MEMORY;
  pool.bindings -= bindings;
  pool.sets.push_back(std::make_unique<Set>());
  pool.sets.back()->places.resize(bindings);
  *sets = reinterpret_cast<VkDescriptorSet>(pool.sets.back().get());
  return VK_SUCCESS;
}

void UpdateDescriptorSets(VkDevice device, uint32_t count,
                          const VkWriteDescriptorSet *writes, uint32_t,
                          const VkCopyDescriptorSet *) {
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < writes[i].descriptorCount; ++k) {
      const VkDescriptorBufferInfo &place = writes[i].pBufferInfo[k];
      if (place.range > mock.get<Device>(device).facts->bufferBytes)
        mock.accuse("a larger storage buffer than the device takes");
      if (place.offset % 256)
        mock.accuse("a storage buffer that is not aligned");
      reinterpret_cast<Set *>(writes[i].dstSet)
          ->places[writes[i].dstBinding + k] = place;
    }
}

PFN_vkVoidFunction GetDeviceProcAddr(VkDevice device, const char *name);

//===----------------------------------------------------------------------===//
// The library as its users see it
//===----------------------------------------------------------------------===//

/// A function that is counted, and fails where it can and a test wants it to.
template <auto function> struct Entry;
template <typename Result, typename... Args, Result (*function)(Args...)>
struct Entry<function> {
  static inline const char *name;
  static Result call(Args... args) {
    VkResult fault = mock.enter(name);
    if constexpr (std::is_same_v<Result, VkResult>)
      if (fault)
        return fault;
    return function(args...);
  }
};
/// One that is called as it is.
template <auto function> struct BareEntry {
  static inline const char *name;
  static constexpr auto call = function;
};
/// Sees to its faults itself.
template <>
struct Entry<CreateComputePipelines> : BareEntry<CreateComputePipelines> {};
/// Counts the functions that are found, not the search.
template <> struct Entry<GetDeviceProcAddr> : BareEntry<GetDeviceProcAddr> {};

template <auto function> PFN_vkVoidFunction entry(const char *name) {
  Entry<function>::name = name;
  return reinterpret_cast<PFN_vkVoidFunction>(Entry<function>::call);
}

const std::map<std::string, PFN_vkVoidFunction> &functions() {
#define ENTRY(name) {"vk" #name, entry<name>("vk" #name)},
  static const std::map<std::string, PFN_vkVoidFunction> table = {
      ENTRY(CreateInstance) NNV12_VULKAN_INSTANCE(ENTRY)
          NNV12_VULKAN_DEVICE(ENTRY) NNV12_VULKAN_OPTIONAL(ENTRY)};
#undef ENTRY
  return table;
}

PFN_vkVoidFunction find(const char *name) {
  auto found = functions().find(name);
  return found == functions().end() ? nullptr : found->second;
}

PFN_vkVoidFunction GetDeviceProcAddr(VkDevice, const char *name) {
  return find(name);
}

} // namespace

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction
vkGetInstanceProcAddr(VkInstance, const char *name) {
  return find(name);
}

extern "C" __attribute__((visibility("default"))) MockVulkan *mockVulkan() {
  return &mock;
}
