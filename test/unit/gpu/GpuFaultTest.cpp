//===- GpuFaultTest.cpp - The CPU computes after any fault ----------------===//
#include "test/unit/gpu/GpuTest.h"
#include "test/unit/sample/SplitSample.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern uint64_t leastGpuPatience;
extern std::atomic<uint32_t> threadsGranted;
class Workers;
extern void (*betweenSubmitAndWait)(Workers &);
} // namespace nnv12::runtime

namespace {

/// The bundle's stretches are whole, or split.
class GpuFaultTest : public GpuTest, public testing::WithParamInterface<bool> {
protected:
  GpuFaultTest() {
    if (GetParam()) {
      SplitSample sample;
      open(sample);
    } else {
      open();
    }
  }
  ~GpuFaultTest() override { runtime::leastGpuPatience = 10000000000; }

  /// The kind of device that the arena moves to.
  static constexpr unsigned moving = 5;

  /// Devices with all ways to be used, by turns.
  void makeDevice(unsigned kind) {
    mock.reset();
    MockDevice &device = mock.devices[0];
    if (kind % 2)
      device.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    device.timeline = kind < 2;
    device.coherent = kind % 4 != 2;
    device.import = kind != moving;
    if (kind == 4)
      device.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  }
  SessionOptions allOptions(nnv12_gpu_mode mode) {
    SessionOptions result = options(mode);
    result.gpu.allow_software = 1;
    result.gpu.cache_dir = cache.path.c_str();
    return result;
  }

  /// Why a session of this file has no GPU, which computes as the CPU does all
  /// the same; empty: it has one.
  std::string reasonOf(const std::vector<unsigned char> &image,
                       nnv12_copying copying) {
    makeDevice(0);
    AlignedCopy copy(image);
    nnv12_open_options how = NNV12_OPEN_OPTIONS_INIT;
    how.copying = copying;
    nnv12_bundle *raw = nullptr;
    EXPECT_EQ(
        nnv12_bundle_open_memory(copy.data, copy.size, &how, &raw, &error),
        NNV12_OK)
        << error.message;
    BundlePointer other(raw);
    std::string reason;
    std::swap(other, bundle);
    {
      SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
      EXPECT_EQ(run(session), expected());
      nnv12_session_info found = info(session);
      reason = found.gpu_reason;
      EXPECT_EQ(found.gpu_state,
                reason.empty() ? NNV12_GPU_READY : NNV12_GPU_FAILED);
    }
    std::swap(other, bundle);
    expectClean();
    return reason;
  }

  TemporaryFolder cache;
};

INSTANTIATE_TEST_SUITE_P(Stretches, GpuFaultTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "Split" : "Whole";
                         });

/// Whether a function may fail: all but vkCmd…, vkDestroy…, vkGet…Properties2.
bool mayFail(const std::string &function) {
  for (const char *never :
       {"vkCmd", "vkDestroy", "vkFree", "vkGetPhysicalDevice",
        "vkGetDeviceQueue", "vkGetBufferMemoryRequirements",
        "vkUpdateDescriptorSets"})
    if (function.rfind(never, 0) == 0)
      return false;
  return true;
}

} // namespace

/// Each call of each function, with each result that it may have.
TEST_P(GpuFaultTest, EachCallFails) {
  unsigned combinations = 0, hit = 0;
  for (unsigned kind = 0; kind < 6; ++kind) {
    makeDevice(kind);
    {
      SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
      for (int i = 0; i < 3; ++i)
        ASSERT_EQ(run(session, i), expected(i));
      ASSERT_EQ(info(session).gpu_stretches_taken, 2u);
    }
    nnv12_gpu_release();
    std::map<std::string, uint32_t> calls = mock.calls();
    for (const auto &[function, count] : calls) {
      if (!mayFail(function))
        continue;
      for (uint32_t call = 1; call <= std::min(count, 4u); ++call)
        for (VkResult result :
             {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
              VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN}) {
          makeDevice(kind);
          // Other threads upload weights during many of these calls.
          mock.fault = {function, call, result, /*forgets=*/false};
          {
            SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
            for (int i = 0; i < 3; ++i)
              ASSERT_EQ(run(session, i), expected(i))
                  << function << " " << call << " " << result << " of kind "
                  << kind << ": " << error.message;
            nnv12_session_info now = info(session);
            bool isUsed = now.gpu_state == NNV12_GPU_READY;
            EXPECT_NE(isUsed, *now.gpu_reason != 0);
            hit += !isUsed;
          }
          expectClean();
          ++combinations;
        }
    }
  }
  EXPECT_GE(combinations, 300u);
  printf("%u combinations, %u of which left everything to the CPU\n",
         combinations, hit);
}

