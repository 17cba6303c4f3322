//===- WordBits.h - Bits of words -------------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_VIDEO_WORDBITS_H
#define NNV12_RUNTIME_VIDEO_WORDBITS_H

#include <cassert>
#include <cstdint>

namespace nnv12::runtime {

/// A vector of the baseline of every processor.
typedef uint64_t TwoWords __attribute__((vector_size(16)));

/// A word whose lowest `count` bits are set: 1 to 64.
inline uint64_t lowBits(uint64_t count) {
  assert(count >= 1 && count <= 64);
  return ~uint64_t(0) >> (64 - count);
}

/// The number of bits that are set. Processors that the runtime is built for
/// may have no instruction for it.
inline uint32_t countBits(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<uint32_t>(word * 0x0101010101010101 >> 56);
}

/// The bits from the lowest that is set to the highest. There is one.
inline uint64_t spanOf(uint64_t word) {
  assert(word);
  return (~uint64_t(0) >> __builtin_clzll(word)) & -(word & -word);
}

/// The runs of bits of a word that are set.
class Runs {
public:
  explicit Runs(uint64_t bits) : bits_(bits) {}

  /// Goes on to the next one, which is `count` bits from bit `first` on. False
  /// where there is none.
  bool next() {
    if (bits_ == 0)
      return false;
    first = static_cast<uint32_t>(__builtin_ctzll(bits_));
    // The lowest run becomes zeros; where it has the highest bit, all do.
    uint64_t behind = bits_ + (uint64_t(1) << first);
    uint32_t end = behind ? static_cast<uint32_t>(__builtin_ctzll(behind)) : 64;
    count = end - first;
    bits_ &= behind;
    return true;
  }

  uint32_t first = 0, count = 0;

private:
  uint64_t bits_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_WORDBITS_H
