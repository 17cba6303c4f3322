//===- LanesTest.cpp - Sessions that follow a plan ------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Cpus.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/PlannedSample.h"

#include <atomic>
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
/// Whether the system refuses threads.
extern bool refuseThreads;
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
    if (runtime::Zstd::load(fault))
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

constexpr uint32_t none = NNV12_NO_PREPARATION_THREADS;

/// Sleeps now and then, for times between nothing and longer than threads spin.
void delay() {
  static std::atomic<uint32_t> calls{0};
  uint32_t z = calls.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
  z = (z ^ z >> 16) * 0x21f0aaadu;
  z ^= z >> 15;
  if (z % 4 == 0)
    usleep(z % 128);
  else if (z % 4 == 1)
    sched_yield();
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

// What was decoded, and is of no more use, leaves this process's memory.
TEST_F(LanesTest, ForgetsWhatWasDecoded) {
  make(20000, 2, 1);
  size_t frame = sample->elements() * 4 / 1024;
  ASSERT_GE(frame, 512u);
  Bundle bundle(path);
  SessionOptions options;
  options.mode = NNV12_MODE_COLD;
  Session session(bundle, options);
  EXPECT_TRUE(runs(session, 1, false));
  // Of about the frame's size are the weights that an execute reads, too. What
  // the switches need nobody has read in this mode.
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
        for (uint32_t preparing : {0u, 1u, none}) {
          Session session(bundle, options(threads, preparing, NNV12_MODE_COLD));
          for (int i = 0; i < 4; ++i)
            ASSERT_TRUE(runs(session, i, false))
                << lanes << " lanes, " << rounds << " rounds, " << threads
                << " threads, run " << i;
          nnv12_session_info info = session.info();
          EXPECT_EQ(info.num_preparations, rounds * 3);
          EXPECT_EQ(info.preparations_done, rounds * 3);
          EXPECT_EQ(info.num_switches, 0u);
          if (preparing == none) {
            EXPECT_EQ(info.preparation_threads, 0u);
          }
        }
    }
}

