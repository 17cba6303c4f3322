//===- LaterRunsTest.cpp - Later routines, deadlines, waiting -------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/runtime/RandomDelays.h"
#include "test/unit/sample/PlannedSample.h"

#include <atomic>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;
using std::chrono::milliseconds;

namespace nnv12::runtime {
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
/// Called before a thread computes tiles that it has taken.
extern void (*beforeTiles)();
} // namespace nnv12::runtime

namespace {

constexpr unsigned numRounds = 4;

std::atomic<uint32_t> numDelays{0};
std::atomic<bool> isSlow{true};
void delayAlways() {
  ++numDelays;
  if (isSlow)
    usleep(3000);
}

class LaterRunsTest : public testing::Test {
protected:
  void SetUp() override {
    isSlow = true;
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    write();
  }
  void TearDown() override {
    runtime::beforePiece = nullptr;
    runtime::beforeTiles = nullptr;
  }
  void write() {
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97);
  }

  static SessionOptions options(uint32_t threads, uint32_t preparing = 0,
                                nnv12_mode mode = NNV12_MODE_PLAN) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.preparationThreads = preparing;
    result.mode = mode;
    return result;
  }

  /// The right result of a run of `x`.
  std::vector<float> expected(bool isLater) const {
    std::vector<float> result(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      result[i] = sample.expectedRun(i, x[i], isLater);
    return result;
  }
  std::vector<float> run(Session &session) {
    std::vector<float> y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    return y;
  }
  /// With a deadline in so many milliseconds; `y` is left as it is.
  nnv12_status runFor(Session &session, int64_t milliseconds,
                      nnv12_error &error) {
    auto time = std::chrono::steady_clock::now().time_since_epoch() +
                std::chrono::milliseconds(milliseconds);
    return runUntil(
        session,
        uint64_t(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()),
        error);
  }
  nnv12_status runUntil(Session &session, uint64_t deadline,
                        nnv12_error &error) {
    nnv12_input in = NNV12_INPUT(x.data(), x.size() * 4);
    nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
    return nnv12_session_run_until(session.get(), &in, 1, &out, 1, deadline,
                                   &error);
  }

  /// test(options) for every way to have threads.
  template <typename Test> void forEachWay(nnv12_mode mode, const Test &test) {
    for (uint32_t threads : {1, 2, 4})
      for (uint32_t preparing : {0u, 1u, noPreparation})
        for (bool noStealing : {false, true}) {
          SessionOptions way = options(threads, preparing, mode);
          way.noStealing = noStealing;
          SCOPED_TRACE(std::to_string(threads) + " threads, " +
                       std::to_string(preparing) + " preparing, stealing " +
                       std::to_string(!noStealing));
          test(way);
        }
  }

  PlannedSample sample{20, 3, numRounds};
  TemporaryFolder folder;
  std::string path;
  std::vector<float> x = std::vector<float>(sample.elements());
  std::vector<float> y = std::vector<float>(sample.elements(), -1);
};

} // namespace

/// No run is half and half, and the session tells the truth.
TEST_F(LaterRunsTest, AllTakeOverTogether) {
  runtime::beforePiece = delayAtRandom<>;
  std::vector<float> before = expected(false), after = expected(true);
  Bundle bundle(path);
  forEachWay(NNV12_MODE_CONTINUOUS, [&](const SessionOptions &options) {
    Session session(bundle, options);
    uint32_t numLater = 0;
    for (uint32_t i = 0; i < 100000 && numLater < 3; ++i) {
      std::vector<float> found = run(session);
      nnv12_session_info info = session.info();
      bool isLater = info.steady_run <= i;
      ASSERT_EQ(found, isLater ? after : before) << i;
      ASSERT_EQ(info.switches_done, isLater ? numRounds : 0u);
      ASSERT_TRUE(isLater || info.steady_run == NNV12_NO_RUN);
      ASSERT_NE(info.steady_run, 0u) << "the first one is the plan's";
      numLater += isLater;
    }
    EXPECT_EQ(numLater, 3u);
  });
}

