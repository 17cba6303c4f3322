//===- RandomLayer.h - Small layers of every kind ---------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_RANDOMLAYER_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_RANDOMLAYER_H

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace nnv12::test {

/// The same numbers for the same seed, whatever the library.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % n); }
  /// In [lo, hi].
  int64_t from(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  /// True once in `n` times.
  bool oneOf(int64_t n) { return below(n) == 0; }
  /// In [-2, 2).
  float real() { return static_cast<float>(below(1 << 16)) / (1 << 14) - 2; }

private:
  std::mt19937_64 engine;
};

/// A layer with operands of f32 and integers, to be written as nn IR.
struct RandomLayer {
  std::string text; ///< func.func @main around the layer
  /// By operand: the range of its integers, bounds included.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  /// Whether all elements of the smallest box that a part of the result needs
  /// show in it.
  bool isExact = false;
};

/// The layers of the dialect that compute something, by name.
std::vector<std::string> layerKinds();
/// A layer of that kind with random shapes and attributes.
RandomLayer randomLayer(const std::string &kind, Random &random);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_RANDOMLAYER_H
