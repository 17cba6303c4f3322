//===- GpuMeasured.h - What was measured of a GPU ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H
#define NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H

#include "compiler/device/GpuCost.h"

#include <string>
#include <vector>

namespace nnv12::tune {

/// A kernel, and microseconds of many runs; on software a quarter of them takes
/// less than `median`.
struct GpuKernelSample {
  device::GpuKernelFeatures features;
  double median = 0, p10 = 0, p90 = 0;
};

struct GpuMeasured {
  /// All but peaks, kernels and their coefficients.
  device::GpuProfile gpu;
  std::vector<GpuKernelSample> kernels;
  /// Kernels that there was no time for.
  unsigned leftOut = 0;
};

/// As lines of text that processes hand over to each other.
std::string print(const GpuMeasured &measured);
/// False where the text is not whole.
bool parse(const std::string &text, GpuMeasured &measured);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUMEASURED_H
