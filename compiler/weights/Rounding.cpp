//===- Rounding.cpp - Floats that fewer bits hold nearly ------------------===//

#include "compiler/weights/Rounding.h"

#include "compiler/weights/Exact.h"

#include <algorithm>
#include <cmath>

using namespace nnv12;

static constexpr float largestInteger = 127;

/// The integer of nearestMultiple(). The sum's last bit is that of one, so it
/// rounds, even integers in the middle.
static float nearestInteger(float quotient) {
  constexpr float one = 3 << 22;
  return (std::clamp(quotient, -largestInteger, largestInteger) + one) - one;
}

float nnv12::nearestMultiple(float value, float scale) {
  // Never minus zero.
  return float(int(nearestInteger(value / scale))) * scale;
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
