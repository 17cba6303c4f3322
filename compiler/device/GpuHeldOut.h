//===- GpuHeldOut.h - Fits coefficients and says how good -------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_GPUHELDOUT_H
#define NNV12_COMPILER_DEVICE_GPUHELDOUT_H

#include "compiler/device/GpuCost.h"

namespace nnv12::device {

/// A kernel that was measured; microseconds.
struct GpuSample {
  GpuKernelFeatures kernel;
  double median = 0, p10 = 0, p90 = 0;
};

/// Of how many kernels that were left out the prediction was within a tenth of
/// the median, or among the times that the kernel took itself, but for the
/// fastest and the slowest tenth.
struct HeldOutCount {
  unsigned good = 0, all = 0;
};
struct HeldOut {
  HeldOutCount sum;
  std::map<std::string, HeldOutCount> byRoutine;
  /// Median of |predicted / measured - 1| of kernels that were left out.
  double error = 0;
};

/// Fits `gpu`'s coefficients to three quarters of the samples and predicts the
/// last one, for each quarter: every fourth by routine and key, with weights in
/// a cache and in memory. Then fits them
/// to all samples, which become `gpu.kernels`.
HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<GpuSample> samples);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUHELDOUT_H
