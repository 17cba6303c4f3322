//===- RefusedThreadsTest.cpp - A system that grants few threads ----------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/PlannedSample.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
/// How many threads the system still grants; ~0: any number.
extern std::atomic<uint32_t> threadsGranted;
} // namespace nnv12::runtime

namespace {

class RefusedThreadsTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  }
  void TearDown() override { runtime::threadsGranted = ~0u; }

  /// The outputs of a run.
  std::vector<float> run(Session &session) {
    size_t n = sample.elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float(i * 31 % 97);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    return y;
  }
  /// The right results.
  std::vector<float> expected(bool switched) const {
    std::vector<float> y(sample.elements());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = sample.expectedRun(i, float(i * 31 % 97), switched);
    return y;
  }

  PlannedSample sample{40, 3, 4};
  TemporaryFolder folder;
  std::string path;
};

} // namespace

/// A session goes on with the threads that it got, and says how many.
TEST_F(RefusedThreadsTest, SessionsGoOnWithThoseTheyGot) {
  constexpr uint32_t computing = 4, preparing = 3;
  Bundle bundle(path);
  for (bool noStealing : {false, true})
    for (nnv12_mode mode : {NNV12_MODE_COLD, NNV12_MODE_CONTINUOUS})
      for (uint32_t granted = 0; granted <= computing + preparing; ++granted) {
        SessionOptions options;
        options.threads = computing;
        options.oversubscribe = true;
        options.noStealing = noStealing;
        options.mode = mode;
        // Two lanes, and one thread that prepares for switches.
        uint32_t wanted = mode == NNV12_MODE_COLD || noStealing ? 2 : 3;
        runtime::threadsGranted = granted;
        Session session(bundle, options);
        runtime::threadsGranted = ~0u;
        SCOPED_TRACE(std::to_string(granted) + " threads granted");
        nnv12_session_info info = session.info();
        EXPECT_EQ(info.preparation_threads, std::min(granted, wanted));
        EXPECT_EQ(info.threads, 1 + std::min(granted - info.preparation_threads,
                                             computing - 1));
        EXPECT_EQ(session.threads(), info.threads);
        ASSERT_EQ(run(session), expected(false));
        for (int i = 0; i < 100000 && session.info().switches_done <
                                          session.info().num_switches;
             ++i)
          run(session);
        ASSERT_EQ(run(session), expected(mode == NNV12_MODE_CONTINUOUS));
      }
}

/// A recorder makes room for the missing threads, too, but they write nothing.
TEST_F(RefusedThreadsTest, AreMissingInRecordings) {
  Bundle bundle(path);
  SessionOptions options;
  options.threads = 3;
  options.oversubscribe = true;
  Recorder recorder(bundle, options, NNV12_RECORD_PIECE, 4);
  options.recorder = recorder.get();
  runtime::threadsGranted = 1;
  Session session(bundle, options);
  EXPECT_EQ(run(session), expected(false));
  uint64_t lost = 0;
  for (const nnv12_record &record : recorder.recording().readAll(lost))
    EXPECT_LE(record.thread, 1u);
}
