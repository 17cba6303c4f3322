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

CpuMask CpuMask::others() const {
  CpuMask result = *this;
  int current = sched_getcpu();
  result.known = known && current >= 0 && CPU_COUNT(&set) > 1;
  if (result.known)
    CPU_CLR(static_cast<unsigned>(current), &result.set);
  return result;
}

ThreadStarter::ThreadStarter() {
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
}

#ifdef NNV12_TEST_HOOKS
/// Tests make the system refuse threads: see test/unit/LanesTest.cpp.
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
