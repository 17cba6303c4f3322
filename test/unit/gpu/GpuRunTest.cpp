//===- GpuRunTest.cpp - Runs of which a GPU takes a part ------------------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/gpu/RangesSample.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern uint32_t forcedStretch;
} // namespace nnv12::runtime

namespace {

/// A kind of device.
struct Kind {
  const char *name;
  std::function<void(MockDevice &)> change;
  /// Whether it works in the session's arena, by import, or once that has
  /// moved.
  bool sharesArena = false, isSoftware = false;
};

void PrintTo(const Kind &kind, std::ostream *os) { *os << kind.name; }

const Kind kinds[] = {
    {"discrete", [](MockDevice &) {}},
    {"discreteWithoutTimeline", [](MockDevice &d) { d.timeline = false; }},
    {"discreteNotCoherent",
     [](MockDevice &d) {
       d.coherent = false;
       d.atom = 128;
     }},
    {"virtual",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
       d.feedback = false;
     }},
    {"integrated",
     [](MockDevice &d) { d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU; },
     true},
    {"integratedWithoutImport",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.import = false;
     },
     true},
    {"integratedRefusingImport",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.importFails = true;
     },
     true},
    {"integratedNotCoherent",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.coherent = false;
       d.timeline = false;
     }},
    {"integratedNotCached",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.cached = false;
     }},
    {"software", [](MockDevice &d) { d.type = VK_PHYSICAL_DEVICE_TYPE_CPU; },
     true, true}};

class GpuRunTest : public GpuTest, public testing::WithParamInterface<Kind> {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    open();
    GetParam().change(mock.devices[0]);
  }
  SessionOptions withMode(nnv12_gpu_mode mode) {
    SessionOptions result = options(mode);
    result.gpu.allow_software = GetParam().isSoftware;
    return result;
  }
};

/// Sanitizers keep books of their own in this process's memory.
#ifdef NNV12_SANITIZED
constexpr bool isSanitized = true;
#else
constexpr bool isSanitized = false;
#endif

/// The resident bytes of this process.
uint64_t residentBytes() {
  unsigned long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return uint64_t(resident) * uint64_t(sysconf(_SC_PAGESIZE));
}

std::string nameOf(const testing::TestParamInfo<Kind> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Devices, GpuRunTest, testing::ValuesIn(kinds), nameOf);

} // namespace

TEST_P(GpuRunTest, WaitsForTheGpu) {
  {
    SessionPointer session = create(withMode(NNV12_GPU_WAIT));
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(run(session, i), expected(i)) << error.message;
      nnv12_session_info now = info(session);
      ASSERT_EQ(now.gpu_state, NNV12_GPU_READY) << now.gpu_reason;
      EXPECT_EQ(now.gpu_stretches_taken, 2u);
    }
    nnv12_session_info now = info(session);
    EXPECT_STREQ(now.gpu_reason, "");
    EXPECT_STREQ(now.gpu_device_name, "mock");
    EXPECT_EQ(now.gpu_stretches, 3u);
    EXPECT_EQ(now.gpu_stretches_ready, 3u);
    EXPECT_EQ(now.gpu_pipelines, 3u);
    EXPECT_EQ(now.gpu_bytes_uploaded, 3 * 256u);
    EXPECT_EQ(now.gpu_bytes_imported != 0, GetParam().sharesArena);
    EXPECT_EQ(now.gpu_cache, NNV12_GPU_CACHE_OFF);
    EXPECT_GT(now.gpu_open_ns, 0u);
    EXPECT_GT(now.gpu_ready_ns, now.gpu_open_ns);
  }
  expectClean();
}

/// The bundle says AfterFirst: not a call and no thread before the second run,
/// so that a single result costs nothing.
TEST_P(GpuRunTest, BeginsWithTheSecondRun) {
  {
    SessionPointer session = create(withMode(NNV12_GPU_AUTO));
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_WAITING);
    EXPECT_EQ(info(session).gpu_open_ns, 0u);
    EXPECT_EQ(info(session).gpu_ready_ns, 0u);
    mock.before = [](const char *) {};
    EXPECT_EQ(run(session, 0), expected(0));
    EXPECT_EQ(info(session).gpu_stretches_taken, 0u);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(mock.calls().empty());
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_WAITING);
    EXPECT_EQ(run(session, 1), expected(1));
    ASSERT_EQ(settle(session).gpu_state, NNV12_GPU_READY)
        << info(session).gpu_reason;
    EXPECT_EQ(run(session, 2), expected(2));
    EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
  }
  expectClean();
}

