//===- FailedPlanTest.cpp - Plans whose weights turn out to be damaged ----===//
//
// A plan that fails must end: every run with an error, at once or as soon as
// the pieces that are under way are done, and every lane's thread.
//
//===----------------------------------------------------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/PlannedSample.h"

#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;
using Decode = PlannedSample::Decode;

namespace nnv12::runtime {
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
/// Called by a lane's thread after it has looked at one of the two things that
/// end a wait, and before it looks at the other.
extern void (*betweenLooks)();
} // namespace nnv12::runtime

namespace {

/// Ends the process when the guarded code takes longer than any machine needs.
class Watchdog {
public:
  explicit Watchdog(std::string what)
      : what(std::move(what)), thread([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    changed.notify_all();
    thread.join();
  }

private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex);
    if (changed.wait_for(lock, std::chrono::seconds(60), [&] { return over; }))
      return;
    fprintf(stderr, "%s: has not ended within a minute\n", what.c_str());
    abort();
  }

  std::string what;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

constexpr unsigned rounds = 4;

class FailedPlanTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
  }
  void TearDown() override {
    runtime::beforePiece = nullptr;
    runtime::betweenLooks = nullptr;
  }

  /// `allWait`: no execute may start without prepared weights.
  void make(unsigned lanes, unsigned damagedRound, Decode which,
            bool allWait = false) {
    sample = std::make_unique<PlannedSample>(20, lanes, rounds);
    sample->damage(damagedRound, which);
    for (artifact::Program &program : sample->bundle.programs)
      for (unsigned r = 0; allWait && r < rounds; ++r)
        program.operations[2 * r].after = program.operations[2 * r + 1].after;
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  }

  nnv12_status run(Session &session, nnv12_error &error) {
    std::vector<float> x(sample->elements()), y(sample->elements());
    nnv12_input in = NNV12_INPUT(x.data(), x.size() * 4);
    nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
    return nnv12_session_run(session.get(), &in, 1, &out, 1, &error);
  }

  void expectDamaged(Session &session, unsigned round) {
    nnv12_error error = {};
    EXPECT_EQ(run(session, error), NNV12_BAD_BUNDLE);
    EXPECT_EQ(std::string(error.message),
              "layer 'round" + std::to_string(round) +
                  "': compressed weights: damaged, expected a zstd frame of "
                  "1280 bytes");
  }

  TemporaryFolder folder;
  std::unique_ptr<PlannedSample> sample;
  std::string path;
};

/// Calls test(options, text) for every way to have threads.
template <typename Test> void forEachWay(const Test &test) {
  for (uint32_t threads : {1, 2, 3})
    for (uint32_t preparing : {0u, 1u, noPreparation})
      for (bool noStealing : {false, true}) {
        SessionOptions options;
        options.threads = threads;
        options.oversubscribe = true;
        options.preparationThreads = preparing;
        options.noStealing = noStealing;
        test(options, std::to_string(threads) + " threads, " +
                          (preparing == noPreparation ? "no"
                           : preparing                ? "1"
                                                      : "the plan's") +
                          " preparation threads, " +
                          (noStealing ? "no stealing" : "stealing"));
      }
}

void delay() {
  static std::atomic<uint32_t> calls{0};
  uint32_t z = calls.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
  z = (z ^ z >> 16) * 0x21f0aaadu;
  if ((z ^ z >> 15) % 3 == 0)
    usleep(z % 128);
}

} // namespace

// The damaged frame is one of the first or of the last that are needed, in the
// queue of the caller or of a lane's thread.
TEST_F(FailedPlanTest, EveryRunSaysSo) {
  for (unsigned variant = 0; variant < 4; ++variant) {
    bool delayed = variant & 1, allWait = variant & 2;
    runtime::beforePiece = delayed ? delay : nullptr;
    for (unsigned lanes : {1, 2, 3})
      for (unsigned round = 0; round < rounds; ++round) {
        make(lanes, round, Decode::First, allWait);
        Bundle bundle(path);
        forEachWay([&](const SessionOptions &options, const std::string &way) {
          std::string text = std::to_string(lanes) + " lanes, round " +
                             std::to_string(round) + ", " + way;
          SCOPED_TRACE(text);
          Watchdog watchdog(text);
          Session session(bundle, options);
          for (int i = 0; i < 3; ++i)
            expectDamaged(session, round);
        });
      }
  }
}

// The frame is for a switch alone: runs are good until a thread meets the
// frame, and no run takes its result.
TEST_F(FailedPlanTest, EveryRunSaysSoOnceTheBackgroundFailed) {
  for (unsigned lanes : {1, 2, 3})
    for (unsigned round : {0u, rounds - 1}) {
      make(lanes, round, Decode::Later);
      Bundle bundle(path);
      forEachWay([&](SessionOptions options, const std::string &way) {
        std::string text = std::to_string(lanes) + " lanes, round " +
                           std::to_string(round) + ", " + way;
        SCOPED_TRACE(text);
        Watchdog watchdog(text);
        options.mode = NNV12_MODE_CONTINUOUS;
        Session session(bundle, options);
        nnv12_error error;
        while (run(session, error) == NNV12_OK)
          usleep(50);
        for (int i = 0; i < 3; ++i)
          expectDamaged(session, round);
        EXPECT_LT(session.info().switches_ready, rounds);
        EXPECT_LT(session.info().preparations_done,
                  session.info().num_preparations);
      });
      // A session that never switches does not need it.
      SessionOptions cold;
      cold.mode = NNV12_MODE_COLD;
      Session session(bundle, cold);
      nnv12_error error;
      EXPECT_EQ(run(session, error), NNV12_OK);
    }
}

TEST_F(FailedPlanTest, ClosedAtAnyTime) {
  runtime::beforePiece = delay;
  for (unsigned lanes : {2, 3}) {
    make(lanes, 1, Decode::First);
    Bundle bundle(path);
    forEachWay([&](const SessionOptions &options, const std::string &way) {
      Watchdog watchdog(way);
      for (int i = 0; i < 5; ++i) {
        Session session(bundle, options);
        usleep(useconds_t(i) * 50);
      }
    });
  }
}

namespace {
std::atomic<int> looks;
void lookSlowly() {
  looks.fetch_add(1);
  usleep(20000);
}
} // namespace

// A lane's thread that waits for the caller's part of the plan must hear of the
// end also when that comes between its two looks.
TEST_F(FailedPlanTest, ClosedWhileALaneLooks) {
  sample = std::make_unique<PlannedSample>(20, 2, rounds);
  path = folder.file("a.nnv");
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  Bundle bundle(path);
  SessionOptions options;
  options.threads = 1;
  options.noStealing = true;
  // Two reads are ready from the start; all else waits for a run.
  for (int look = 1; look <= 3; ++look) {
    Watchdog watchdog("closing");
    looks.store(0);
    runtime::betweenLooks = lookSlowly;
    Session session(bundle, options);
    while (session.info().preparation_threads && looks.load() < look)
      usleep(10);
  }
}
