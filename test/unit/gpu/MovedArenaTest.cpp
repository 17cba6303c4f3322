//===- MovedArenaTest.cpp - Sessions whose arena moves to a device --------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/gpu/RangesSample.h"
#include "test/unit/sample/SplitSample.h"

#include <atomic>
#include <functional>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern std::atomic<uint64_t> bytesHandedOver;
extern uint32_t forcedStretch;
class Workers;
/// Called while the overlay's executor computes.
extern void (*betweenSubmitAndWait)(Workers &);
} // namespace nnv12::runtime

namespace {

/// Bytes that the sample's two stretches copy: the input and the output; and
/// also the tensor between both, out of one and into the other.
constexpr uint64_t ends = 512, all = 1024;

class MovedArenaTest : public GpuTest {
protected:
  MovedArenaTest() { open(); }
  ~MovedArenaTest() override {
    runtime::forcedStretch = ~0u;
    runtime::betweenSubmitAndWait = nullptr;
  }

  /// A device that works in memory of CPUs and imports none.
  MockDevice &makeDevice() {
    mock.reset();
    MockDevice &device = mock.devices[0];
    device.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    device.import = false;
    return device;
  }
  /// A good run; the bytes that its hand-overs copy.
  uint64_t copiedBytes(const SessionPointer &session, int seed) {
    uint64_t before = runtime::bytesHandedOver;
    EXPECT_EQ(run(session, seed), expected(seed)) << error.message;
    return runtime::bytesHandedOver - before;
  }
  static uint64_t arenaSize() {
    return GpuSample().bundle.programs[0].arenaSize;
  }
};

} // namespace

TEST_F(MovedArenaTest, NothingInItIsCopied) {
  for (uint32_t threads : {1, 2, 4}) {
    makeDevice();
    {
      SessionOptions options = this->options(NNV12_GPU_WAIT);
      options.threads = threads;
      SessionPointer session = create(options);
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(copiedBytes(session, i), ends);
        EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
      }
      EXPECT_EQ(info(session).gpu_bytes_imported, arenaSize());
    }
    expectClean();
  }
}

/// Memory that is slow to read, has to be flushed, is not there, or lies where
/// an arena cannot.
TEST_F(MovedArenaTest, StaysWithoutSuchMemory) {
  for (int lack = 0; lack < 6; ++lack) {
    MockDevice &device = makeDevice();
    device.cached = lack != 0;
    device.coherent = lack != 1;
    device.mapAlignment = lack == 2 ? 64 : 4096;
    // The GPU's arena, prepared memory, and then this.
    static constexpr const char *functions[] = {
        "vkCreateBuffer", "vkAllocateMemory", "vkMapMemory"};
    if (lack > 2)
      mock.fault = {functions[lack - 3], 3, VK_ERROR_OUT_OF_DEVICE_MEMORY};
    {
      SessionPointer session = create(NNV12_GPU_WAIT);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(copiedBytes(session, i), all) << lack;
        EXPECT_EQ(info(session).gpu_stretches_taken, 2u) << lack;
      }
      EXPECT_EQ(info(session).gpu_bytes_imported, 0u);
    }
    expectClean();
  }
}

/// Other devices import it, or have memory that CPUs do not work in.
TEST_F(MovedArenaTest, StaysOnOtherDevices) {
  for (bool isDiscrete : {false, true}) {
    MockDevice &device = makeDevice();
    device.import = true;
    if (isDiscrete)
      device.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    SessionPointer session = create(NNV12_GPU_WAIT);
    EXPECT_EQ(run(session), expected());
    EXPECT_EQ(copiedBytes(session, 1), isDiscrete ? all : ends);
    uint32_t blocks = mock.MockVulkan::calls("vkMapMemory");
    EXPECT_EQ(blocks, isDiscrete ? 1u : 2u);
    session.reset();
    expectClean();
  }
}

/// The GPU becomes ready in the middle of the first run, whose earlier results
/// are in the old arena: that one is copied. It moves before the next run.
TEST_F(MovedArenaTest, MovesBetweenRuns) {
  RangesSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    program.gpu->start = artifact::OverlayStart::AtOpen;
  open(sample);
  (void)expected(2);
  // A stretch for each range of the five executes, in this order.
  uint32_t stretch = 0;
  for (uint32_t first = 0; first < 5; ++first)
    for (uint32_t end = 5; end > first; --end, ++stretch) {
      makeDevice();
      runtime::forcedStretch = stretch;
      SessionOptions options = this->options(NNV12_GPU_AUTO);
      options.threads = 1;
      options.preparationThreads = NNV12_NO_PREPARATION_THREADS;
      SessionPointer session = create(options);
      EXPECT_EQ(copiedBytes(session, 0), 512u) << stretch;
      EXPECT_EQ(info(session).gpu_stretches_taken, 1u) << stretch;
      uint64_t callers = 256 * (uint64_t(first == 0) + uint64_t(end == 5));
      for (int i = 1; i < 3; ++i) {
        EXPECT_EQ(copiedBytes(session, i), callers) << stretch;
        EXPECT_EQ(info(session).gpu_stretches_taken, 1u) << stretch;
      }
      session.reset();
      expectClean();
    }
}