/// Once all is prepared, a run submits, waits, and makes no other call but for
/// memory.
TEST_P(GpuRunTest, CallsLittle) {
  SessionPointer session = create(withMode(NNV12_GPU_WAIT));
  EXPECT_EQ(run(session, 0), expected(0));
  std::map<std::string, uint32_t> before = mock.calls();
  EXPECT_EQ(run(session, 1), expected(1));
  std::map<std::string, uint32_t> after = mock.calls();
  for (const auto &[name, count] : after) {
    uint32_t more = count - before[name];
    if (name == "vkQueueSubmit")
      EXPECT_EQ(more, 2u);
    else if (name == "vkWaitSemaphoresKHR" || name == "vkWaitForFences" ||
             name == "vkGetSemaphoreCounterValueKHR" ||
             name == "vkGetFenceStatus" || name == "vkResetFences" ||
             name == "vkFlushMappedMemoryRanges" ||
             name == "vkInvalidateMappedMemoryRanges")
      EXPECT_LE(more, 3u) << name;
    else
      EXPECT_EQ(more, 0u) << name;
  }
}

/// Beside the plan's memory, little of the device and of the process: here the
/// mock's memory is the process's, too.
TEST_P(GpuRunTest, TakesLittleMemory) {
  (void)expected(1);
  constexpr uint64_t megabyte = 1 << 20;
  uint64_t before = residentBytes();
  SessionPointer session = create(withMode(NNV12_GPU_WAIT));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(run(session, i), expected(i));
  EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
  if (!isSanitized) {
    EXPECT_LE(residentBytes(), before + mock.bytesAllocated() + 12 * megabyte);
  }
  GpuSample sample;
  const artifact::ProgramGpu &gpu = *sample.bundle.programs[0].gpu;
  EXPECT_GE(mock.bytesAllocated(), gpu.arenaSize + gpu.preparedSize);
  EXPECT_LE(mock.bytesAllocated(),
            gpu.arenaSize + gpu.preparedSize + 16 * megabyte);
}

/// The thread asks a GPU only when what was predicted is about over.
TEST_P(GpuRunTest, SleepsForMostOfWhatIsPredicted) {
  GpuSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    for (artifact::Stretch &stretch : program.gpu->stretches)
      stretch.predicted = 1000000000;
  open(sample);
  SessionPointer session = create(withMode(NNV12_GPU_WAIT));
  EXPECT_EQ(run(session, 0), expected(0));
  int seed = 0;
  // The first of two stretches takes so long.
  auto expectCalls = [&](uint64_t nanoseconds, uint32_t sleeps, bool asks) {
    auto count = [&](std::initializer_list<const char *> names) {
      uint32_t sum = 0;
      for (const char *name : names)
        sum += mock.MockVulkan::calls(name);
      return sum;
    };
    auto slept = [&] {
      return count({"vkWaitSemaphoresKHR", "vkWaitForFences"});
    };
    auto asked = [&] {
      return count({"vkGetSemaphoreCounterValueKHR", "vkGetFenceStatus"});
    };
    uint32_t sleptBefore = slept(), askedBefore = asked();
    mock.busyFor = nanoseconds;
    ++seed;
    EXPECT_EQ(run(session, seed), expected(seed)) << error.message;
    EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    EXPECT_EQ(slept() - sleptBefore, sleeps) << nanoseconds;
    EXPECT_EQ(asked() != askedBefore, asks) << nanoseconds;
  };
  expectCalls(900000000, 2, false);
  // Half a millisecond before the end it begins to ask, for a while; but not
  // where the CPUs are the device.
  bool asks = !GetParam().isSoftware;
  expectCalls(999800000, asks ? 3 : 2, asks);
}

TEST_P(GpuRunTest, AnyNumberOfThreads) {
  for (uint32_t threads : {1, 2, 8})
    for (uint32_t preparing : {0u, 1u, NNV12_NO_PREPARATION_THREADS})
      for (int noStealing : {0, 1}) {
        SessionOptions options = withMode(NNV12_GPU_WAIT);
        options.gpu.threads = threads;
        options.preparationThreads = preparing;
        options.noStealing = noStealing;
        SessionPointer session = create(options);
        EXPECT_EQ(run(session, 0), expected(0));
        EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
      }
  expectClean();
}

/// While the GPU computes a stretch the CPU's threads compute something else.
TEST_P(GpuRunTest, CpusComputeBeside) {
  for (uint32_t threads : {1, 2, 4}) {
    SessionOptions options = withMode(NNV12_GPU_WAIT);
    options.threads = threads;
    SessionPointer session = create(options);
    WorkBeside beside;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(run(session, i), expected(i)) << error.message;
      EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    }
    EXPECT_EQ(beside.times(), 6u);
  }
  expectClean();
}

