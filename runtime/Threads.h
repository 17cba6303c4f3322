//===- Threads.h - Starting, waiting and waking -----------------*- C++ -*-===//
//
// What Workers and Lanes share: threads that an application does not notice,
// and waits that spin for a bounded time and then sleep in a futex.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_THREADS_H
#define NNV12_RUNTIME_THREADS_H

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <pthread.h>
#include <sched.h>

namespace nnv12::runtime {

/// CPUs that a thread may use.
class CpuMask {
public:
  /// Those of the calling thread.
  void get() { known = sched_getaffinity(0, sizeof set, &set) == 0; }
  /// The calling thread may use these, and no others.
  void apply() const {
    if (known)
      sched_setaffinity(0, sizeof set, &set);
  }
  /// All but the one on which the caller runs; nothing if it is the only one.
  CpuMask others() const;
  bool isKnown() const { return known; }
  const cpu_set_t &cpus() const { return set; }

private:
  cpu_set_t set;
  bool known = false;
};

/// Starts threads with all signals blocked and small stacks. The application's
/// signals are none of our threads' business. They begin on other CPUs than the
/// caller's, where the system lets us say so: on the same one, one of the two
/// would wait for the other's time slice, some milliseconds of a cold start.
class ThreadStarter {
public:
  /// Short, for threads that mostly wait: such a thread gets a CPU as soon as
  /// what it waits for has happened, even if others compute on all of them. It
  /// asks for its share of time in smaller pieces, not for more of it. Linux
  /// heeds that from 6.12 on; before, and elsewhere, slices are as long as the
  /// system makes them.
  enum class Slices { Default, Short };

  explicit ThreadStarter(Slices slices = Slices::Default);
  ~ThreadStarter();
  ThreadStarter(const ThreadStarter &) = delete;
  ThreadStarter &operator=(const ThreadStarter &) = delete;

  /// 0, or the error of pthread_create.
  int start(pthread_t &thread, void *(*function)(void *), void *argument);

  /// What the caller may use: for threads that shall have all of it.
  const CpuMask &callersCpus() const { return allowed; }

private:
  CpuMask allowed;
  pthread_attr_t attributes;
  sigset_t before;
  /// Of the caller, whose slice threads inherit: from the first moment on,
  /// since one that asks for itself has to get a CPU before. 0 where nothing is
  /// changed.
  uint64_t callersSlice = 0;
};

/// `who` is a set of bits: a wake-up reaches those who wait with one of its
/// bits.
void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint32_t who);
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

/// How long to spin before sleeping. A wake-up costs some 5 to 50 us; layers
/// that one thread computes alone are mostly shorter than this.
constexpr uint64_t spinNanoseconds = 40000;

/// Spins until `done()` or until the time is over; returns what done() said.
template <typename Done> bool spinUntil(Done done) {
  uint64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pauseCpu();
    }
    uint64_t time = now();
    if (deadline == 0)
      deadline = time + spinNanoseconds;
    else if (time >= deadline)
      return false;
  }
}

/// A count of events that threads may wait for. Who waits reads the count
/// first, looks whether there is something to do or whether all is over, and
/// then waits for another count: no event gets lost between.
class Events {
public:
  uint32_t seen() const { return count.load(std::memory_order_acquire); }
  void happen();
  /// Returns when the count is not `seen` any more.
  void wait(uint32_t seen);

private:
  alignas(64) std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_THREADS_H
