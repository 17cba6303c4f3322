//===- Compare.cpp - Compares an output with a reference ------------------===//
#include "tools/common/Compare.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace nnv12::tools {

Difference compare(const Tensor &found, const Tensor &expected,
                   double tolerance) {
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
  double limit = tolerance * result.magnitude + 1e-5;
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
  return result;
}

} // namespace nnv12::tools
