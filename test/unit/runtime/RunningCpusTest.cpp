//===- RunningCpusTest.cpp - Threads that leave each other's CPUs ---------===//
#include "runtime/system/RunningCpus.h"
#include "test/unit/runtime/CpuSet.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace nnv12::runtime;
using nnv12::test::cpusOf;

namespace {

class RunningCpusTest : public testing::Test {
protected:
  void SetUp() override {
    before.get();
    for (int cpu : cpusOf(before))
      cpus.push_back(cpu);
    if (cpus.size() < 2)
      GTEST_SKIP() << "needs two CPUs";
  }
  void TearDown() override { before.apply(); }

  static CpuMask only(std::vector<int> all) {
    CpuMask mask;
    for (int cpu : all)
      mask.add(cpu);
    return mask;
  }
  /// The calling thread goes to a CPU, and may run on others from then on.
  static void goTo(int cpu, const CpuMask &allowed) {
    only({cpu}).apply();
    allowed.apply();
  }
  /// A thread that starts on a CPU, and may use `allowed` ones.
  static void on(int cpu, const CpuMask &allowed, std::function<void()> call) {
    std::thread([&] {
      goTo(cpu, allowed);
      call();
    }).join();
  }
  void note(uint32_t thread, int cpu) {
    on(cpu, only({cpu}), [&] { running.note(thread); });
  }
  static std::set<int> affinity() {
    CpuMask mask;
    mask.get();
    return cpusOf(mask);
  }

  CpuMask before;
  std::vector<int> cpus;
  RunningCpus running;
};

/// Only one of two leaves.
TEST_F(RunningCpusTest, LeavesTheCpuOfALowerNumber) {
  CpuMask two = only({cpus[0], cpus[1]});
  note(1, cpus[0]);
  on(cpus[0], two, [&] {
    ThreadCpus own;
    EXPECT_TRUE(running.leaveShared(0, own));
    EXPECT_EQ(affinity(), cpusOf(two));
    EXPECT_FALSE(own.chosen.isKnown());
    goTo(cpus[0], two);
    EXPECT_TRUE(running.leaveShared(2, own));
    EXPECT_EQ(affinity(), std::set<int>{cpus[1]});
    EXPECT_EQ(sched_getcpu(), cpus[1]);
    EXPECT_EQ(cpusOf(own.allowed), cpusOf(two));
  });
}

/// Its own choice does not bind it when the other one has moved.
TEST_F(RunningCpusTest, LeavesAgain) {
  on(cpus[0], only({cpus[0], cpus[1]}), [&] {
    ThreadCpus own;
    for (int round = 0; round < 6; ++round) {
      // Between two calls a thread that nothing keeps may move.
      if (!own.chosen.isKnown())
        goTo(cpus[0], only({cpus[0], cpus[1]}));
      note(0, cpus[round % 2]);
      EXPECT_TRUE(running.leaveShared(1, own));
      EXPECT_EQ(sched_getcpu(), cpus[1 - round % 2]);
    }
  });
}

/// Somebody else restricts it, before and after its own choice.
TEST_F(RunningCpusTest, KeepsToWhatItIsAllowed) {
  note(0, cpus[0]);
  on(cpus[0], only({cpus[0]}), [&] {
    ThreadCpus own;
    EXPECT_FALSE(running.leaveShared(1, own));
    EXPECT_EQ(affinity(), std::set<int>{cpus[0]});
    goTo(cpus[0], only({cpus[0], cpus[1]}));
    EXPECT_TRUE(running.leaveShared(1, own));
    only({cpus[0]}).apply();
    EXPECT_FALSE(running.leaveShared(1, own));
    EXPECT_EQ(affinity(), std::set<int>{cpus[0]});
  });
}

/// If each CPU is noted, it takes the CPU of a higher number.
TEST_F(RunningCpusTest, OldNotesDoNotHoldIt) {
  note(0, cpus[0]);
  note(5, cpus[1]);
  on(cpus[0], only({cpus[0], cpus[1]}), [&] {
    ThreadCpus own;
    goTo(cpus[0], only({cpus[0], cpus[1]}));
    EXPECT_TRUE(running.leaveShared(1, own));
    EXPECT_EQ(sched_getcpu(), cpus[1]);
  });
}

} // namespace
