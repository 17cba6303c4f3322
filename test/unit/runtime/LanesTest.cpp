//===- LanesTest.cpp - Sessions that follow a plan ------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "runtime/system/Cpus.h"
#include "test/unit/runtime/RandomDelays.h"
#include "test/unit/sample/PlannedSample.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
} // namespace nnv12::runtime

namespace {

class LanesTest : public testing::Test {
protected:
  void make(size_t tiles, unsigned lanes, unsigned rounds) {
    sample = std::make_unique<PlannedSample>(tiles, lanes, rounds);
    write();
  }
  void write() {
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  }
  void SetUp() override {
    make(3, 3, 4);
    // The sample's weights are compressed, and cross builds may have no library
    // for that. Without it a session is refused, and nothing else happens.
    artifact::Fault fault;
    if (runtime::loadZstd(fault))
      return;
    nnv12_bundle *bundle = nullptr;
    nnv12_session *session = nullptr;
    nnv12_error error;
    ASSERT_EQ(nnv12_bundle_open(path.c_str(), nullptr, &bundle, &error),
              NNV12_OK);
    EXPECT_EQ(nnv12_session_create(bundle, nullptr, &session, &error),
              NNV12_UNSUPPORTED);
    EXPECT_NE(std::string(error.message).find("libzstd not found"),
              std::string::npos);
    nnv12_bundle_close(bundle);
    GTEST_SKIP() << fault.text;
  }
  void TearDown() override { runtime::beforePiece = nullptr; }

  /// Runs once and checks every element; `switched` as the session said.
  testing::AssertionResult runs(Session &session, int seed, bool switched) {
    size_t n = sample->elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float((i * 31 + seed) % 97);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    for (size_t i = 0; i < n; ++i) {
      float expected = sample->expectedRun(i, x[i], switched);
      if (y[i] != expected)
        return testing::AssertionFailure() << "element " << i << ": found "
                                           << y[i] << ", expected " << expected;
    }
    return testing::AssertionSuccess();
  }

