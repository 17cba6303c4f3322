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
// Devices that the process knows
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
GpuDevice *GpuDevice::known_ = nullptr;

bool GpuWish::set(const nnv12_gpu_options &options, Fault &fault) {
  if (const char *path = options.vulkan_library) {
    if (strlen(path) >= sizeof library)
      return fault.set(
          Fault::InvalidArgument,
          "gpu: vulkan_library: found %zu bytes, expected less than %zu",
          strlen(path), sizeof library);
    strcpy(library, path);
  }
  hasUuid = options.device_uuid != nullptr;
  if (hasUuid)
    memcpy(uuid, options.device_uuid, sizeof uuid);
  allowSoftware = options.allow_software != 0;
  return true;
}

bool GpuWish::operator==(const GpuWish &other) const {
  return strcmp(library, other.library) == 0 && hasUuid == other.hasUuid &&
         memcmp(uuid, other.uuid, sizeof uuid) == 0 &&
         allowSoftware == other.allowSoftware;
}

/// A child of a process that has used Vulkan has its handles, but neither the
/// driver's threads nor, may be, its locks in a state to go on from.
static bool mayUseVulkan(Fault &fault) {
  pid_t user = 0, self = getpid();
  return vulkanUser.compare_exchange_strong(user, self) || user == self ||
         fault.set(Fault::Unsupported,
                   "this process was forked from one that uses the GPU");
}

GpuDevice *GpuDevice::acquire(const GpuWish &wish, const char *folder,
                              Fault &fault) {
  if (!mayUseVulkan(fault))
    return nullptr;
  GpuDevice *found;
  {
    Lock lock(listLock);
    for (found = known_; found; found = found->next_)
      if (found->isOurs_ ? found->wish_ == wish
                         : !wish.hasUuid && !*wish.library)
        break;
    if (!found) {
      found = create<GpuDevice>();
      if (!found) {
        fault.set(Fault::OutOfMemory, "no memory for a device");
        return nullptr;
      }
      found->wish_ = wish;
      found->owners_ = 1; // the list
      found->next_ = known_;
      known_ = found;
    }
    ++found->owners_;
  }
  {
    // Only one of several sessions opens it; the others wait for that one.
    Lock lock(found->opening_);
    if (found->state_ == State::New) {
      Fault why;
      bool isOpen = found->open(folder, why);
      found->state_ = isOpen              ? State::Open
                      : found->isShunned_ ? State::New
                                          : State::Failed;
      if (!isOpen)
        snprintf(found->reason_, sizeof found->reason_, "%.290s", why.text);
    }
    if (found->state_ == State::Open && !found->isLost())
      return found;
  }
  fault.set(Fault::Unsupported, "%s", found->reason_);
  found->release();
  return nullptr;
}

void GpuDevice::release() {
  {
    Lock lock(listLock);
    if (--owners_)
      return;
  }
  close();
  destroy(this);
}

