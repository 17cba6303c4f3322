//===- CountersTest.cpp - Counters of threads -----------------------------===//
#include "artifact/Writer.h"
#include "runtime/counters/SystemCounters.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/SampleBundle.h"

#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace nnv12;
using namespace nnv12::test;
using runtime::SystemCounters;

namespace {

uint64_t now() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}

/// Counts that follow from the thread, the counter and how often they were
/// read.
struct FakeSource {
  FakeSource() {
    source.struct_size = sizeof source;
    source.context = this;
    source.attach = [](void *context, uint32_t thread) {
      auto *self = static_cast<FakeSource *>(context);
      std::lock_guard<std::mutex> lock(self->mutex);
      std::thread::id before =
          std::exchange(self->attached[thread], std::this_thread::get_id());
      bool isOther = before != std::this_thread::get_id();
      if (isOther)
        self->reads[thread] = 0;
      return int(isOther);
    };
    source.read = [](void *context, uint32_t thread, uint64_t *values) {
      auto *self = static_cast<FakeSource *>(context);
      std::lock_guard<std::mutex> lock(self->mutex);
      self->readers.insert(std::this_thread::get_id());
      if (!self->attached.count(thread))
        return 0u;
      for (uint64_t start = now(); now() - start < self->delay;)
        ;
      uint64_t &reads = self->reads[thread];
      ++reads;
      values[NNV12_COUNTER_CYCLES] = 1000 * reads * reads + thread;
      values[NNV12_COUNTER_PAGE_FAULTS] = 7;
      return 1u << NNV12_COUNTER_CYCLES | 1u << NNV12_COUNTER_PAGE_FAULTS;
    };
  }

  nnv12_counter_source source = {};
  uint64_t delay = 0; ///< nanoseconds of a reading
  std::mutex mutex;
  std::map<uint32_t, std::thread::id> attached;
  std::map<uint32_t, uint64_t> reads;
  std::set<std::thread::id> readers;
};

class CountersTest : public testing::Test {
protected:
  void SetUp() override {
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  }
  void run(Session &session) {
    size_t n = sample.elements();
    std::vector<float> x(n, 1), y(n);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
  }

  TemporaryFolder folder;
  Sample sample{8};
  std::string path;
};

/// Until the calling thread has had so many nanoseconds of a CPU.
void spin(uint64_t ns) {
  timespec start, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (uint64_t(now.tv_sec - start.tv_sec) * 1'000'000'000 +
             uint64_t(now.tv_nsec - start.tv_nsec) <
         ns);
}

void touch(size_t pages) {
  size_t page = size_t(sysconf(_SC_PAGESIZE)), size = pages * page;
  auto *memory =
      static_cast<volatile char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(const_cast<char *>(memory), size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += page)
    memory[i] = 1;
  munmap(const_cast<char *>(memory), size);
}

int refused(perf_event_attr &, int) {
  errno = EACCES;
  return -1;
}

/// As where programs may only look at themselves, outside of the kernel.
int onlySelf(perf_event_attr &event, int group) {
  if (!event.exclude_kernel) {
    errno = EACCES;
    return -1;
  }
  return int(syscall(SYS_perf_event_open, &event, 0, -1, group, 0));
}

/// A processor that counts nanoseconds, but does not know missed branches.
int asProcessor(perf_event_attr &event, int group) {
  if (event.type == PERF_TYPE_HARDWARE) {
    if (event.config == PERF_COUNT_HW_BRANCH_MISSES) {
      errno = ENOENT;
      return -1;
    }
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_TASK_CLOCK;
  }
  return int(syscall(SYS_perf_event_open, &event, 0, -1, group, 0));
}

bool grantsEvents() {
  perf_event_attr event = {};
  event.size = sizeof event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_TASK_CLOCK;
  event.exclude_kernel = event.exclude_hv = 1;
  int file = int(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
  close(file);
  return file >= 0;
}

constexpr uint32_t bit(nnv12_counter counter) { return 1u << counter; }

} // namespace

