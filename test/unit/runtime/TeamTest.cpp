//===- TeamTest.cpp - The threads of a session ----------------------------===//
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/runtime/CpuSet.h"
#include "test/unit/sample/PlannedSample.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
/// Called before a thread computes tiles that it has taken.
extern void (*beforeTiles)();
/// Called where a worker waits for a run.
extern void (*behindRun)(bool spins);
} // namespace nnv12::runtime

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

std::set<int> affinity() {
  runtime::CpuMask mask;
  mask.get();
  return cpusOf(mask);
}

std::set<pid_t> threadsOfProcess() {
  std::set<pid_t> result;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/task"))
    result.insert(std::stoi(entry.path().filename()));
  return result;
}

/// The CPU on which a thread ran last.
int cpuOf(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string word;
  // Behind the name, whose last character is a bracket, it is word 37.
  std::getline(file, word, ')');
  for (int i = 0; i < 37; ++i)
    file >> word;
  return std::stoi(word);
}

/// The hook's own state.
std::thread::id caller;
std::mutex mutex;
std::vector<std::set<int>> places; ///< of other threads, when they prepare
std::atomic<bool> isNoting;
std::atomic<int> calls, blockedCall;
std::atomic<useconds_t> blockedFor;
std::atomic<int> spun, slept;

void notePlace() {
  if (!isNoting.load() || std::this_thread::get_id() == caller)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  places.push_back(affinity());
}

/// The `blockedCall`-th call of another thread than the caller loses its CPU.
void block() {
  if (std::this_thread::get_id() != caller &&
      calls.fetch_add(1) == blockedCall.load())
    usleep(blockedFor);
}

class TeamTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    if (runtime::availableCpus() < 2)
      GTEST_SKIP() << "no threads on one CPU";
    make(40, 3, 6);
    caller = std::this_thread::get_id();
    places.clear();
    calls = 0;
  }
  void TearDown() override {
    runtime::beforePiece = nullptr;
    runtime::beforeTiles = nullptr;
    runtime::behindRun = nullptr;
  }

  void make(size_t tiles, unsigned lanes, unsigned rounds) {
    sample = std::make_unique<PlannedSample>(tiles, lanes, rounds);
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  }

  /// Runs once, and checks every element.
  testing::AssertionResult runs(Session &session) {
    size_t n = sample->elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float(i * 31 % 97);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    for (size_t i = 0; i < n; ++i)
      if (y[i] != sample->expectedRun(i, x[i], false))
        return testing::AssertionFailure()
               << "element " << i << ": found " << y[i] << ", expected "
               << sample->expectedRun(i, x[i], false);
    return testing::AssertionSuccess();
  }

  static SessionOptions cold(uint32_t threads) {
    SessionOptions options;
    options.threads = threads;
    options.mode = NNV12_MODE_COLD;
    return options;
  }

  /// The 95th percentile of first runs, milliseconds, in each of which another
  /// thread than the caller is blocked once for so long, anywhere.
  double percentile(uint32_t threads, useconds_t blocked) {
    constexpr int rounds = 60;
    blockedFor = blocked;
    std::vector<double> times;
    Bundle bundle(path);
    for (int round = 0; round < rounds; ++round) {
      calls = 0;
      blockedCall = round % 30;
      Session session(bundle, cold(threads));
      auto start = Clock::now();
      EXPECT_TRUE(runs(session));
      times.push_back(millisecondsSince(start));
    }
    return tools::Statistics(times).p95;
  }
  /// How much longer blocked runs take, at the least of some attempts: a run
  /// that waits for the blocked thread does so in all of them.
  double costOfBlocking(uint32_t threads, useconds_t blocked, double limit) {
    double least = 1e9;
    for (int attempt = 0; attempt < 8 && least > limit; ++attempt) {
      double without = percentile(threads, 0),
             with = percentile(threads, blocked);
      least = std::min(least, with - without);
    }
    printf("p95 of first runs on %u threads: %.2f ms more\n", threads, least);
    return least;
  }

  TemporaryFolder folder;
  std::unique_ptr<PlannedSample> sample;
  std::string path;
};

TEST_F(TeamTest, NoMoreThreadsThanCpus) {
  Bundle bundle(path);
  uint32_t cpus = runtime::availableCpus();
  for (uint32_t threads : {0u, 1u, 2u, 60u}) {
    Session session(bundle, cold(threads));
    nnv12_session_info info = session.info();
    EXPECT_EQ(info.threads, std::min(threads ? threads : cpus, cpus));
    // One that waits for the storage, where all compute.
    uint32_t left = std::max(1u, cpus - info.threads);
    EXPECT_LE(info.preparation_threads, left) << threads;
    EXPECT_GE(info.preparation_threads, 1u) << threads;
    EXPECT_TRUE(runs(session));
  }
  SessionOptions more = cold(cpus + 3);
  more.oversubscribe = true;
  Session session(bundle, more);
  EXPECT_EQ(session.info().threads, cpus + 3);
  EXPECT_EQ(session.info().preparation_threads, 2u);
  EXPECT_TRUE(runs(session));
}

TEST_F(TeamTest, EachThreadHasPlacesOfItsOwn) {
  std::set<int> all = affinity();
  Bundle bundle(path);
  for (int i = 0; i < 20; ++i) {
    runtime::beforePiece = notePlace;
    isNoting = true;
    int before = sched_getcpu();
    Session session(bundle, cold(1));
    bool stayed = sched_getcpu() == before;
    EXPECT_EQ(affinity(), all) << "the caller's is left alone";
    usleep(2000);
    isNoting = false;
    EXPECT_TRUE(runs(session));
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::set<int> &place : places)
      EXPECT_TRUE(!stayed || place.count(before) == 0);
    places.clear();
  }
}