  /// Waits until every switch can be taken; runs where nobody else prepares.
  void prepareAll(Session &session) {
    for (int i = 0; i < 100000; ++i) {
      nnv12_session_info info = session.info();
      if (info.switches_ready == info.num_switches)
        return;
      if (info.preparation_threads == 0)
        run(session);
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    FAIL() << "not prepared";
  }

  void run(Session &session) {
    size_t n = sample->elements();
    std::vector<float> x(n), y(n);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
  }

  nnv12_error runError(Session &session) {
    size_t n = sample->elements();
    std::vector<float> x(n), y(n);
    nnv12_input in = NNV12_INPUT(x.data(), n * 4);
    nnv12_output out = NNV12_OUTPUT(y.data(), n * 4);
    nnv12_error error = {};
    EXPECT_NE(nnv12_session_run(session.get(), &in, 1, &out, 1, &error),
              NNV12_OK);
    return error;
  }

  TemporaryFolder folder;
  std::unique_ptr<PlannedSample> sample;
  std::string path;
};

SessionOptions options(uint32_t threads, uint32_t preparing = 0,
                       nnv12_mode mode = NNV12_MODE_PLAN) {
  SessionOptions result;
  result.threads = threads;
  result.oversubscribe = true;
  result.preparationThreads = preparing;
  result.mode = mode;
  return result;
}

} // namespace

/// Kilobytes of a file that this process has mapped and in memory.
static size_t mappedKilobytes(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  size_t sum = 0;
  bool isOurs = false;
  for (std::string line; std::getline(maps, line);) {
    size_t value;
    if (line.find(path) != std::string::npos)
      isOurs = true;
    else if (line.compare(0, 4, "Rss:") == 0 && isOurs) {
      if (sscanf(line.c_str(), "Rss: %zu", &value) == 1)
        sum += value;
      isOurs = false;
    }
  }
  return sum;
}

// Frames that were decoded, and are of no more use, leave this process's
// memory.
TEST_F(LanesTest, ForgetsWhatWasDecoded) {
  make(20000, 2, 1);
  size_t frame = sample->elements() * 4 / 1024;
  ASSERT_GE(frame, 512u);
  Bundle bundle(path);
  SessionOptions options;
  options.mode = NNV12_MODE_COLD;
  Session session(bundle, options);
  EXPECT_TRUE(runs(session, 1, false));
  // The weights that an execute reads have about the frame's size, too. Nobody
  // has read the switches' weights in this mode.
  EXPECT_LT(mappedKilobytes(path), frame + frame / 2);
  Session again(bundle, options);
  EXPECT_TRUE(runs(again, 2, false));
}

TEST_F(LanesTest, Describes) {
  Bundle bundle(path);
  nnv12_bundle_info info = bundle.info();
  EXPECT_EQ(info.num_lanes, 3u);
  EXPECT_EQ(info.num_preparations, 16u);
  EXPECT_EQ(info.num_switches, 4u);
  EXPECT_EQ(info.prepared_size, 12 * sample->elements() * 4);
  EXPECT_EQ(info.predicted_cold_ns, 2000u);
  EXPECT_EQ(info.predicted_warm_ns, 1000u);
  nnv12_preparation_info transform = bundle.preparation(6);
  EXPECT_STREQ(transform.layer, "round1");
  EXPECT_EQ(transform.stage, NNV12_TRANSFORM);
  EXPECT_STREQ(nnv12_stage_name(transform.stage), "transform");
  EXPECT_STREQ(transform.kernel, "copy");
  EXPECT_EQ(transform.stored_bytes, 0u);
  EXPECT_EQ(transform.written_bytes, sample->elements() * 4);
  EXPECT_EQ(transform.lane, 1u);
  EXPECT_FALSE(transform.in_background);
  nnv12_preparation_info later = bundle.preparation(7);
  EXPECT_TRUE(later.in_background);
  EXPECT_EQ(later.lane, 1u);
  EXPECT_EQ(later.stored_bytes, later.written_bytes);
  nnv12_switch_info change = bundle.kernelSwitch(1);
  EXPECT_EQ(change.operation, 3u);
  EXPECT_STREQ(change.kernel, "mul");
  EXPECT_EQ(nnv12_bundle_get_preparation(bundle.get(), 16, &later),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_bundle_get_switch(bundle.get(), 4, &change),
            NNV12_INVALID_ARGUMENT);
}

TEST_F(LanesTest, AnyNumberOfThreads) {
  for (unsigned lanes : {1, 2, 3, 5})
    for (unsigned rounds : {1, 2, 9}) {
      make(rounds == 9 ? 40 : 3, lanes, rounds);
      Bundle bundle(path);
      for (uint32_t threads : {1, 2, 4})
        for (uint32_t preparing : {0u, 1u, noPreparation}) {
          Session session(bundle, options(threads, preparing, NNV12_MODE_COLD));
          for (int i = 0; i < 4; ++i)
            ASSERT_TRUE(runs(session, i, false))
                << lanes << " lanes, " << rounds << " rounds, " << threads
                << " threads, run " << i;
          nnv12_session_info info = session.info();
          EXPECT_EQ(info.num_preparations, rounds * 3);
          EXPECT_EQ(info.preparations_done, rounds * 3);
          EXPECT_EQ(info.num_switches, 0u);
          if (preparing == noPreparation) {
            EXPECT_EQ(info.preparation_threads, 0u);
          }
        }
    }
}

TEST_F(LanesTest, SwitchesBetweenRuns) {
  Bundle bundle(path);
  for (uint32_t preparing : {0u, 1u, noPreparation}) {
    Session session(bundle, options(2, preparing));
    EXPECT_TRUE(runs(session, 1, false));
    EXPECT_EQ(session.info().num_switches, 4u);
    EXPECT_EQ(session.info().switches_done, 0u);
    prepareAll(session);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(runs(session, i, true));
    EXPECT_EQ(session.info().switches_done, 4u);
    EXPECT_EQ(session.info().preparations_done, 16u);
  }
}

TEST_F(LanesTest, RandomDelays) {
  runtime::beforePiece = delayAtRandom<>;
  for (int round = 0; round < 60; ++round) {
    make(1 + round % 7 * 20, 1 + round % 5, 1 + round % 6);
    Bundle bundle(path);
    Session session(bundle,
                    options(1 + round % 3, round % 4 == 3 ? noPreparation : 0));
    ASSERT_TRUE(runs(session, round, false)) << round;
    prepareAll(session);
    ASSERT_TRUE(runs(session, round + 1, true)) << round;
  }
}

TEST_F(LanesTest, SessionsOfOneBundleInManyThreads) {
  runtime::beforePiece = delayAtRandom<>;
  make(10, 3, 5);
  Bundle bundle(path);
  std::vector<std::thread> users;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    users.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        Session session(bundle, options(1 + t % 2, 0, NNV12_MODE_COLD));
        good += bool(runs(session, i * 4 + t, false));
      }
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(good, 40);
}