TEST_F(CountersTest, GrowthOfEachRunIsRecorded) {
  FakeSource fake;
  Bundle bundle(path);
  SessionOptions options;
  options.threads = 2;
  options.oversubscribe = true;
  Recorder recorder(bundle, options, NNV12_RECORD_RUN, 4, &fake.source);
  nnv12_recorder always = *recorder.get();
  always.counters_per_mille = 0;
  options.recorder = &always;
  Session session(bundle, options);
  for (int i = 0; i < 3; ++i)
    run(session);
  // Another thread may call run, whose counts are others.
  std::thread other([&] { run(session); });
  std::thread::id otherThread = other.get_id();
  other.join();
  EXPECT_EQ(fake.attached[0], otherThread);
  uint64_t lost = 0;
  std::map<uint32_t, std::map<uint32_t, uint64_t>> cycles;
  uint32_t faults = 0;
  for (const nnv12_record &record : recorder.recording().readAll(lost)) {
    if (record.kind != NNV12_RECORD_COUNTER)
      continue;
    EXPECT_EQ(record.thread, 0);
    if (record.index == NNV12_COUNTER_CYCLES)
      cycles[record.lane][record.run] = record.duration_ns;
    else if (record.index == NNV12_COUNTER_PAGE_FAULTS)
      ++faults;
    else
      ADD_FAILURE() << "counter " << record.index;
  }
  EXPECT_EQ(lost, 0u);
  // Readings number n and n + 1 differ by 2 n + 1 thousand. A run that follows
  // another one at once takes that one's last reading as its first.
  ASSERT_EQ(cycles[0].size(), 4u);
  EXPECT_EQ(cycles[0][0], 3000u);
  EXPECT_GE(cycles[0][1], 5000u);
  EXPECT_LE(cycles[0][1], 7000u);
  EXPECT_EQ(cycles[0][3], 3000u);
  EXPECT_GE(faults, 4u);
  // The other thread may have started after the first run.
  EXPECT_EQ(fake.readers, (std::set<std::thread::id>{std::this_thread::get_id(),
                                                     otherThread}));
}

/// Only of runs that are recorded. Other runs in between are not counted, even
/// if a reading takes longer than they do.
TEST_F(CountersTest, SampledRuns) {
  FakeSource fake;
  fake.delay = 10'000'000;
  Bundle bundle(path);
  SessionOptions options;
  options.threads = 1;
  Recorder recorder(bundle, options, NNV12_RECORD_OPERATION, 4, &fake.source);
  nnv12_recorder sampling = *recorder.get();
  sampling.sample_every = 4;
  sampling.counters_per_mille = 0;
  options.recorder = &sampling;
  Session session(bundle, options);
  for (int i = 0; i < 9; ++i)
    run(session);
  EXPECT_EQ(fake.reads[0], 6u); // before and after each
}

