//===- GpuSplitTest.cpp - Runs that CPU and GPU compute together ----------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/sample/SplitSample.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
class Workers;
/// Called between a stretch's submission and its parts.
extern void (*betweenSubmitAndWait)(Workers &);
} // namespace nnv12::runtime

namespace {

using When = MockVulkan::When;

/// Devices that work in the CPU's memory and that copy, with all ways to wait.
struct SplitDevice {
  const char *name;
  std::function<void(MockDevice &)> change;
};

const SplitDevice splitDevices[] = {
    {"discrete", [](MockDevice &) {}},
    {"discreteWithoutTimeline", [](MockDevice &d) { d.timeline = false; }},
    {"discreteNotCoherent", [](MockDevice &d) { d.coherent = false; }},
    {"integrated",
     [](MockDevice &d) { d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU; }},
    {"integratedWithoutTimeline",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.timeline = false;
     }},
    {"integratedWithoutImport",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.import = false;
     }},
    {"integratedNotCoherent",
     [](MockDevice &d) {
       d.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
       d.coherent = false;
     }},
    {"software", [](MockDevice &d) { d.type = VK_PHYSICAL_DEVICE_TYPE_CPU; }}};

class GpuSplitTest : public GpuTest {
protected:
  GpuSplitTest() { openAt(2); }
  ~GpuSplitTest() override { runtime::betweenSubmitAndWait = nullptr; }

  void openAt(uint32_t at) {
    SplitSample sample(at);
    open(sample);
  }

  void makeDevice(const SplitDevice &device) {
    mock.reset();
    device.change(mock.devices[0]);
  }
  SessionOptions withMode(nnv12_gpu_mode mode, uint32_t threads = 2) {
    SessionOptions result = options(mode);
    result.gpu.allow_software = 1;
    result.threads = threads;
    return result;
  }
  uint32_t count(std::initializer_list<const char *> functions) {
    uint32_t sum = 0;
    for (const char *name : functions)
      sum += mock.MockVulkan::calls(name);
    return sum;
  }
};

} // namespace

/// Results are the CPU's here, bit for bit: the device computes as the CPU.
TEST_F(GpuSplitTest, BothComputeTheirParts) {
  for (uint32_t at : {1, 2, 3}) {
    openAt(at);
    for (const SplitDevice &device : splitDevices)
      for (uint32_t threads : {1, 2, 3, 4}) {
        makeDevice(device);
        SessionPointer session = create(withMode(NNV12_GPU_WAIT, threads));
        for (int i = 0; i < 3; ++i) {
          ASSERT_EQ(run(session, i), expected(i)) << device.name;
          ASSERT_EQ(info(session).gpu_stretches_taken, 2u)
              << device.name << ": " << info(session).gpu_reason;
        }
        session.reset();
        expectClean();
      }
  }
}

/// The GPU may write its rows at any time between the submission and the end of
/// the wait.
TEST_F(GpuSplitTest, TheGpuWritesAtAnyTime) {
  for (const SplitDevice &device : splitDevices)
    for (When when : {When::AtOnce, When::Beside, When::AtLast})
      for (uint32_t threads : {1, 2, 4}) {
        makeDevice(device);
        SessionPointer session = create(withMode(NNV12_GPU_WAIT, threads));
        ASSERT_EQ(run(session), expected());
        mock.when = when;
        for (int i = 0; i < 20; ++i) {
          ASSERT_EQ(run(session, i % 5), expected(i % 5))
              << device.name << " " << int(when) << ": " << error.message;
          ASSERT_EQ(info(session).gpu_stretches_taken, 2u);
        }
        session.reset();
        expectClean();
      }
}

