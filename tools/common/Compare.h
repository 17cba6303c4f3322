//===- Compare.h - Compares an output with a reference ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_COMPARE_H
#define NNV12_TOOLS_COMMON_COMPARE_H

#include "tools/common/Tensor.h"

namespace nnv12::tools {

struct Difference {
  double absolute = 0;  ///< largest |a - b|
  double magnitude = 0; ///< the largest |b|, of finite ones
  double relative = 0;  ///< absolute / magnitude
  /// absolute / the unit in the last place of f16 at magnitude, for f16.
  double units = 0;
  double sum = 0; ///< of all |a - b|
  bool within = true;
  /// The worst element outside of the tolerance, if any.
  size_t index = 0;
  double found = 0, expected = 0;
};

/// How far two elements may be apart.
struct Tolerance {
  double relative = 1e-4; ///< |a - b| <= relative * max|b| + 1e-5
  /// In f16 also so many units in the last place of max|b|.
  double halfUnits = 4;
};

/// An element is outside where it is not tolerated, or when one is NaN or
/// infinite and the other is not the same.
Difference compare(const Tensor &found, const Tensor &expected,
                   const Tolerance &tolerance);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_COMPARE_H