TEST_F(LaterRunsTest, PreparedBeforeTheFirstRun) {
  runtime::beforePiece = delayAtRandom<>;
  Bundle bundle(path);
  forEachWay(NNV12_MODE_CONTINUOUS, [&](const SessionOptions &options) {
    Session session(bundle, options);
    ASSERT_TRUE(session.prepare(milliseconds(60000)));
    nnv12_session_info info = session.info();
    EXPECT_EQ(info.preparations_done, info.num_preparations);
    EXPECT_EQ(info.switches_done, numRounds);
    EXPECT_EQ(info.steady_run, 0u);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(run(session), expected(true));
    EXPECT_EQ(session.info().steady_run, 0u);
    EXPECT_TRUE(session.prepare(milliseconds(0)));
  });
}

TEST_F(LaterRunsTest, PreparedAfterRuns) {
  Bundle bundle(path);
  Session session(bundle, options(1, noPreparation));
  ASSERT_EQ(run(session), expected(false));
  ASSERT_TRUE(session.prepare(milliseconds(60000)));
  EXPECT_EQ(session.info().steady_run, 1u);
  EXPECT_EQ(run(session), expected(true));
}

/// Each run has the same bytes, and weights for later ones are not prepared.
TEST_F(LaterRunsTest, Forbidden) {
  Bundle bundle(path);
  forEachWay(NNV12_MODE_COLD, [&](const SessionOptions &options) {
    Session session(bundle, options);
    EXPECT_EQ(session.info().steady_run, 0u);
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(run(session), expected(false));
    EXPECT_TRUE(session.prepare(milliseconds(60000)));
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(run(session), expected(false));
    nnv12_session_info info = session.info();
    EXPECT_EQ(info.num_preparations, 3 * numRounds);
    EXPECT_EQ(info.preparations_done, 3 * numRounds);
    EXPECT_EQ(info.num_switches, 0u);
    EXPECT_EQ(info.steady_run, 0u);
  });
}

TEST_F(LaterRunsTest, PreparingTakesTooLong) {
  runtime::beforePiece = delayAlways;
  Bundle bundle(path);
  Session session(bundle, options(1, noPreparation));
  nnv12_error error = {};
  for (uint32_t timeout : {0u, 10u}) {
    EXPECT_EQ(nnv12_session_prepare(session.get(), timeout, &error),
              NNV12_TIMED_OUT);
    EXPECT_EQ(error.status, NNV12_TIMED_OUT);
    std::string done = std::to_string(session.info().preparations_done);
    EXPECT_EQ(error.message,
              "time is over: found " + done + " of 16 preparations done");
  }
  EXPECT_EQ(session.info().steady_run, NNV12_NO_RUN);
  // Nothing is lost.
  EXPECT_EQ(run(session), expected(false));
  runtime::beforePiece = nullptr;
  EXPECT_TRUE(session.prepare(milliseconds(60000)));
  EXPECT_EQ(session.info().steady_run, 1u);
  EXPECT_EQ(run(session), expected(true));
}

TEST_F(LaterRunsTest, NobodyWaitsBesideARun) {
  runtime::beforePiece = delayAlways;
  numDelays = 0;
  Bundle bundle(path);
  Session session(bundle, options(1, noPreparation));
  std::thread user([&] { EXPECT_EQ(run(session), expected(false)); });
  // The run's first piece, of many.
  while (numDelays == 0)
    sched_yield();
  nnv12_error error = {};
  EXPECT_EQ(nnv12_session_prepare(session.get(), 60000, &error), NNV12_BUSY);
  EXPECT_STREQ(error.message, "the session runs already");
  user.join();
}

TEST_F(LaterRunsTest, WhatIsDamagedIsSaid) {
  sample.damage(1, PlannedSample::Decode::Later);
  write();
  Bundle bundle(path);
  Session session(bundle, options(1, noPreparation));
  nnv12_error error = {};
  EXPECT_EQ(nnv12_session_prepare(session.get(), 60000, &error),
            NNV12_BAD_BUNDLE);
  EXPECT_EQ(std::string(error.message).find("layer 'round1': compressed"), 0u);
  EXPECT_EQ(nnv12_session_prepare(nullptr, 1, &error), NNV12_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "session: found NULL");
}

//===----------------------------------------------------------------------===//
// Deadlines
//===----------------------------------------------------------------------===//

