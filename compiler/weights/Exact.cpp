//===- Exact.cpp - Floats that fewer bits hold exactly --------------------===//

#include "compiler/weights/Exact.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

static uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Zero, or a number that no mode of the processor flushes. A product with a
/// positive scale is never minus zero.
static bool isProduct(float x) { return bitsOf(x) == 0 || std::isnormal(x); }

/// Whether a kernel makes `value` of an int8 and `scale`, and of which.
static bool isMultiple(float value, float scale, int &q) {
  q = int(std::nearbyint(value / scale));
  return q >= -128 && q <= 127 && bitsOf(float(q) * scale) == bitsOf(value);
}

std::optional<float> nnv12::exactScale(const float *values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!isProduct(values[i]))
      return std::nullopt;
    largest = std::max(largest, std::fabs(values[i]));
  }
  if (largest == 0)
    return 1.0f;
  auto isScale = [&](float scale) {
    int q;
    return std::isnormal(scale) &&
           std::all_of(values, values + count,
                       [&](float x) { return isMultiple(x, scale, q); });
  };
  // The largest value is k times the scale, rounded. So is the quotient: it
  // has a relative error of 2^-23 at most, which is two steps from float to
  // float.
  for (int k = 128; k > 0; --k) {
    uint32_t guess = bitsOf(largest / float(k));
    for (int step : {0, 1, -1, 2, -2}) {
      float scale = floatOf(guess + step);
      if (float(k) * scale == largest && isScale(scale))
        return scale;
    }
  }
  return std::nullopt;
}

int8_t nnv12::quantized(float value, float scale) {
  int q;
  [[maybe_unused]] bool exact = isMultiple(value, scale, q);
  assert(exact && "the scale is that of the value's channel");
  return int8_t(q);
}

/// The bits of the least float that is nearer to infinity than to any half, and
/// of the least normal half.
static constexpr uint32_t beyond = 0x477ff000, smallest = 0x38800000;

std::optional<uint16_t> nnv12::exactHalf(float value) {
  uint32_t bits = bitsOf(value) & 0x7fffffff;
  float magnitude = floatOf(bits), half = 0.5f;
  if (bits != 0 && !std::isnormal(value))
    return std::nullopt;
  // The sum's last bit is that of the smallest half.
  bool isExact = bits < smallest ? (magnitude + half) - half == magnitude
                                 : bits < beyond && (bits & 0x1fff) == 0;
  return isExact ? std::optional(nearestHalf(value)) : std::nullopt;
}

uint16_t nnv12::nearestHalf(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00; // NaN
  if (bits >= beyond)
    return sign | 0x7c00;
  if (bits < smallest) {
    // The sum's last bit is that of the smallest half: it rounds as wanted.
    float half = 0.5f;
    return sign | (bitsOf(floatOf(bits) + half) - bitsOf(half));
  }
  uint32_t isOdd = bits >> 13 & 1;
  return sign | ((bits - (112u << 23) + 0xfff + isOdd) >> 13);
}

float nnv12::nearestHalfAsFloat(float value) {
  assert(std::fabs(value) <= largestHalf && "halves reach so far");
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffff;
  float half = 0.5f;
  if (magnitude < smallest)
    return std::copysign((floatOf(magnitude) + half) - half, value);
  uint32_t isOdd = bits >> 13 & 1;
  return floatOf((bits + 0xfff + isOdd) & ~0x1fffu);
}

bool nnv12::fitHalves(const float *values, size_t count) {
  constexpr float smallest = 1.0f / 16384;
  constexpr double precision = 1.0 / 2048;
  double all = 0, small = 0;
  for (size_t i = 0; i < count; ++i) {
    float magnitude = std::fabs(values[i]);
    if (!(magnitude <= largestHalf))
      return false;
    double square = double(magnitude) * magnitude;
    all += square;
    if (magnitude < smallest)
      small += square;
  }
  return small <= precision * precision * all;
}

//===----------------------------------------------------------------------===//
// Halves times a scale
//===----------------------------------------------------------------------===//

/// The nearest half of a number from zero to the largest one. Both sums round:
/// one to eleven digits, one to the last digit of the smallest half.
static double roundedToHalf(double x) {
  constexpr double digits = double(1ull << 42) + 1, last = 1 << 28;
  if (x < 1.0 / 16384)
    return (x + last) - last;
  double product = x * digits;
  return product - (product - x);
}

static bool isScaledHalf(float value, double scale) {
  double half = roundedToHalf(std::fabs(value) / scale);
  return half <= nnv12::largestHalf && float(half * scale) == std::fabs(value);
}

/// The scale, if the largest value is `half` times it. Each value bounds it: a
/// product between the middles to the two floats beside it becomes the value.
static std::optional<double> halfScale(const float *values, size_t count,
                                       float largest, double half) {
  double least = 0, most = std::numeric_limits<double>::infinity();
  auto bound = [&](float value, double half) {
    double below = floatOf(bitsOf(value) - 1),
           above = floatOf(bitsOf(value) + 1);
    least = std::max(least, (below + value) / 2 / half);
    most = std::min(most, (value + above) / 2 / half);
  };
  bound(largest, half);
  for (size_t i = 0; i < count && least <= most; ++i) {
    float value = std::fabs(values[i]);
    if (value == 0)
      continue;
    half = roundedToHalf(value / ((least + most) / 2));
    if (half == 0)
      return std::nullopt;
    bound(value, half);
  }
  double scale = (least + most) / 2;
  if (!(least <= most) || !std::all_of(values, values + count, [&](float x) {
        return isScaledHalf(x, scale);
      }))
    return std::nullopt;
  return scale;
}

/// The scale times a power of two for which the largest half is nearest to one
/// and none loses a bit, so that sums of products of halves stay in f32.
static double scaleOfSmallHalves(const float *values, size_t count,
                                 double scale) {
  auto fits = [&](double larger) {
    return std::all_of(values, values + count,
                       [&](float x) { return isScaledHalf(x, larger); });
  };
  float largest = 0;
  for (size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::fabs(values[i]));
  while (largest / scale >= 2 && fits(scale * 2))
    scale *= 2;
  return scale;
}

std::optional<double> nnv12::exactHalfScale(const float *values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values[i] != 0 && !std::isnormal(values[i]))
      return std::nullopt;
    largest = std::max(largest, std::fabs(values[i]));
  }
  if (largest == 0)
    return 1.0;
  float other = 0;
  for (size_t i = 0; i < count; ++i)
    if (float value = std::fabs(values[i]); value != largest)
      other = std::max(other, value);
  // The more digits the halves have, the more numbers are among them: the
  // largest is one of those just below the end. Few of them fit a second value.
  constexpr double tolerance = 1.0 / (1 << 22);
  double ratio = double(other) / largest;
  for (double half = 32768; half <= nnv12::largestHalf; half += 32) {
    double quotient = ratio * half;
    if (std::fabs(roundedToHalf(quotient) - quotient) > quotient * tolerance)
      continue;
    if (auto scale = halfScale(values, count, largest, half))
      return scaleOfSmallHalves(values, count, *scale);
  }
  return std::nullopt;
}

uint16_t nnv12::scaledHalf(float value, double scale) {
  assert(isScaledHalf(value, scale) && "the scale is that of the channel");
  double half = roundedToHalf(std::fabs(value) / scale);
  return nearestHalf(std::copysign(float(half), value));
}