/// The system refuses threads that prepare for the GPU: all of them, or all but
/// some. The others do the work.
TEST_P(GpuFaultTest, RefusedThreads) {
  makeDevice(0);
  (void)expected(2);
  for (uint32_t granted = 0; granted < 4; ++granted) {
    SessionOptions options = allOptions(NNV12_GPU_WAIT);
    options.threads = 1;
    options.preparationThreads = NNV12_NO_PREPARATION_THREADS;
    options.gpu.threads = 4;
    runtime::threadsGranted = granted;
    SessionPointer session = create(options);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(run(session, i), expected(i)) << granted;
    runtime::threadsGranted = ~0u;
    nnv12_session_info now = info(session);
    EXPECT_EQ(now.gpu_stretches_taken, granted ? 2u : 0u) << granted;
    EXPECT_STREQ(now.gpu_reason,
                 granted ? "" : "the system refuses a thread for it");
    session.reset();
    nnv12_gpu_release();
  }
  expectClean();
}

/// If one wait fails, another one may work, and the result is good then.
TEST_P(GpuFaultTest, AWaitThatFailsIsNoLoss) {
  makeDevice(0);
  mock.fault = {"vkGetSemaphoreCounterValueKHR", 1,
                VK_ERROR_OUT_OF_HOST_MEMORY};
  {
    SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
    EXPECT_EQ(run(session), expected());
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_READY);
    EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
  }
  expectClean();
}

/// A device that is lost is so for all sessions. Results in its memory are
/// lost, too: then the CPU computes the run from the beginning.
TEST_P(GpuFaultTest, ALossIsForAll) {
  for (unsigned kind : {1u, moving}) {
    makeDevice(kind);
    {
      SessionPointer one = create(allOptions(NNV12_GPU_WAIT)),
                     other = create(allOptions(NNV12_GPU_WAIT));
      EXPECT_EQ(run(one), expected());
      EXPECT_EQ(run(other), expected());
      mock.fault = {"vkQueueSubmit",
                    mock.MockVulkan::calls("vkQueueSubmit") + 2,
                    VK_ERROR_DEVICE_LOST};
      EXPECT_EQ(run(one, 1), expected(1));
      EXPECT_EQ(info(one).gpu_stretches_taken, kind == moving ? 0u : 1u);
      for (const SessionPointer *session : {&one, &other}) {
        EXPECT_EQ(info(*session).gpu_state, NNV12_GPU_LOST);
        EXPECT_STREQ(info(*session).gpu_reason,
                     "vkQueueSubmit: the device was lost (-4)");
        EXPECT_EQ(run(*session, 2), expected(2));
        EXPECT_EQ(info(*session).gpu_stretches_taken, 0u);
      }
      SessionPointer later = create(allOptions(NNV12_GPU_WAIT));
      EXPECT_EQ(run(later), expected());
      EXPECT_EQ(info(later).gpu_state, NNV12_GPU_FAILED);
    }
    expectClean();
  }
}

/// Nobody knows what a device that gives no answer may still do.
TEST_P(GpuFaultTest, ADeviceThatHangsEndsTheSession) {
  for (unsigned kind : {0, 1, 2, 3, 5}) {
    makeDevice(kind);
    runtime::leastGpuPatience = 20000000;
    SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
    EXPECT_EQ(run(session), expected());
    mock.hangs = true;
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(run(session).empty());
      EXPECT_EQ(error.status, NNV12_IO);
      EXPECT_STREQ(error.message,
                   "layer 'round0': the GPU was asked for it and the following "
                   "ones, and gave no answer: waiting for the GPU: no answer "
                   "(2)");
    }
    EXPECT_EQ(info(session).gpu_state, NNV12_GPU_LOST);
    session.reset();
    nnv12_gpu_release();
    mock.forgiveObjects();
  }
}

/// Time in which the CPU does other work between submit and wait counts.
TEST_P(GpuFaultTest, PatienceBeginsWithTheSubmission) {
  constexpr uint64_t millisecond = 1000000;
  for (unsigned kind : {0, 1, 2, 3})
    for (bool isBusy : {false, true}) {
      makeDevice(kind);
      runtime::leastGpuPatience = 500 * millisecond;
      SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
      EXPECT_EQ(run(session), expected());
      if (isBusy)
        runtime::betweenSubmitAndWait = [](runtime::Workers &) {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        };
      mock.busyFor = 300 * millisecond;
      EXPECT_EQ(run(session).empty(), isBusy) << kind;
      runtime::betweenSubmitAndWait = nullptr;
      session.reset();
      nnv12_gpu_release();
      mock.forgiveObjects();
    }
}

