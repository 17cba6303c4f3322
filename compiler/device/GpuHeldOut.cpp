//===- GpuHeldOut.cpp - Fits coefficients and says how good ---------------===//

#include "compiler/device/GpuHeldOut.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace nnv12::device {

/// One of so many kernels is left out at a time.
static constexpr size_t folds = 4;

static bool isGood(double predicted, const GpuSample &sample) {
  return std::abs(predicted / sample.median - 1) <= 0.1 ||
         (predicted >= sample.p10 && predicted <= sample.p90);
}

static double predict(const GpuProfile &gpu, const GpuSample &sample) {
  GpuKernelFeatures unmeasured = sample.kernel;
  unmeasured.key.clear();
  return gpuStampedCost(gpu, unmeasured).milliseconds * 1e3;
}

/// Coefficients of the samples alone.
static void fit(GpuProfile &gpu, const std::vector<GpuSample> &samples) {
  std::vector<GpuKernelFeatures> features;
  gpu.kernels.clear();
  for (const GpuSample &sample : samples) {
    GpuKernelTime &time = gpu.kernels[sample.kernel.key];
    (sample.kernel.fromMemory ? time.millisecondsFromMemory
                              : time.milliseconds) = sample.median * 1e-3;
    features.push_back(sample.kernel);
  }
  fitGpuEfficiency(gpu, features);
}

HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<GpuSample> samples) {
  std::sort(
      samples.begin(), samples.end(),
      [](const GpuSample &a, const GpuSample &b) {
        return std::tie(a.kernel.routine, a.kernel.key, a.kernel.fromMemory) <
               std::tie(b.kernel.routine, b.kernel.key, b.kernel.fromMemory);
      });
  // With its weights in a cache and in memory a kernel is left out at once.
  std::vector<size_t> number(samples.size());
  for (size_t i = 1; i < samples.size(); ++i)
    number[i] =
        number[i - 1] + (samples[i].kernel.key != samples[i - 1].kernel.key);
  HeldOut result;
  std::vector<double> errors;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<GpuSample> known, left;
    for (size_t i = 0; i < samples.size(); ++i)
      (number[i] % folds == fold ? left : known).push_back(samples[i]);
    GpuProfile fitted = gpu;
    fit(fitted, known);
    for (const GpuSample &sample : left) {
      double predicted = predict(fitted, sample);
      errors.push_back(std::abs(predicted / sample.median - 1));
      for (HeldOutCount *count :
           {&result.sum, &result.byRoutine[sample.kernel.routine]}) {
        ++count->all;
        count->good += isGood(predicted, sample);
      }
    }
  }
  if (!errors.empty()) {
    std::nth_element(errors.begin(), errors.begin() + errors.size() / 2,
                     errors.end());
    result.error = errors[errors.size() / 2];
  }
  fit(gpu, samples);
  return result;
}

} // namespace nnv12::device
