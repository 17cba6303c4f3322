//===- Histogram.h - How often a tensor has which values --------*- C++ -*-===//
//
// Streamed: memory is the same for any number of values, and the result does
// not depend on how they come in parts.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CALIBRATE_HISTOGRAM_H
#define NNV12_COMPILER_CALIBRATE_HISTOGRAM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::calibrate {

/// Counts of finite values in bins of equal width around 0. The width doubles
/// whenever a value is outside.
class Histogram {
public:
  Histogram() = default;
  /// One that has these counts in bins from `first` on.
  Histogram(double limit, size_t first, const std::vector<uint64_t> &counts,
            float least, float most);

  /// Values from -limit() to limit(), half of the bins on each side.
  static constexpr size_t bins = 2048;

  void add(const float *values, size_t count);

  /// The finite values so far, with their exact bounds; 0 where there is none.
  uint64_t count() const { return count_; }
  float least() const { return least_; }
  float most() const { return most_; }
  /// Infinities and NaN so far.
  uint64_t notFinite() const { return notFinite_; }

  double limit() const { return limit_; }
  double width() const { return 2 * limit_ / bins; }
  /// Where bin `i` begins.
  double begin(size_t i) const { return double(i) * width() - limit_; }
  const std::vector<uint64_t> &counts() const { return counts_; }

private:
  void widen();

  std::vector<uint64_t> counts_ = std::vector<uint64_t>(bins, 0);
  double limit_ = 0x1p-126;
  uint64_t count_ = 0, notFinite_ = 0;
  float least_ = 0, most_ = 0;
};

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_HISTOGRAM_H
