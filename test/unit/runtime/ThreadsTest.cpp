//===- ThreadsTest.cpp ----------------------------------------------------===//
#include "runtime/system/Threads.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace nnv12::runtime;

namespace {

/// struct sched_attr of sched_setattr(2).
struct Scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/// The scheduling of the calling thread.
Scheduling scheduling() {
  Scheduling result = {};
  syscall(SYS_sched_getattr, 0, &result, sizeof result, 0);
  return result;
}

void *getScheduling(void *result) {
  *static_cast<Scheduling *>(result) = scheduling();
  return nullptr;
}

Scheduling ofThread(ThreadStarter &starter) {
  Scheduling result = {};
  pthread_t thread;
  EXPECT_EQ(starter.start(thread, getScheduling, &result, CpuMask()), 0);
  pthread_join(thread, nullptr);
  return result;
}

/// Whether this system lets threads have other time slices than its own.
bool hasSlices() {
  Scheduling attributes = scheduling();
  uint64_t before = attributes.runtime;
  attributes.runtime = 2 * before;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  bool result = before > 0 && scheduling().runtime == 2 * before;
  attributes.runtime = before;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  return result;
}

TEST(ThreadsTest, ShortSlicesAreTheStartedThreadsAlone) {
  if (!hasSlices())
    GTEST_SKIP() << "Linux before 6.12";
  Scheduling before = scheduling();
  {
    ThreadStarter starter(ThreadStarter::Slices::Short);
    Scheduling thread = ofThread(starter);
    EXPECT_LT(thread.runtime, before.runtime);
    EXPECT_EQ(thread.policy, before.policy);
    EXPECT_EQ(thread.nice, before.nice);
  }
  EXPECT_EQ(scheduling().runtime, before.runtime);
  ThreadStarter starter;
  EXPECT_EQ(ofThread(starter).runtime, before.runtime);
}

TEST(ThreadsTest, NicenessIsKept) {
  // Uses a thread of its own, since niceness cannot be taken back.
  auto run = [](void *) -> void * {
    int32_t before = scheduling().nice;
    if (nice(5) == -1)
      return nullptr;
    ThreadStarter starter(ThreadStarter::Slices::Short);
    EXPECT_EQ(ofThread(starter).nice, scheduling().nice);
    EXPECT_EQ(scheduling().nice, std::min(before + 5, 19));
    return nullptr;
  };
  ThreadStarter starter;
  pthread_t thread;
  ASSERT_EQ(starter.start(thread, run, nullptr, CpuMask()), 0);
  pthread_join(thread, nullptr);
}

void *getCpu(void *result) {
  *static_cast<int *>(result) = sched_getcpu();
  return nullptr;
}

TEST(ThreadsTest, AThreadBeginsInItsPlace) {
  ThreadStarter starter;
  CpuMask all;
  all.get();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all.cpus())) {
      CpuMask place;
      place.add(cpu);
      int found = -1;
      pthread_t thread;
      ASSERT_EQ(starter.start(thread, getCpu, &found, place), 0);
      pthread_join(thread, nullptr);
      EXPECT_EQ(found, cpu);
    }
  CpuMask after;
  after.get();
  EXPECT_TRUE(CPU_EQUAL(&after.cpus(), &all.cpus())) << "the caller's";
}

TEST(ThreadsTest, APlaceThatThereIsNotIsNoReasonToFail) {
  ThreadStarter starter;
  CpuMask nowhere;
  nowhere.add(CPU_SETSIZE - 1);
  int found = -1;
  pthread_t thread;
  ASSERT_EQ(starter.start(thread, getCpu, &found, nowhere), 0);
  pthread_join(thread, nullptr);
  EXPECT_GE(found, 0);
  CpuMask all, none;
  all.get();
  ASSERT_EQ(starter.start(thread, getCpu, &found, none), 0);
  pthread_join(thread, nullptr);
}

} // namespace
