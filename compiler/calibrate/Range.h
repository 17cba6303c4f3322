//===- Range.h - Which values 8 bits shall stand for ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_RANGE_H
#define NNV12_COMPILER_CALIBRATE_RANGE_H

#include "compiler/calibrate/Histogram.h"

#include <optional>
#include <string>

namespace nnv12::calibrate {

/// Values from `least` to `most` are kept; others become the nearer bound.
struct Range {
  double least = 0, most = 0;
};

/// An integer q from 0 to 255 stands for (q - zero) * scale.
struct Grid {
  float scale = 1;
  uint8_t zero = 0;

  bool operator==(const Grid &other) const {
    return scale == other.scale && zero == other.zero;
  }
};

/// How a range is found from values of a calibration.
struct RangeMethod {
  enum class Kind {
    MinMax,      ///< all values
    Percentile,  ///< `percent` of them; the rest is shared by both ends
    Entropy,     ///< the least divergence of Kullback and Leibler
    SquaredError ///< the least squared error
  };
  Kind kind = Kind::MinMax;
  double percent = 99.99;

  /// "min-max", "percentile", "percentile:99.9", "entropy", "mse". Nothing for
  /// another text.
  static std::optional<RangeMethod> parse(const std::string &text);
  static constexpr char expected[] =
      "min-max, percentile, percentile:P with P above 50 and at most 100, "
      "entropy, or mse";
};

/// The range of these values. It contains 0, which is always kept exactly.
/// Without values it is 0.
Range rangeOf(const Histogram &values, const RangeMethod &method);

/// The grid of a range.
Grid gridOf(const Range &range);

/// The nearest value of the grid, ties to the even integer.
float rounded(float x, const Grid &grid);

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_RANGE_H
