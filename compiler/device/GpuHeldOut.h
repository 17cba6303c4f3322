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
  unsigned fitted = 0; ///< kernels that were not left out
};

/// Fits `gpu`'s coefficients to the samples but each fourth, by routine
/// and key, and predicts these; then to all of them. `gpu.kernels` become the
/// samples. Where `fitsUnits`, it also finds how many groups run at once:
/// `groupsPerUnit` for the given `units`.
HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<GpuSample> samples,
                      bool fitsUnits);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUHELDOUT_H
