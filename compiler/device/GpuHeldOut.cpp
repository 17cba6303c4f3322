//===- GpuHeldOut.cpp - Fits coefficients and says how good ---------------===//

#include "compiler/device/GpuHeldOut.h"

#include <algorithm>
#include <cmath>

namespace nnv12::device {

/// One of so many kernels is left out.
static constexpr unsigned heldOutPeriod = 4;
/// More groups than any GPU runs at once.
static constexpr unsigned mostGroupsAtOnce = 1u << 14;

static bool isGood(double predicted, const GpuSample &sample) {
  return std::abs(predicted / sample.median - 1) <= 0.1 ||
         (predicted >= sample.p10 && predicted <= sample.p90);
}

static double predict(const GpuProfile &gpu, const GpuSample &sample) {
  GpuKernelFeatures unmeasured = sample.kernel;
  unmeasured.key.clear();
  return gpuCost(gpu, unmeasured).milliseconds * 1e3;
}

/// Coefficients of the samples alone. Mean of |log(predicted / measured)|.
static double fit(GpuProfile &gpu, const std::vector<GpuSample> &samples) {
  std::vector<GpuKernelFeatures> features;
  gpu.kernels.clear();
  for (const GpuSample &sample : samples) {
    gpu.kernels[sample.kernel.key] = {sample.median * 1e-3};
    features.push_back(sample.kernel);
  }
  fitGpuEfficiency(gpu, features);
  double sum = 0;
  for (const GpuSample &sample : samples)
    sum += std::abs(std::log(predict(gpu, sample) / sample.median));
  return samples.empty() ? 0 : sum / double(samples.size());
}

/// Tries numbers of groups that run at once.
static void fitUnits(GpuProfile &gpu, const std::vector<GpuSample> &samples) {
  GpuProfile best;
  double least = 0;
  for (unsigned groups = 1; groups * gpu.units <= mostGroupsAtOnce;
       groups *= 2) {
    GpuProfile tried = gpu;
    tried.groupsPerUnit = groups;
    double loss = fit(tried, samples);
    if (groups == 1 || loss < least) {
      least = loss;
      best = std::move(tried);
    }
  }
  gpu = std::move(best);
}

HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<GpuSample> samples,
                      bool fitsUnits) {
  std::sort(samples.begin(), samples.end(),
            [](const GpuSample &a, const GpuSample &b) {
              return a.kernel.routine != b.kernel.routine
                         ? a.kernel.routine < b.kernel.routine
                         : a.kernel.key < b.kernel.key;
            });
  std::vector<GpuSample> known, left;
  for (size_t i = 0; i < samples.size(); ++i) {
    bool isLeft = i % heldOutPeriod == heldOutPeriod - 1;
    (isLeft ? left : known).push_back(samples[i]);
  }
  HeldOut result;
  result.fitted = static_cast<unsigned>(known.size());
  if (fitsUnits)
    fitUnits(gpu, known);
  fit(gpu, known);
  std::vector<double> errors;
  for (const GpuSample &sample : left) {
    double predicted = predict(gpu, sample);
    errors.push_back(std::abs(predicted / sample.median - 1));
    for (HeldOutCount *count :
         {&result.sum, &result.byRoutine[sample.kernel.routine]}) {
      ++count->all;
      count->good += isGood(predicted, sample);
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
