//===- MockVulkan.h - A Vulkan library for tests ----------------*- C++ -*-===//
//
// A library of its own, which a session is told to load. Its device computes
// the kernels of GpuSample on the CPU, has the properties that a test wants,
// and fails where a test wants it to. It notices faults of its user: objects
// that are left, destroyed twice or used when they are gone, and memory that is
// not flushed.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_GPU_MOCKVULKAN_H
#define NNV12_TEST_UNIT_GPU_MOCKVULKAN_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nnv12::test {

/// The device's properties. To be set while nobody uses it.
struct MockDevice {
  const char *name = "mock";
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  uint32_t api = VK_API_VERSION_1_1;
  uint32_t driverVersion = 1;
  uint8_t uuid = 1; ///< its first byte
  bool robust = true;
  bool computes = true; ///< has a queue that does
  bool timeline = true, import = true, feedback = true;
  bool importFails = false;
  bool cached = true, coherent = true; ///< memory that CPUs see
  // The device's limits; makeLeast() sets those that Vulkan promises of any
  // device.
  uint32_t bindings = 64, pushBytes = 256, sharedBytes = 32768;
  uint32_t invocations = 1024, bufferBytes = 1u << 30, groups = 1u << 20;
  void makeLeast() {
    bindings = 4;
    pushBytes = 128;
    sharedBytes = 16384;
    invocations = 128;
    bufferBytes = 1 << 27;
    groups = 65535;
  }
  uint64_t largestAllocation = uint64_t(1) << 30;
  uint64_t atom = 64;           ///< of memory that is not coherent
  uint64_t mapAlignment = 4096; ///< of mapped memory, and the most
  uint32_t timestampBits = 36;  ///< that count; ticks of 32 ns
};

/// One call that fails.
struct MockFault {
  std::string function; ///< vkQueueSubmit…; empty: none
  uint32_t call = 1;    ///< the how manieth
  VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
  /// Whether the memory of a lost device holds nothing from this call on. No
  /// other thread may write to that memory during the call.
  bool forgets = true;
};

class MockVulkan {
public:
  virtual ~MockVulkan() = default;
  /// Forgets all calls; objects that are left stay.
  virtual void reset() = 0;
  std::vector<MockDevice> devices = {MockDevice()};
  MockFault fault;
  /// Called before each call, on its thread, by the function's name.
  std::function<void(const char *function)> before;
  /// The device takes work and does nothing, for ever.
  bool hangs = false;
  /// Nanoseconds of its own clock, which goes on only where somebody waits,
  /// until it is done with its next work. 0: it is done at once.
  uint64_t busyFor = 0;

  /// The moment at which it computes a submission: at once; beside the thread
  /// that has submitted it, on one of its own; at last, in the call that waits.
  /// Other moments than the first are for sessions that have prepared all.
  enum class When { AtOnce, Beside, AtLast };
  When when = When::AtOnce;

  /// How often each function was called.
  virtual std::map<std::string, uint32_t> calls() = 0;
  uint32_t calls(const std::string &function) { return calls()[function]; }
  /// How many bytes of its own memory it was asked for.
  virtual uint64_t bytesAllocated() = 0;
  /// Objects that were not destroyed, and the faults of the user.
  virtual std::string objectsLeft() = 0;
  /// Those that are left now are meant to be.
  virtual void forgiveObjects() = 0;
  virtual std::vector<std::string> mistakes() = 0;
};

/// The mock of the library at `path`, which is loaded with it.
MockVulkan &loadMockVulkan(const char *path);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_GPU_MOCKVULKAN_H
