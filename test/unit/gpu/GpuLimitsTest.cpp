//===- GpuLimitsTest.cpp - Devices that have little -----------------------===//
//
// The mock notices where a device is given more than it says that it takes.
//
//===----------------------------------------------------------------------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/gpu/RangesSample.h"

using namespace nnv12;
using namespace nnv12::test;

namespace {

class GpuLimitsTest : public GpuTest {
protected:
  /// The facts of a session on the device, whose result is the CPU's.
  nnv12_session_info infoOf() {
    // The device's name and the reason stay with the session.
    session = create(options(NNV12_GPU_WAIT));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(run(session, i), expected(i)) << error.message;
    return info(session);
  }
  void close() {
    session.reset();
    expectClean();
  }

  SessionPointer session;
};

} // namespace

/// The limits that Vulkan promises of any device are enough for the sample.
TEST_F(GpuLimitsTest, TheLeastThatThereIs) {
  open();
  mock.devices[0].makeLeast();
  nnv12_session_info now = infoOf();
  EXPECT_EQ(now.gpu_stretches_ready, 3u);
  EXPECT_EQ(now.gpu_stretches_taken, 2u);
  EXPECT_STREQ(now.gpu_reason, "");
  close();
}

/// Four storage buffers are promised, and a convolution may have five.
TEST_F(GpuLimitsTest, FiveStorageBuffers) {
  GpuSample sample;
  sample.bindMore(5);
  open(sample);
  mock.devices[0].makeLeast();
  nnv12_session_info now = infoOf();
  EXPECT_EQ(now.gpu_state, NNV12_GPU_FAILED);
  EXPECT_STREQ(now.gpu_reason,
               "mock lacks storage buffers for its kernels: found 4, expected "
               "5");
  EXPECT_EQ(mock.MockVulkan::calls("vkCmdDispatch"), 0u);
  close();
  mock.devices[0].bindings = 5;
  now = infoOf();
  EXPECT_STREQ(now.gpu_reason, "");
  EXPECT_EQ(now.gpu_stretches_taken, 2u);
  close();
}

/// Only stretches that need it are left out. [1, 2), [3, 4), [3, 5) and [4, 5)
/// of the ranges of executes 0 to 4 have no addition.
TEST_F(GpuLimitsTest, OthersAreComputed) {
  RangesSample sample;
  sample.bindMore(5);
  for (artifact::Program &program : sample.bundle.programs)
    for (uint32_t i = 0; i < program.gpu->stretches.size(); ++i) {
      const artifact::Stretch &stretch = program.gpu->stretches[i];
      if (stretch.first == 3 && stretch.count == 2)
        program.gpu->warm = {i};
    }
  open(sample);
  mock.devices[0].makeLeast();
  nnv12_session_info now = infoOf();
  EXPECT_EQ(now.gpu_state, NNV12_GPU_READY);
  EXPECT_EQ(now.gpu_stretches, 15u);
  EXPECT_EQ(now.gpu_stretches_ready, 4u);
  EXPECT_EQ(now.gpu_stretches_taken, 1u);
  EXPECT_STREQ(now.gpu_reason,
               "mock lacks storage buffers for its kernels: found 4, expected "
               "5");
  close();
}

/// Each limit alone, one less than a stretch needs.
TEST_F(GpuLimitsTest, EachLimit) {
  GpuSample sample;
  sample.bundle.gpu->pipelines[2].pushWords = 4;
  for (artifact::Program &program : sample.bundle.programs)
    for (artifact::Stretch &stretch : program.gpu->stretches)
      for (artifact::Dispatch &dispatch : stretch.dispatches)
        if (dispatch.pipeline == 2)
          dispatch.push = {1, 2, 3, 4};
  open(sample);
  const struct {
    uint32_t MockDevice::*limit;
    uint32_t needed;
    const char *what;
  } cases[] = {
      {&MockDevice::bindings, 3, "storage buffers for its kernels"},
      {&MockDevice::pushBytes, 16, "bytes of push constants"},
      {&MockDevice::invocations, 16, "invocations of a workgroup"},
      {&MockDevice::bufferBytes, 256, "bytes of a storage buffer"},
      {&MockDevice::groups, 4, "workgroups along an axis of a dispatch"}};
  for (const auto &it : cases) {
    mock.reset();
    mock.devices[0].*it.limit = it.needed;
    EXPECT_STREQ(infoOf().gpu_reason, "") << it.what;
    EXPECT_EQ(info(session).gpu_stretches_ready, 3u) << it.what;
    close();
    mock.devices[0].*it.limit = it.needed - 1;
    EXPECT_EQ(infoOf().gpu_reason,
              std::string("mock lacks ") + it.what + ": found " +
                  std::to_string(it.needed - 1) + ", expected " +
                  std::to_string(it.needed));
    // The first two executes need no copy.
    bool isOfCopy = it.limit == &MockDevice::pushBytes;
    EXPECT_EQ(info(session).gpu_stretches_ready, isOfCopy ? 1u : 0u);
    EXPECT_EQ(info(session).gpu_stretches_taken, isOfCopy ? 1u : 0u);
    close();
  }
}