TEST_F(LanesTest, ClosedAtAnyTime) {
  runtime::beforePiece = delayAtRandom<>;
  make(50, 4, 8);
  Bundle bundle(path);
  for (int i = 0; i < 40; ++i) {
    Session session(bundle, options(1 + i % 2));
    usleep(useconds_t(i) * 20);
    if (i % 3 == 0) {
      EXPECT_TRUE(runs(session, i, false));
    }
  }
}

TEST_F(LanesTest, OneCpu) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Bundle bundle(path);
  {
    SessionOptions planned = options(0);
    planned.oversubscribe = false;
    Session session(bundle, planned);
    EXPECT_EQ(session.info().threads, 1u);
    EXPECT_EQ(session.info().preparation_threads, 0u);
    EXPECT_TRUE(runs(session, 1, false));
    prepareAll(session);
    EXPECT_TRUE(runs(session, 2, true));
  }
  sched_setaffinity(0, sizeof before, &before);
}

TEST_F(LanesTest, Pinned) {
  SessionOptions pinned = options(2);
  pinned.pinThreads = true;
  Bundle bundle(path);
  Session session(bundle, pinned);
  EXPECT_TRUE(runs(session, 1, false));
}

TEST_F(LanesTest, WithoutStealing) {
  runtime::beforePiece = delayAtRandom<>;
  for (unsigned lanes : {1, 2, 3}) {
    make(20, lanes, 5);
    Bundle bundle(path);
    for (uint32_t preparing : {0u, 1u, noPreparation}) {
      SessionOptions own = options(1, preparing);
      own.noStealing = true;
      Recorder recorder(bundle, own, NNV12_RECORD_OPERATION, 100);
      own.recorder = recorder.get();
      uint32_t threads;
      {
        Session session(bundle, own);
        ASSERT_TRUE(runs(session, 1, false));
        threads = session.info().preparation_threads;
        ASSERT_TRUE(threads < 2 || threads == lanes - 1);
        // Lane 0's part comes at the end of runs.
        int runsLeft = 100000;
        while (session.info().switches_ready < 5 && --runsLeft)
          run(session);
        ASSERT_TRUE(runs(session, 2, true));
      }
      // A lane without a thread needs others.
      uint64_t lost = 0;
      for (const nnv12_record &record : recorder.recording().readAll(lost))
        ASSERT_FALSE(threads == lanes - 1 &&
                     record.flags & NNV12_RECORD_STOLEN &&
                     record.kind != NNV12_RECORD_EXECUTE);
    }
  }
}

TEST_F(LanesTest, OneMoreThreadForWhatSwitchesNeed) {
  if (runtime::availableCpus() == 1)
    GTEST_SKIP() << "no threads on one CPU";
  make(20, 2, 5);
  Bundle bundle(path);
  auto threads = [&](const SessionOptions &own) {
    Session session(bundle, own);
    return session.info().preparation_threads;
  };
  EXPECT_EQ(threads(options(1)), 2u);
  EXPECT_EQ(threads(options(1, 1)), 1u);
  EXPECT_EQ(threads(options(1, 5)), 2u);
  EXPECT_EQ(threads(options(1, 0, NNV12_MODE_COLD)), 1u);
  SessionOptions own = options(1);
  own.noStealing = true;
  EXPECT_EQ(threads(own), 1u) << "the lane has a background of its own";
}

