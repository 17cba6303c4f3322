//===- Threads.h - Starting, waiting and waking -----------------*- C++ -*-===//
//
// Threads that an application does not notice, and waits that spin for a
// bounded time and then sleep in a futex.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_SYSTEM_THREADS_H
#define NNV12_RUNTIME_SYSTEM_THREADS_H

#include "artifact/NonCopyable.h"
#include "runtime/system/Cpus.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <pthread.h>

namespace nnv12::runtime {

/// Starts threads with all signals blocked and small stacks. The application's
/// signals are none of our threads' business.
class ThreadStarter : artifact::NonCopyable {
public:
  /// Short slices are for threads that mostly wait: such a thread gets a CPU as
  /// soon as its event has happened, even if others compute on all of them. It
  /// asks for its share of time in smaller pieces, not for more of it. Linux
  /// heeds that from 6.12 on; before, and elsewhere, slices are as long as the
  /// system makes them.
  enum class Slices { Default, Short };

  /// `stack` is in bytes; 0: as much as our own code needs.
  explicit ThreadStarter(Slices slices = Slices::Default, size_t stack = 0);
  ~ThreadStarter();

  /// 0, or the error of pthread_create. The thread begins on CPUs of `place`,
  /// where the system lets us say so.
  int start(pthread_t &thread, void *(*function)(void *), void *argument,
            const CpuMask &place);

private:
  pthread_attr_t attributes_;
  sigset_t before_;
  /// The caller's slice. Threads inherit it from their first moment on; a
  /// thread that asked for itself would have to get a CPU before. 0 where
  /// nothing is changed.
  uint64_t callersSlice_ = 0;
};

/// Holds the mutex until the end of the scope. Nobody waits for a lock of ours
/// on a caller's thread for longer than one call of the driver takes that hands
/// over work.
class Lock : artifact::NonCopyable {
public:
  explicit Lock(pthread_mutex_t &mutex) : mutex_(mutex) {
    pthread_mutex_lock(&mutex);
  }
  ~Lock() { pthread_mutex_unlock(&mutex_); }

private:
  pthread_mutex_t &mutex_;
};

/// `who` is a set of bits: a wake-up reaches those who wait with one of its
/// bits. `deadline` is a time of CLOCK_MONOTONIC.
void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint32_t who,
               const timespec *deadline = nullptr);
void futexWake(std::atomic<uint32_t> &word, uint32_t who);

inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("isb" ::: "memory");
#endif
}

/// Nanoseconds of CLOCK_MONOTONIC.
inline uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

/// A deadline that is none.
constexpr uint64_t never = ~uint64_t(0);

/// Whether a time of now() is over.
inline bool isOver(uint64_t deadline) {
  return deadline != never && now() >= deadline;
}

/// How long to spin before sleeping. A wake-up costs some 5 to 50 us; layers
/// that one thread computes alone are mostly shorter than this.
constexpr uint64_t spinNanoseconds = 40000;

/// Spins until `done()` is true or the time is over; returns the last result of
/// done().
template <typename Done>
bool spinUntil(Done done, uint64_t nanoseconds = spinNanoseconds) {
  uint64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pauseCpu();
    }
    uint64_t time = now();
    if (deadline == 0)
      deadline = time + nanoseconds;
    else if (time >= deadline)
      return false;
  }
}

/// A count of a session's events. A waiting thread reads the count first, looks
/// whether there is something to do or whether all is over, and then waits for
/// another count: no event gets lost between.
class Events {
public:
  /// The kinds of event: an operation that threads may join, or a preparation
  /// that has finished or failed. A bit each, for threads that sleep until one
  /// of them happens.
  enum Kind : uint32_t { Operation = 1, Preparation = 2 };

  uint32_t seen() const { return count_.load(std::memory_order_acquire); }
  void happen(Kind kind);
  /// Wakes all, for an end.
  void wakeAll();
  /// Looks for a while; whether the count is not `seen` any more.
  bool spin(uint32_t seen) const;
  /// Returns when the count is not `seen` any more, or at a time of now().
  /// Sleeps through events that are of none of the `kinds`.
  void sleep(uint32_t seen, uint32_t kinds, uint64_t deadline = never);

private:
  alignas(64) std::atomic<uint32_t> count_{0};
  /// The threads that sleep until an operation; until a preparation.
  std::atomic<uint32_t> sleepers_[2] = {{0}, {0}};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_SYSTEM_THREADS_H
