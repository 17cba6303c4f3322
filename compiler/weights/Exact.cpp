//===- Exact.cpp - Floats that fewer bits hold exactly --------------------===//

#include "compiler/weights/Exact.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

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
