//===- ExplainTest.cpp - Why made up runs take the time that they take ----===//
#include "tools/nnv12-prof/Explain.h"
#include "tools/nnv12-prof/Idle.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace nnv12::prof;

namespace {

/// 100 multiply-adds a nanosecond; 200 bytes a nanosecond from caches of a
/// megabyte, 20 from memory.
Machine machine() {
  Machine result;
  result.multiplyAdds = 100;
  result.memory = {{1e6, 200}, {64e6, 20}};
  result.faultNs = 1000;
  return result;
}

/// Takes as long as it must for its multiply-adds, always the same.
Work compute(double time, uint64_t tiles = 100) {
  Work work;
  work.time = work.least = time;
  work.multiplyAdds = time * 90;
  work.bytes = 1000;
  work.tiles = tiles;
  return work;
}

/// An operation that moves bytes which no cache has.
Work move(double time) {
  Work work = compute(time);
  work.multiplyAdds = 0;
  work.bytes = time * 18;
  return work;
}

RunWork runOf(const std::vector<Work> &work, unsigned threads) {
  RunWork run;
  run.threads = threads;
  for (const Work &operation : work)
    run.time += operation.time;
  return run;
}

double sum(const Explanation &explanation) {
  return std::accumulate(explanation.parts.begin(), explanation.parts.end(),
                         0.0);
}

/// The parts must add up to the time.
std::vector<Explanation> explain(const std::vector<Work> &work,
                                 const RunWork &run,
                                 const Machine &machine = ::machine()) {
  std::vector<Explanation> found = explainOperations(work, run, machine);
  EXPECT_EQ(found.size(), work.size());
  for (size_t i = 0; i < work.size(); ++i) {
    EXPECT_NEAR(sum(found[i]), work[i].time, work[i].time * 1e-9);
    for (double part : found[i].parts)
      EXPECT_GE(part, 0);
  }
  return found;
}

nnv12_record stretch(uint8_t thread, uint64_t start, uint64_t duration) {
  nnv12_record record = {};
  record.thread = thread;
  record.start_ns = start;
  record.duration_ns = duration;
  return record;
}

} // namespace

//===----------------------------------------------------------------------===//
// The causes, each planted
//===----------------------------------------------------------------------===//

TEST(Explain, ComputeBound) {
  std::vector<Work> work = {compute(1e6)};
  Explanation found = explain(work, runOf(work, 1))[0];
  EXPECT_EQ(found.cause, Cause::Compute);
  EXPECT_EQ(found.text, "90 % of the compute roof");
  // Better than good kernels.
  EXPECT_EQ(found.givesBack(), 0);
  work[0].multiplyAdds /= 2;
  found = explain(work, runOf(work, 1))[0];
  EXPECT_EQ(found.text, "45 % of the compute roof");
  EXPECT_NEAR(found.givesBack(), 1e6 * (1 - 0.45 / 0.7), 1);
}

TEST(Explain, MemoryBound) {
  std::vector<Work> work = {move(1e6), compute(1e5)};
  Explanation found = explain(work, runOf(work, 1))[0];
  EXPECT_EQ(found.cause, Cause::Memory);
  EXPECT_EQ(found.text, "90 % of the memory roof");
  EXPECT_NEAR(found.givesBack(), 1e5, 1);
  EXPECT_EQ(explainRun(explain(work, runOf(work, 1)), runOf(work, 1)).cause,
            Cause::Memory);
}

/// Data in caches have another roof.
TEST(Explain, MemoryOfCaches) {
  Work work = move(5000);
  work.bytes = 900e3;
  EXPECT_EQ(explain({work}, runOf({work}, 1))[0].text,
            "90 % of the memory roof");
}

/// Nothing that the roofs know of.
TEST(Explain, OtherWork) {
  Work work = compute(1e6);
  work.multiplyAdds = 0;
  Explanation found = explain({work}, runOf({work}, 1))[0];
  EXPECT_EQ(found.cause, Cause::Compute);
  EXPECT_EQ(found.text, "computes other things than multiply-adds");
}

