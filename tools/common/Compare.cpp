//===- Compare.cpp - Compares an output with a reference ------------------===//
#include "tools/common/Compare.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace nnv12::tools {

/// The distance from a number to the next half.
static double halfUnit(double number) {
  constexpr int digits = 11, leastExponent = -13;
  int exponent = leastExponent;
  if (number > 0)
    std::frexp(number, &exponent);
  return std::ldexp(1, std::max(exponent, leastExponent) - digits);
}

Difference compare(const Tensor &found, const Tensor &expected,
                   const Tolerance &tolerance) {
  assert(found.type == expected.type &&
         found.data.size() == expected.data.size() &&
         "the caller has compared type and shape");
  size_t count = expected.data.size() / elementSize(expected.type);
  Difference result;
  for (size_t i = 0; i < count; ++i) {
    double b = std::fabs(elementAt(expected.type, expected.data.data(), i));
    if (std::isfinite(b) && b > result.magnitude)
      result.magnitude = b;
  }
  double limit = tolerance.relative * result.magnitude + 1e-5;
  double unit = expected.type == NNV12_F16 ? halfUnit(result.magnitude) : 0;
  limit = std::max(limit, tolerance.halfUnits * unit);
  double worst = -1;
  for (size_t i = 0; i < count; ++i) {
    double a = elementAt(found.type, found.data.data(), i);
    double b = elementAt(expected.type, expected.data.data(), i);
    double error = std::fabs(a - b);
    if ((std::isnan(a) && std::isnan(b)) || a == b)
      error = 0;
    else if (std::isnan(error))
      error = std::numeric_limits<double>::infinity();
    result.sum += error;
    if (error <= worst)
      continue;
    worst = error;
    result.absolute = error;
    result.within = error <= limit;
    result.index = i;
    result.found = a;
    result.expected = b;
  }
  if (result.absolute > 0)
    result.relative = result.absolute / result.magnitude;
  if (unit > 0)
    result.units = result.absolute / unit;
  return result;
}

} // namespace nnv12::tools
