//===- GpuLaterTest.cpp - Later runs, deadlines and waiting with a GPU ----===//
#include "test/unit/gpu/GpuTest.h"

#include <chrono>
#include <cstring>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace {

constexpr uint32_t enough = 60000; ///< milliseconds

/// The sample has a switch for execute 1 and one for execute 3; its GPU
/// computes executes 0 and 1, and 2 to 4, in later runs.
class GpuLaterTest : public GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    open();
  }
  SessionOptions continuous(nnv12_gpu_mode mode) {
    SessionOptions result = options(mode);
    result.mode = NNV12_MODE_CONTINUOUS;
    return result;
  }
  /// A device that has memory of its own, or one that the arena moves to.
  void makeDevice(bool isMoving) {
    mock.reset();
    if (!isMoving)
      return;
    mock.devices[0].type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    mock.devices[0].import = false;
  }
  /// The result of the CPU's own later routines.
  Bytes later(int seed = 0) {
    SessionPointer session = create(continuous(NNV12_GPU_OFF));
    EXPECT_EQ(prepare(session), NNV12_OK) << error.message;
    return run(session, seed);
  }
  nnv12_status prepare(const SessionPointer &session,
                       uint32_t timeout = enough) {
    return nnv12_session_prepare(session.get(), timeout, &error);
  }
  nnv12_status runFor(const SessionPointer &session, int64_t milliseconds,
                      Bytes &y) {
    std::vector<float> x(64);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97) / 7;
    y.assign(256, 0xee);
    nnv12_input input = NNV12_INPUT(x.data(), 256);
    nnv12_output output = NNV12_OUTPUT(y.data(), 256);
    auto time = std::chrono::steady_clock::now().time_since_epoch() +
                std::chrono::milliseconds(milliseconds);
    return nnv12_session_run_until(
        session.get(), &input, 1, &output, 1,
        uint64_t(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()),
        &error);
  }
  /// The device sleeps in call number `number` of a function, from now on.
  void sleepIn(const char *function, int milliseconds, uint32_t number = 1) {
    mock.before = [=, calls = 0u](const char *name) mutable {
      if (strcmp(name, function) == 0 && ++calls == number)
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    };
  }
};

} // namespace

/// Prepared before the first run, that is as all later ones: the GPU's.
TEST_F(GpuLaterTest, PreparedBeforeTheFirstRun) {
  for (nnv12_gpu_mode mode :
       {NNV12_GPU_AUTO, NNV12_GPU_AFTER_FIRST, NNV12_GPU_WAIT}) {
    SessionPointer session = create(continuous(mode));
    ASSERT_EQ(prepare(session), NNV12_OK) << error.message;
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_READY);
    EXPECT_EQ(info(session).steady_run, 0u);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(run(session, i), expected(i));
      EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    }
    EXPECT_EQ(info(session).steady_run, 0u);
    EXPECT_EQ(prepare(session, 0), NNV12_OK);
  }
  expectClean();
}

TEST_F(GpuLaterTest, PreparingTakesTooLong) {
  sleepIn("vkCreateDevice", 1500);
  SessionPointer session = create(continuous(NNV12_GPU_AUTO));
  EXPECT_EQ(prepare(session, 500), NNV12_TIMED_OUT);
  EXPECT_STREQ(error.message, "time is over: found 6 of 6 preparations done, "
                              "and a GPU being prepared");
  EXPECT_EQ(info(session).steady_run, NNV12_NO_RUN);
  EXPECT_EQ(run(session), expected());
  EXPECT_EQ(prepare(session), NNV12_OK);
  EXPECT_EQ(info(session).steady_run, 1u);
  EXPECT_EQ(run(session), expected());
  EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
}

/// Weights of layers that a GPU takes over are not prepared again for the CPU.
TEST_F(GpuLaterTest, NothingIsPreparedTwice) {
  for (bool waits : {false, true}) {
    SessionPointer session = create(continuous(NNV12_GPU_AUTO));
    if (waits) {
      ASSERT_EQ(prepare(session), NNV12_OK);
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(run(session, i), expected(i));
      if (i)
        settle(session);
    }
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(run(session), expected());
    nnv12_session_info now = info(session);
    EXPECT_EQ(now.gpu_stretches_taken, 2u);
    EXPECT_EQ(now.num_switches, 0u);
    EXPECT_EQ(now.num_preparations, 6u) << "of 8";
    EXPECT_EQ(now.preparations_done, 6u);
    EXPECT_EQ(now.steady_run, waits ? 0u : 2u);
  }
}

/// Unless there is none.
TEST_F(GpuLaterTest, ARefusedGpuLeavesItToTheCpu) {
  for (const char *function : {"vkCreateInstance", "vkCreateDevice"})
    for (bool waits : {false, true}) {
      mock.reset();
      mock.fault = {function, 1, VK_ERROR_INITIALIZATION_FAILED};
      SessionPointer session = create(continuous(NNV12_GPU_AUTO));
      EXPECT_EQ(info(session).num_switches, 0u) << "not known yet";
      if (waits) {
        ASSERT_EQ(prepare(session), NNV12_OK) << error.message;
      } else {
        EXPECT_EQ(run(session), expected());
        for (int i = 0; i < 100000 && info(session).steady_run == NNV12_NO_RUN;
             ++i)
          run(session);
      }
      EXPECT_EQ(run(session), later());
      nnv12_session_info now = info(session);
      EXPECT_EQ(now.gpu_state, NNV12_GPU_FAILED);
      EXPECT_EQ(now.num_switches, 2u);
      EXPECT_EQ(now.switches_done, 2u);
      EXPECT_EQ(now.steady_run == 0, waits);
      session.reset();
      nnv12_gpu_release();
    }
}

