//===- Choices.h - Decisions taken from a fuzzer's bytes --------*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_CHOICES_H
#define NNV12_TEST_FUZZ_CHOICES_H

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace nnv12::test {

/// Reads decisions from bytes, so that similar bytes give similar decisions.
/// When the bytes are used up every further one is the smallest.
class Choices {
public:
  Choices(const uint8_t *data, size_t size) : data(data), left(size) {}

  /// 0 to n - 1.
  uint64_t below(uint64_t n) {
    uint64_t value = 0;
    for (uint64_t most = n - 1; most; most >>= 8)
      value = value << 8 | byte();
    return n ? value % n : 0;
  }
  uint64_t from(uint64_t least, uint64_t most) {
    return least + below(most - least + 1);
  }
  /// False when the bytes are used up.
  bool oneIn(unsigned n) { return below(n) == n - 1; }
  /// One that programs get wrong: next to a power of two, or a limit of ours.
  uint64_t number() {
    uint64_t power = uint64_t(1) << below(64);
    switch (below(4)) {
    case 0:
      return power + below(3) - 1;
    case 1:
      return ~power + below(3);
    case 2:
      return below(256);
    default:
      return below(uint64_t(1) << 32);
    }
  }
  template <typename List> auto &of(List &list) {
    return list[below(std::size(list))];
  }

private:
  uint8_t byte() {
    if (left == 0)
      return 0;
    --left;
    return *data++;
  }

  const uint8_t *data;
  size_t left;
};

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_CHOICES_H
