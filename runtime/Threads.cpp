//===- Threads.cpp - Starting, waiting and waking -------------------------===//
#include "runtime/Threads.h"

#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nnv12::runtime {

/// A kernel may use 256 KiB; the rest is for signal frames and sanitizers.
static constexpr size_t stackSize = 1u << 20;

/// The shortest time slice that Linux grants; usual ones are 3 ms and more.
static constexpr uint64_t shortSlice = 100000;

/// Sets the calling thread's time slice, nanoseconds, and returns what it was;
/// 0 where the system has no such thing, or the thread has another policy than
/// time sharing.
static uint64_t exchangeSlice(uint64_t slice) {
#ifdef __ANDROID__
  // Whether apps may ask, their sandbox says by killing those that do.
  (void)slice;
  return 0;
#else
  // struct sched_attr of sched_setattr(2), which C libraries lack, as
  // Linux 3.14 had it.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH))
    return 0;
  uint64_t before = attributes.runtime;
  attributes.runtime = slice;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? before : 0;
#endif
}

CpuMask CpuMask::others() const {
  CpuMask result = *this;
  int current = sched_getcpu();
  result.known = known && current >= 0 && CPU_COUNT(&set) > 1;
  if (result.known)
    CPU_CLR(static_cast<unsigned>(current), &result.set);
  return result;
}

ThreadStarter::ThreadStarter(Slices slices) {
  if (slices == Slices::Short)
    callersSlice = exchangeSlice(shortSlice);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackSize);
  allowed.get();
#ifdef __GLIBC__
  CpuMask elsewhere = allowed.others();
  if (elsewhere.isKnown())
    pthread_attr_setaffinity_np(&attributes, sizeof(cpu_set_t),
                                &elsewhere.cpus());
#endif
}

ThreadStarter::~ThreadStarter() {
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (callersSlice)
    exchangeSlice(callersSlice);
}

#ifdef NNV12_TEST_HOOKS
/// Tests make the system refuse threads: see test/unit/runtime/LanesTest.cpp.
bool refuseThreads = false;
#else
static constexpr bool refuseThreads = false;
#endif

int ThreadStarter::start(pthread_t &thread, void *(*function)(void *),
                         void *argument) {
  return refuseThreads
             ? EAGAIN
             : pthread_create(&thread, &attributes, function, argument);
}

void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint32_t who) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nullptr, nullptr,
          who);
}

void futexWake(std::atomic<uint32_t> &word, uint32_t who) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, who);
}

void Events::happen() {
  // Publishes first and looks for sleepers then; who sleeps announces itself
  // first and looks then: one of both sees the other.
  count.fetch_add(1);
  if (sleepers.load())
    futexWake(count, FUTEX_BITSET_MATCH_ANY);
}

void Events::wait(uint32_t seen) {
  if (spinUntil([&] { return count.load(std::memory_order_acquire) != seen; }))
    return;
  sleepers.fetch_add(1);
  while (count.load() == seen)
    futexWait(count, seen, FUTEX_BITSET_MATCH_ANY);
  sleepers.fetch_sub(1);
}

} // namespace nnv12::runtime
