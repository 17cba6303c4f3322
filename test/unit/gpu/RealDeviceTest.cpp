//===- RealDeviceTest.cpp - The sample on a device of Vulkan --------------===//
//
// Uses the device of the machine that the tests run on: lavapipe where there is
// no other. The loader brings Vulkan's validation layer in, where that is
// installed, and its messages go to a file.
//===----------------------------------------------------------------------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/sample/SplitSample.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern bool copiesAlways, importsNever, movesNever;
} // namespace nnv12::runtime

namespace {

class RealDeviceTest : public GpuTest {
protected:
  RealDeviceTest() {
    open();
    // Where they are closed before the process ends LeakSanitizer does not know
    // whose memory it was.
    for (const char *library :
         {"libvulkan_lvp.so", "libVkLayer_khronos_validation.so"})
      dlopen(library, RTLD_LAZY | RTLD_NODELETE);
  }
  ~RealDeviceTest() override { setWay(0); }

  /// How the GPU gets at the session's arena.
  static constexpr int numWays = 4;
  static const char *setWay(int way) {
    static constexpr const char *names[numWays] = {
        "in the session's arena", "in the arena, which has moved",
        "copying to mapped memory", "copying by way of staging memory"};
    runtime::importsNever = way == 1 || way == 2;
    runtime::movesNever = way == 2;
    runtime::copiesAlways = way == 3;
    return names[way];
  }

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

  SessionOptions real(nnv12_gpu_mode mode) {
    SessionOptions result = options(mode);
    result.gpu.vulkan_library = nullptr;
    result.gpu.allow_software = 1;
    return result;
  }
};

} // namespace

/// With all ways to get at the CPU's memory, of stretches that are whole, and
/// split.
TEST_F(RealDeviceTest, ComputesTheSample) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does not see what drivers and layers do";
#endif
  std::string settings = folder.file("vk_layer_settings.txt"),
              log = folder.file("validation.log"),
              text = "khronos_validation.debug_action = "
                     "VK_DBG_LAYER_ACTION_LOG_MSG\n"
                     "khronos_validation.report_flags = error,warn,perf,info\n"
                     "khronos_validation.log_filename = " +
                     log +
                     "\nkhronos_validation.enables = "
                     "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_"
                     "EXT\n";
  writeFile(settings, text.data(), text.size());
  bool isValidated = hasValidation();
  if (isValidated)
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
  else
    printf("SKIPPED: Vulkan's validation layer is not installed\n");
  setenv("VK_LAYER_SETTINGS_PATH", settings.c_str(), 1);
  for (int i = 0; i < 2 * numWays; ++i) {
    const char *way = setWay(i % numWays);
    SplitSample split;
    GpuSample whole;
    open(i < numWays ? whole : split);
    {
      SessionPointer one = create(real(NNV12_GPU_WAIT));
      EXPECT_EQ(run(one), expected());
      nnv12_session_info now = info(one);
      if (now.gpu_state != NNV12_GPU_READY) {
        printf("SKIPPED: no device of Vulkan: %s\n", now.gpu_reason);
        return;
      }
      printf("%s, %s\n", now.gpu_device_name, way);
      // Other devices may have to copy. Software need not.
      if (i % numWays >= 2 || strstr(now.gpu_device_name, "llvmpipe")) {
        EXPECT_EQ(now.gpu_bytes_imported != 0, i % numWays < 2) << way;
      }
      EXPECT_EQ(now.gpu_stretches_taken, 2u);
      SessionPointer other = create(real(NNV12_GPU_AUTO));
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(run(one, i), expected(i));
        EXPECT_EQ(run(other, i), expected(i));
        if (i > 0)
          settle(other);
      }
      EXPECT_EQ(info(other).gpu_stretches_taken, 2u);
      // The weights are there, and stay there.
      EXPECT_EQ(info(one).gpu_bytes_uploaded, 3 * 256u);
      EXPECT_EQ(info(other).gpu_bytes_uploaded, 0u);
      one.reset();
      WorkBeside beside;
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(run(other, i), expected(i));
      EXPECT_EQ(info(other).gpu_stretches_taken, 2u);
      EXPECT_EQ(beside.times(), 10u);
    }
    nnv12_gpu_release();
    if (!isValidated)
      continue;
    // It says that it is there, and nothing else.
    std::vector<unsigned char> bytes = readFile(log);
    std::string said(bytes.begin(), bytes.end());
    EXPECT_NE(said.find("SYNCHRONIZATION_VALIDATION"), std::string::npos);
    for (const char *bad : {"Error:", "Warning:", "Performance Warning"})
      EXPECT_EQ(said.find(std::string("Validation ") + bad), std::string::npos)
          << said;
  }
}
