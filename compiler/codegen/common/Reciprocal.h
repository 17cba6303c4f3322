//===- Reciprocal.h - Quantizing without a division -------------*- C++ -*-===//
//
// QuantizeLinear rounds x / scale, a quotient that is rounded to f32 before. A
// division takes as long as ten products. With a constant scale
//
//   fma(x, high, x * low)    where high + low = 1 / scale in 48 bits
//
// is within one unit in the last place of the quotient, so both round to the
// same integer, except perhaps near the middle between two integers. The
// numbers near each middle are tried when the kernel is made.
//
// Knows no MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_RECIPROCAL_H
#define NNV12_COMPILER_CODEGEN_COMMON_RECIPROCAL_H

#include <cmath>
#include <optional>

namespace nnv12::codegen {

/// The inverse of a scale, for integers from `least` to `most`.
struct Reciprocal {
  float high = 0, low = 0;
  /// x is clamped to these before the product. Their quotients are the outmost
  /// integers, so that nothing is left to saturate, and no product is infinite.
  float smallest = 0, largest = 0;

  /// Kernels compute this quotient of a clamped x.
  float quotient(float x) const { return std::fma(x, high, x * low); }
  /// The integer of any x that is a number.
  float rounded(float x) const {
    x = std::fmin(std::fmax(x, smallest), largest);
    return std::nearbyint(quotient(x));
  }
};

/// None where a number is rounded in another way than its quotient, or where
/// the scale is so large or small (beyond 2^60) that products may be
/// denormal. `least` and `most` are within 17 bits, and least <= 0 <= most.
std::optional<Reciprocal> reciprocalOf(float scale, int least, int most);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_RECIPROCAL_H
