//===- GpuDeviceTest.cpp - Which device a session gets, and why none ------===//
#include "test/unit/gpu/GpuTest.h"

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace {

class GpuDeviceTest : public GpuTest {
protected:
  GpuDeviceTest() { open(); }

  /// The reason of a session that waits for its GPU; its result is right.
  std::string reason(const SessionOptions &options) {
    SessionPointer session = create(options);
    EXPECT_EQ(run(session), expected());
    nnv12_session_info now = info(session);
    EXPECT_EQ(now.gpu_stretches_taken, now.gpu_state == NNV12_GPU_READY ? 2 : 0)
        << now.gpu_reason;
    return *now.gpu_reason ? now.gpu_reason : now.gpu_device_name;
  }
  std::string reason() { return reason(options(NNV12_GPU_WAIT)); }
  /// The message for changed options, which are wrong.
  template <typename Change> std::string refusal(Change change) {
    SessionOptions changed = options(NNV12_GPU_WAIT);
    change(changed.gpu);
    nnv12_session_options c = changed.get();
    nnv12_session *session = nullptr;
    EXPECT_EQ(nnv12_session_create(bundle.get(), &c, &session, &error),
              NNV12_INVALID_ARGUMENT);
    return error.message;
  }
  /// The reason of a process's first session, with one device that was changed
  /// so.
  template <typename Change> std::string reasonOf(Change change) {
    nnv12_gpu_release();
    mock.reset();
    change(mock.devices[0]);
    return reason();
  }
};

} // namespace

TEST_F(GpuDeviceTest, SaysWhyThereIsNone) {
  SessionOptions options = this->options(NNV12_GPU_WAIT);
  options.gpu.vulkan_library = "/nowhere/libvulkan.so";
  EXPECT_EQ(reason(options),
            "no Vulkan here: /nowhere/libvulkan.so: cannot open shared object "
            "file: No such file or directory");
  options.gpu.vulkan_library = "libm.so.6";
  EXPECT_EQ(reason(options), "libm.so.6: found no vkGetInstanceProcAddr");
  EXPECT_EQ(reasonOf([&](MockDevice &) { mock.devices.clear(); }),
            "Vulkan knows no device");
  EXPECT_EQ(reasonOf([](MockDevice &d) { d.api = VK_API_VERSION_1_0; }),
            "mock: found Vulkan 1.0, expected 1.1");
  EXPECT_EQ(
      reasonOf([](MockDevice &d) { d.type = VK_PHYSICAL_DEVICE_TYPE_CPU; }),
      "mock is no GPU but software, which is used where that is allowed alone "
      "(allow_software)");
  EXPECT_EQ(reasonOf([](MockDevice &d) { d.robust = false; }),
            "mock: found no robust buffer access");
  EXPECT_EQ(reasonOf([](MockDevice &d) { d.computes = false; }),
            "found no queue that computes");
  EXPECT_EQ(reasonOf([](MockDevice &d) { d.bindings = 2; }),
            "mock lacks storage buffers for its kernels: found 2, expected 3");
  EXPECT_EQ(reasonOf([](MockDevice &d) { d.largestAllocation = 512; }),
            "mock allocates at most 512 bytes at once, the model needs 1280");
  EXPECT_EQ(reasonOf([](MockDevice &) {}), "mock");
  nnv12_gpu_release();
  expectClean();
}

TEST_F(GpuDeviceTest, SaysThatItWasNotAskedFor) {
  EXPECT_EQ(reason(options(NNV12_GPU_OFF)),
            "the session was told to do without");
  PlannedSample plain(4, 3, 2);
  open(plain);
  EXPECT_EQ(reason(), "the bundle has no part for GPUs");
  EXPECT_TRUE(mock.calls().empty());
}

TEST_F(GpuDeviceTest, RefusesOptionsThatAreNone) {
  std::string tooLong(500, 'x');
  EXPECT_EQ(refusal([&](nnv12_gpu_options &gpu) {
              gpu.vulkan_library = tooLong.c_str();
            }),
            "gpu: vulkan_library: found 500 bytes, expected less than 256");
  EXPECT_EQ(refusal([&](nnv12_gpu_options &gpu) {
              gpu.cache_dir = tooLong.c_str();
            }).rfind("gpu: cache_dir: found 500 bytes, expected less than ", 0),
            0u);
  nnv12_gpu_options start = NNV12_GPU_OPTIONS_INIT;
  start.vulkan_library = tooLong.c_str();
  EXPECT_EQ(nnv12_gpu_start(&start, &error), NNV12_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message,
               "gpu: vulkan_library: found 500 bytes, expected less than 256");
}

/// A struct of an older header is shorter: the other fields have defaults.
TEST_F(GpuDeviceTest, ReadsWhatTheCallerKnows) {
  SessionOptions options = this->options(NNV12_GPU_OFF);
  options.gpu.struct_size = offsetof(nnv12_gpu_options, threads);
  EXPECT_EQ(reason(options), "the session was told to do without");
  options = this->options(NNV12_GPU_WAIT);
  options.gpu.allow_software = 1;
  mock.devices[0].type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(reason(options), "mock");
  options.gpu.struct_size = offsetof(nnv12_gpu_options, allow_software);
  EXPECT_EQ(reason(options).rfind("mock is no GPU but software", 0), 0u);
  expectClean();
}

