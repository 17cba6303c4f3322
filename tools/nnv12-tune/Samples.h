//===- Samples.h - Measurements of a GPU ------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_SAMPLES_H
#define NNV12_TOOLS_NNV12_TUNE_SAMPLES_H

#include "compiler/device/Fit.h"

#include <string>
#include <vector>

namespace nnv12::tune {

using artifact::KernelFacts;
using device::Sample;

/// The sample of at least one time, in microseconds.
Sample sampleOf(const KernelFacts &kernel, std::vector<double> times);

struct Samples {
  /// All but peaks, kernels and their coefficients.
  device::GpuProfile gpu;
  /// Times of many runs; on software a quarter of them is below `median`.
  std::vector<Sample> kernels;
  /// Kernels that there was no time for.
  unsigned leftOut = 0;
};

/// As lines of text that processes hand over to each other.
std::string print(Samples samples);
/// False where the text is not whole.
bool parse(const std::string &text, Samples &samples);

/// Derives peaks and coefficients from them, and how good these are.
device::HeldOut derive(const std::vector<Sample> &kernels,
                       device::GpuProfile &gpu);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_SAMPLES_H
