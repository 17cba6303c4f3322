//===- Threads.cpp - Starting, waiting and waking -------------------------===//
#include "runtime/system/Threads.h"

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

/// Sets the calling thread's time slice, nanoseconds, and returns the old one;
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

ThreadStarter::ThreadStarter(Slices slices, size_t stack) {
  if (slices == Slices::Short)
    callersSlice_ = exchangeSlice(shortSlice);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
  pthread_attr_init(&attributes_);
  pthread_attr_setstacksize(&attributes_, stack ? stack : stackSize);
}

ThreadStarter::~ThreadStarter() {
  pthread_attr_destroy(&attributes_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (callersSlice_)
    exchangeSlice(callersSlice_);
}

#ifdef NNV12_TEST_HOOKS
/// Tests make the system refuse all threads but so many: see
/// test/unit/runtime/RefusedThreadsTest.cpp.
std::atomic<uint32_t> threadsGranted{~0u};

static bool isRefused() {
  uint32_t left = threadsGranted.load();
  while (left && left != ~0u &&
         !threadsGranted.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}
#else
static constexpr bool isRefused() { return false; }
#endif

int ThreadStarter::start(pthread_t &thread, void *(*function)(void *),
                         void *argument, const CpuMask &place) {
  if (isRefused())
    return EAGAIN;
#ifdef __GLIBC__
  // Elsewhere there is no such attribute, and a thread begins anywhere.
  if (place.isKnown()) {
    pthread_attr_setaffinity_np(&attributes_, sizeof(cpu_set_t), &place.cpus());
    int error = pthread_create(&thread, &attributes_, function, argument);
    pthread_attr_setaffinity_np(&attributes_, 0, &place.cpus()); // none
    if (error == 0)
      return 0;
    // Without, if it is the place that the system refuses.
  }
#else
  (void)place;
#endif
  return pthread_create(&thread, &attributes_, function, argument);
}

void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint32_t who,
               const timespec *deadline) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline, nullptr,
          who);
}

void futexWake(std::atomic<uint32_t> &word, uint32_t who) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, who);
}

void Events::happen(Kind kind) {
  // This thread publishes first and looks for sleepers then; a sleeper
  // announces itself first and looks then: one of both sees the other.
  count_.fetch_add(1);
  if (sleepers_[kind == Preparation].load())
    futexWake(count_, kind);
}

void Events::wakeAll() {
  count_.fetch_add(1);
  futexWake(count_, Operation | Preparation);
}

bool Events::spin(uint32_t seen) const {
  return spinUntil(
      [&] { return count_.load(std::memory_order_acquire) != seen; });
}

void Events::sleep(uint32_t seen, uint32_t kinds, uint64_t deadline) {
  timespec time = {static_cast<time_t>(deadline / 1000000000),
                   static_cast<long>(deadline % 1000000000)};
  for (uint32_t i = 0; i < 2; ++i)
    sleepers_[i].fetch_add(kinds >> i & 1);
  if (count_.load() == seen)
    futexWait(count_, seen, kinds, deadline == never ? nullptr : &time);
  for (uint32_t i = 0; i < 2; ++i)
    sleepers_[i].fetch_sub(kinds >> i & 1);
}

} // namespace nnv12::runtime