TEST_F(GpuDeviceTest, TakesTheBest) {
  mock.devices.resize(5);
  const VkPhysicalDeviceType types[] = {VK_PHYSICAL_DEVICE_TYPE_CPU,
                                        VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
                                        VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                                        VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
                                        VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU};
  const char *names[] = {"cpu", "virtual", "integrated", "discrete", "second"};
  for (uint8_t i = 0; i < 5; ++i) {
    mock.devices[i].type = types[i];
    mock.devices[i].name = names[i];
    mock.devices[i].uuid = i;
  }
  EXPECT_EQ(reason(), "discrete");
  // Each that is named, and the software when it is allowed.
  for (uint8_t i = 1; i < 5; ++i) {
    uint8_t uuid[16] = {i};
    SessionOptions options = this->options(NNV12_GPU_WAIT);
    options.gpu.device_uuid = uuid;
    EXPECT_EQ(reason(options), names[i]);
  }
  uint8_t uuid[16] = {9};
  SessionOptions options = this->options(NNV12_GPU_WAIT);
  options.gpu.device_uuid = uuid;
  EXPECT_EQ(reason(options), "found no device of the UUID asked for");
  uuid[0] = 0;
  options.gpu.allow_software = 1;
  EXPECT_EQ(reason(options), "cpu");
  expectClean();
}

/// One that has failed is not tried again until it is released.
TEST_F(GpuDeviceTest, FailsOnce) {
  mock.fault = {"vkCreateDevice", 1, VK_ERROR_INITIALIZATION_FAILED};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(reason(), "vkCreateDevice: initialization failed (-3)");
  EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 1u);
  nnv12_gpu_release();
  EXPECT_EQ(reason(), "mock");
  expectClean();
}

/// A child of a process that has used Vulkan computes on the CPU; one of
/// another process may use it.
TEST_F(GpuDeviceTest, Fork) {
  const Bytes &result = expected();
  EXPECT_EQ(reason(), "mock");
  pid_t child = fork();
  if (child == 0) {
    SessionPointer session = create(options(NNV12_GPU_WAIT));
    bool good = run(session) == result &&
                info(session).gpu_state == NNV12_GPU_FAILED &&
                std::string(info(session).gpu_reason) ==
                    "this process was forked from one that uses the GPU";
    session.reset();
    nnv12_gpu_release();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reason(), "mock");
  expectClean();
}

TEST_F(GpuDeviceTest, StartsAhead) {
  nnv12_gpu_options options = NNV12_GPU_OPTIONS_INIT;
  options.vulkan_library = NNV12_MOCK_VULKAN;
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(nnv12_gpu_start(&options, &error), NNV12_OK) << error.message;
  for (int i = 0; i < 2000 && !mock.MockVulkan::calls("vkCreateDevice"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(reason(), "mock");
  EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 1u);
  // Those that were not waited for may end a little later.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  expectClean();
}

/// An application's own device, which outlives all of ours.
TEST_F(GpuDeviceTest, TakesTheApplications) {
  void *library = dlopen(NNV12_MOCK_VULKAN, RTLD_NOW);
  auto find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      dlsym(library, "vkGetInstanceProcAddr"));
  nnv12_gpu_handles handles = NNV12_GPU_HANDLES_INIT;
  EXPECT_EQ(nnv12_gpu_use(&handles, &error), NNV12_INVALID_ARGUMENT);
  VkInstance instance = nullptr;
  VkInstanceCreateInfo instanceInfo = {};
  reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance"))(
      &instanceInfo, nullptr, &instance);
  VkPhysicalDevice physical = nullptr;
  uint32_t count = 1;
  reinterpret_cast<PFN_vkEnumeratePhysicalDevices>(find(
      instance, "vkEnumeratePhysicalDevices"))(instance, &count, &physical);
  VkDevice device = nullptr;
  VkDeviceCreateInfo deviceInfo = {};
  reinterpret_cast<PFN_vkCreateDevice>(find(instance, "vkCreateDevice"))(
      physical, &deviceInfo, nullptr, &device);
  handles.instance = instance;
  handles.physical_device = physical;
  handles.device = device;
  handles.queue = device; // the mock's queues are that
  handles.get_instance_proc_addr =
      reinterpret_cast<void (*(*)(void *, const char *))()>(find);
  ASSERT_EQ(nnv12_gpu_use(&handles, &error), NNV12_OK) << error.message;
  SessionOptions options = this->options(NNV12_GPU_WAIT);
  options.gpu.vulkan_library = nullptr;
  EXPECT_EQ(reason(options), "mock");
  // So has a session with the defaults, once it is prepared.
  setenv("XDG_CACHE_HOME", folder.path.c_str(), 1);
  nnv12_session_options defaults = options.get();
  defaults.gpu = nullptr;
  nnv12_session *raw = nullptr;
  ASSERT_EQ(nnv12_session_create(bundle.get(), &defaults, &raw, &error),
            NNV12_OK)
      << error.message;
  SessionPointer session(raw);
  EXPECT_EQ(nnv12_session_prepare(raw, 60000, &error), NNV12_OK);
  EXPECT_EQ(run(session), expected());
  EXPECT_STREQ(info(session).gpu_device_name, "mock");
  session.reset();
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 1u);
  EXPECT_EQ(mock.MockVulkan::calls("vkCreateSemaphore"), 0u);
  nnv12_gpu_release();
  EXPECT_EQ(mock.MockVulkan::calls("vkDestroyDevice"), 0u);
  reinterpret_cast<PFN_vkDestroyDevice>(find(instance, "vkDestroyDevice"))(
      device, nullptr);
  reinterpret_cast<PFN_vkDestroyInstance>(find(instance, "vkDestroyInstance"))(
      instance, nullptr);
  expectClean();
}