/// Or until it is lost: then the CPU computes the GPU's layers, and with its
/// later routines once they are prepared.
TEST_F(GpuLaterTest, ALostGpuLeavesItToTheCpu) {
  for (uint32_t round = 0; round < 4; ++round) {
    makeDevice(/*isMoving=*/round % 2);
    SessionOptions options = continuous(NNV12_GPU_AUTO);
    options.preparationThreads =
        round < 2 ? 0u : uint32_t(NNV12_NO_PREPARATION_THREADS);
    SessionPointer session = create(options);
    ASSERT_EQ(prepare(session), NNV12_OK);
    EXPECT_EQ(run(session, 0), expected(0));
    EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    mock.fault = {"vkQueueSubmit", mock.MockVulkan::calls("vkQueueSubmit") + 1,
                  VK_ERROR_DEVICE_LOST};
    EXPECT_EQ(run(session, 1), expected(1));
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_LOST);
    uint32_t runs = 2;
    for (bool isLater = false; !isLater && runs < 100000; ++runs) {
      Bytes found = run(session);
      isLater = info(session).switches_done == 2;
      ASSERT_EQ(found, isLater ? later() : expected());
      if (isLater) {
        EXPECT_EQ(info(session).steady_run, runs);
      }
    }
    EXPECT_EQ(info(session).num_switches, 2u);
    EXPECT_EQ(info(session).num_preparations, 8u);
    EXPECT_EQ(prepare(session, 0), NNV12_OK);
    session.reset();
    nnv12_gpu_release();
  }
}

/// If a GPU computes a part of a network, the CPU's part has its later
/// routines, and both take over in one run.
TEST_F(GpuLaterTest, BothTakeOverTogether) {
  GpuSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    program.gpu->warm = {1}; // executes 0 and 1
  open(sample);
  Bytes before = expected(), after;
  {
    // As the CPU alone, were there no switch for execute 1.
    GpuSample other;
    for (artifact::Program &program : other.bundle.programs)
      program.switches.erase(program.switches.begin());
    open(other);
    after = later();
    open(sample);
  }
  ASSERT_NE(before, after);
  for (uint32_t round = 0; round < 6; ++round) {
    static constexpr uint32_t preparing[] = {0, 1,
                                             NNV12_NO_PREPARATION_THREADS};
    makeDevice(/*isMoving=*/round % 2);
    SessionOptions options = continuous(NNV12_GPU_AFTER_FIRST);
    options.preparationThreads = preparing[round / 2];
    SessionPointer session = create(options);
    uint32_t numLater = 0;
    for (uint32_t i = 0; i < 100000 && numLater < 3; ++i) {
      Bytes found = run(session);
      nnv12_session_info now = info(session);
      bool isLater = now.steady_run <= i;
      ASSERT_EQ(found, isLater ? after : before) << i;
      ASSERT_EQ(now.gpu_stretches_taken, isLater ? 1u : 0u) << i;
      ASSERT_EQ(now.switches_done, isLater ? 1u : 0u) << i;
      numLater += isLater;
    }
    EXPECT_EQ(numLater, 3u);
    EXPECT_EQ(info(session).num_switches, 1u);
    EXPECT_EQ(info(session).num_preparations, 7u);
    session.reset();
    expectClean();
  }
}

//===----------------------------------------------------------------------===//
// Deadlines
//===----------------------------------------------------------------------===//

/// The run waits for a stretch that the GPU has begun; then it ends.
TEST_F(GpuLaterTest, ADeadlineInTheMiddleOfAStretch) {
  for (VkPhysicalDeviceType type : {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
                                    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU}) {
    mock.reset();
    mock.devices[0].type = type;
    SessionPointer session = create(NNV12_GPU_WAIT);
    ASSERT_EQ(run(session), expected());
    Bytes y;
    sleepIn("vkQueueSubmit", 300);
    EXPECT_EQ(runFor(session, 150, y), NNV12_TIMED_OUT);
    EXPECT_STREQ(error.message, "deadline: over before layer 'round1', after 2 "
                                "of 5 operations");
    mock.before = {};
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_READY);
    EXPECT_EQ(run(session, 1), expected(1));
    EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    // All is computed once the last stretch is.
    sleepIn("vkQueueSubmit", 600, /*number=*/2);
    EXPECT_EQ(runFor(session, 500, y), NNV12_OK) << error.message;
    EXPECT_EQ(y, expected());
    mock.before = {};
    session.reset();
    expectClean();
  }
}

/// The wait for the GPU ends, too; the next run waits for the rest.
TEST_F(GpuLaterTest, ADeadlineWhileTheGpuIsPrepared) {
  sleepIn("vkCreateDevice", 1000);
  SessionPointer session = create(NNV12_GPU_WAIT);
  Bytes y;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(runFor(session, 20, y), NNV12_TIMED_OUT);
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(900));
  EXPECT_EQ(std::string(error.message).find("time is over: found "), 0u)
      << error.message;
  EXPECT_EQ(run(session), expected());
  EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
  EXPECT_EQ(info(session).steady_run, 1u);
  session.reset();
  expectClean();
}
