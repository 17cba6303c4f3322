//===- MockObjects.h - Objects of a Vulkan library for tests ----*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_GPU_MOCKOBJECTS_H
#define NNV12_TEST_UNIT_GPU_MOCKOBJECTS_H

#include "test/unit/gpu/MockVulkan.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <thread>
#include <typeinfo>

namespace nnv12::test::mocked {

struct Object {
  virtual ~Object() = default;
};

struct Physical {
  const MockDevice *facts;
};
struct Instance : Object {
  std::vector<Physical> devices;
};
struct Device : Object {
  const MockDevice *facts;
  bool hasTimeline = false, hasImport = false;
};
/// Bytes that begin at a multiple of an alignment, and of no larger one.
class AlignedBytes {
public:
  void assign(size_t size, uint64_t alignment) {
    size_ = size;
    all_.reset(new (std::align_val_t(4096)) uint8_t[size + 4096]);
    at_ = all_.get() + (alignment < 4096 ? alignment : 0);
    fill();
  }
  /// As fresh memory may be, and that of a device that was lost.
  void fill() { std::fill_n(at_, size_, uint8_t(0xff)); }
  uint8_t *data() { return at_; }
  size_t size() const { return size_; }

private:
  struct Free {
    void operator()(uint8_t *bytes) const {
      operator delete[](bytes, std::align_val_t(4096));
    }
  };
  std::unique_ptr<uint8_t, Free> all_;
  uint8_t *at_ = nullptr;
  size_t size_ = 0;
};
struct Memory : Object {
  AlignedBytes own, mapped; ///< two where CPU and GPU are not coherent
  uint8_t *imported = nullptr;
  bool isCoherent = true, isVisible = true;
  uint8_t *bytes() { return imported ? imported : own.data(); }
};
struct Buffer : Object {
  uint64_t size = 0;
  Memory *memory = nullptr;
};
struct Module : Object {
  uint32_t operation = 0; ///< OpFAdd, OpFMul, or 0: copies
  uint32_t local = 0;
};
struct Layout : Object {
  uint32_t bindings = 0;
};
struct Pipeline : Object {
  Module module;
};
struct Set {
  std::vector<VkDescriptorBufferInfo> places;
};
struct Pool : Object {
  std::vector<std::unique_ptr<Set>> sets;
  uint32_t mostSets = 0, bindings = 0;
};
struct Commands {
  const MockDevice *facts = nullptr;
  std::vector<std::function<void()>> list;
  bool isOpen = false;
  const Pipeline *pipeline = nullptr;
  const Set *set = nullptr;
};
struct CommandPool : Object {
  const MockDevice *facts = nullptr;
  std::vector<std::unique_ptr<Commands>> buffers;
};
struct Fence : Object {
  std::atomic<bool> isSignalled{false};
};
struct Semaphore : Object {
  std::atomic<uint64_t> value{0};
};
struct Cache : Object {};
struct Queries : Object {
  std::vector<uint64_t> values;
  std::vector<bool> isWritten;
};

/// Opcodes of SPIR-V.
constexpr uint32_t opFAdd = 129, opFMul = 133;

/// The library's one state. Each function takes its lock.
class Mock : public MockVulkan {
public:
  void reset() override {
    join();
    std::lock_guard<std::mutex> lock(mutex);
    devices = {MockDevice()};
    fault = {};
    before = {};
    hangs = lost = false;
    busyFor = 0;
    when = When::AtOnce;
    pending = {};
    allocated = 0;
    counts.clear();
    faults.clear();
  }
  std::map<std::string, uint32_t> calls() override {
    std::lock_guard<std::mutex> lock(mutex);
    return counts;
  }
  uint64_t bytesAllocated() override { return allocated; }
  std::string objectsLeft() override {
    std::lock_guard<std::mutex> lock(mutex);
    std::string result;
    for (const auto &[object, name] : objects)
      result += name + " ";
    return result;
  }
  void forgiveObjects() override {
    std::lock_guard<std::mutex> lock(mutex);
    forgiven.insert(objects.begin(), objects.end());
    objects.clear();
  }
  std::vector<std::string> mistakes() override {
    std::lock_guard<std::mutex> lock(mutex);
    return faults;
  }

  /// At the beginning of each call: whether it shall fail.
  VkResult enter(const char *function) {
    std::function<void(const char *)> told;
    {
      std::lock_guard<std::mutex> lock(mutex);
      told = before;
    }
    if (told)
      told(function);
    std::lock_guard<std::mutex> lock(mutex);
    if (++counts[function] != fault.call || fault.function != function)
      return VK_SUCCESS;
    if (fault.result == VK_ERROR_DEVICE_LOST)
      lose(fault.forgets);
    return fault.result;
  }

  template <typename T, typename Handle> T *add(T *object, Handle &handle) {
    std::lock_guard<std::mutex> lock(mutex);
    objects[object] = typeid(T).name();
    handle = reinterpret_cast<Handle>(object);
    return object;
  }
  template <typename T, typename Handle> T &get(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex);
    auto *object = reinterpret_cast<T *>(handle);
    if (!objects.count(object))
      faults.push_back("used an object that is gone");
    return *object;
  }
  template <typename T, typename Handle> void remove(Handle handle) {
    auto *object = reinterpret_cast<T *>(handle);
    if (!object)
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!objects.erase(object)) {
        faults.push_back("destroyed an object that is gone");
        return;
      }
    }
    delete object;
  }
  /// Waits for the thread that computes beside, if there is one.
  void join() {
    std::thread last;
    {
      std::lock_guard<std::mutex> lock(mutex);
      last.swap(thread);
    }
    if (last.joinable())
      last.join();
  }
  void accuse(const char *what) {
    std::lock_guard<std::mutex> lock(mutex);
    faults.push_back(what);
  }

  std::atomic<uint64_t> allocated{0};
  std::mutex mutex, running;
  std::thread thread; ///< computes beside
  bool lost = false;
  /// Ends a submission, and tells that it is done; taken under
  /// `mutex`.
  std::function<void()> pending;

private:
  /// The memory of a lost device stays mapped. Its bytes may be gone.
  void lose(bool forgets) {
    lost = true;
    if (!forgets)
      return;
    for (const auto &[object, name] : objects)
      if (name == typeid(Memory).name()) {
        auto *memory = static_cast<Memory *>(object);
        memory->own.fill();
        memory->mapped.fill();
      }
  }

  std::map<std::string, uint32_t> counts;
  std::map<void *, std::string> objects, forgiven; ///< and their kinds
  std::vector<std::string> faults;
};

extern Mock &mock;

using Allocator = const VkAllocationCallbacks *;

/// Any function that destroys an object of a device.
template <typename T, typename Handle>
void destroy(VkDevice, Handle handle, Allocator) {
  mock.remove<T>(handle);
}

/// The struct of this kind in a chain, if it is there.
template <typename T> T *inChain(void *next, VkStructureType type) {
  auto *chain = static_cast<VkBaseOutStructure *>(next);
  while (chain && chain->sType != type)
    chain = chain->pNext;
  return reinterpret_cast<T *>(chain);
}

} // namespace nnv12::test::mocked

#endif // NNV12_TEST_UNIT_GPU_MOCKOBJECTS_H
