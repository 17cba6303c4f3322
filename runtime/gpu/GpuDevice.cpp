//===- GpuDevice.cpp - A device of Vulkan, shared by a process ------------===//
#include "runtime/gpu/GpuDevice.h"

#include "artifact/SpirvInterface.h"
#include "runtime/gpu/TryingMarker.h"
#include "runtime/system/Memory.h"
#include "runtime/system/Threads.h"

#include <cstring>
#include <iterator>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Fault;

//===----------------------------------------------------------------------===//
// Those that the process knows
//===----------------------------------------------------------------------===//

static pthread_mutex_t listLock = PTHREAD_MUTEX_INITIALIZER;
/// The last thread that start() has begun; under listLock.
static pthread_t opener;
static bool hasOpener = false;
/// The process that has begun to use Vulkan; 0: none has.
#ifdef NNV12_TEST_HOOKS
/// Tests have a child begin anew: see test/unit/gpu/TryingMarkerTest.cpp.
std::atomic<pid_t> vulkanUser{0};
#else
static std::atomic<pid_t> vulkanUser{0};
#endif

/// Under listLock.
GpuDevice *&GpuDevice::known() {
  static GpuDevice *first = nullptr;
  return first;
}

bool GpuWish::set(const char *path, const uint8_t *bytes, bool software,
                  Fault &fault) {
  if (path && strlen(path) >= sizeof library)
    return fault.set(Fault::InvalidArgument,
                     "vulkan_library: found %zu bytes, expected less than %zu",
                     strlen(path), sizeof library);
  if (path)
    strcpy(library, path);
  hasUuid = bytes != nullptr;
  if (bytes)
    memcpy(uuid, bytes, sizeof uuid);
  allowSoftware = software;
  return true;
}

bool GpuWish::operator==(const GpuWish &other) const {
  return strcmp(library, other.library) == 0 && hasUuid == other.hasUuid &&
         memcmp(uuid, other.uuid, sizeof uuid) == 0 &&
         allowSoftware == other.allowSoftware;
}

/// A child of a process that has used Vulkan has its handles, but neither the
/// driver's threads nor, may be, its locks in a state to go on from.
static bool isForked() {
  pid_t none = 0, self = getpid();
  return !vulkanUser.compare_exchange_strong(none, self) && none != self;
}

GpuDevice *GpuDevice::acquire(const GpuWish &wish, const char *folder,
                              Fault &fault) {
  if (isForked()) {
    fault.set(Fault::Unsupported,
              "this process was forked from one that uses the GPU");
    return nullptr;
  }
  GpuDevice *found;
  {
    Lock lock(listLock);
    for (found = known(); found; found = found->next)
      if (found->isOurs ? found->wish == wish : !wish.hasUuid && !*wish.library)
        break;
    if (!found) {
      found = create<GpuDevice>();
      if (!found) {
        fault.set(Fault::OutOfMemory, "no memory for a device");
        return nullptr;
      }
      found->wish = wish;
      found->owners = 1; // the list
      found->next = known();
      known() = found;
    }
    ++found->owners;
  }
  {
    // Only one of several sessions opens it; the others wait for that one.
    Lock lock(found->opening);
    if (found->state == State::New) {
      Fault why;
      bool isOpen = found->open(folder, why);
      found->state = isOpen             ? State::Open
                     : found->isShunned ? State::New
                                        : State::Failed;
      if (!isOpen)
        snprintf(found->reason, sizeof found->reason, "%.290s", why.text);
    }
    if (found->state == State::Open && !found->isLost())
      return found;
  }
  fault.set(Fault::Unsupported, "%s", found->reason);
  found->release();
  return nullptr;
}

void GpuDevice::release() {
  {
    Lock lock(listLock);
    if (--owners)
      return;
  }
  close();
  destroy(this);
}

void GpuDevice::abandon() {
  static GpuDevice *abandoned = nullptr;
  Lock lock(listLock);
  for (GpuDevice *it = abandoned; it; it = it->nextAbandoned)
    if (it == this)
      return;
  nextAbandoned = abandoned;
  abandoned = this;
}