TEST_F(LanesTest, SwitchesBetweenRuns) {
  Bundle bundle(path);
  for (uint32_t preparing : {0u, 1u, none}) {
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
  runtime::beforePiece = delay;
  for (int round = 0; round < 60; ++round) {
    make(1 + round % 7 * 20, 1 + round % 5, 1 + round % 6);
    Bundle bundle(path);
    Session session(bundle, options(1 + round % 3, round % 4 == 3 ? none : 0));
    ASSERT_TRUE(runs(session, round, false)) << round;
    prepareAll(session);
    ASSERT_TRUE(runs(session, round + 1, true)) << round;
  }
}

TEST_F(LanesTest, SessionsOfOneBundleInManyThreads) {
  runtime::beforePiece = delay;
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
  runtime::beforePiece = delay;
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
  runtime::beforePiece = delay;
  for (unsigned lanes : {1, 2, 3}) {
    make(20, lanes, 5);
    Bundle bundle(path);
    for (uint32_t preparing : {0u, 1u, none}) {
      std::vector<nnv12_trace_event> events(1000);
      nnv12_trace trace =
          NNV12_TRACE_INIT(events.data(), uint32_t(events.size()));
      SessionOptions own = options(1, preparing);
      own.noStealing = true;
      own.trace = &trace;
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
      for (uint32_t i = 0; threads == lanes - 1 && i < trace.count; ++i)
        ASSERT_FALSE(events[i].flags & NNV12_TRACE_STOLEN);
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

TEST_F(LanesTest, DamagedFrame) {
  sample->damage();
  write();
  Bundle bundle(path);
  for (uint32_t preparing : {0u, none}) {
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

TEST_F(LanesTest, Trace) {
  Bundle bundle(path);
  std::vector<nnv12_trace_event> events(1000);
  nnv12_trace trace = NNV12_TRACE_INIT(events.data(), uint32_t(events.size()));
  {
    SessionOptions traced = options(1);
    traced.trace = &trace;
    Session session(bundle, traced);
    EXPECT_TRUE(runs(session, 1, false));
    prepareAll(session);
    EXPECT_TRUE(runs(session, 1, true));
  }
  EXPECT_EQ(trace.dropped, 0u);
  uint32_t executes = 0, switched = 0;
  std::vector<uint64_t> done(16), firstStart(9, ~0ull);
  for (uint32_t i = 0; i < trace.count; ++i) {
    const nnv12_trace_event &event = events[i];
    EXPECT_LE(event.start_ns, event.end_ns);
    if (event.stage == NNV12_EXECUTE) {
      EXPECT_EQ(event.thread, 0u);
      ++executes;
      switched += (event.flags & NNV12_TRACE_SWITCHED) != 0;
      if (!(event.flags & NNV12_TRACE_SWITCHED))
        firstStart[event.index] =
            std::min(firstStart[event.index], event.start_ns);
    } else if (event.stage != NNV12_THREAD_START) {
      EXPECT_EQ(event.stage, uint32_t(bundle.preparation(event.index).stage));
      EXPECT_EQ((event.flags & NNV12_TRACE_STOLEN) != 0,
                event.thread != event.lane);
      done[event.index] = std::max(done[event.index], event.start_ns);
    }
  }
  EXPECT_EQ(executes % 9, 0u);
  EXPECT_EQ(switched, 4u);
  for (uint32_t r = 0; r < 4; ++r)
    EXPECT_LE(done[4 * r + 2], firstStart[2 * r + 1]);
}

TEST_F(LanesTest, TraceWithoutRoom) {
  Bundle bundle(path);
  nnv12_trace_event event;
  nnv12_trace trace = NNV12_TRACE_INIT(&event, 1);
  {
    SessionOptions traced = options(2);
    traced.trace = &trace;
    Session session(bundle, traced);
    EXPECT_TRUE(runs(session, 1, false));
  }
  EXPECT_EQ(trace.count, 1u);
  EXPECT_GT(trace.dropped, 8u);
}

TEST_F(LanesTest, WrongOptions) {
  Bundle bundle(path);
  EXPECT_THROW(Session(bundle, options(1, 0, nnv12_mode(3))), Error);
  nnv12_trace trace = NNV12_TRACE_INIT(nullptr, 5);
  SessionOptions traced = options(1);
  traced.trace = &trace;
  EXPECT_THROW(Session(bundle, traced), Error);
  nnv12_trace_event event;
  trace = NNV12_TRACE_INIT(&event, 1);
  trace.struct_size = 0;
  EXPECT_THROW(Session(bundle, traced), Error);
  trace = NNV12_TRACE_INIT(&event, 1);
  trace.event_size = 8;
  EXPECT_THROW(Session(bundle, traced), Error);
}

/// What a newer header has at the end of its structs is left alone, and stepped
/// over.
TEST_F(LanesTest, NewerCallersKnowMoreOfAStruct) {
  struct NewerEvent {
    nnv12_trace_event known;
    uint64_t added;
  };
  struct NewerTrace {
    nnv12_trace known;
    uint64_t added;
  };
  std::vector<NewerEvent> events(1000);
  for (NewerEvent &event : events)
    event.added = 7;
  NewerTrace trace = {};
  trace.known.struct_size = sizeof trace;
  trace.known.event_size = sizeof(NewerEvent);
  trace.known.events = &events[0].known;
  trace.known.capacity = 1000;
  Bundle bundle(path);
  {
    SessionOptions traced = options(1);
    traced.trace = &trace.known;
    Session session(bundle, traced);
    EXPECT_TRUE(runs(session, 1, false));
  }
  ASSERT_GT(trace.known.count, 5u);
  for (uint32_t i = 0; i < trace.known.count; ++i) {
    EXPECT_LE(events[i].known.start_ns, events[i].known.end_ns);
    EXPECT_NE(events[i].known.start_ns, 0u);
    EXPECT_EQ(events[i].added, 7u);
  }
}

/// A plan runs without the threads that it was made for.
TEST_F(LanesTest, TheSystemRefusesThreads) {
  Bundle bundle(path);
  runtime::refuseThreads = true;
  Session session(bundle, options(1));
  runtime::refuseThreads = false;
  EXPECT_EQ(session.info().preparation_threads, 0u);
  EXPECT_TRUE(runs(session, 1, false));
  prepareAll(session);
  EXPECT_TRUE(runs(session, 2, true));
}
