//===- GpuMeasured.h - What was measured of a GPU ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H
#define NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H

#include "compiler/device/Fit.h"

#include <string>
#include <vector>

namespace nnv12::tune {

using artifact::KernelFacts;
using device::Sample;

struct GpuMeasured {
  /// All but peaks, kernels and their coefficients.
  device::GpuProfile gpu;
  /// Of many runs; on software a quarter of them takes less than `median`.
  std::vector<Sample> kernels;
  /// Kernels that there was no time for.
  unsigned leftOut = 0;
};

/// As lines of text that processes hand over to each other.
std::string print(const GpuMeasured &measured);
/// False where the text is not whole.
bool parse(const std::string &text, GpuMeasured &measured);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H