TEST_F(TeamTest, PlacesAreGivenBackAfterTheFirstResult) {
  std::set<int> all = affinity();
  make(2000, 3, 50);
  Bundle bundle(path);
  SessionOptions options = cold(1);
  options.mode = NNV12_MODE_CONTINUOUS;
  // Weights for switches are prepared after that.
  isNoting = false;
  runtime::beforePiece = notePlace;
  Session session(bundle, options);
  EXPECT_TRUE(runs(session));
  isNoting = true;
  for (int i = 0; i < 1000; ++i) {
    nnv12_session_info info = session.info();
    if (info.preparations_done == info.num_preparations)
      break;
    usleep(100);
  }
  isNoting = false;
  std::lock_guard<std::mutex> lock(mutex);
  // A thread first ends the piece that it has begun before.
  if (places.size() > 100) {
    EXPECT_EQ(places.back(), all);
  }
}

/// A thread that waits for the piece of a thread without a CPU does it itself.
TEST_F(TeamTest, BlockedThreadsAreOvertaken) {
  Bundle bundle(path);
  runtime::beforePiece = block;
  blockedFor = 400000;
  int overtaken = 0;
  for (int call = 0; call < 24; ++call) {
    calls = 0;
    blockedCall = call;
    Session session(bundle, cold(1 + uint32_t(call % 2)));
    // Others come first.
    for (int i = 0; i < 100 && calls.load() <= call; ++i)
      usleep(20);
    auto start = Clock::now();
    EXPECT_TRUE(runs(session));
    // Computing for a machine that is busy with other tests.
    EXPECT_LT(millisecondsSince(start), 300) << call;
    overtaken += calls.load() > call;
    EXPECT_TRUE(runs(session));
  }
  EXPECT_GT(overtaken, 5) << "otherwise this shows nothing";
}

/// A blocked thread that reads or prepares costs its patience and the piece, at
/// most.
TEST_F(TeamTest, WhoIsBlockedWhilePreparingCostsLittle) {
  runtime::beforePiece = block;
  for (uint32_t threads : {1u, 2u})
    EXPECT_LE(costOfBlocking(threads, 10000, 2), 2) << threads;
}

/// Tiles that work in place cannot be computed by another thread as well: those
/// that were taken are waited for, and nothing more.
TEST_F(TeamTest, WhoIsBlockedWhileComputingCostsThatTime) {
  runtime::beforeTiles = block;
  EXPECT_LE(costOfBlocking(2, 10000, 12), 12);
}

/// A system that has put both on one CPU may leave them there for seconds.
TEST_F(TeamTest, WorkersLeaveTheCallersCpu) {
  runtime::CpuMask before, here, two;
  before.get();
  std::set<int> all = cpusOf(before);
  int mine = *all.begin(), other = *++all.begin();
  here.add(mine);
  two.add(mine);
  two.add(other);
  Bundle bundle(path);
  two.apply();
  std::set<pid_t> callers = threadsOfProcess();
  Session session(bundle, cold(2));
  here.apply();
  EXPECT_TRUE(runs(session));
  EXPECT_TRUE(session.prepare(std::chrono::milliseconds(60000)));
  std::set<pid_t> workers;
  // Threads that only prepare end.
  for (int i = 0; i < 10000 && workers.size() != 1; ++i) {
    usleep(100);
    workers = threadsOfProcess();
    for (pid_t thread : callers)
      workers.erase(thread);
  }
  ASSERT_EQ(workers.size(), 1u);
  auto mayUse = [&](const runtime::CpuMask &mask) {
    sched_setaffinity(*workers.begin(), sizeof(cpu_set_t), &mask.cpus());
  };
  mayUse(here);
  auto runSeldom = [&] {
    EXPECT_TRUE(runs(session));
    usleep(1000);
  };
  // It does as it is told.
  for (int i = 0; i < 200 && cpuOf(*workers.begin()) != mine; ++i)
    runSeldom();
  EXPECT_EQ(cpuOf(*workers.begin()), mine);
  mayUse(two);
  for (int i = 0; i < 200 && cpuOf(*workers.begin()) == mine; ++i)
    runSeldom();
  EXPECT_EQ(cpuOf(*workers.begin()), other);
  before.apply();
}

/// Behind a run a worker spins where the next one followed soon the last time.
TEST_F(TeamTest, SpinsBehindARunWhereThatPays) {
  make(40, 1, 2);
  // Before there are threads that call it.
  runtime::behindRun = [](bool spins) { ++(spins ? spun : slept); };
  Bundle bundle(path);
  Session session(bundle, cold(2));
  EXPECT_TRUE(runs(session));
  EXPECT_TRUE(session.prepare(std::chrono::milliseconds(60000)));
  std::vector<float> x(sample->elements()), y(sample->elements());
  auto run = [&](int count, std::chrono::microseconds pause) {
    spun = slept = 0;
    for (int i = 0; i < count; ++i) {
      for (auto end = Clock::now() + pause; Clock::now() < end;)
        ;
      session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    }
  };
  // Other programs may take the CPUs meanwhile, and make pauses of short ones.
  run(10, std::chrono::microseconds(5));
  auto end = Clock::now() + std::chrono::seconds(30);
  do
    run(10, std::chrono::microseconds(5));
  while (spun == 0 && Clock::now() < end);
  EXPECT_GT(spun, 0);
  run(3, std::chrono::microseconds(1000));
  run(100, std::chrono::microseconds(1000));
  // A worker that others keep from its CPU may begin to wait late.
  EXPECT_LT(spun, slept / 2);
}

} // namespace