TEST_F(LanesTest, WhatSwitchesNeedMayWaitForTheFirstResult) {
  make(200, 3, 5);
  for (artifact::Program &program : sample->bundle.programs)
    program.laterWaits = true;
  write();
  Bundle bundle(path);
  for (uint32_t threads : {1u, 2u})
    for (uint32_t preparing : {0u, noPreparation}) {
      SessionOptions own = options(threads, preparing);
      Recorder recorder(bundle, own, NNV12_RECORD_OPERATION, 10000);
      own.recorder = recorder.get();
      {
        Session session(bundle, own);
        EXPECT_LE(session.info().preparation_threads, 2u)
            << "one a lane: another one would make the first result later";
        ASSERT_TRUE(runs(session, 1, false));
        prepareAll(session);
        ASSERT_TRUE(runs(session, 2, true));
      }
      uint64_t lost = 0, end = 0, first = ~uint64_t(0);
      for (const nnv12_record &record : recorder.recording().readAll(lost)) {
        if (record.kind == NNV12_RECORD_EXECUTE && record.run == 0)
          end = std::max(end, record.start_ns + record.duration_ns);
        if ((record.kind == NNV12_RECORD_DECODE ||
             record.kind == NNV12_RECORD_TRANSFORM) &&
            bundle.preparation(record.index).in_background)
          first = std::min(first, record.start_ns);
      }
      EXPECT_GT(end, 0u);
      EXPECT_LT(first, ~uint64_t(0));
      EXPECT_GE(first, end);
    }
}

TEST_F(LanesTest, DamagedFrame) {
  sample->damage();
  write();
  Bundle bundle(path);
  for (uint32_t preparing : {0u, noPreparation}) {
    Session session(bundle, options(1, preparing));
    for (int i = 0; i < 2; ++i) {
      nnv12_error error = runError(session);
      EXPECT_EQ(error.status, NNV12_BAD_BUNDLE);
      EXPECT_NE(std::string(error.message)
                    .find("': compressed weights: damaged, expected a zstd "
                          "frame of 192 bytes"),
                std::string::npos)
          << error.message;
      EXPECT_EQ(std::string(error.message).find("layer 'round"), 0u);
    }
  }
}

TEST_F(LanesTest, Recorded) {
  Bundle bundle(path);
  SessionOptions recorded = options(1);
  Recorder recorder(bundle, recorded, NNV12_RECORD_OPERATION, 1000);
  recorded.recorder = recorder.get();
  auto before = std::chrono::steady_clock::now().time_since_epoch();
  {
    Session session(bundle, recorded);
    EXPECT_TRUE(runs(session, 1, false));
    prepareAll(session);
    EXPECT_TRUE(runs(session, 1, true));
  }
  Recording recording = recorder.recording();
  nnv12_recording_info info = recording.info();
  EXPECT_TRUE(info.is_closed);
  EXPECT_GE(std::chrono::nanoseconds(info.start_ns), before);
  EXPECT_EQ(memcmp(info.digest, bundle.info().digest, 32), 0);
  EXPECT_EQ(info.num_threads, 1 + info.num_preparing);
  uint64_t lost = 0;
  std::vector<nnv12_record> records = recording.readAll(lost);
  EXPECT_EQ(lost, 0u);
  uint32_t executes = 0, switched = 0, starts = 0, wholes = 0;
  std::vector<uint64_t> done(16), firstStart(9, ~0ull);
  for (const nnv12_record &record : records) {
    EXPECT_GE(record.start_ns, info.start_ns);
    switch (record.kind) {
    case NNV12_RECORD_EXECUTE:
      EXPECT_EQ(record.thread, 0u);
      ++executes;
      switched += (record.flags & NNV12_RECORD_SWITCHED) != 0;
      if (!(record.flags & NNV12_RECORD_SWITCHED))
        firstStart[record.index] =
            std::min(firstStart[record.index], record.start_ns);
      break;
    case NNV12_RECORD_THREAD_START:
      ++starts;
      EXPECT_EQ(record.thread, starts);
      break;
    case NNV12_RECORD_WHOLE_RUN:
      EXPECT_EQ(record.run, wholes++);
      EXPECT_EQ(record.index, uint32_t(NNV12_OK));
      break;
    case NNV12_RECORD_WAIT:
      EXPECT_EQ(record.thread, 0u);
      EXPECT_EQ(record.run, 0u);
      EXPECT_LT(record.index, 9u + bundle.info().num_preparations);
      break;
    default:
      ASSERT_LE(record.kind, NNV12_RECORD_TRANSFORM);
      EXPECT_EQ(record.kind, uint32_t(bundle.preparation(record.index).stage));
      EXPECT_EQ((record.flags & NNV12_RECORD_STOLEN) != 0,
                record.thread != record.lane);
      done[record.index] = std::max(done[record.index], record.start_ns);
    }
  }
  EXPECT_EQ(starts, info.num_preparing);
  EXPECT_EQ(wholes, info.runs);
  EXPECT_EQ(executes, 9 * wholes);
  EXPECT_EQ(switched, 4u);
  // The length of a tick was measured over some microseconds alone.
  for (uint32_t r = 0; r < 4; ++r)
    EXPECT_LE(done[4 * r + 2], firstStart[2 * r + 1] + 1000);
}

