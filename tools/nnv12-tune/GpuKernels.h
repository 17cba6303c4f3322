//===- GpuKernels.h - The kernels of a tuning bundle for GPUs ---*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUKERNELS_H
#define NNV12_TOOLS_NNV12_TUNE_GPUKERNELS_H

#include "tools/nnv12-tune/GpuBundle.h"
#include "tools/nnv12-tune/GpuMeasured.h"

#include <vector>

namespace nnv12::tune {

/// A kernel that is to be measured, in several places of the bundle.
struct GpuKernel {
  struct Place {
    uint32_t stretch, dispatch;
  };
  KernelFacts facts;
  std::vector<Place> places;
};

/// Each once, in the order in which they come.
std::vector<GpuKernel> kernelsOf(const GpuBundle &bundle);

/// Of at least one time, in microseconds.
Sample sampleOf(const GpuKernel &kernel, std::vector<double> times);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUKERNELS_H
