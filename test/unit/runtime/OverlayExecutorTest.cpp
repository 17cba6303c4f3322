//===- OverlayExecutorTest.cpp - A processor that is no GPU ---------------===//
//
// A toy takes over some executes of each run: a thread of its own computes them
// in the session's memory. Its runs are as good as those on the CPU, are
// recorded, and nnv12-prof shows them.
//
//===----------------------------------------------------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/LoadedBundle.h"
#include "runtime/Session.h"
#include "test/unit/sample/PlannedSample.h"
#include "tools/nnv12-prof/Profile.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;
using std::chrono::milliseconds;

namespace nnv12::runtime {
extern decltype(&createGpu) makeOverlay;
extern void (*betweenSubmitAndWait)(Workers &);
} // namespace nnv12::runtime

namespace {

using Result = runtime::Executor::Result;

/// How the next toys behave, and how often they were asked for steps.
struct Behaviour {
  uint32_t first = 2, count = 4; ///< the executes that it takes
  /// Step number n ends so: one that was not submitted, or not computed.
  uint32_t badStep = ~0u;
  Result submitted = Result::Done, waited = Result::Done;
  uint32_t microseconds = 0; ///< that a step takes
  /// It may cover all steps until somebody asks whether it is ready, and has
  /// settled its steps with its answer.
  bool settlesAsAsked = false;
  std::atomic<uint32_t> numSteps{0}, numMade{0}, numClosed{0};
};
Behaviour behaviour;

class Toy final : public runtime::OverlayExecutor {
public:
  Toy(const runtime::LoadedBundle &bundle, runtime::Memory memory,
      const runtime::Lanes &host, runtime::Recorder &recorder)
      : bundle_(bundle), memory_(memory), host_(host), recorder_(recorder),
        step_{this, behaviour.first, behaviour.count, 0,
              0,    nullptr,         nullptr,         false},
        thread_([this] { work(); }) {
    ++behaviour.numMade;
  }
  void close() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      isOver_ = true;
    }
    changed_.notify_all();
    thread_.join();
    ++behaviour.numClosed;
    delete this;
  }

  void runBegins(Run, const runtime::CallersBuffers &buffers) override {
    buffers_ = buffers;
  }
  const runtime::Step *stepAt(uint32_t index) override {
    if (isGone_ || index != step_.operation)
      return nullptr;
    for (uint32_t i = 0; i < step_.count; ++i)
      if (!host_.preparations().areDone(executeAt(index + i)->after()))
        return nullptr;
    return &step_;
  }
  Result submit(const runtime::Step &step, artifact::Fault &fault) override {
    start_ = recorder_.startTime();
    isBad_ = behaviour.numSteps++ == behaviour.badStep;
    if (isBad_ && behaviour.submitted != Result::Done)
      return endAs(behaviour.submitted, fault);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      isAsked_ = true;
    }
    changed_.notify_all();
    return Result::Done;
  }
  Result wait(const runtime::Step &step, artifact::Fault &fault) override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !isAsked_; });
    if (isBad_)
      return endAs(behaviour.waited, fault);
    if (start_)
      recorder_.writeHandOver(step.operation, step.count, start_,
                              recorder_.ticks());
    return Result::Done;
  }
  void fail(const char *) override { isGone_ = true; }
  const char *hangReason() const override {
    return isHung_ ? "the toy hangs" : nullptr;
  }
  bool isReadyForLater() const override { return isSettled_ = true; }
  uint32_t knowledge() const override { return 1 + isSettled_ + isGone_; }
  bool covers(uint32_t execute) const override {
    return !isGone_ && (!isSettled_ || execute - step_.operation < step_.count);
  }
  bool isGone() const override { return isGone_; }

