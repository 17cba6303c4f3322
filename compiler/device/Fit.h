//===- Fit.h - Predictor coefficients from measured kernels -----*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_FIT_H
#define NNV12_COMPILER_DEVICE_FIT_H

#include "compiler/device/CostModel.h"

namespace nnv12::device {

/// How well predictions agree with measured times.
struct Fit {
  unsigned kernels = 0; ///< that were measured and have facts
  /// Median of |predicted / measured - 1|, coefficients as they were.
  double errorBefore = 0;
  double errorAfter = 0; ///< with the fitted ones
};

/// Replaces coefficients of `profile.efficiency` by such that predict its
/// measured kernels, so that kernels of this device which were not measured are
/// predicted from those which were: for each family of routines with measured
/// kernels ("conv.direct"), for prefixes that families share ("conv") and for
/// all (""). Least mean |log(predicted / measured)| by coordinate descent. On
/// CPUs families without measured kernels are scaled by the median error of the
/// others; on GPUs each kind of kernel ("gpu.conv.gemm.16x4") is a family, and
/// others stay as they are.
Fit fitEfficiency(DeviceProfile &profile,
                  const std::vector<KernelFacts> &kernels);
Fit fitEfficiency(GpuProfile &gpu, const std::vector<KernelFacts> &kernels);

/// A kernel that was measured; microseconds.
struct Sample {
  KernelFacts facts;
  double median = 0, p10 = 0, p90 = 0;
};

/// The number of kernels that were left out, and of good predictions: within a
/// tenth of the median, or among the times that the kernel took itself, but for
/// the fastest and the slowest tenth.
struct HeldOutCount {
  unsigned good = 0, all = 0;
};
struct HeldOut {
  HeldOutCount sum;
  std::map<std::string, HeldOutCount> byRoutine;
  /// Median of |predicted / measured - 1| of kernels that were left out.
  double error = 0;
};

/// Fits coefficients to three quarters of the samples and predicts the last
/// one, for each quarter: every fourth by routine and key, with weights in a
/// cache and in memory. Then fits them to all samples, which become the
/// profile's kernels.
HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<Sample> samples);

/// How good fronts are predicted, none of which was fitted to: from the
/// coefficients of their kernels and the measured time of the whole layer's, if
/// that is among the samples. `fronts` have keys of artifact::frontKey().
HeldOut predictFronts(const GpuProfile &gpu, const std::vector<Sample> &wholes,
                      const std::vector<Sample> &fronts);

/// A part of a layer that was measured on CPUs; milliseconds.
struct PartSample {
  std::string layer, routine;
  LayerPart part;
  unsigned threads = 1;
  double median = 0, p10 = 0, p90 = 0;
};

/// Fits Efficiency::part of the entries of `profile.efficiency` for the parts'
/// routines: the median of measured times less partCost() by range, 0 at
/// least.
void fitParts(DeviceProfile &profile, const std::vector<PartSample> &parts);

/// Fits them to the parts of half of the layers and predicts the others, each
/// half in turn, then fits them to all. Counts by routine and threads.
HeldOut fitAndHoldOutParts(DeviceProfile &profile,
                           const std::vector<PartSample> &parts);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_FIT_H
