//===- Rounding.h - Floats that fewer bits hold nearly ----------*- C++ -*-===//
//
// Pure: knows nothing of MLIR. The floats that are found here fewer bits hold
// exactly (Exact.h).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_WEIGHTS_ROUNDING_H
#define NNV12_COMPILER_WEIGHTS_ROUNDING_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace nnv12 {

/// In how many bits the weights of products are stored.
enum class WeightBits : uint8_t {
  F32, ///< as they are
  F16, ///< the nearest halves
  Q8,  ///< the nearest multiples of a scale of the channel
  Auto ///< the fewest of these whose error is small
};

/// The scale of a channel whose multiples by integers from -127 to 127 are near
/// to the values: of some that are tried, the one with the least sum of squared
/// differences. The largest value may be beyond the multiples. None where a
/// value is not finite, or the scale would be a denormal.
std::optional<float> nearScale(const float *values, size_t count);

/// A number that a format has, and its neighbour on the other side of a value;
/// the same number where it is exact or there is no neighbour.
struct Neighbours {
  float near, other;
};
/// The multiples by integers from -127 to 127.
Neighbours multiplesAround(float value, float scale);
/// The halves, of a value that is not beyond the largest.
Neighbours halvesAround(float value);

/// Rounds `count` values to their nearest numbers, but some to the others, so
/// that the sum stays that of the values as nearly as it can. Takes those that
/// add the least squared error. An input's mean is worth as much of an output
/// as the sum of the weights is: nearest numbers alone would shift it.
void roundKeepingSum(const float *values, const Neighbours *numbers,
                     float *rounded, size_t count);

/// The multiple by an integer from -127 to 127 that is nearest to a value.
float nearestMultiple(float value, float scale);

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_ROUNDING_H