private:
  const bundle::Operation *executeAt(uint32_t index) const {
    return bundle_.chosenProgram()->operations()->Get(index);
  }
  Result endAs(Result result, artifact::Fault &fault) {
    fault.set(artifact::Fault::Io, "the toy broke");
    isHung_ = result == Result::Hung;
    fail(fault.text);
    return result;
  }
  void *addressOf(const bundle::Operand *operand) const {
    if (operand->space() == bundle::Space_Input)
      return static_cast<uint8_t *>(const_cast<void *>(
                 runtime::elementOf(buffers_.inputs, operand->index()).data)) +
             operand->offset();
    if (operand->space() == bundle::Space_Output)
      return static_cast<uint8_t *>(
                 runtime::elementOf(buffers_.outputs, operand->index()).data) +
             operand->offset();
    return bundle_.loaded().addressOf(operand, memory_);
  }
#if defined(__clang__)
  __attribute__((no_sanitize("function")))
#endif
  void compute(const bundle::Operation *operation) {
    void *operands[8];
    size_t count = 0;
    for (const bundle::Operand *operand : *operation->operands())
      operands[count++] = addressOf(operand);
    alignas(64) uint8_t scratch[64];
    bundle_.loaded().kernelOf(operation)(
        operands, int64_t(operation->tile_begin()),
        int64_t(operation->tile_end()), scratch);
  }
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return isAsked_ || isOver_; });
      if (isOver_)
        return;
      // A bad one leaves its results as they are, or half made.
      for (uint32_t i = 0; i < (isBad_ ? 1 : step_.count); ++i)
        compute(executeAt(step_.operation + i));
      usleep(behaviour.microseconds);
      isAsked_ = false;
      changed_.notify_all();
    }
  }

  const runtime::LoadedBundle &bundle_;
  runtime::Memory memory_;
  const runtime::Lanes &host_;
  runtime::Recorder &recorder_;
  runtime::Step step_;
  runtime::CallersBuffers buffers_ = {};
  uint64_t start_ = 0;
  bool isGone_ = false, isHung_ = false;
  mutable bool isSettled_ = !behaviour.settlesAsAsked;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool isBad_ = false, isAsked_ = false, isOver_ = false;
  std::thread thread_;
};

runtime::OverlayExecutor *
makeToy(const runtime::LoadedBundle &bundle, const nnv12_gpu_options &,
        runtime::Memory memory, const runtime::Lanes &host, runtime::Events &,
        runtime::Recorder &recorder, artifact::Fault &) {
  return new Toy(bundle, memory, host, recorder);
}

class OverlayExecutorTest : public testing::Test {
protected:
  void SetUp() override {
    if (!runtime::hasGpus)
      GTEST_SKIP() << "this build has no overlays";
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97);
    runtime::makeOverlay = makeToy;
    behaviour.first = 2;
    behaviour.count = 4;
    behaviour.badStep = ~0u;
    behaviour.submitted = behaviour.waited = Result::Done;
    behaviour.microseconds = 0;
    behaviour.settlesAsAsked = false;
    behaviour.numSteps = behaviour.numMade = behaviour.numClosed = 0;
  }
  void TearDown() override {
    runtime::makeOverlay = nullptr;
    runtime::betweenSubmitAndWait = nullptr;
    EXPECT_EQ(behaviour.numMade, behaviour.numClosed);
  }

  static SessionOptions options(uint32_t threads,
                                nnv12_mode mode = NNV12_MODE_COLD) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.mode = mode;
    return result;
  }
  /// Later routines in all rounds but those that the toy computes, or in none.
  std::vector<float> expected(bool isLater) const {
    PlannedSample round(20, 1, 1);
    std::vector<float> y = x;
    for (unsigned r = 0; r < numRounds; ++r)
      for (size_t i = 0; i < y.size(); ++i)
        y[i] = round.expectedRun(
            i, y[i], isLater && 2 * r - behaviour.first >= behaviour.count);
    return y;
  }
  std::vector<float> run(Session &session) {
    std::vector<float> y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    return y;
  }

  static constexpr unsigned numRounds = 4;
  PlannedSample sample{20, 3, numRounds};
  TemporaryFolder folder;
  std::string path;
  std::vector<float> x = std::vector<float>(sample.elements());
};

} // namespace

