//===- Exact.h - Floats that fewer bits hold exactly ------------*- C++ -*-===//
//
// Pure: knows nothing of MLIR. "Exactly" is bit for bit, by the arithmetic that
// kernels do, and whether the processor flushes denormals or not: a float of
// which a kernel could make another one is refused.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_WEIGHTS_EXACT_H
#define NNV12_COMPILER_WEIGHTS_EXACT_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace nnv12 {

/// The s for which each of `count` values is float(q) * s in f32, q an int8:
/// the weights of one channel of a model that was quantized once. All zeros
/// have any s. None where a value is not so, is minus zero, not finite or a
/// denormal, or where s would be a denormal. Where values differ from a
/// multiple, that is found out after a few of them.
std::optional<float> exactScale(const float *values, size_t count);

/// The q of a value that exactScale() has found `scale` for.
int8_t quantized(float value, float scale);

/// The s for which each of `count` values is double(h) * s, rounded to f32, h a
/// half: weights of halves whose channel was scaled once. All zeros have any s.
/// None where a value is not so, is not finite or a denormal. Among several the
/// one is taken whose largest half is nearest to one.
std::optional<double> exactHalfScale(const float *values, size_t count);

/// The h of a value that exactHalfScale() has found `scale` for.
uint16_t scaledHalf(float value, double scale);

/// The half that is `value`; none where no half is, or it is not finite.
std::optional<uint16_t> exactHalf(float value);

constexpr float largestHalf = 65504;

/// The half that is nearest, even ones in the middle; infinity beyond the
/// largest.
uint16_t nearestHalf(float value);
/// The same half as a float, of a value that is not beyond the largest.
float nearestHalfAsFloat(float value);
/// Whether halves hold the values about as well as their format can: none is
/// beyond the largest half or not finite, and those below the smallest normal
/// half, which devices may take for zero, are less than 2^-11 of all (as roots
/// of sums of squares).
bool fitHalves(const float *values, size_t count);

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_EXACT_H
