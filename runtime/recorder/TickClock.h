//===- TickClock.h - Times that cost some nanoseconds -----------*- C++ -*-===//
//
// Ticks of the CPUs' own counter where that is the same on all CPUs and never
// stops: the time stamp counter of x86-64 where cpuid says so, CNTVCT_EL0 of
// aarch64 always. Elsewhere, and where the counter turns out not to keep time,
// nanoseconds of CLOCK_MONOTONIC.
//
// Pairs of both times give the length of a tick. They are taken at the
// beginning, after some runs, and at the end.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_RECORDER_TICKCLOCK_H
#define NNV12_RUNTIME_RECORDER_TICKCLOCK_H

#include "runtime/system/Threads.h"

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace nnv12::runtime {

/// The same moment on both clocks.
struct ClockPair {
  uint64_t ticks;
  uint64_t ns; ///< CLOCK_MONOTONIC
};

#ifdef NNV12_TEST_HOOKS
/// Tests put a counter of their own in the place of the CPU's.
extern uint64_t (*fakeTicks)();
#endif

class Clock {
public:
  /// Kept in recordings: numbers never change.
  enum Source : uint32_t { Monotonic = 0, Tsc = 1, Cntvct = 2 };

  /// The best source that this CPU has.
  static Source best();

  explicit Clock(Source source = Monotonic) : current_(source) {}

  Source source() const { return current_.load(std::memory_order_relaxed); }
  /// Changes the source for all threads, which see it soon.
  void change(Source source) {
    current_.store(source, std::memory_order_relaxed);
  }

  uint64_t ticks() const {
#ifdef NNV12_TEST_HOOKS
    if (fakeTicks && source() != Monotonic)
      return fakeTicks();
#endif
#if defined(__x86_64__)
    if (source() == Tsc)
      return __rdtsc();
#elif defined(__aarch64__)
    if (source() == Cntvct) {
      uint64_t value;
      __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
      return value;
    }
#endif
    return now();
  }

  /// The tightest of some tries: a thread may lose its CPU between the two.
  ClockPair pair() const;

private:
  std::atomic<Source> current_;
};

/// Whether two stretches of time, each between two pairs, have the same number
/// of ticks a nanosecond: within 100 parts of a million, and the error of
/// reading two clocks. True of stretches too short to tell.
bool keepsTime(ClockPair first, ClockPair second, ClockPair third);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_TICKCLOCK_H
