//===- TickClock.cpp - Times that cost some nanoseconds -------------------===//
#include "runtime/recorder/TickClock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
uint64_t (*fakeTicks)() = nullptr;
#endif

Clock::Source Clock::best() {
#if defined(__x86_64__)
  // "Invariant TSC": the same rate in all states of power and on all CPUs.
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx >> 8 & 1))
    return Tsc;
  return Monotonic;
#elif defined(__aarch64__)
  return Cntvct;
#else
  return Monotonic;
#endif
}

ClockPair Clock::pair() const {
  ClockPair best = {};
  uint64_t least = ~uint64_t(0);
  for (int i = 0; i < 5; ++i) {
    uint64_t before = ticks(), ns = now(), took = ticks() - before;
    if (took < least) {
      least = took;
      best = {before + took / 2, ns};
    }
  }
  return best;
}

/// The error of reading two clocks one after the other.
static constexpr double pairErrorNs = 200;

bool keepsTime(ClockPair first, ClockPair second, ClockPair third) {
  if (second.ns <= first.ns || third.ns <= second.ns)
    return true;
  if (second.ticks <= first.ticks || third.ticks <= second.ticks)
    return false;
  double ticks = double(second.ticks - first.ticks),
         ns = double(second.ns - first.ns),
         nextTicks = double(third.ticks - second.ticks),
         nextNs = double(third.ns - second.ns);
  double expected = nextTicks * ns / ticks, difference = expected - nextNs,
         // The first stretch's error is as much larger in the second as that
         // is longer.
      allowed = 1e-4 * nextNs + 2 * pairErrorNs * (1 + nextNs / ns);
  return difference <= allowed && -difference <= allowed;
}

} // namespace nnv12::runtime
