//===- OutputSummary.h - The values of an output in short -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_RUN_OUTPUTSUMMARY_H
#define NNV12_TOOLS_NNV12_RUN_OUTPUTSUMMARY_H

#include "tools/common/Tensor.h"

#include <cmath>

namespace nnv12::run {

struct OutputSummary {
  explicit OutputSummary(const tools::Tensor &output);

  size_t count = 0; ///< of elements
  size_t numNan = 0;
  /// Over the elements that are not NaN; NaN where all are.
  double least = NAN, most = NAN, mean = NAN;
};

} // namespace nnv12::run

#endif // NNV12_TOOLS_NNV12_RUN_OUTPUTSUMMARY_H