/// A GPU's speed is no measure of a CPU's, nor are CPUs that others had, page
/// faults and slow cores anything to a GPU.
TEST(Explain, OfAGpu) {
  std::vector<Work> alone = {compute(1e6)};
  alone[0].multiplyAdds /= 2;
  std::vector<Work> work = {compute(1e5), alone[0]};
  work[0].isOnGpu = true;
  work[0].multiplyAdds *= 100;
  work[0].bytes *= 100;
  work[0].least = 1e4;
  RunWork run = runOf(work, 2);
  run.withoutCpu = 1e5;
  run.pageFaults = 10;
  run.handOver = 3e5;
  run.time += 4e5;
  Machine slow = machine();
  slow.speed = 0.5;
  std::vector<Explanation> found = explain(work, run, slow);
  EXPECT_EQ(found[0].cause, Cause::Gpu);
  EXPECT_EQ(found[0].part(Cause::Gpu), 1e5);
  EXPECT_EQ(found[0].givesBack(), 0);
  EXPECT_EQ(found[0].text, "9000.00 GMAC/s and 1.00 GB/s of the GPU");
  EXPECT_EQ(found[1].text, explain(alone, run, slow)[0].text);
  Explanation all = explainRun(found, run);
  EXPECT_EQ(all.part(Cause::Gpu), 1e5);
  EXPECT_EQ(all.part(Cause::HandOver), 3e5);
  EXPECT_EQ(all.part(Cause::Dispatch), 1e5);
  // Without time stamps the hand-over's time is the GPU's.
  work[0].time = work[0].least = 0;
  run.onGpu = run.handOver;
  run.handOver = 0;
  all = explainRun(explain(work, run, slow), run);
  EXPECT_EQ(all.part(Cause::Gpu), 3e5);
  EXPECT_EQ(all.part(Cause::HandOver), 0);
}

TEST(Explain, ThreeTilesOnTwoThreads) {
  Work work = compute(1e6, 3);
  work.multiplyAdds = 1e6 * 90 * 0.75;
  work.tail = 0.5e6;
  work.leastIdle = 0.5e6;
  Explanation found = explain({work}, runOf({work}, 2))[0];
  EXPECT_EQ(found.cause, Cause::Imbalance);
  EXPECT_EQ(found.givesBack(), 0.25e6);
  EXPECT_EQ(found.text, "3 tiles on 2 threads: waits for the last one 250 us");
}

/// One tile: the others never come, and are not late.
TEST(Explain, OneTileOnFourThreads) {
  Work work = compute(1e6, 1);
  work.absent = 3e6;
  Explanation found = explain({work}, runOf({work}, 4))[0];
  EXPECT_EQ(found.cause, Cause::Imbalance);
  EXPECT_EQ(found.givesBack(), 0.75e6);
}

TEST(Explain, ThreadsThatWakeUpLate) {
  Work work = compute(1e5);
  work.late = 30e3;
  Explanation found = explain({work}, runOf({work}, 2))[0];
  EXPECT_EQ(found.cause, Cause::Dispatch);
  EXPECT_EQ(found.givesBack(), 15e3);
  EXPECT_EQ(found.text, "threads begin late, together 30.0 us");
  // They come too late for any tile.
  work.late = 0;
  work.absent = 1e5;
  EXPECT_EQ(explain({work}, runOf({work}, 2))[0].cause, Cause::Dispatch);
}

TEST(Explain, BusyCore) {
  // One of two threads has no CPU for a time; the other one waits for it.
  Work disturbed = compute(1.5e6), calm = compute(1e6);
  disturbed.least = 1e6;
  disturbed.tail = 0.5e6;
  std::vector<Work> work = {disturbed, calm};
  RunWork run = runOf(work, 2);
  run.withoutCpu = 0.5e6;
  std::vector<Explanation> found = explain(work, run);
  EXPECT_EQ(found[0].cause, Cause::Preemption);
  EXPECT_NEAR(found[0].givesBack(), 0.5e6, 1);
  EXPECT_EQ(found[0].part(Cause::Imbalance), 0);
  EXPECT_EQ(found[1].cause, Cause::Compute);
  EXPECT_EQ(explainRun(found, run).cause, Cause::Preemption);
}

/// It has a core for itself, always: no run is better than another.
TEST(Explain, CoreThatIsAlwaysBusy) {
  Work work = compute(2e6);
  work.absent = 2e6;
  work.leastIdle = 2e6;
  RunWork run = runOf({work}, 2);
  run.withoutCpu = 1.9e6;
  run.othersCpu = 2e6;
  Explanation found = explain({work}, run)[0];
  EXPECT_EQ(found.cause, Cause::Preemption);
  EXPECT_NEAR(found.givesBack(), 0.95e6, 1);
  // The same wait when nobody else ran: the thread was woken up late.
  run.othersCpu = 0.01e6;
  found = explain({work}, run)[0];
  EXPECT_EQ(found.cause, Cause::Dispatch);
  EXPECT_NEAR(found.part(Cause::Preemption), 0.005e6, 1);
}

