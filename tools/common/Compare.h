//===- Compare.h - Compares an output with a reference ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_COMPARE_H
#define NNV12_TOOLS_COMMON_COMPARE_H

#include "tools/common/Tensor.h"

namespace nnv12::tools {

struct Difference {
  double absolute = 0;  ///< largest |a - b|
  double magnitude = 0; ///< the largest |b|, of finite ones
  double relative = 0;  ///< absolute / magnitude
  double sum = 0;       ///< of all |a - b|
  bool within = true;
  /// The worst element outside of the tolerance, if any.
  size_t index = 0;
  double found = 0, expected = 0;
};

/// An element is outside when |a - b| > tolerance * max|b| + 1e-5, or when one
/// is NaN or infinite and the other is not the same.
Difference compare(const Tensor &found, const Tensor &expected,
                   double tolerance);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_COMPARE_H
