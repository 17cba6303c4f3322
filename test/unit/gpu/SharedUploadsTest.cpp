//===- SharedUploadsTest.cpp - Sessions that share weights on a device ----===//
#include "test/unit/gpu/GpuTest.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern uint64_t leastGpuPatience;
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
} // namespace nnv12::runtime

namespace {

constexpr uint64_t uploadedBytes = 3 * 256;

/// A thread that prepares beside a run waits for isReleased in its
/// `heldPiece`th piece.
std::atomic<bool> isPieceHeld, isPieceReleased;
uint32_t pieceToHold;
pthread_t mainThread;
void holdPiece() {
  static thread_local uint32_t calls = 0;
  if (pthread_equal(pthread_self(), mainThread) || ++calls != 2 * pieceToHold ||
      isPieceHeld.exchange(true))
    return;
  while (!isPieceReleased)
    usleep(100);
}

class SharedUploadsTest : public GpuTest {
protected:
  SharedUploadsTest() { open(); }
  ~SharedUploadsTest() override {
    runtime::beforePiece = nullptr;
    runtime::leastGpuPatience = 10000000000;
  }

  /// A way in which weights come to a device, and the call that each upload
  /// makes; null: none.
  struct Way {
    VkPhysicalDeviceType type;
    bool timeline, coherent;
    const char *call;
  };
  static constexpr Way ways[] = {
      {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, true, true, "vkQueueSubmit"},
      {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, false, true, "vkQueueSubmit"},
      {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, true, false,
       "vkFlushMappedMemoryRanges"},
      {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, true, true, nullptr},
      {VK_PHYSICAL_DEVICE_TYPE_CPU, true, true, nullptr}};
  void make(const Way &way) {
    mock.reset();
    mock.devices[0].type = way.type;
    mock.devices[0].timeline = way.timeline;
    mock.devices[0].coherent = way.coherent;
  }

  SessionPointer waiting() {
    SessionOptions result = options(NNV12_GPU_WAIT);
    result.gpu.allow_software = 1;
    return create(result);
  }
  /// As run(), but with a deadline that no good run needs.
  Bytes runInTime(const SessionPointer &session) {
    std::vector<float> x(64);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97) / 7;
    Bytes y(256, 0xee);
    nnv12_input input = NNV12_INPUT(x.data(), 256);
    nnv12_output output = NNV12_OUTPUT(y.data(), 256);
    using namespace std::chrono;
    auto end = steady_clock::now().time_since_epoch() + seconds(20);
    nnv12_error why;
    nnv12_status status = nnv12_session_run_until(
        session.get(), &input, 1, &output, 1,
        uint64_t(duration_cast<nanoseconds>(end).count()), &why);
    EXPECT_EQ(status, NNV12_OK) << why.message;
    return y;
  }
  /// Threads that make this call wait in it until isReleased. The first of them
  /// goes on before the others: a fault of the next call is its own.
  void hold(const char *call) {
    isHeld = isReleased = isPast = false;
    mock.before = [this, call](const char *function) {
      bool isFirst = isHeld && pthread_equal(pthread_self(), firstHeld);
      if (isFirst && isReleased)
        isPast = true;
      if (strcmp(function, call) != 0)
        return;
      if (!isHeld.exchange(true)) {
        firstHeld = pthread_self();
        isFirst = true;
      }
      while (!isReleased)
        usleep(100);
      // It may have nothing more to call.
      for (int i = 0; i < 500 && !isFirst && !isPast; ++i)
        usleep(100);
    };
  }
  void waitUntilHeld() {
    for (int i = 0; i < 100000 && !isHeld; ++i)
      usleep(100);
    EXPECT_TRUE(isHeld);
  }
  std::atomic<bool> isHeld{false}, isReleased{false}, isPast{false};
  std::atomic<pthread_t> firstHeld{};
};

} // namespace

/// The first session uploads them. They stay until the last one is closed.
TEST_F(SharedUploadsTest, AreUploadedOnce) {
  for (const Way &way : ways) {
    make(way);
    for (int round = 0; round < 2; ++round) {
      SessionPointer first = waiting();
      ASSERT_EQ(runInTime(first), expected());
      EXPECT_EQ(info(first).gpu_bytes_uploaded, uploadedBytes);
      SessionPointer second = waiting();
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(runInTime(second), expected());
        ASSERT_EQ(runInTime(first), expected());
      }
      EXPECT_EQ(info(second).gpu_bytes_uploaded, 0u);
      EXPECT_EQ(info(second).gpu_stretches_taken, 2u);
      first.reset();
      ASSERT_EQ(runInTime(second), expected());
      EXPECT_EQ(info(second).gpu_stretches_taken, 2u);
      SessionPointer third = waiting();
      settle(third);
      second.reset();
      ASSERT_EQ(runInTime(third), expected());
      EXPECT_EQ(info(third).gpu_bytes_uploaded, 0u);
    }
    expectClean();
  }
}

/// Sessions of different bundles share a device alone.
TEST_F(SharedUploadsTest, AreOfOneBundle) {
  SessionPointer first = waiting();
  ASSERT_EQ(runInTime(first), expected());
  BundlePointer other = std::move(bundle);
  open();
  SessionPointer second = waiting();
  ASSERT_EQ(runInTime(second), expected());
  EXPECT_EQ(info(second).gpu_bytes_uploaded, uploadedBytes);
  EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 1u);
  first.reset();
  ASSERT_EQ(runInTime(second), expected());
  second.reset();
  other.reset();
  expectClean();
}

