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
#include "runtime/gpu/CachePath.h"
#include "runtime/gpu/Vulkan.h"
#include "runtime/include/nnv12.h"
#include "runtime/system/Threads.h"

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

  /// Copies the options that name a device. False, with a fault, where the
  /// library's name is too long.
  [[nodiscard]] bool set(const nnv12_gpu_options &options,
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

struct GpuWeights;

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
  /// There is no marker of that, since the caller has named no folder.
  [[nodiscard]] static bool start(const GpuWish &wish, artifact::Fault &fault);
  /// Makes an application's own device the one of all sessions that name none.
  [[nodiscard]] static bool use(const nnv12_gpu_handles &handles,
                                artifact::Fault &fault);
  /// Sessions that begin later open devices anew.
  static void forgetAll();

  const Vulkan &vulkan() const { return functions_; }
  VkDevice device() const { return handle_; }
  uint32_t family() const { return queueFamily_; }
  /// How many bits of the queue's time stamps count; 0: it has none.
  unsigned timestampBits() const { return timestamps_; }
  const char *name() const { return properties_.properties.deviceName; }
  const VkPhysicalDeviceProperties &facts() const {
    return properties_.properties;
  }
  const VkPhysicalDeviceMemoryProperties &memory() const { return memories_; }
  /// artifact::SpirvFeature's bits that are switched on.
  uint64_t features() const { return featureBits_; }
  /// Whether CPUs do its work.
  bool isSoftware() const {
    return facts().deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  }
  /// Whether it works in the memory that CPUs work in.
  bool isUnified() const {
    return isSoftware() ||
           facts().deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
  bool hasTimeline() const { return timeline_; }
  /// Whether it tells which pipelines came from a cache.
  bool hasFeedback() const { return isOurs_ && (extensions_ & Feedback); }
  /// The alignment of memory that can be imported; 0: none can be imported.
  uint64_t importAlignment() const { return importUnit_; }
  uint64_t mostAllocation() const { return largestAllocation_; }

  const CacheKey &cacheKey() const { return key_; }

  /// Makes an object of the device by a function of Vulkan, which `what` names.
  /// `handle` is null where that fails.
  template <typename Create, typename Info, typename Handle>
  [[nodiscard]] bool make(Create create, const Info &info, Handle &handle,
                          const char *what, artifact::Fault &fault) const {
    handle = nullptr;
    bool isMade = check(create(handle_, &info, nullptr, &handle), what, fault);
    if (!isMade)
      handle = nullptr;
    return isMade;
  }

  /// Hands work over. Any thread.
  VkResult submit(const VkSubmitInfo &info, VkFence fence);
  /// Waits for all of it.
  VkResult waitIdle();

  /// After an error that leaves nothing to hope for: no session uses it from
  /// now on.
  void lose(const char *why);
  bool isLost() const { return lost_.load(std::memory_order_acquire); }
  /// Why the device was lost; only once isLost().
  const char *lossReason() const { return reason_; }

  /// For sets of so many storage buffers; null, with a fault, without memory.
  VkDescriptorSetLayout setLayout(uint32_t bindings, artifact::Fault &fault);
  /// The pipeline of this key, where one has been made.
  const MadePipeline *find(const PipelineKey &key);
  /// Takes over a pipeline with its layout. Null without memory: they are the
  /// caller's then.
  const MadePipeline *add(const PipelineKey &key, VkPipeline pipeline,
                          VkPipelineLayout layout);

  /// The weights that sessions share there (runtime/Gpu.h). Under the lock.
  pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;
  GpuWeights *weights = nullptr;

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
  static void *openerMain(void *argument);

  // Small members come first, so that reading them is cheap.
  VkInstance instance_ = nullptr;
  VkPhysicalDevice physical_ = nullptr;
  VkDevice handle_ = nullptr;
  VkQueue queue_ = nullptr;
  uint32_t queueFamily_ = 0;
  unsigned timestamps_ = 0;
  uint32_t extensions_ = 0; ///< Extension
  bool isOurs_ = true;      ///< not the application's
  bool isShunned_ = false;  ///< by a marker in one folder; others may have none
  bool timeline_ = false;
  uint64_t importUnit_ = 0, largestAllocation_ = 0, featureBits_ = 0;
  MadePipeline *pipelines_ = nullptr;

  static GpuDevice *known_; ///< the first that the process knows
  GpuDevice *next_ = nullptr;
  GpuDevice *nextAbandoned_ = nullptr;
  uint32_t owners_ = 0; ///< under the lock of these
  enum class State { New, Open, Failed } state_ = State::New;
  std::atomic<bool> lost_{false}, losing_{false};
  /// For opening; for submitting; for pipelines and layouts.
  pthread_mutex_t opening_ = PTHREAD_MUTEX_INITIALIZER,
                  submitting_ = PTHREAD_MUTEX_INITIALIZER,
                  making_ = PTHREAD_MUTEX_INITIALIZER;
  VkDescriptorSetLayout layouts_[artifact::maxBindings + 1] = {};

  Vulkan functions_ = {};
  GpuWish wish_;
  char reason_[300] = {}; ///< why it is no use
  CacheKey key_ = {};
  VkPhysicalDeviceProperties2 properties_ = {};
  VkPhysicalDeviceMemoryProperties memories_ = {};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUDEVICE_H