void GpuDevice::abandon() {
  static GpuDevice *abandoned = nullptr;
  Lock lock(listLock);
  for (GpuDevice *it = abandoned; it; it = it->nextAbandoned_)
    if (it == this)
      return;
  nextAbandoned_ = abandoned;
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
    list = known_;
    known_ = nullptr;
  }
  while (list) {
    GpuDevice *device = list;
    list = list->next_;
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
  if (!mayUseVulkan(fault))
    return false;
  auto *device = create<GpuDevice>();
  if (!device)
    return fault.set(Fault::OutOfMemory, "no memory for a device");
  device->isOurs_ = false;
  device->instance_ = static_cast<VkInstance>(handles.instance);
  device->physical_ = static_cast<VkPhysicalDevice>(handles.physical_device);
  device->handle_ = static_cast<VkDevice>(handles.device);
  device->queue_ = static_cast<VkQueue>(handles.queue);
  device->queueFamily_ = handles.queue_family;
  device->featureBits_ = handles.features;
  device->functions_.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(
          handles.get_instance_proc_addr);
  if (!device->functions_.findInstance(device->instance_, fault) ||
      !device->functions_.findDevice(device->handle_, fault)) {
    destroy(device);
    return false;
  }
  device->describePhysical();
  VkQueueFamilyProperties families[mostFamilies];
  if (device->queueFamily_ < device->listFamilies(families))
    device->timestamps_ = families[device->queueFamily_].timestampValidBits;
  // We do not know which other features the application has switched on.
  device->importUnit_ = 0;
  device->state_ = State::Open;
  device->owners_ = 1;
  Lock lock(listLock);
  device->next_ = known_;
  known_ = device;
  return true;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

bool GpuDevice::open(const char *folder, Fault &fault) {
  bool good =
      functions_.load(*wish_.library ? wish_.library : nullptr, fault) &&
      functions_.createInstance(instance_, fault) &&
      functions_.findInstance(instance_, fault) && choose(fault) &&
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
  functions_.GetPhysicalDeviceProperties2(candidate, &all);
  const VkPhysicalDeviceProperties &it = all.properties;
  if (wish_.hasUuid &&
      memcmp(id.deviceUUID, wish_.uuid, sizeof wish_.uuid) != 0)
    return why.set(Fault::Unsupported, "found no device of the UUID asked for");
  if (it.apiVersion < VK_API_VERSION_1_1)
    return why.set(Fault::Unsupported, "%.100s: found Vulkan 1.0, expected 1.1",
                   it.deviceName);
  if (it.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !wish_.allowSoftware)
    return why.set(Fault::Unsupported,
                   "%.100s is no GPU but software, which is used where that is "
                   "allowed alone (allow_software)",
                   it.deviceName);
  auto features = makeStruct<VkPhysicalDeviceFeatures2>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  functions_.GetPhysicalDeviceFeatures2(candidate, &features);
  if (!features.features.robustBufferAccess)
    return why.set(Fault::Unsupported, "%.100s: found no robust buffer access",
                   it.deviceName);
  // Other, integrated, discrete, virtual, CPU.
  static constexpr uint8_t ranks[] = {2, 4, 5, 3, 1};
  auto type = static_cast<uint32_t>(it.deviceType);
  return type < std::size(ranks) ? ranks[type] : 2;
}

bool GpuDevice::choose(Fault &fault) {
  VkPhysicalDevice devices[16];
  uint32_t count = std::size(devices);
  VkResult result =
      functions_.EnumeratePhysicalDevices(instance_, &count, devices);
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
    physical_ = devices[i];
  }
  return best != 0;
}

uint32_t GpuDevice::listFamilies(
    VkQueueFamilyProperties (&families)[mostFamilies]) const {
  uint32_t count = mostFamilies;
  functions_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count,
                                                    families);
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
        queueFamily_ = i;
        timestamps_ = families[i].timestampValidBits;
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
  functions_.EnumerateDeviceExtensionProperties(physical_, nullptr, &count,
                                                nullptr);
  artifact::Array<VkExtensionProperties> all;
  if (!all.allocate(count))
    return;
  VkResult result = functions_.EnumerateDeviceExtensionProperties(
      physical_, nullptr, &count, all.data());
  if (result < 0)
    return;
  for (uint32_t i = 0; i < count && i < all.size(); ++i)
    for (uint32_t k = 0; k < std::size(extensionNames); ++k)
      if (strcmp(all[i].extensionName, extensionNames[k]) == 0)
        extensions_ |= 1u << k;
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
  properties_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  auto ask = [this](auto &about) {
    about.pNext = properties_.pNext;
    properties_.pNext = &about;
  };
  ask(id);
  ask(sizes);
  if (extensions_ & HostMemory)
    ask(host);
  if (extensions_ & DriverProperties)
    ask(driver);
  functions_.GetPhysicalDeviceProperties2(physical_, &properties_);
  properties_.pNext = nullptr;
  functions_.GetPhysicalDeviceMemoryProperties(physical_, &memories_);
  importUnit_ = host.minImportedHostPointerAlignment;
  largestAllocation_ = sizes.maxMemoryAllocationSize;
  const VkPhysicalDeviceProperties &it = facts();
  key_.vendor = it.vendorID;
  key_.device = it.deviceID;
  key_.api = it.apiVersion;
  key_.driver = it.driverVersion;
  key_.driverId = static_cast<uint32_t>(driver.driverID);
  key_.isRobust = 1;
  memcpy(key_.deviceUuid, id.deviceUUID, VK_UUID_SIZE);
  memcpy(key_.driverUuid, id.driverUUID, VK_UUID_SIZE);
  memcpy(key_.cacheUuid, it.pipelineCacheUUID, VK_UUID_SIZE);
  key_.features = featureBits_;
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
    if (!(extensions_ & extension))
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
  functions_.GetPhysicalDeviceFeatures2(physical_, &all);

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
      featureBits_ |= feature.bit;
  describePhysical();

  float priority = 1;
  auto queues = makeStruct<VkDeviceQueueCreateInfo>(
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queues.queueFamilyIndex = queueFamily_;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  info.pNext = &all;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  TryingMarker marker;
  isShunned_ = !marker.begin(folder, key_, name(), fault);
  if (isShunned_)
    return false;
  bool isMade =
      check(functions_.CreateDevice(physical_, &info, nullptr, &handle_),
            "vkCreateDevice", fault);
  marker.end();
  if (!isMade)
    return false;
  if (!functions_.findDevice(handle_, fault))
    return false;
  timeline_ = waits.timelineSemaphore && functions_.WaitSemaphoresKHR &&
              functions_.GetSemaphoreCounterValueKHR;
  if (!functions_.GetMemoryHostPointerPropertiesEXT)
    importUnit_ = 0;
  functions_.GetDeviceQueue(handle_, queueFamily_, 0, &queue_);
  return true;
}