TEST_P(GpuRunTest, EightSessionsShareADevice) {
  {
    std::vector<SessionPointer> sessions;
    for (int i = 0; i < 8; ++i)
      sessions.push_back(create(withMode(NNV12_GPU_AUTO)));
    for (int round = 0; round < 3; ++round)
      for (const SessionPointer &session : sessions) {
        EXPECT_EQ(run(session, round), expected(round));
        // The second run begins.
        if (round > 0)
          settle(session);
      }
    for (const SessionPointer &session : sessions)
      EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 1u);
  }
  expectClean();
}

//===----------------------------------------------------------------------===//
// Hand-over at each execute
//===----------------------------------------------------------------------===//

namespace {

class HandOverTest : public GpuTest {
protected:
  ~HandOverTest() override { runtime::forcedStretch = ~0u; }

  /// On each kind of device, for each range: all runs of a session leave it to
  /// the GPU, and give the CPU's results.
  void handOverEachRange(nnv12_gpu_mode mode, uint32_t threads,
                         std::initializer_list<uint32_t> preparationThreads) {
    for (const Kind &kind : kinds) {
      mock.reset();
      kind.change(mock.devices[0]);
      for (uint32_t stretch = 0; stretch < 15; ++stretch) {
        runtime::forcedStretch = stretch;
        for (uint32_t preparing : preparationThreads) {
          SessionOptions options = this->options(mode);
          options.gpu.allow_software = kind.isSoftware;
          options.threads = threads;
          options.preparationThreads = preparing;
          options.noStealing = stretch % 2;
          SessionPointer session = create(options);
          for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(run(session, i), expected(i)) << kind.name << stretch;
            ASSERT_EQ(info(session).gpu_stretches_taken, 1u)
                << kind.name << stretch << info(session).gpu_reason;
          }
        }
      }
      expectClean();
    }
  }
};

} // namespace

TEST_F(HandOverTest, AtEachExecute) {
  RangesSample sample;
  open(sample);
  handOverEachRange(NNV12_GPU_WAIT, options(NNV12_GPU_WAIT).threads,
                    {0u, NNV12_NO_PREPARATION_THREADS});
}

/// The GPU becomes ready in the middle of the first run, at each execute.
TEST_F(HandOverTest, AtEachExecuteOfTheFirstRun) {
  RangesSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    program.gpu->start = artifact::OverlayStart::AtOpen;
  open(sample);
  (void)expected(2);
  handOverEachRange(NNV12_GPU_AUTO, 1, {0u, 1u, NNV12_NO_PREPARATION_THREADS});
}

/// Not so where the first run is to be left alone, whatever the plan says:
/// without a call of Vulkan its bytes are the CPU's.
TEST_F(HandOverTest, AfterTheFirstResult) {
  RangesSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    program.gpu->start = artifact::OverlayStart::AtOpen;
  open(sample);
  for (const Kind &kind : kinds) {
    mock.reset();
    kind.change(mock.devices[0]);
    SessionOptions options = this->options(NNV12_GPU_AFTER_FIRST);
    options.gpu.allow_software = kind.isSoftware;
    options.threads = 1;
    options.preparationThreads = NNV12_NO_PREPARATION_THREADS;
    SessionPointer session = create(options);
    EXPECT_EQ(run(session, 0), expected(0)) << kind.name;
    EXPECT_EQ(info(session).gpu_stretches_taken, 0u) << kind.name;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(mock.calls().empty()) << kind.name;
    EXPECT_EQ(run(session, 1), expected(1)) << kind.name;
    EXPECT_EQ(settle(session).gpu_state, NNV12_GPU_READY) << kind.name;
    EXPECT_EQ(run(session, 2), expected(2)) << kind.name;
    EXPECT_EQ(info(session).gpu_stretches_taken, 1u) << kind.name;
    session.reset();
    expectClean();
  }
}

/// In the first run, wherever preparing has got to.
TEST_F(HandOverTest, InTheFirstRun) {
  RangesSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    program.gpu->start = artifact::OverlayStart::AtOpen;
  open(sample);
  uint32_t taken = 0;
  for (int i = 0; i < 50; ++i) {
    SessionOptions options = this->options(NNV12_GPU_AUTO);
    options.threads = 1;
    options.preparationThreads = NNV12_NO_PREPARATION_THREADS;
    SessionPointer session = create(options);
    for (int k = 0; k < 3; ++k) {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * (i % 20)));
      ASSERT_EQ(run(session, k), expected(k));
      taken += info(session).gpu_stretches_taken;
    }
  }
  expectClean();
  printf("%u stretches taken in 150 runs\n", taken);
}
