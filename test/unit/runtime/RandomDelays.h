//===- RandomDelays.h - Threads that lose their CPU now and then -*- C++
//-*-===//
#ifndef NNV12_TEST_UNIT_RUNTIME_RANDOMDELAYS_H
#define NNV12_TEST_UNIT_RUNTIME_RANDOMDELAYS_H

#include <atomic>
#include <cstdint>
#include <sched.h>
#include <unistd.h>

namespace nnv12::test {

/// Sleeps now and then, for times between nothing and longer than threads spin:
/// in one call of `rarity`. In one of four it gives the CPU away.
template <unsigned rarity = 4> void delayAtRandom() {
  static std::atomic<uint32_t> calls{0};
  uint32_t z = calls.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
  z = (z ^ z >> 16) * 0x21f0aaadu;
  z ^= z >> 15;
  if (z % rarity == 0)
    usleep(z % 128);
  else if (z % 4 == 1)
    sched_yield();
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_RUNTIME_RANDOMDELAYS_H
