//===- Reciprocal.cpp - Quantizing without a division ---------------------===//

#include "compiler/codegen/common/Reciprocal.h"

#include <cassert>
#include <limits>

using namespace nnv12::codegen;

/// Whether all numbers whose quotient is within a unit in the last place of
/// `middle` are rounded as their quotients are: beyond it both are on the same
/// side. Such a unit is two units of x at most.
static bool isExactNear(const Reciprocal &r, float scale, float middle) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float x = middle * scale;
  for (int i = 0; i < 4; ++i)
    x = std::nextafter(x, -infinity);
  for (int i = 0; i <= 8; ++i, x = std::nextafter(x, infinity))
    if (std::nearbyint(r.quotient(x)) != std::nearbyint(x / scale))
      return false;
  return true;
}

std::optional<Reciprocal> nnv12::codegen::reciprocalOf(float scale, int least,
                                                       int most) {
  assert(least <= 0 && most >= 0 && most - least < (1 << 17) && "few bits");
  if (!(scale >= 0x1p-60f && scale <= 0x1p60f))
    return std::nullopt;
  Reciprocal r;
  r.high = 1 / scale;
  // The first factor is exact: a remainder of a quotient is a float.
  r.low = std::fma(-r.high, scale, 1.0f) * r.high;
  r.smallest = float(least) * scale;
  r.largest = float(most) * scale;
  if (std::nearbyint(r.quotient(r.smallest)) != float(least) ||
      std::nearbyint(r.quotient(r.largest)) != float(most))
    return std::nullopt;
  for (int i = least; i < most; ++i)
    if (!isExactNear(r, scale, float(i) + 0.5f))
      return std::nullopt;
  return r;
}