/// Parts of split stretches work where the arena is. Other steps of the CPU
/// read the results of parts there, and parts read theirs.
TEST_F(MovedArenaTest, PartsMoveAsWell) {
  for (uint32_t warm : {1, 2})
    for (uint32_t threads : {1, 3}) {
      SplitSample sample(2);
      for (artifact::Program &program : sample.bundle.programs)
        program.gpu->warm = {warm};
      open(sample);
      makeDevice();
      SessionOptions options = this->options(NNV12_GPU_WAIT);
      options.threads = threads;
      SessionPointer session = create(options);
      for (int i = 0; i < 4; ++i) {
        // Half of the input, or of the output.
        EXPECT_EQ(copiedBytes(session, i), ends / 4) << warm;
        EXPECT_EQ(info(session).gpu_stretches_taken, 1u);
      }
      session.reset();
      expectClean();
    }
}

/// Each session has an arena of its own, and leaves others' where they are.
TEST_F(MovedArenaTest, EachSessionHasItsOwn) {
  makeDevice();
  {
    std::vector<SessionPointer> sessions;
    for (int i = 0; i < 4; ++i)
      sessions.push_back(create(NNV12_GPU_WAIT));
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < sessions.size(); ++i)
        EXPECT_EQ(copiedBytes(sessions[i], (round + int(i)) % 5), ends);
      sessions.erase(sessions.begin());
    }
    sessions.push_back(create(NNV12_GPU_WAIT));
    for (const SessionPointer &session : sessions)
      EXPECT_EQ(copiedBytes(session, 1), ends);
  }
  expectClean();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The device is lost, and its memory holds nothing any more. The run begins
/// again where the arena lay before, whichever stretch it was at.
TEST_F(MovedArenaTest, ALossTakesItsMemory) {
  for (uint32_t submission : {1, 2})
    for (bool isWait : {false, true})
      for (uint32_t threads : {1, 4}) {
        makeDevice();
        SessionOptions options = this->options(NNV12_GPU_WAIT);
        options.threads = threads;
        {
          SessionPointer session = create(options);
          EXPECT_EQ(copiedBytes(session, 0), ends);
          const char *function =
              isWait ? "vkGetSemaphoreCounterValueKHR" : "vkQueueSubmit";
          mock.fault = {function, mock.MockVulkan::calls(function) + submission,
                        VK_ERROR_DEVICE_LOST};
          for (int i = 1; i < 4; ++i) {
            EXPECT_EQ(run(session, i), expected(i))
                << submission << isWait << threads;
            EXPECT_EQ(info(session).gpu_stretches_taken, 0u);
          }
          EXPECT_EQ(info(session).gpu_state, NNV12_GPU_LOST);
        }
        expectClean();
      }
}

/// Another session finds the device lost, while this one has work on it whose
/// end it sees: at the end of the run, and between stretches.
TEST_F(MovedArenaTest, AnotherSessionFindsTheLoss) {
  for (uint32_t submission : {1, 2}) {
    makeDevice();
    {
      SessionPointer session = create(NNV12_GPU_WAIT),
                     other = create(NNV12_GPU_WAIT);
      EXPECT_EQ(run(session), expected());
      EXPECT_EQ(run(other), expected());
      (void)expected(2);
      uint32_t left = submission;
      static std::function<void()> beside;
      beside = [&] {
        if (--left)
          return;
        runtime::betweenSubmitAndWait = nullptr;
        // For the process it is lost; it does the session's work all the same.
        mock.fault = {"vkQueueSubmit",
                      mock.MockVulkan::calls("vkQueueSubmit") + 1,
                      VK_ERROR_OUT_OF_HOST_MEMORY};
        EXPECT_EQ(run(other, 2), expected(2));
      };
      runtime::betweenSubmitAndWait = [](runtime::Workers &) { beside(); };
      EXPECT_EQ(run(session, 1), expected(1));
      EXPECT_EQ(info(session).gpu_stretches_taken, 0u) << submission;
      EXPECT_EQ(info(session).gpu_state, NNV12_GPU_LOST);
      EXPECT_EQ(run(session, 2), expected(2));
      EXPECT_EQ(run(other, 1), expected(1));
    }
    expectClean();
  }
}

/// The same, between runs.
TEST_F(MovedArenaTest, ALossBetweenRuns) {
  makeDevice();
  {
    SessionPointer one = create(NNV12_GPU_WAIT), other = create(NNV12_GPU_WAIT);
    EXPECT_EQ(copiedBytes(one, 0), ends);
    EXPECT_EQ(copiedBytes(other, 0), ends);
    mock.fault = {"vkQueueSubmit", mock.MockVulkan::calls("vkQueueSubmit") + 1,
                  VK_ERROR_DEVICE_LOST};
    EXPECT_EQ(run(one, 1), expected(1));
    one.reset();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(copiedBytes(other, i), 0u);
  }
  expectClean();
}