TEST_F(LaterRunsTest, WrongDeadlines) {
  Bundle bundle(path);
  Session session(bundle, options(1));
  nnv12_error error = {};
  EXPECT_EQ(runUntil(session, 0, error), NNV12_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "deadline_ns: found 0, expected a time of "
                              "CLOCK_MONOTONIC in nanoseconds");
  for (uint64_t past : {uint64_t(1), uint64_t(1000000)}) {
    EXPECT_EQ(runUntil(session, past, error), NNV12_TIMED_OUT);
    EXPECT_STREQ(error.message,
                 "deadline: found one that was over before the run");
  }
  EXPECT_EQ(runFor(session, -1, error), NNV12_TIMED_OUT);
  EXPECT_STREQ(nnv12_status_name(error.status), "timed out");
  EXPECT_EQ(y, std::vector<float>(y.size(), -1)) << "untouched";
  // In good time.
  EXPECT_EQ(runFor(session, 60000, error), NNV12_OK);
  EXPECT_EQ(y, expected(false));
  EXPECT_EQ(runUntil(session, NNV12_NO_DEADLINE, error), NNV12_OK);
}

/// In the middle of preparations, anywhere: the next run is right, and prepared
/// weights stay so.
TEST_F(LaterRunsTest, InTheMiddleOfPreparations) {
  Bundle bundle(path);
  forEachWay(NNV12_MODE_COLD, [&](const SessionOptions &options) {
    isSlow = true;
    runtime::beforePiece = delayAlways;
    Session session(bundle, options);
    nnv12_error error = {};
    unsigned late = 0, done = 0;
    while (runFor(session, 4, error) == NNV12_TIMED_OUT && late < 10000) {
      ++late;
      std::string text = error.message;
      // Where CPUs are busy a deadline may be over before the run begins.
      if (text == "deadline: found one that was over before the run")
        continue;
      ASSERT_EQ(text.find("deadline: over before layer '"), 0u) << text;
      ASSERT_NE(text.find(" of 9 operations"), std::string::npos) << text;
      ASSERT_GE(session.info().preparations_done, done);
      done = session.info().preparations_done;
    }
    EXPECT_EQ(y, expected(false));
    EXPECT_GT(late, 0u);
    isSlow = false;
    EXPECT_EQ(run(session), expected(false));
  });
}

/// Between two operations of a run that waits for no weights.
TEST_F(LaterRunsTest, BetweenOperations) {
  Bundle bundle(path);
  for (nnv12_record_level level :
       {NNV12_RECORD_OFF, NNV12_RECORD_OPERATION, NNV12_RECORD_PIECE}) {
    SessionOptions way = options(2, noPreparation, NNV12_MODE_COLD);
    Recorder recorder(bundle, way, level ? level : NNV12_RECORD_RUN, 100);
    if (level)
      way.recorder = recorder.get();
    Session session(bundle, way);
    ASSERT_EQ(run(session), expected(false));
    runtime::beforeTiles = delayAlways;
    nnv12_error error = {};
    EXPECT_EQ(runFor(session, 20, error), NNV12_TIMED_OUT);
    EXPECT_EQ(std::string(error.message).find("deadline: over before layer '"),
              0u)
        << error.message;
    runtime::beforeTiles = nullptr;
    EXPECT_EQ(run(session), expected(false));
    EXPECT_EQ(runFor(session, 60000, error), NNV12_OK);
    EXPECT_EQ(y, expected(false));
    if (!level)
      continue;
    // Recordings have it with its old kind.
    uint64_t lost = 0;
    uint32_t numLate = 0;
    for (const nnv12_record &record : recorder.recording().readAll(lost))
      numLate += record.kind == NNV12_RECORD_WHOLE_RUN &&
                 record.index == uint32_t(NNV12_TIMED_OUT);
    EXPECT_EQ(numLate, 1u);
  }
}

/// In C++ a run that is late is no exception.
TEST_F(LaterRunsTest, DeadlinesInCpp) {
  using Clock = std::chrono::steady_clock;
  Bundle bundle(path);
  Session session(bundle, options(1));
  std::vector<Input> in = {{x.data(), x.size() * 4}};
  std::vector<Output> out = {{y.data(), y.size() * 4}};
  EXPECT_FALSE(session.runUntil(Clock::now() - milliseconds(1), in, out));
  EXPECT_TRUE(session.runUntil(Clock::now() + milliseconds(60000), in, out));
  EXPECT_EQ(y, expected(false));
  EXPECT_THROW(session.runUntil(Clock::now() + milliseconds(60000), {}, out),
               Error);
}
