//===- GpuDevice.h - A device of Vulkan, shared by a process ----*- C++ -*-===//
//
// Opening a device takes tenths of a second, so that all sessions of a process
// that want the same one share it, with the pipelines that were made on it. One
// that could not be opened, or was lost, is not tried again. All of that is
// forgotten with forgetAll(), which is when devices are closed that no session
// has any more.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_GPUDEVICE_H
#define NNV12_RUNTIME_GPU_GPUDEVICE_H

#include "artifact/Digest.h"
#include "artifact/Limits.h"
#include "runtime/gpu/CacheKey.h"
#include "runtime/gpu/Lock.h"
#include "runtime/gpu/Vulkan.h"
#include "runtime/include/nnv12.h"

#include <atomic>
#include <cstdint>

namespace nnv12::runtime {

/// The stack of threads that call drivers: these compile on it.
constexpr size_t driverStack = 8 << 20;

/// Which device is wanted.
struct GpuWish {
  char library[256] = {}; ///< empty: libvulkan.so.1
  uint8_t uuid[VK_UUID_SIZE] = {};
  bool hasUuid = false;
  bool allowSoftware = false;

  /// Takes strings and identifiers over. False, with a fault, where one is too
  /// long.
  bool set(const char *library, const uint8_t *uuid, bool allowSoftware,
           artifact::Fault &fault);
  bool operator==(const GpuWish &other) const;
};

/// The facts that tell a pipeline from others of a device.
struct PipelineKey {
  artifact::Digest module;
  uint32_t constants[artifact::maxConstants];
  uint32_t numConstants;
  uint32_t bindings;
  uint32_t pushWords;
};

/// A pipeline, which stays as long as its device.
struct MadePipeline {
  PipelineKey key;
  VkPipeline pipeline;
  VkPipelineLayout layout;
  MadePipeline *next;
};

class GpuDevice {
public:
  /// The process's device for this wish, opened where it is not open yet, which
  /// may take long. Null, with a line that says why, where there is none. Where
  /// it is opened, `folder` has the marker of that (TryingMarker.h).
  [[nodiscard]] static GpuDevice *
  acquire(const GpuWish &wish, const char *folder, artifact::Fault &fault);
  /// Gives back a device from acquire().
  void release();
  /// Gives back a device that still uses memory or objects, which must stay for
  /// ever.
  void abandon();
  /// Begins to open it, on a thread of its own, which forgetAll() waits for.
  /// There is no marker of that: who starts it has named no folder.
  [[nodiscard]] static bool start(const GpuWish &wish, artifact::Fault &fault);
  /// Makes an application's own device the one of all sessions that name none.
  [[nodiscard]] static bool use(const nnv12_gpu_handles &handles,
                                artifact::Fault &fault);
  /// Sessions that begin later open devices anew.
  static void forgetAll();

  const Vulkan &vulkan() const { return functions; }
  VkDevice device() const { return handle; }
  uint32_t family() const { return queueFamily; }
  /// How many bits of the queue's time stamps count; 0: it has none.
  unsigned timestampBits() const { return timestamps; }
  const char *name() const { return properties.properties.deviceName; }
  const VkPhysicalDeviceProperties &facts() const {
    return properties.properties;
  }
  const VkPhysicalDeviceMemoryProperties &memory() const { return memories; }
  /// artifact::SpirvFeature's bits that are switched on.
  uint64_t features() const { return featureBits; }
  /// Whether CPUs do its work.
  bool isSoftware() const {
    return facts().deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  }
  /// Whether it works in the memory that CPUs work in.
  bool isUnified() const {
    return isSoftware() ||
           facts().deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
  bool hasTimeline() const { return timeline; }
  /// Whether it tells which pipelines came from a cache.
  bool hasFeedback() const { return isOurs && (extensions & Feedback); }
  /// The alignment of memory that can be imported; 0: none can be imported.
  uint64_t importAlignment() const { return importUnit; }
  uint64_t mostAllocation() const { return largestAllocation; }

  const CacheKey &cacheKey() const { return key; }

  /// Hands work over. Any thread.
  VkResult submit(const VkSubmitInfo &info, VkFence fence);
  /// Waits for all of it.
  VkResult waitIdle();

  /// After an error that leaves nothing to hope for: no session uses it from
  /// now on.
  void lose(const char *why);
  bool isLost() const { return lost.load(std::memory_order_acquire); }
  /// Why the device was lost; only once isLost().
  const char *lossReason() const { return reason; }

  /// For sets of so many storage buffers; null, with a fault, without memory.
  VkDescriptorSetLayout setLayout(uint32_t bindings, artifact::Fault &fault);
  /// The pipeline of this key, where one has been made.
  const MadePipeline *find(const PipelineKey &key);
  /// Takes over a pipeline with its layout. Null without memory: they are the
  /// caller's then.
  const MadePipeline *add(const PipelineKey &key, VkPipeline pipeline,
                          VkPipelineLayout layout);

private:
  /// A bit for each extension that we use where a device has it.
  enum Extension : uint32_t {
    Timeline = 1,
    HostMemory = 2,
    DriverProperties = 4,
    Storage8 = 8,
    Float16Int8 = 16,
    Feedback = 32
  };

  [[nodiscard]] bool open(const char *folder, artifact::Fault &fault);
  [[nodiscard]] bool choose(artifact::Fault &fault);
  [[nodiscard]] int rank(VkPhysicalDevice candidate, artifact::Fault &why);
  static constexpr uint32_t mostFamilies = 16;
  uint32_t
      listFamilies(VkQueueFamilyProperties (&families)[mostFamilies]) const;
  [[nodiscard]] bool findQueue(artifact::Fault &fault);
  [[nodiscard]] bool makeDevice(const char *folder, artifact::Fault &fault);
  void findExtensions();
  void describePhysical();
  void close();
  static GpuDevice *&known();
  static void *openerMain(void *wish);

  // Small members come first, so that reading them is cheap.
  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice handle = nullptr;
  VkQueue queue = nullptr;
  uint32_t queueFamily = 0;
  unsigned timestamps = 0;
  uint32_t extensions = 0; ///< Extension
  bool isOurs = true;      ///< not the application's
  bool isShunned = false;  ///< by a marker in one folder; others may have none
  bool timeline = false;
  uint64_t importUnit = 0, largestAllocation = 0, featureBits = 0;
  MadePipeline *pipelines = nullptr;

  GpuDevice *next = nullptr; ///< of those that the process knows
  GpuDevice *nextAbandoned = nullptr;
  uint32_t owners = 0; ///< under the lock of these
  enum class State { New, Open, Failed } state = State::New;
  std::atomic<bool> lost{false}, losing{false};
  /// For opening; for submitting; for pipelines and layouts.
  pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER,
                  submitting = PTHREAD_MUTEX_INITIALIZER,
                  making = PTHREAD_MUTEX_INITIALIZER;
  VkDescriptorSetLayout layouts[artifact::maxBindings + 1] = {};

  Vulkan functions = {};
  GpuWish wish;
  char reason[300] = {}; ///< why it is no use
  CacheKey key = {};
  VkPhysicalDeviceProperties2 properties = {};
  VkPhysicalDeviceMemoryProperties memories = {};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUDEVICE_H