/// Software that has to wait for a CPU is not taken for dead as soon as a GPU
/// is, in a run and while preparing, but in the end.
TEST_P(GpuFaultTest, SoftwareHasMoreTime) {
  constexpr uint64_t second = 1000000000;
  const struct {
    unsigned kind;
    uint64_t seconds;
    bool isDead;
  } cases[] = {{0, 9, false},  {0, 11, true},   {1, 11, true},
               {4, 11, false}, {4, 599, false}, {4, 601, true}};
  for (const auto &it : cases) {
    makeDevice(it.kind);
    SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
    EXPECT_EQ(run(session), expected());
    mock.busyFor = it.seconds * second;
    EXPECT_EQ(run(session).empty(), it.isDead) << it.kind << " " << it.seconds;
    session.reset();
    nnv12_gpu_release();
    mock.forgiveObjects();
    // The warm-up of software, and the first upload of others.
    makeDevice(it.kind);
    if (it.kind == 1)
      continue;
    mock.busyFor = it.seconds * second;
    session = create(allOptions(NNV12_GPU_WAIT));
    EXPECT_EQ(run(session), expected());
    EXPECT_STREQ(info(session).gpu_reason,
                 it.isDead ? "waiting for the GPU: no answer (2)" : "")
        << it.kind << " " << it.seconds;
    session.reset();
    nnv12_gpu_release();
    mock.forgiveObjects();
  }
}

TEST_P(GpuFaultTest, ADeviceThatHangsWhilePreparing) {
  for (unsigned kind : {0, 4}) {
    makeDevice(kind);
    runtime::leastGpuPatience = 20000000;
    mock.hangs = true;
    SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
    EXPECT_EQ(run(session), expected());
    EXPECT_STREQ(info(session).gpu_reason,
                 "waiting for the GPU: no answer (2)");
    session.reset();
    nnv12_gpu_release();
    mock.forgiveObjects();
  }
}

/// In the middle of each call that prepares.
TEST_P(GpuFaultTest, SessionsMayBeClosedAtAnyTime) {
  for (unsigned kind : {0, 1, 4, 5}) {
    makeDevice(kind);
    {
      SessionPointer session = create(allOptions(NNV12_GPU_WAIT));
      EXPECT_EQ(run(session), expected());
    }
    nnv12_gpu_release();
    uint32_t calls = 0;
    for (const auto &[function, count] : mock.calls())
      calls += count;
    for (uint32_t stopAt = 1; stopAt < calls; ++stopAt) {
      makeDevice(kind);
      std::atomic<uint32_t> seen{0};
      std::atomic<bool> reached{false};
      mock.before = [&](const char *) {
        if (seen.fetch_add(1) + 1 != stopAt)
          return;
        reached = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      };
      {
        SessionOptions options = allOptions(NNV12_GPU_AUTO);
        SessionPointer session = create(options);
        EXPECT_EQ(run(session), expected());
        EXPECT_EQ(run(session), expected());
        for (int i = 0;
             i < 2000 && !reached && info(session).gpu_state < NNV12_GPU_READY;
             ++i)
          std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      mock.before = {};
      expectClean();
    }
  }
}

/// Overlays that are damaged are left alone, and said to be.
TEST_P(GpuFaultTest, DamagedModules) {
  // Their words lie one after another.
  std::vector<unsigned char> image = readFile(path);
  GpuSample sample;
  size_t words = 0;
  const artifact::Segment &segment =
      sample.bundle.segments[sample.bundle.gpu->code];
  for (const artifact::Segment::Piece &piece : segment.pieces)
    words += piece.size / 4;
  ASSERT_GT(words, 0u);
  const auto *first =
      static_cast<const unsigned char *>(segment.pieces[0].data);
  auto at = std::search(image.begin(), image.end(), first,
                        first + segment.pieces[0].size);
  ASSERT_NE(at, image.end());
  size_t begin = size_t(at - image.begin());
  for (size_t i = 0; i < segment.pieces[0].size; i += 37) {
    std::vector<unsigned char> damaged = image;
    damaged[begin + i] ^= 0x10;
    EXPECT_EQ(reasonOf(damaged, NNV12_COPY_NEVER),
              "gpu: module 0: digest does not match (damaged)");
  }
}

TEST_P(GpuFaultTest, DamagedOverlays) {
  // They are the last segment, to the end of the file.
  std::vector<unsigned char> image = readFile(path);
  for (nnv12_copying copying : {NNV12_COPY_NEVER, NNV12_COPY_ALWAYS}) {
    EXPECT_EQ(reasonOf(image, copying), "");
    std::vector<unsigned char> damaged = image;
    damaged.back() ^= 0x10;
    EXPECT_EQ(reasonOf(damaged, copying),
              "the bundle's part for GPUs is damaged: segment 4 (Overlays): "
              "digest does not match (damaged)");
  }
}