/// Without preparation threads the caller does it all, and waits for nobody.
TEST_F(LanesTest, RecordedWithoutThreads) {
  Bundle bundle(path);
  SessionOptions recorded = options(1, noPreparation);
  Recorder recorder(bundle, recorded, NNV12_RECORD_PIECE, 1);
  recorded.recorder = recorder.get();
  Session session(bundle, recorded);
  EXPECT_TRUE(runs(session, 1, false));
  uint64_t lost = 0, sum = 0, whole = 0, last = 0;
  for (const nnv12_record &record : recorder.recording().readAll(lost)) {
    EXPECT_EQ(record.thread, 0u);
    EXPECT_NE(record.kind, NNV12_RECORD_WAIT);
    if (record.kind == NNV12_RECORD_WHOLE_RUN) {
      whole = record.duration_ns;
    } else {
      sum += record.duration_ns;
      // One after another.
      EXPECT_GE(record.start_ns + 10, last);
      last = record.start_ns + record.duration_ns;
    }
  }
  EXPECT_EQ(lost, 0u);
  EXPECT_LE(sum, whole);
}

TEST_F(LanesTest, RecordedWithoutRoom) {
  Bundle bundle(path);
  SessionOptions recorded = options(2);
  std::vector<uint64_t> bytes(10'000);
  nnv12_recorder recorder = NNV12_RECORDER_INIT(
      reinterpret_cast<void *>((uintptr_t(bytes.data()) + 63) & ~63), 2048);
  recorded.recorder = &recorder;
  Session session(bundle, recorded);
  EXPECT_TRUE(runs(session, 1, false));
  uint64_t lost = 0;
  Recording recording(recorder.memory, recorder.size);
  EXPECT_LT(recording.readAll(lost).size(), 16u);
  EXPECT_GT(lost, 4u);
}

TEST_F(LanesTest, WrongOptions) {
  Bundle bundle(path);
  EXPECT_THROW(Session(bundle, options(1, 0, nnv12_mode(3))), Error);
  auto refusal = [&](nnv12_recorder recorder) -> std::string {
    SessionOptions recorded = options(1);
    recorded.recorder = &recorder;
    try {
      Session session(bundle, recorded);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  alignas(64) static uint8_t bytes[4096];
  nnv12_recorder recorder = NNV12_RECORDER_INIT(nullptr, 4096);
  EXPECT_NE(refusal(recorder).find("recorder: memory: found"),
            std::string::npos);
  recorder = NNV12_RECORDER_INIT(bytes, 1000);
  EXPECT_NE(refusal(recorder).find("recorder: size: found 1000, expected"),
            std::string::npos);
  recorder = NNV12_RECORDER_INIT(bytes, sizeof bytes);
  EXPECT_EQ(refusal(recorder), "");
  recorder.level = 4;
  EXPECT_EQ(refusal(recorder), "recorder: level: found 4, expected at most 3");
  recorder.struct_size = 0;
  EXPECT_EQ(refusal(recorder), "recorder: struct_size: found 0, expected what "
                               "NNV12_RECORDER_INIT sets");
  EXPECT_EQ(nnv12_recorder_size(nullptr, nullptr, NNV12_RECORD_RUN, 1), 0u);
  EXPECT_EQ(nnv12_recorder_size(bundle.get(), nullptr, NNV12_RECORD_OFF, 1),
            0u);
}