/// Parts that take longer than the GPU, and a GPU that takes longer.
TEST_F(GpuSplitTest, OneOfBothTakesLonger) {
  for (const SplitDevice &device : splitDevices)
    for (bool isCpuSlower : {false, true}) {
      makeDevice(device);
      SessionPointer session = create(withMode(NNV12_GPU_WAIT));
      ASSERT_EQ(run(session), expected());
      if (isCpuSlower)
        runtime::betweenSubmitAndWait = [](runtime::Workers &) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        };
      for (int i = 0; i < 3; ++i) {
        mock.busyFor = isCpuSlower ? 0 : 5000000;
        ASSERT_EQ(run(session, i), expected(i)) << device.name;
        ASSERT_EQ(info(session).gpu_stretches_taken, 2u);
      }
      runtime::betweenSubmitAndWait = nullptr;
      session.reset();
      expectClean();
    }
}

/// Time that passes before the wait counts: if it was as much as predicted, the
/// device is asked at once.
TEST_F(GpuSplitTest, SleepsForWhatIsLeft) {
  SplitSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    for (artifact::Stretch &stretch : program.gpu->stretches)
      stretch.predicted = 100000000;
  open(sample);
  for (bool isCpuSlower : {false, true}) {
    makeDevice(splitDevices[0]);
    SessionPointer session = create(withMode(NNV12_GPU_WAIT));
    ASSERT_EQ(run(session), expected());
    if (isCpuSlower)
      runtime::betweenSubmitAndWait = [](runtime::Workers &) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      };
    auto slept = [&] { return count({"vkWaitSemaphoresKHR"}); };
    auto asked = [&] { return count({"vkGetSemaphoreCounterValueKHR"}); };
    uint32_t sleptBefore = slept(), askedBefore = asked();
    ASSERT_EQ(run(session, 1), expected(1));
    EXPECT_EQ(slept() - sleptBefore, isCpuSlower ? 0u : 2u);
    EXPECT_EQ(asked() - askedBefore, isCpuSlower ? 2u : 0u);
    runtime::betweenSubmitAndWait = nullptr;
  }
}

/// Each call that a run makes, with each result that it may have, wherever the
/// GPU has got to with its rows. The CPU computes the stretch again.
TEST_F(GpuSplitTest, EachCallOfARunFails) {
  unsigned combinations = 0;
  for (const SplitDevice &device : splitDevices)
    for (When when : {When::AtOnce, When::AtLast}) {
      makeDevice(device);
      std::map<std::string, uint32_t> first, all;
      {
        SessionPointer session = create(withMode(NNV12_GPU_WAIT));
        ASSERT_EQ(run(session), expected());
        first = mock.calls();
        mock.when = when;
        for (int i = 1; i < 3; ++i)
          ASSERT_EQ(run(session, i), expected(i));
        all = mock.calls();
      }
      for (const auto &[function, calls] : all)
        // Polls are many: the first ones.
        for (uint32_t call = first[function] + 1;
             call <= std::min(calls, first[function] + 4); ++call)
          for (VkResult result :
               {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN}) {
            makeDevice(device);
            {
              SessionPointer session = create(withMode(NNV12_GPU_WAIT));
              ASSERT_EQ(run(session), expected());
              uint32_t base = mock.MockVulkan::calls(function);
              mock.fault = {function, base + call - first[function], result};
              mock.when = when;
              for (int i = 1; i < 4; ++i)
                ASSERT_EQ(run(session, i), expected(i))
                    << device.name << ": " << function << " " << call << " "
                    << result << ": " << error.message;
              nnv12_session_info now = info(session);
              EXPECT_NE(now.gpu_state == NNV12_GPU_READY, *now.gpu_reason != 0);
            }
            expectClean();
            ++combinations;
          }
    }
  EXPECT_GE(combinations, 300u);
  printf("%u combinations\n", combinations);
}