void GpuDevice::forgetAll() {
  if (pid_t by = vulkanUser.load(); by && by != getpid())
    return;
  GpuDevice *list;
  pthread_t last;
  bool isOpening;
  {
    Lock lock(listLock);
    last = opener;
    isOpening = hasOpener;
    hasOpener = false;
  }
  if (isOpening)
    pthread_join(last, nullptr);
  {
    Lock lock(listLock);
    list = known();
    known() = nullptr;
  }
  while (list) {
    GpuDevice *device = list;
    list = list->next;
    device->release();
  }
}

void *GpuDevice::openerMain(void *argument) {
  auto *wish = static_cast<GpuWish *>(argument);
  Fault ignored;
  if (GpuDevice *device = acquire(*wish, "", ignored))
    device->release();
  destroy(wish);
  return nullptr;
}

bool GpuDevice::start(const GpuWish &wish, Fault &fault) {
  auto *copy = create<GpuWish>();
  if (!copy)
    return fault.set(Fault::OutOfMemory, "no memory for a device");
  *copy = wish;
  pthread_t before;
  bool hadOpener;
  int error;
  {
    Lock lock(listLock);
    before = opener;
    hadOpener = hasOpener;
    ThreadStarter starter(ThreadStarter::Slices::Default, driverStack);
    error = starter.start(opener, openerMain, copy, CpuMask());
    hasOpener = error == 0;
  }
  // The end waits for the later one of two.
  if (hadOpener)
    pthread_detach(before);
  if (error == 0)
    return true;
  destroy(copy);
  return fault.set(Fault::OutOfMemory, "the system refuses a thread: %s",
                   strerror(error));
}

bool GpuDevice::use(const nnv12_gpu_handles &handles, Fault &fault) {
  if (!handles.instance || !handles.physical_device || !handles.device ||
      !handles.queue || !handles.get_instance_proc_addr)
    return fault.set(Fault::InvalidArgument,
                     "handles: found NULL, expected all of instance, "
                     "physical_device, device, queue, get_instance_proc_addr");
  if (isForked())
    return fault.set(Fault::Unsupported,
                     "this process was forked from one that uses the GPU");
  auto *device = create<GpuDevice>();
  if (!device)
    return fault.set(Fault::OutOfMemory, "no memory for a device");
  device->isOurs = false;
  device->instance = static_cast<VkInstance>(handles.instance);
  device->physical = static_cast<VkPhysicalDevice>(handles.physical_device);
  device->handle = static_cast<VkDevice>(handles.device);
  device->queue = static_cast<VkQueue>(handles.queue);
  device->queueFamily = handles.queue_family;
  device->featureBits = handles.features;
  device->functions.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(
          handles.get_instance_proc_addr);
  if (!device->functions.findInstance(device->instance, fault) ||
      !device->functions.findDevice(device->handle, fault)) {
    destroy(device);
    return false;
  }
  device->describePhysical();
  VkQueueFamilyProperties families[mostFamilies];
  if (device->queueFamily < device->listFamilies(families))
    device->timestamps = families[device->queueFamily].timestampValidBits;
  // We do not know which other features the application has switched on.
  device->importUnit = 0;
  device->state = State::Open;
  device->owners = 1;
  Lock lock(listLock);
  device->next = known();
  known() = device;
  return true;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

bool GpuDevice::open(const char *folder, Fault &fault) {
  bool good = functions.load(*wish.library ? wish.library : nullptr, fault) &&
              functions.createInstance(instance, fault);
  good = good && functions.findInstance(instance, fault) && choose(fault) &&
         findQueue(fault) && makeDevice(folder, fault);
  if (!good)
    close();
  return good;
}

/// How good it is; 0, and why, where it is none for us.
int GpuDevice::rank(VkPhysicalDevice candidate, Fault &why) {
  auto id = makeStruct<VkPhysicalDeviceIDProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto all = makeStruct<VkPhysicalDeviceProperties2>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  all.pNext = &id;
  functions.GetPhysicalDeviceProperties2(candidate, &all);
  const VkPhysicalDeviceProperties &it = all.properties;
  if (wish.hasUuid && memcmp(id.deviceUUID, wish.uuid, sizeof wish.uuid) != 0) {
    why.set(Fault::Unsupported, "found no device of the UUID asked for");
    return 0;
  }
  if (it.apiVersion < VK_API_VERSION_1_1) {
    why.set(Fault::Unsupported, "%.100s: found Vulkan 1.0, expected 1.1",
            it.deviceName);
    return 0;
  }
  if (it.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !wish.allowSoftware) {
    why.set(Fault::Unsupported,
            "%.100s is no GPU but software, which is used where that is "
            "allowed alone (allow_software_gpu)",
            it.deviceName);
    return 0;
  }
  auto features = makeStruct<VkPhysicalDeviceFeatures2>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  functions.GetPhysicalDeviceFeatures2(candidate, &features);
  if (!features.features.robustBufferAccess) {
    why.set(Fault::Unsupported, "%.100s: found no robust buffer access",
            it.deviceName);
    return 0;
  }
  // Other, integrated, discrete, virtual, CPU.
  static constexpr uint8_t ranks[] = {2, 4, 5, 3, 1};
  auto type = static_cast<uint32_t>(it.deviceType);
  return type < std::size(ranks) ? ranks[type] : 2;
}

bool GpuDevice::choose(Fault &fault) {
  VkPhysicalDevice devices[16];
  uint32_t count = std::size(devices);
  VkResult result =
      functions.EnumeratePhysicalDevices(instance, &count, devices);
  if (result != VK_INCOMPLETE &&
      !check(result, "vkEnumeratePhysicalDevices", fault))
    return false;
  fault.set(Fault::Unsupported, "Vulkan knows no device");
  int best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int found = rank(devices[i], fault);
    if (found <= best)
      continue;
    best = found;
    physical = devices[i];
  }
  return best != 0;
}