void GpuDevice::close() {
  while (pipelines_) {
    MadePipeline *made = pipelines_;
    pipelines_ = made->next;
    functions_.DestroyPipeline(handle_, made->pipeline, nullptr);
    functions_.DestroyPipelineLayout(handle_, made->layout, nullptr);
    free(made);
  }
  for (VkDescriptorSetLayout layout : layouts_)
    if (layout)
      functions_.DestroyDescriptorSetLayout(handle_, layout, nullptr);
  if (!isOurs_)
    return;
  if (handle_ && functions_.DestroyDevice)
    functions_.DestroyDevice(handle_, nullptr);
  if (instance_ && functions_.DestroyInstance)
    functions_.DestroyInstance(instance_, nullptr);
  handle_ = nullptr;
  instance_ = nullptr;
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

VkResult GpuDevice::submit(const VkSubmitInfo &info, VkFence fence) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  Lock lock(submitting_);
  return functions_.QueueSubmit(queue_, 1, &info, fence);
}

VkResult GpuDevice::waitIdle() {
  Lock lock(submitting_);
  return functions_.QueueWaitIdle(queue_);
}

void GpuDevice::lose(const char *why) {
  if (losing_.exchange(true))
    return;
  snprintf(reason_, sizeof reason_, "%s", why);
  lost_.store(true, std::memory_order_release);
}

VkDescriptorSetLayout GpuDevice::setLayout(uint32_t bindings, Fault &fault) {
  Lock lock(making_);
  VkDescriptorSetLayout &layout = layouts_[bindings];
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
  (void)make(functions_.CreateDescriptorSetLayout, info, layout,
             "vkCreateDescriptorSetLayout", fault);
  return layout;
}

static bool isEqual(const PipelineKey &a, const PipelineKey &b) {
  return a.module == b.module && a.bindings == b.bindings &&
         a.pushWords == b.pushWords && a.numConstants == b.numConstants &&
         memcmp(a.constants, b.constants,
                a.numConstants * sizeof *a.constants) == 0;
}

const MadePipeline *GpuDevice::find(const PipelineKey &key) {
  Lock lock(making_);
  for (MadePipeline *made = pipelines_; made; made = made->next)
    if (isEqual(made->key, key))
      return made;
  return nullptr;
}

const MadePipeline *GpuDevice::add(const PipelineKey &key, VkPipeline pipeline,
                                   VkPipelineLayout layout) {
  auto *made = static_cast<MadePipeline *>(malloc(sizeof(MadePipeline)));
  if (!made)
    return nullptr;
  *made = {key, pipeline, layout, nullptr};
  Lock lock(making_);
  made->next = pipelines_;
  pipelines_ = made;
  return made;
}

} // namespace nnv12::runtime