/// The second one does the rest.
TEST_F(SharedUploadsTest, ClosedInTheMiddle) {
  for (const Way &way : ways) {
    if (!way.call)
      continue;
    make(way);
    (void)expected();
    hold(way.call);
    SessionPointer first = waiting();
    waitUntilHeld();
    SessionPointer second = waiting();
    std::thread closing([&] { first.reset(); });
    std::thread running([&] { EXPECT_EQ(runInTime(second), expected()); });
    usleep(20000);
    isReleased = true;
    closing.join();
    running.join();
    mock.before = {};
    EXPECT_EQ(info(second).gpu_state, NNV12_GPU_READY);
    EXPECT_EQ(info(second).gpu_stretches_taken, 2u);
    EXPECT_GE(info(second).gpu_bytes_uploaded, 512u);
    second.reset();
    expectClean();
  }
}

/// So it does where an upload fails for the first alone.
TEST_F(SharedUploadsTest, FailsInOneSession) {
  for (const Way &way : ways) {
    if (!way.call)
      continue;
    make(way);
    (void)expected();
    hold(way.call);
    mock.fault = {way.call, 1, VK_ERROR_OUT_OF_HOST_MEMORY};
    SessionPointer first = waiting();
    waitUntilHeld();
    SessionPointer second = waiting();
    usleep(5000);
    isReleased = true;
    EXPECT_EQ(runInTime(first), expected());
    EXPECT_EQ(runInTime(second), expected());
    mock.before = {};
    EXPECT_EQ(info(first).gpu_state, NNV12_GPU_FAILED);
    EXPECT_EQ(info(second).gpu_state, NNV12_GPU_READY)
        << info(second).gpu_reason;
    first.reset();
    EXPECT_EQ(runInTime(second), expected());
    EXPECT_EQ(info(second).gpu_stretches_taken, 2u);
    second.reset();
    expectClean();
  }
}

/// A device hangs in a run of one session: the other computes on the CPU, and
/// both are closed, in any order.
TEST_F(SharedUploadsTest, HangsInOneSession) {
  for (const Way &way : ways)
    for (bool inOrder : {true, false}) {
      if (way.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
        continue; // which has minutes
      make(way);
      runtime::leastGpuPatience = 20000000;
      SessionPointer first = waiting(), second = waiting();
      EXPECT_EQ(runInTime(first), expected());
      EXPECT_EQ(runInTime(second), expected());
      mock.hangs = true;
      EXPECT_TRUE(run(first).empty());
      EXPECT_EQ(error.status, NNV12_IO);
      EXPECT_EQ(runInTime(second), expected());
      EXPECT_EQ(info(second).gpu_state, NNV12_GPU_LOST);
      (inOrder ? first : second).reset();
      if (inOrder) {
        EXPECT_EQ(runInTime(second), expected());
      }
      first.reset();
      second.reset();
      nnv12_gpu_release();
      mock.forgiveObjects();
    }
}

/// Or while it uploads.
TEST_F(SharedUploadsTest, HangsWhilePreparing) {
  for (bool inOrder : {true, false}) {
    make(ways[0]);
    runtime::leastGpuPatience = 20000000;
    (void)expected();
    mock.hangs = true;
    SessionPointer first = waiting(), second = waiting();
    EXPECT_EQ(runInTime(inOrder ? first : second), expected());
    (inOrder ? first : second).reset();
    SessionPointer &other = inOrder ? second : first;
    EXPECT_EQ(runInTime(other), expected());
    EXPECT_GE(info(other).gpu_state, NNV12_GPU_FAILED);
    other.reset();
    nnv12_gpu_release();
    mock.forgiveObjects();
  }
}

/// Weights that the CPU cannot prepare are nobody's.
TEST_F(SharedUploadsTest, DamagedWeights) {
  GpuSample sample;
  sample.damage();
  open(sample);
  {
    SessionPointer first = waiting(), second = waiting();
    for (const SessionPointer *session : {&first, &second, &first}) {
      EXPECT_TRUE(run(*session).empty());
      EXPECT_EQ(error.status, NNV12_BAD_BUNDLE) << error.message;
    }
    EXPECT_EQ(settle(first).gpu_state, NNV12_GPU_FAILED);
    EXPECT_STREQ(settle(second).gpu_reason, "its weights are damaged");
  }
  expectClean();
}

/// A session without a GPU waits for weights that the thread of one with a GPU
/// prepares, and may not prepare itself a second time: it hears of their end.
TEST_F(SharedUploadsTest, OthersHearOfPreparations) {
  GpuSample sample;
  for (artifact::Program &program : sample.bundle.programs)
    for (artifact::Operation &operation : program.preparations)
      if (operation.codec == artifact::Codec::Zstd)
        operation.planes = 1;
  open(sample);
  (void)expected();
  unsigned held = 0;
  mainThread = pthread_self();
  for (pieceToHold = 1; pieceToHold <= 6; ++pieceToHold) {
    isPieceHeld = isPieceReleased = false;
    SessionOptions alone = options(NNV12_GPU_OFF),
                   withGpu = options(NNV12_GPU_WAIT);
    alone.threads = withGpu.threads = 1;
    alone.preparationThreads = NNV12_NO_PREPARATION_THREADS;
    withGpu.preparationThreads = 1;
    runtime::beforePiece = holdPiece;
    SessionPointer first = create(alone);
    SessionPointer second = create(withGpu);
    for (int i = 0; i < 500 && !isPieceHeld; ++i)
      usleep(100);
    held += isPieceHeld;
    std::thread running([&] { EXPECT_EQ(runInTime(first), expected()); });
    // Longer than a thread spins, and until the GPU's threads have begun.
    usleep(20000);
    isPieceReleased = true;
    running.join();
    first.reset();
    second.reset();
    runtime::beforePiece = nullptr;
  }
  EXPECT_GE(held, 2u);
}