uint32_t GpuDevice::listFamilies(
    VkQueueFamilyProperties (&families)[mostFamilies]) const {
  uint32_t count = mostFamilies;
  functions.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  return count;
}

bool GpuDevice::findQueue(Fault &fault) {
  VkQueueFamilyProperties families[mostFamilies];
  uint32_t count = listFamilies(families);
  // One that computes and does not draw has the GPU for itself more often.
  static constexpr VkQueueFlags kinds[] = {
      VK_QUEUE_COMPUTE_BIT, VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT};
  for (VkQueueFlags wanted : kinds)
    for (uint32_t i = 0; i < count; ++i)
      if (families[i].queueCount &&
          (families[i].queueFlags & kinds[1]) == wanted) {
        queueFamily = i;
        timestamps = families[i].timestampValidBits;
        return true;
      }
  return fault.set(Fault::Unsupported, "found no queue that computes");
}

/// In the order of their bits.
static constexpr char extensionNames[][36] = {
    VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
    VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
    VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME,
    VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
    VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME,
    VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME};

void GpuDevice::findExtensions() {
  uint32_t count = 0;
  functions.EnumerateDeviceExtensionProperties(physical, nullptr, &count,
                                               nullptr);
  artifact::Array<VkExtensionProperties> all;
  if (!all.allocate(count))
    return;
  VkResult result = functions.EnumerateDeviceExtensionProperties(
      physical, nullptr, &count, all.data());
  if (result < 0)
    return;
  for (uint32_t i = 0; i < count && i < all.size(); ++i)
    for (uint32_t k = 0; k < std::size(extensionNames); ++k)
      if (strcmp(all[i].extensionName, extensionNames[k]) == 0)
        extensions |= 1u << k;
}