/// Threads may wait for CPUs when that costs nothing: between operations that
/// were as fast as ever.
TEST(Explain, WaitsThatCostNothing) {
  std::vector<Work> work = {compute(1e6)};
  RunWork run = runOf(work, 1);
  run.withoutCpu = 1e6;
  EXPECT_EQ(explain(work, run)[0].part(Cause::Preemption), 0);
}

/// Slow runs that had all CPUs were slow for another reason.
TEST(Explain, SlowWithAllCpus) {
  Work work = compute(2e6);
  work.least = 1e6;
  RunWork run = runOf({work}, 1);
  run.withoutCpu = 1e5;
  EXPECT_NEAR(explain({work}, run)[0].part(Cause::Preemption), 1e5, 1);
}

TEST(Explain, PageFaults) {
  // Twice as long as it should take.
  std::vector<Work> work = {move(1e6), compute(1e6)};
  work[0].bytes /= 2;
  work[1].multiplyAdds = 1e8;
  RunWork run = runOf(work, 1);
  run.pageFaults = 400;
  std::vector<Explanation> found = explain(work, run);
  EXPECT_EQ(found[0].cause, Cause::Faults);
  EXPECT_NEAR(found[0].part(Cause::Faults) + found[1].part(Cause::Faults), 4e5,
              1);
  EXPECT_EQ(found[1].cause, Cause::Compute);
  Explanation whole = explainRun(found, run);
  EXPECT_EQ(whole.cause, Cause::Faults);
  EXPECT_EQ(whole.text, "400 page faults a run take about 400 us");
}

TEST(Explain, SlowCpus) {
  std::vector<Work> work = {compute(1e6), move(1e6)};
  Machine slow = machine();
  slow.speed = 0.4;
  std::vector<Explanation> found = explain(work, runOf(work, 1), slow);
  EXPECT_EQ(found[0].cause, Cause::Frequency);
  EXPECT_NEAR(found[0].givesBack(), 0.6e6, 1);
  EXPECT_EQ(found[0].text, "CPUs have 40 % of the fastest one's speed");
  EXPECT_EQ(found[1].cause, Cause::Memory);
  EXPECT_EQ(explainRun(found, runOf(work, 1)).cause, Cause::Frequency);
}