/// Any range of executes, the first and the last one among them.
TEST_F(OverlayExecutorTest, TakesOver) {
  Bundle bundle(path);
  for (uint32_t first = 0; first < 2 * numRounds + 1; ++first)
    for (uint32_t count = 1; first + count <= 2 * numRounds + 1; ++count)
      for (uint32_t threads : {1, 3}) {
        behaviour.first = first;
        behaviour.count = count;
        Session session(bundle, options(threads));
        ASSERT_TRUE(session.prepare(milliseconds(60000)));
        behaviour.numSteps = 0;
        for (int i = 0; i < 3; ++i)
          ASSERT_EQ(run(session), expected(false)) << first << " " << count;
        EXPECT_EQ(behaviour.numSteps, 3u);
      }
}

/// From the moment on at which its weights are there.
TEST_F(OverlayExecutorTest, TakesOverInTheFirstRun) {
  Bundle bundle(path);
  for (int i = 0; i < 30; ++i) {
    Session session(bundle, options(i % 3 + 1));
    usleep(useconds_t(i * 20));
    for (int k = 0; k < 3; ++k)
      ASSERT_EQ(run(session), expected(false));
  }
  EXPECT_GE(behaviour.numSteps, 30u);
}

/// The CPU's own steps change to later routines beside it.
TEST_F(OverlayExecutorTest, LaterRuns) {
  Bundle bundle(path);
  Session session(bundle, options(2, NNV12_MODE_CONTINUOUS));
  ASSERT_TRUE(session.prepare(milliseconds(60000)));
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(run(session), expected(true));
  EXPECT_EQ(session.info().num_switches, 2u);
  EXPECT_EQ(session.info().switches_done, 2u);
  EXPECT_EQ(behaviour.numSteps, 3u);
}

/// An overlay may settle its steps between two questions of the session. Later
/// runs begin once the session has prepared the others.
TEST_F(OverlayExecutorTest, SettlesBetweenQuestions) {
  Bundle bundle(path);
  behaviour.settlesAsAsked = true;
  Session session(bundle, options(2, NNV12_MODE_CONTINUOUS));
  uint32_t numLater = 0;
  for (uint32_t i = 0; i < 100000 && numLater < 3; ++i) {
    std::vector<float> found = run(session);
    bool isLater = session.info().steady_run <= i;
    ASSERT_EQ(found, expected(isLater)) << i;
    numLater += isLater;
  }
  EXPECT_EQ(numLater, 3u);
  EXPECT_EQ(session.info().switches_done, 2u);
}

/// The CPU computes the steps in this run and in all later ones, by its own
/// later routines in the end.
TEST_F(OverlayExecutorTest, Fails) {
  Bundle bundle(path);
  for (bool isSubmitted : {false, true})
    for (nnv12_mode mode : {NNV12_MODE_COLD, NNV12_MODE_CONTINUOUS})
      for (uint32_t badStep : {0, 2}) {
        (isSubmitted ? behaviour.waited : behaviour.submitted) = Result::Failed;
        (isSubmitted ? behaviour.submitted : behaviour.waited) = Result::Done;
        behaviour.badStep = badStep;
        behaviour.numSteps = 0;
        bool isLater = mode == NNV12_MODE_CONTINUOUS;
        Session session(bundle, options(2, mode));
        ASSERT_TRUE(session.prepare(milliseconds(60000)));
        for (uint32_t i = 0; i <= badStep; ++i)
          ASSERT_EQ(run(session), expected(isLater)) << i;
        ASSERT_TRUE(session.prepare(milliseconds(60000)));
        behaviour.count = 0;
        for (int i = 0; i < 3; ++i)
          ASSERT_EQ(run(session), expected(isLater));
        behaviour.count = 4;
        EXPECT_EQ(behaviour.numSteps, badStep + 1);
      }
}