/// The bytes that parts wrote before the device was lost change nothing.
TEST_F(GpuSplitTest, ALossIsMadeUpForInTheSameRun) {
  for (const SplitDevice &device : splitDevices) {
    makeDevice(device);
    {
      SessionPointer session = create(withMode(NNV12_GPU_WAIT));
      ASSERT_EQ(run(session), expected());
      const char *wait =
          mock.devices[0].timeline ? "vkWaitSemaphoresKHR" : "vkWaitForFences";
      mock.when = When::AtLast;
      mock.fault = {wait, mock.MockVulkan::calls(wait) + 1,
                    VK_ERROR_DEVICE_LOST};
      EXPECT_EQ(run(session, 1), expected(1));
      EXPECT_EQ(info(session).gpu_stretches_taken, 0u);
      EXPECT_EQ(info(session).gpu_state, NNV12_GPU_LOST);
      EXPECT_EQ(run(session, 2), expected(2));
    }
    expectClean();
  }
}

/// A run that is late ends after the part that is under way, and not before the
/// GPU.
TEST_F(GpuSplitTest, EndsAtItsDeadline) {
  for (bool isLast : {false, true}) {
    makeDevice(splitDevices[3]);
    {
      SessionPointer session = create(withMode(NNV12_GPU_WAIT));
      ASSERT_EQ(run(session), expected());
      static unsigned submissions, lateAt;
      submissions = 0;
      lateAt = isLast ? 2 : 1;
      runtime::betweenSubmitAndWait = [](runtime::Workers &) {
        if (++submissions == lateAt)
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
      };
      std::vector<float> x(64), y(64);
      nnv12_input input = NNV12_INPUT(x.data(), 256);
      nnv12_output output = NNV12_OUTPUT(y.data(), 256);
      using Clock = std::chrono::steady_clock;
      uint64_t now = uint64_t(Clock::now().time_since_epoch().count());
      EXPECT_EQ(nnv12_session_run_until(session.get(), &input, 1, &output, 1,
                                        now + 250000000, &error),
                NNV12_TIMED_OUT);
      EXPECT_EQ(std::string(error.message)
                    .find(isLast
                              ? "deadline: over before layer 'round1', after "
                                "2 of 5 operations"
                              : "deadline: over before layer 'round0', after "
                                "0 of 5 operations"),
                0u)
          << error.message;
      runtime::betweenSubmitAndWait = nullptr;
      EXPECT_EQ(run(session, 1), expected(1));
      EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    }
    expectClean();
  }
}

namespace {

/// Parts that are of the replacements of switches, whose weights are others.
class SplitSwitchTest : public GpuSplitTest {
protected:
  SplitSwitchTest() {
    for (artifact::Program &program : sample.bundle.programs)
      for (uint32_t i : {1, 2}) {
        artifact::Stretch &stretch = program.gpu->stretches[i];
        for (const artifact::Switch &change : program.switches) {
          uint32_t part = change.operation - stretch.first;
          if (part >= stretch.count)
            continue;
          stretch.parts[part].operands = change.replacement.operands;
          stretch.after.push_back(change.replacement.after[0]);
        }
      }
    open(sample);
  }

  /// The result of a run: the first `front` elements by the executes, the
  /// others by their replacements.
  Bytes composed(int seed, size_t front) {
    Bytes result(256);
    for (size_t i = 0; i < 64; ++i) {
      float x = float((i * 31 + size_t(seed)) % 97) / 7,
            y = sample.expectedRun(i, x, i >= front);
      memcpy(&result[4 * i], &y, 4);
    }
    return result;
  }

  SplitSample sample;
};

} // namespace

TEST_F(SplitSwitchTest, PartsWaitForTheirOwnWeights) {
  for (const SplitDevice &device : splitDevices) {
    makeDevice(device);
    {
      SessionOptions options = withMode(NNV12_GPU_WAIT);
      options.mode = NNV12_MODE_PLAN;
      SessionPointer session = create(options);
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(run(session, i), composed(i, 32)) << device.name;
        ASSERT_EQ(info(session).gpu_stretches_taken, 2u);
      }
    }
    expectClean();
  }
}

