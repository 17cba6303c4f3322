//===- RealDeviceTest.cpp - The sample on a device of Vulkan --------------===//
//
// Of the machine that the tests run on: lavapipe where there is no other. The
// loader brings Vulkan's validation layer in, where that is installed, and what
// it has to say goes to a file.
//
//===----------------------------------------------------------------------===//
#include "test/unit/gpu/GpuTest.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace nnv12;
using namespace nnv12::test;

namespace {

class RealDeviceTest : public GpuTest {
protected:
  RealDeviceTest() { open(); }

  static bool hasValidation() {
    auto *library = dlopen("libvulkan.so.1", RTLD_NOW);
    auto layers =
        library ? reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
                      dlsym(library, "vkEnumerateInstanceLayerProperties"))
                : nullptr;
    uint32_t count = 0;
    if (!layers || layers(&count, nullptr))
      return false;
    std::vector<VkLayerProperties> all(count);
    layers(&count, all.data());
    bool found = false;
    for (const VkLayerProperties &layer : all)
      found |= std::string(layer.layerName) == "VK_LAYER_KHRONOS_validation";
    return found;
  }

  nnv12_session_options real(nnv12_gpu_mode mode) {
    nnv12_session_options result = options(mode);
    result.vulkan_library = nullptr;
    result.allow_software_gpu = 1;
    return result;
  }
};

} // namespace

TEST_F(RealDeviceTest, ComputesTheSample) {
  std::string log = folder.file("validation.log");
  bool isValidated = hasValidation();
  setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
  setenv("VK_LAYER_ENABLES",
         "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT", 1);
  setenv("VK_KHRONOS_VALIDATION_LOG_FILENAME", log.c_str(), 1);
  setenv("VK_KHRONOS_VALIDATION_REPORT_FLAGS", "error,warn,perf", 1);
  setenv("VK_KHRONOS_VALIDATION_DEBUG_ACTION", "VK_DBG_LAYER_ACTION_LOG_MSG",
         1);
  if (!isValidated) {
    unsetenv("VK_INSTANCE_LAYERS");
    printf("SKIPPED: Vulkan's validation layer is not installed\n");
  }
  {
    SessionPointer one = create(real(NNV12_GPU_WAIT));
    EXPECT_EQ(run(one), expected());
    nnv12_session_info now = info(one);
    if (now.gpu_state != NNV12_GPU_READY) {
      printf("SKIPPED: no device of Vulkan: %s\n", now.gpu_reason);
      return;
    }
    printf("%s\n", now.gpu_device_name);
    EXPECT_EQ(now.gpu_stretches_taken, 2u);
    SessionPointer other = create(real(NNV12_GPU_AUTO));
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(run(one, i), expected(i));
      EXPECT_EQ(run(other, i), expected(i));
      settle(other);
    }
    EXPECT_EQ(info(other).gpu_stretches_taken, 2u);
    if (now.gpu_bytes_imported)
      printf("works in the session's arena\n");
  }
  nnv12_gpu_release();
  std::vector<unsigned char> said = readFile(log);
  EXPECT_EQ(std::string(said.begin(), said.end()), "");
}