TEST(Explain, ColdStorage) {
  std::vector<Work> work = {compute(1e6)};
  RunWork run = runOf(work, 1);
  Explanation warm = explainRun(explain(work, run), run);
  ColdWork cold;
  cold.time = 5e6;
  cold.executes = 1.2e6;
  cold.weights = 3.5e6;
  cold.reading = 3e6;
  cold.storedBytes = 3'000'000;
  cold.pageFaults = 50;
  Explanation found = explainCold(cold, warm, machine());
  EXPECT_NEAR(sum(found), cold.time, 1);
  EXPECT_EQ(found.cause, Cause::Weights);
  EXPECT_EQ(found.givesBack(), 3.5e6);
  EXPECT_EQ(found.text,
            "waits for weights 3.50 ms, for the storage 3.00 ms (3.0 MB)");
  EXPECT_EQ(found.part(Cause::Faults), 50e3);
  EXPECT_EQ(found.part(Cause::Memory), 150e3);
  EXPECT_NEAR(found.part(Cause::Dispatch), 0.3e6, 1);
  // Threads that transform: faster storage would not help.
  cold.reading = 1e5;
  EXPECT_EQ(explainCold(cold, warm, machine()).text,
            "waits for weights 3.50 ms");
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

TEST(Explain, SmallLossesAreNotNamed) {
  Work work = compute(1e6);
  work.late = 0.08e6;
  EXPECT_EQ(explain({work}, runOf({work}, 2))[0].cause, Cause::Compute);
  work.late = 0.12e6;
  EXPECT_EQ(explain({work}, runOf({work}, 2))[0].cause, Cause::Dispatch);
}

/// A first run that was faster than warm ones has no parts that it did not
/// have.
TEST(Explain, ColdFasterThanWarm) {
  std::vector<Work> work = {compute(1e6)};
  RunWork run = runOf(work, 1);
  Explanation warm = explainRun(explain(work, run), run);
  ColdWork cold;
  cold.time = 0.9e6;
  cold.executes = 0.8e6;
  Explanation found = explainCold(cold, warm, machine());
  EXPECT_NEAR(sum(found), cold.time, 1);
  EXPECT_NEAR(found.part(Cause::Compute), 0.8e6, 1);
}

/// The best of the operations is the roof.
TEST(Explain, MachineIsNotKnown) {
  std::vector<Work> work = {compute(1e6), compute(1e6), move(1e6), move(1e6)};
  work[1].multiplyAdds /= 2;
  work[3].bytes /= 2;
  std::vector<Explanation> found = explain(work, runOf(work, 1), Machine());
  EXPECT_EQ(found[0].text, "100 % of the compute roof");
  EXPECT_EQ(found[1].text, "50 % of the compute roof");
  EXPECT_EQ(found[2].text, "100 % of the memory roof");
  EXPECT_EQ(found[3].text, "50 % of the memory roof");
}

TEST(Explain, WhatIsOutsideOfOperations) {
  std::vector<Work> work = {compute(1e6)};
  RunWork run = runOf(work, 1);
  run.time = 1.5e6;
  Explanation found = explainRun(explain(work, run), run);
  EXPECT_NEAR(sum(found), 1.5e6, 1);
  EXPECT_EQ(found.cause, Cause::Dispatch);
}

TEST(Explain, Nothing) {
  EXPECT_TRUE(explain({}, RunWork()).empty());
  Explanation found = explain({Work()}, RunWork())[0];
  EXPECT_FALSE(found.isKnown);
  EXPECT_EQ(found.text, "");
  EXPECT_FALSE(explainRun({}, RunWork()).isKnown);
}

//===----------------------------------------------------------------------===//
// Idle threads
//===----------------------------------------------------------------------===//

TEST(Idle, LateTailAndAbsent) {
  nnv12_record execute = stretch(0, 1000, 100);
  nnv12_record first = stretch(0, 1000, 40), second = stretch(0, 1050, 50),
               other = stretch(2, 1020, 50);
  Idle idle = findIdle(execute, {&second, &other, &first}, 3);
  EXPECT_EQ(idle.late, 10 + 20);
  EXPECT_EQ(idle.tail, 30);
  EXPECT_EQ(idle.absent, 100);
  // Without tiles the execute lane did it alone.
  idle = findIdle(execute, {}, 3);
  EXPECT_EQ(idle.late + idle.tail, 0);
  EXPECT_EQ(idle.absent, 200);
  // Rounded, tiles may end after their operation.
  nnv12_record rounded = stretch(0, 1000, 101);
  EXPECT_EQ(findIdle(execute, {&rounded}, 1).sum(), 0);
}

/// A GPU's part in warm runs is another one in the first run: that may wait for
/// the GPU, or use the CPU alone.
TEST(Explain, FirstRunBesideAGpu) {
  std::vector<Work> work = {compute(1e5), compute(1e6)};
  work[0].isOnGpu = true;
  RunWork run = runOf(work, 1);
  run.handOver = 2e5;
  run.time += 2e5;
  Explanation warm = explainRun(explain(work, run), run);
  ColdWork cold;
  cold.time = 6e6;
  cold.executes = 1e6;
  cold.onGpu = 1e5;
  cold.handOver = 2e5;
  cold.gpuWait = 4e6;
  Explanation found = explainCold(cold, warm, machine());
  EXPECT_NEAR(sum(found), cold.time, 1);
  EXPECT_EQ(found.cause, Cause::Gpu);
  EXPECT_EQ(found.part(Cause::Gpu), 4.1e6);
  EXPECT_EQ(found.givesBack(), 4e6);
  EXPECT_EQ(found.part(Cause::HandOver), 2e5);
  EXPECT_EQ(found.text,
            "waiting for the GPU and what it computes take 4.10 ms");
  cold = {};
  cold.time = 4e6;
  cold.executes = 3.9e6;
  cold.unlike = 2.9e6;
  found = explainCold(cold, warm, machine());
  EXPECT_NEAR(sum(found), cold.time, 1);
  EXPECT_NEAR(found.part(Cause::Compute), 3.9e6, 1);
  EXPECT_EQ(found.part(Cause::Memory), 0);
  EXPECT_EQ(found.cause, Cause::Compute);
}

TEST(Idle, Stretches) {
  EXPECT_EQ(lengthOf({}), 0u);
  EXPECT_EQ(lengthOf({{10, 20}, {15, 30}, {40, 50}, {50, 50}}), 30u);
  EXPECT_EQ(overlapOf({{0, 10}, {20, 30}}, {{5, 25}}), 10u);
  EXPECT_EQ(overlapOf({{0, 10}}, {{10, 20}}), 0u);
  EXPECT_EQ(overlapOf({}, {{10, 20}}), 0u);
}