/// Reading takes no more than its part of the time, but for the first run.
TEST_F(CountersTest, WhatReadingMayTake) {
  FakeSource fake;
  fake.delay = 2'000'000;
  Bundle bundle(path);
  SessionOptions options;
  options.threads = 1;
  Recorder recorder(bundle, options, NNV12_RECORD_RUN, 100, &fake.source);
  nnv12_recorder part = *recorder.get();
  EXPECT_EQ(part.counters_per_mille, 1u);
  part.counters_per_mille = 100;
  options.recorder = &part;
  Session session(bundle, options);
  run(session);
  EXPECT_EQ(fake.reads[0], 2u);
  // On a busy machine a reading takes longer, and the next waits for longer.
  uint64_t start = now(), time = 0;
  while ((time = now() - start) < 300'000'000 ||
         (fake.reads[0] < 4 && time < 60'000'000'000))
    run(session);
  // Before and after a run each; 2 ms a reading.
  EXPECT_GE(fake.reads[0], 4u);
  EXPECT_LE(fake.reads[0], 4 + time / 10 / 2'000'000);
}

TEST_F(CountersTest, SourcesWithoutFunctionsAreRefused) {
  FakeSource fake;
  fake.source.read = nullptr;
  Bundle bundle(path);
  SessionOptions options;
  Recorder recorder(bundle, options, NNV12_RECORD_RUN, 3, &fake.source);
  options.recorder = recorder.get();
  try {
    Session session(bundle, options);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "recorder: counters: found no functions, expected those of "
                 "nnv12_counter_source");
  }
}

/// Memory is asked for only where somebody counts.
TEST_F(CountersTest, RoomForCounters) {
  FakeSource fake;
  Bundle bundle(path);
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  nnv12_recorder recorder = NNV12_RECORDER_INIT(nullptr, 0);
  size_t without =
      nnv12_recorder_size(bundle.get(), &options, NNV12_RECORD_RUN, 100);
  options.recorder = &recorder;
  EXPECT_EQ(nnv12_recorder_size(bundle.get(), &options, NNV12_RECORD_RUN, 100),
            without);
  recorder.counters = &fake.source;
  EXPECT_GT(nnv12_recorder_size(bundle.get(), &options, NNV12_RECORD_RUN, 100),
            8 * without);
}

TEST(SystemCounters, CountsTheCallingThread) {
  SystemCounters counters(NNV12_COUNT_SOFTWARE);
  uint64_t before[NNV12_NUM_COUNTERS] = {}, after[NNV12_NUM_COUNTERS] = {};
  EXPECT_EQ(counters.read(0, before), 0u);
  counters.attach(0);
  uint32_t known = counters.read(0, before);
  EXPECT_EQ(known & 15, 15u) << counters.state();
  spin(5'000'000);
  touch(300);
  usleep(1000);
  EXPECT_EQ(counters.read(0, after), known);
  EXPECT_GE(after[NNV12_COUNTER_CPU_TIME] - before[NNV12_COUNTER_CPU_TIME],
            4'900'000u);
  EXPECT_GE(after[NNV12_COUNTER_PAGE_FAULTS] -
                before[NNV12_COUNTER_PAGE_FAULTS],
            300u);
  EXPECT_GE(after[NNV12_COUNTER_CONTEXT_SWITCHES] -
                before[NNV12_COUNTER_CONTEXT_SWITCHES],
            1u);
  // Attached again, it goes on.
  counters.attach(0);
  uint64_t later[NNV12_NUM_COUNTERS] = {};
  EXPECT_EQ(counters.read(0, later), known);
  EXPECT_GE(later[NNV12_COUNTER_CPU_TIME], after[NNV12_COUNTER_CPU_TIME]);
}

/// As the thread that runs a session reads the others.
TEST(SystemCounters, CountsOtherThreads) {
  SystemCounters counters(NNV12_COUNT_SOFTWARE);
  counters.attach(0);
  std::atomic<int> stage{0};
  std::thread other([&] {
    counters.attach(3);
    stage = 1;
    spin(5'000'000);
    stage = 2;
    while (stage == 2)
      usleep(100);
  });
  while (stage != 2)
    usleep(100);
  uint64_t values[NNV12_NUM_COUNTERS] = {};
  uint32_t known = counters.read(3, values);
  EXPECT_TRUE(known & bit(NNV12_COUNTER_CPU_TIME)) << counters.state();
  EXPECT_GE(values[NNV12_COUNTER_CPU_TIME], 4'900'000u);
  stage = 3;
  other.join();
  // It is gone; the counts that the system still has are right.
  uint64_t last[NNV12_NUM_COUNTERS] = {};
  if (counters.read(3, last) & bit(NNV12_COUNTER_CPU_TIME)) {
    EXPECT_GE(last[NNV12_COUNTER_CPU_TIME], values[NNV12_COUNTER_CPU_TIME]);
  }
  EXPECT_EQ(counters.read(1000, last), 0u);
}

/// Refusals are states: the other counters count.
TEST(SystemCounters, Refused) {
  SystemCounters counters(NNV12_COUNT_SOFTWARE | NNV12_COUNT_HARDWARE, refused);
  std::string state = counters.state();
  EXPECT_NE(state.find("of the thread that calls run alone"), std::string::npos)
      << state;
  EXPECT_NE(state.find("not permitted: perf_event_paranoid is"),
            std::string::npos)
      << state;
  counters.attach(0);
  uint64_t before[NNV12_NUM_COUNTERS] = {}, after[NNV12_NUM_COUNTERS] = {};
  EXPECT_EQ(counters.read(0, before), 15u);
  spin(2'000'000);
  touch(100);
  EXPECT_EQ(counters.read(0, after), 15u);
  EXPECT_GE(after[NNV12_COUNTER_CPU_TIME] - before[NNV12_COUNTER_CPU_TIME],
            1'900'000u);
  EXPECT_GE(after[NNV12_COUNTER_PAGE_FAULTS] -
                before[NNV12_COUNTER_PAGE_FAULTS],
            100u);
  std::thread([&] {
    counters.attach(1);
    EXPECT_EQ(counters.read(1, after), 11u);
  }).join();
}

TEST(SystemCounters, RefusedInPart) {
  if (!grantsEvents())
    GTEST_SKIP() << "the system grants no performance events";
  SystemCounters counters(NNV12_COUNT_SOFTWARE, onlySelf);
  EXPECT_EQ(std::string(counters.state()).find("migrations are not counted"),
            0u)
      << counters.state();
  counters.attach(0);
  uint64_t values[NNV12_NUM_COUNTERS] = {};
  EXPECT_EQ(counters.read(0, values), 15u);
  std::thread([&] {
    counters.attach(1);
    touch(50);
    EXPECT_EQ(counters.read(1, values), 15u);
    EXPECT_GE(values[NNV12_COUNTER_PAGE_FAULTS], 50u);
  }).join();
}

TEST(SystemCounters, WhatProcessorsCount) {
  if (!grantsEvents())
    GTEST_SKIP() << "the system grants no performance events";
  SystemCounters counters(NNV12_COUNT_HARDWARE, asProcessor);
  EXPECT_STREQ(counters.state(), "");
  counters.attach(0);
  uint64_t before[NNV12_NUM_COUNTERS] = {}, after[NNV12_NUM_COUNTERS] = {};
  // Stalls stand in for missed branches.
  constexpr uint32_t expected =
      bit(NNV12_COUNTER_CYCLES) | bit(NNV12_COUNTER_INSTRUCTIONS) |
      bit(NNV12_COUNTER_CACHE_MISSES) | bit(NNV12_COUNTER_STALLED_CYCLES);
  EXPECT_EQ(counters.read(0, before) & ~31u, expected);
  // Interrupts count in the clock that spin reads, not in events.
  spin(20'000'000);
  EXPECT_EQ(counters.read(0, after) & ~31u, expected);
  for (nnv12_counter counter :
       {NNV12_COUNTER_CPU_TIME, NNV12_COUNTER_CYCLES,
        NNV12_COUNTER_INSTRUCTIONS, NNV12_COUNTER_CACHE_MISSES,
        NNV12_COUNTER_STALLED_CYCLES})
    EXPECT_GE(after[counter] - before[counter], 15'000'000u) << counter;
}

TEST(SystemCounters, Names) {
  EXPECT_STREQ(nnv12_counter_name(NNV12_COUNTER_CPU_TIME), "CPU time");
  EXPECT_STREQ(nnv12_counter_name(NNV12_COUNTER_STALLED_CYCLES),
               "stalled cycles");
  EXPECT_STREQ(nnv12_counter_name(100), "other");
  nnv12_counters_close(nullptr);
  nnv12_counters *counters = nnv12_counters_create(NNV12_COUNT_HARDWARE);
  ASSERT_TRUE(counters);
  EXPECT_EQ(nnv12_counters_source(counters)->struct_size,
            sizeof(nnv12_counter_source));
  EXPECT_NE(nnv12_counters_state(counters), nullptr);
  nnv12_counters_close(counters);
}