/// A session that does not prepare them leaves these stretches to the CPU.
TEST_F(SplitSwitchTest, WithoutSwitchesTheCpuComputes) {
  makeDevice(splitDevices[0]);
  {
    SessionPointer session = create(withMode(NNV12_GPU_WAIT));
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(run(session, i), composed(i, 64));
      ASSERT_EQ(info(session).gpu_stretches_taken, 0u);
    }
    EXPECT_EQ(info(session).gpu_stretches_ready, 1u); // the one that is whole
  }
  expectClean();
}

/// From one run on all stretches of later runs are taken, and before it none.
TEST_F(SplitSwitchTest, TakesAllOrNone) {
  for (const SplitDevice &device : splitDevices)
    for (int pause : {0, 1, 2, 5}) {
      makeDevice(device);
      {
        SessionOptions options = withMode(NNV12_GPU_AUTO);
        options.mode = NNV12_MODE_PLAN;
        SessionPointer session = create(options);
        bool isTaken = false;
        using Clock = std::chrono::steady_clock;
        Clock::time_point end = Clock::now() + std::chrono::seconds(10);
        for (int i = 0; !isTaken && Clock::now() < end; ++i) {
          Bytes result = run(session, i % 5);
          nnv12_session_info now = info(session);
          isTaken = now.gpu_stretches_taken != 0;
          ASSERT_EQ(now.gpu_stretches_taken, isTaken ? 2u : 0u);
          ASSERT_EQ(result, composed(i % 5, isTaken ? 32 : 64))
              << device.name << " " << i;
          std::this_thread::sleep_for(std::chrono::milliseconds(pause));
        }
        EXPECT_TRUE(isTaken) << device.name << info(session).gpu_reason;
        for (int i = 0; i < 5; ++i) {
          EXPECT_EQ(run(session, i), composed(i, 32));
          EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
        }
      }
      expectClean();
    }
}

/// A part is recorded as a part of its execute, inside of the submission.
TEST_F(GpuSplitTest, PartsAreRecorded) {
  SessionOptions wish = withMode(NNV12_GPU_WAIT);
  nnv12_session_options c = wish.get();
  size_t size = nnv12_recorder_size(bundle.get(), &c, NNV12_RECORD_OPERATION,
                                    /*runs=*/8);
  struct Free {
    void operator()(void *memory) const { free(memory); }
  };
  std::unique_ptr<void, Free> memory(aligned_alloc(64, size));
  memset(memory.get(), 0, size);
  nnv12_recorder recorder = NNV12_RECORDER_INIT(memory.get(), size);
  recorder.level = NNV12_RECORD_OPERATION;
  wish.recorder = &recorder;
  {
    SessionPointer session = create(wish);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(run(session, i), expected(i));
  }
  nnv12_recording *recording = nullptr;
  ASSERT_EQ(nnv12_recording_open(memory.get(), size, &recording, &error),
            NNV12_OK);
  std::vector<nnv12_record> records(4096);
  uint64_t lost = 0;
  records.resize(nnv12_recording_read(recording, 0, records.data(),
                                      records.size(), &lost));
  nnv12_recording_close(recording);
  EXPECT_EQ(lost, 0u);
  std::vector<std::vector<uint32_t>> parts(8);
  std::vector<nnv12_record> open; // parts before their submission's record
  for (const nnv12_record &record : records) {
    if (record.kind == NNV12_RECORD_EXECUTE) {
      EXPECT_EQ(record.flags, NNV12_RECORD_PARTIAL);
      EXPECT_EQ(record.count, 32768u);
      parts[record.run].push_back(record.index);
      open.push_back(record);
    } else if (record.kind == NNV12_RECORD_GPU_SUBMIT) {
      for (const nnv12_record &part : open) {
        EXPECT_GE(part.start_ns, record.start_ns);
        EXPECT_LE(part.start_ns + part.duration_ns,
                  record.start_ns + record.duration_ns);
      }
      open.clear();
    }
  }
  EXPECT_TRUE(open.empty());
  for (const std::vector<uint32_t> &of : parts)
    EXPECT_EQ(of, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  expectClean();
}