/// Nobody knows what it may still write to: the session ends, and its memory
/// stays.
TEST_F(OverlayExecutorTest, Hangs) {
  Bundle bundle(path);
  behaviour.badStep = 1;
  behaviour.waited = Result::Hung;
  Session session(bundle, options(2)), other(bundle, options(2));
  ASSERT_TRUE(session.prepare(milliseconds(60000)));
  ASSERT_EQ(run(session), expected(false));
  for (int i = 0; i < 2; ++i) {
    try {
      run(session);
      ADD_FAILURE() << "found a result";
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), NNV12_IO);
      EXPECT_STREQ(error.what(), "the toy hangs");
    }
  }
  EXPECT_EQ(behaviour.numSteps, 2u);
  ASSERT_EQ(run(other), expected(false));
}

/// Between submitting and waiting the CPU's threads compute.
TEST_F(OverlayExecutorTest, CpusComputeBeside) {
  static unsigned times;
  times = 0;
  runtime::betweenSubmitAndWait = [](runtime::Workers &workers) {
    float tiles[500] = {};
    void *operands[] = {tiles};
    runtime::Step step = {
        &workers,
        0,
        1,
        0,
        500,
        [](void *const *operands, int64_t begin, int64_t end, void *) {
          for (int64_t i = begin; i < end; ++i)
            static_cast<float *>(operands[0])[i] += 1;
        },
        operands,
        false};
    ++times;
    workers.run(step);
    for (float tile : tiles)
      EXPECT_EQ(tile, 1);
  };
  Bundle bundle(path);
  for (uint32_t threads : {1, 2, 4}) {
    behaviour.microseconds = 500;
    Session session(bundle, options(threads));
    ASSERT_TRUE(session.prepare(milliseconds(60000)));
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(run(session), expected(false));
  }
  EXPECT_EQ(times, 15u);
}

/// Its steps stand in recordings as hand-overs, and in profiles as computed
/// elsewhere.
TEST_F(OverlayExecutorTest, IsRecordedAndProfiled) {
  Bundle bundle(path);
  for (nnv12_record_level level :
       {NNV12_RECORD_OPERATION, NNV12_RECORD_PIECE}) {
    constexpr uint32_t numRuns = 20;
    behaviour.microseconds = 300;
    SessionOptions options = this->options(2);
    Recorder recorder(bundle, options, level, numRuns);
    options.recorder = recorder.get();
    {
      Session session(bundle, options);
      ASSERT_TRUE(session.prepare(milliseconds(60000)));
      for (uint32_t i = 0; i < numRuns; ++i)
        ASSERT_EQ(run(session), expected(false));
    }
    Recording recording = recorder.recording();
    tools::Recorded recorded;
    recorded.read(recording);
    EXPECT_EQ(recorded.lost, 0u);
    uint32_t handOvers = 0;
    for (const nnv12_record &record : recorded.records) {
      if (record.kind == NNV12_RECORD_GPU_SUBMIT) {
        ++handOvers;
        EXPECT_EQ(record.index, 2u);
        EXPECT_EQ(record.count, 4u);
        EXPECT_EQ(record.thread, 0u);
        EXPECT_GE(record.duration_ns, 300000u);
      }
      if (record.kind == NNV12_RECORD_EXECUTE) {
        EXPECT_TRUE(record.index < 2 || record.index >= 6) << record.index;
      }
    }
    EXPECT_EQ(handOvers, numRuns);
    prof::Profile profile = prof::makeProfile(bundle, recorded);
    EXPECT_GE(profile.runs.size(), numRuns - 1);
    ASSERT_EQ(profile.operations.size(), 2 * numRounds + 1);
    for (const prof::Operation &operation : profile.operations)
      EXPECT_EQ(operation.isOnGpu, operation.index - 2 < 4) << operation.index;
    // The time of hand-overs is no operation's.
    EXPECT_GE(profile.gaps, 0.3);
    EXPECT_NE(prof::profileJson(path, bundle, profile).find("gpu"),
              std::string::npos);
  }
}