void GpuDevice::describePhysical() {
  auto driver = makeStruct<VkPhysicalDeviceDriverPropertiesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES_KHR);
  auto host = makeStruct<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
  auto sizes = makeStruct<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto id = makeStruct<VkPhysicalDeviceIDProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &sizes;
  sizes.pNext = &id;
  if (extensions & HostMemory) {
    host.pNext = properties.pNext;
    properties.pNext = &host;
  }
  if (extensions & DriverProperties) {
    driver.pNext = properties.pNext;
    properties.pNext = &driver;
  }
  functions.GetPhysicalDeviceProperties2(physical, &properties);
  properties.pNext = nullptr;
  functions.GetPhysicalDeviceMemoryProperties(physical, &memories);
  importUnit = host.minImportedHostPointerAlignment;
  largestAllocation = sizes.maxMemoryAllocationSize;
  const VkPhysicalDeviceProperties &it = facts();
  key.vendor = it.vendorID;
  key.device = it.deviceID;
  key.api = it.apiVersion;
  key.driver = it.driverVersion;
  key.driverId = static_cast<uint32_t>(driver.driverID);
  key.isRobust = 1;
  memcpy(key.deviceUuid, id.deviceUUID, VK_UUID_SIZE);
  memcpy(key.driverUuid, id.driverUUID, VK_UUID_SIZE);
  memcpy(key.cacheUuid, it.pipelineCacheUUID, VK_UUID_SIZE);
  key.features = featureBits;
}

bool GpuDevice::makeDevice(const char *folder, Fault &fault) {
  findExtensions();
  auto narrow = makeStruct<VkPhysicalDeviceShaderFloat16Int8FeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR);
  auto bytes = makeStruct<VkPhysicalDevice8BitStorageFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR);
  auto halves = makeStruct<VkPhysicalDevice16BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  auto waits = makeStruct<VkPhysicalDeviceTimelineSemaphoreFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES_KHR);
  auto all = makeStruct<VkPhysicalDeviceFeatures2>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  all.pNext = &halves;
  const char *names[std::size(extensionNames)];
  auto info =
      makeStruct<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.ppEnabledExtensionNames = names;
  auto want = [&](Extension extension, void *features, void **next) {
    if (!(extensions & extension))
      return;
    names[info.enabledExtensionCount++] =
        extensionNames[__builtin_ctz(extension)];
    if (!features)
      return;
    *next = all.pNext;
    all.pNext = features;
  };
  want(Storage8, &bytes, &bytes.pNext);
  want(Float16Int8, &narrow, &narrow.pNext);
  want(Timeline, &waits, &waits.pNext);
  want(HostMemory, nullptr, nullptr);
  want(Feedback, nullptr, nullptr);
  functions.GetPhysicalDeviceFeatures2(physical, &all);

  // All that kernels may ask for is switched on, nothing else.
  VkPhysicalDeviceFeatures plain = {};
  plain.robustBufferAccess = VK_TRUE;
  plain.shaderInt16 = all.features.shaderInt16;
  plain.shaderInt64 = all.features.shaderInt64;
  plain.shaderFloat64 = all.features.shaderFloat64;
  all.features = plain;
  bytes.storagePushConstant8 = VK_FALSE;
  halves.storagePushConstant16 = VK_FALSE;
  halves.storageInputOutput16 = VK_FALSE;
  const struct {
    VkBool32 has;
    artifact::SpirvFeature bit;
  } found[] = {
      {plain.shaderInt64, artifact::SpirvInt64},
      {plain.shaderFloat64, artifact::SpirvFloat64},
      {plain.shaderInt16, artifact::SpirvInt16},
      {narrow.shaderInt8, artifact::SpirvInt8},
      {narrow.shaderFloat16, artifact::SpirvFloat16},
      {bytes.storageBuffer8BitAccess, artifact::SpirvStorageBuffer8},
      {halves.storageBuffer16BitAccess, artifact::SpirvStorageBuffer16},
      {bytes.uniformAndStorageBuffer8BitAccess,
       artifact::SpirvUniformAndStorageBuffer8},
      {halves.uniformAndStorageBuffer16BitAccess,
       artifact::SpirvUniformAndStorageBuffer16}};
  for (const auto &feature : found)
    if (feature.has)
      featureBits |= feature.bit;
  describePhysical();

  float priority = 1;
  auto queues = makeStruct<VkDeviceQueueCreateInfo>(
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queues.queueFamilyIndex = queueFamily;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  info.pNext = &all;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  TryingMarker marker;
  isShunned = !marker.begin(folder, key, name(), fault);
  if (isShunned)
    return false;
  bool isMade = check(functions.CreateDevice(physical, &info, nullptr, &handle),
                      "vkCreateDevice", fault);
  marker.end();
  if (!isMade)
    return false;
  if (!functions.findDevice(handle, fault))
    return false;
  timeline = waits.timelineSemaphore && functions.WaitSemaphoresKHR &&
             functions.GetSemaphoreCounterValueKHR;
  if (!functions.GetMemoryHostPointerPropertiesEXT)
    importUnit = 0;
  functions.GetDeviceQueue(handle, queueFamily, 0, &queue);
  return true;
}

