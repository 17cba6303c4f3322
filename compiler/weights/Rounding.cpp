//===- Rounding.cpp - Floats that fewer bits hold nearly ------------------===//

#include "compiler/weights/Rounding.h"

#include "compiler/weights/Exact.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

using namespace nnv12;

static constexpr float largestInteger = 127;

/// The integer of nearestMultiple(). The sum's last bit is that of one, so it
/// rounds, even integers in the middle.
static float nearestInteger(float quotient) {
  constexpr float one = 3 << 22;
  return (std::clamp(quotient, -largestInteger, largestInteger) + one) - one;
}

/// Never minus zero.
static float multiple(float integer, float scale) {
  return float(int(integer)) * scale;
}

float nnv12::nearestMultiple(float value, float scale) {
  return multiple(nearestInteger(value / scale), scale);
}

Neighbours nnv12::multiplesAround(float value, float scale) {
  float q = nearestInteger(value / scale), near = multiple(q, scale);
  float other = q + (near < value ? 1.0f : -1.0f);
  if (near == value || std::fabs(other) > largestInteger)
    return {near, near};
  return {near, multiple(other, scale)};
}

Neighbours nnv12::halvesAround(float value) {
  constexpr float leastNormal = 1.0f / (1 << 14), leastStep = 1.0f / (1 << 24);
  float near = nearestHalfAsFloat(value), magnitude = std::fabs(near);
  if (near == value)
    return {near, near};
  bool isFarther = magnitude < std::fabs(value);
  // Its exponent, less the ten bits of a half. Halves below a power of two lie
  // closer together.
  uint32_t bits;
  std::memcpy(&bits, &magnitude, sizeof bits);
  bool isPower = (bits & 0x7fffff) == 0;
  bits = (bits & 0x7f800000) - ((10 + uint32_t(isPower && !isFarther)) << 23);
  float step = leastStep;
  if (magnitude >= leastNormal)
    std::memcpy(&step, &bits, sizeof bits);
  step = std::max(step, leastStep);
  float other = magnitude + (isFarther ? step : -step);
  return {near, other > largestHalf ? near : std::copysign(other, value)};
}

namespace {
/// A number that the one on the other side of its value can stand for.
struct Change {
  double price; ///< squared error that it adds, for each part of the sum
  size_t index;

  bool operator<(const Change &o) const {
    return std::pair(price, index) < std::pair(o.price, o.index);
  }
};
} // namespace

void nnv12::roundKeepingSum(const float *values, const Neighbours *numbers,
                            float *rounded, size_t count) {
  double sum = 0; // of the differences
  for (size_t i = 0; i < count; ++i) {
    rounded[i] = numbers[i].near;
    sum += double(numbers[i].near) - values[i];
  }
  auto size = [&](size_t i) {
    return double(numbers[i].other) - numbers[i].near;
  };
  std::vector<Change> useful;
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(size(i) * sum < 0))
      continue;
    double magnitude = std::fabs(size(i));
    useful.push_back(
        {magnitude - 2 * std::fabs(double(numbers[i].near) - values[i]), i});
    least = std::min(least, magnitude);
    all += magnitude;
  }
  // Less is no error beside a single rounding, nor can any change make it less.
  double enough = std::max(least / 2, all / double(useful.size()) / 32);
  // Few of many are needed, so not all are sorted at once.
  size_t some = 32 + count / 64;
  for (size_t begin = 0; begin < useful.size() && std::fabs(sum) > enough;
       begin += some) {
    size_t end = std::min(begin + some, useful.size());
    auto first = useful.begin() + ptrdiff_t(begin),
         last = useful.begin() + ptrdiff_t(end);
    if (last != useful.end())
      std::nth_element(first, last, useful.end());
    std::sort(first, last);
    for (; first != last && std::fabs(sum) > enough; ++first) {
      size_t i = first->index;
      if (std::fabs(sum + size(i)) >= std::fabs(sum))
        continue;
      sum += size(i);
      rounded[i] = numbers[i].other;
    }
  }
}

namespace {
/// Integers of values, and the scale that suits these integers best.
struct Fit {
  double products = 0, squares = 0;

  Fit(const float *values, size_t count, float scale) {
    for (size_t i = 0; i < count; ++i) {
      double q = nearestInteger(values[i] / scale);
      products += q * values[i];
      squares += q * q;
    }
  }
  float scale(float without) const {
    return squares > 0 ? float(products / squares) : without;
  }
};
} // namespace

static double squaredError(const float *values, size_t count, float scale) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    double error = double(nearestMultiple(values[i], scale)) - values[i];
    sum += error * error;
  }
  return sum;
}

std::optional<float> nnv12::nearScale(const float *values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i]))
      return std::nullopt;
    largest = std::max(largest, std::fabs(values[i]));
  }
  if (largest == 0)
    return 1.0f;
  float best = largest / largestInteger;
  if (!std::isnormal(best))
    return std::nullopt;
  if (std::optional<float> exact = exactScale(values, count);
      exact && largest / *exact < largestInteger + 0.5f)
    return exact;
  // A smaller scale rounds most values less and a few large ones more. That is
  // better down to some scale, and worse from there on.
  constexpr float smaller = 0.93f;
  double least = squaredError(values, count, best);
  for (float scale = best; least > 0; scale *= smaller) {
    float fitted = Fit(values, count, scale).scale(scale);
    if (!std::isnormal(fitted))
      break;
    double error = squaredError(values, count, fitted);
    if (scale < best && error >= least)
      break;
    if (error < least) {
      least = error;
      best = fitted;
    }
  }
  return best;
}