void GpuDevice::close() {
  while (pipelines) {
    MadePipeline *made = pipelines;
    pipelines = made->next;
    functions.DestroyPipeline(handle, made->pipeline, nullptr);
    functions.DestroyPipelineLayout(handle, made->layout, nullptr);
    free(made);
  }
  for (VkDescriptorSetLayout layout : layouts)
    if (layout)
      functions.DestroyDescriptorSetLayout(handle, layout, nullptr);
  if (!isOurs)
    return;
  if (handle && functions.DestroyDevice)
    functions.DestroyDevice(handle, nullptr);
  if (instance && functions.DestroyInstance)
    functions.DestroyInstance(instance, nullptr);
  handle = nullptr;
  instance = nullptr;
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

VkResult GpuDevice::submit(const VkSubmitInfo &info, VkFence fence) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  Lock lock(submitting);
  return functions.QueueSubmit(queue, 1, &info, fence);
}

VkResult GpuDevice::waitIdle() {
  Lock lock(submitting);
  return functions.QueueWaitIdle(queue);
}

void GpuDevice::lose(const char *why) {
  if (losing.exchange(true))
    return;
  snprintf(reason, sizeof reason, "%s", why);
  lost.store(true, std::memory_order_release);
}

VkDescriptorSetLayout GpuDevice::setLayout(uint32_t bindings, Fault &fault) {
  Lock lock(making);
  VkDescriptorSetLayout &layout = layouts[bindings];
  if (layout)
    return layout;
  VkDescriptorSetLayoutBinding list[artifact::maxBindings] = {};
  for (uint32_t i = 0; i < bindings; ++i) {
    list[i].binding = i;
    list[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    list[i].descriptorCount = 1;
    list[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  auto info = makeStruct<VkDescriptorSetLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  info.bindingCount = bindings;
  info.pBindings = list;
  if (!check(
          functions.CreateDescriptorSetLayout(handle, &info, nullptr, &layout),
          "vkCreateDescriptorSetLayout", fault))
    layout = nullptr;
  return layout;
}

static bool isEqual(const PipelineKey &a, const PipelineKey &b) {
  return a.module == b.module && a.bindings == b.bindings &&
         a.pushWords == b.pushWords && a.numConstants == b.numConstants &&
         memcmp(a.constants, b.constants,
                a.numConstants * sizeof *a.constants) == 0;
}

const MadePipeline *GpuDevice::find(const PipelineKey &wanted) {
  Lock lock(making);
  for (MadePipeline *made = pipelines; made; made = made->next)
    if (isEqual(made->key, wanted))
      return made;
  return nullptr;
}

const MadePipeline *GpuDevice::add(const PipelineKey &newKey,
                                   VkPipeline pipeline,
                                   VkPipelineLayout layout) {
  auto *made = static_cast<MadePipeline *>(malloc(sizeof(MadePipeline)));
  if (!made)
    return nullptr;
  *made = {newKey, pipeline, layout, nullptr};
  Lock lock(making);
  made->next = pipelines;
  pipelines = made;
  return made;
}

} // namespace nnv12::runtime
