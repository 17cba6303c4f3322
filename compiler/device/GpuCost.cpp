//===- GpuCost.cpp - How long a GPU kernel takes --------------------------===//

#include "compiler/device/GpuCost.h"

#include "compiler/device/Descent.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>

namespace nnv12::device {

const GpuEfficiency *
GpuProfile::efficiencyOf(const std::string &routine) const {
  for (size_t length = routine.size();;) {
    auto found = efficiency.find(routine.substr(0, length));
    if (found != efficiency.end())
      return &found->second;
    if (length == 0)
      return nullptr;
    size_t dot = routine.rfind('.', length - 1);
    length = dot == std::string::npos ? 0 : dot;
  }
}

/// Work groups run in waves that are as long when they are not full.
static double wavesOf(const GpuProfile &gpu, const GpuKernelFeatures &k) {
  double atOnce =
      double(std::max(1u, gpu.units)) * double(std::max(1u, gpu.groupsPerUnit));
  return std::ceil(std::max(1.0, k.groups) / atOnce);
}

/// Microseconds.
static double predict(const GpuProfile &gpu, const GpuEfficiency &e,
                      const GpuKernelFeatures &k) {
  double compute = wavesOf(gpu, k) * (e.wave + e.step * k.steps);
  double memory =
      gpu.memoryGBps > 0 ? k.bytes / (e.memory * gpu.memoryGBps * 1e3) : 0;
  return gpu.dispatchUs + std::max(compute, memory) + e.barrier * k.barriers;
}

/// Of a routine of which nothing is known.
static double predictFromPeak(const GpuProfile &gpu,
                              const GpuKernelFeatures &k) {
  GpuEfficiency e;
  double atOnce =
      double(std::max(1u, gpu.units)) * double(std::max(1u, gpu.groupsPerUnit));
  double group = 2 * k.multiplyAdds / std::max(1.0, k.groups);
  e.wave = gpu.gflops > 0 ? group * atOnce / (gpu.compute * gpu.gflops * 1e3)
                          : e.wave;
  e.step = 0;
  return predict(gpu, e, k);
}

Cost gpuCost(const GpuProfile &gpu, const GpuKernelFeatures &kernel) {
  auto found =
      kernel.key.empty() ? gpu.kernels.end() : gpu.kernels.find(kernel.key);
  if (found != gpu.kernels.end())
    return {found->second.milliseconds, true};
  const GpuEfficiency *e = gpu.efficiencyOf(kernel.routine);
  return {(e ? predict(gpu, *e, kernel) : predictFromPeak(gpu, kernel)) * 1e-3,
          false};
}

Cost gpuCost(const GpuProfile &gpu,
             const std::vector<GpuKernelFeatures> &kernels) {
  Cost sum = {0, true};
  for (const GpuKernelFeatures &kernel : kernels) {
    Cost cost = gpuCost(gpu, kernel);
    sum.milliseconds += cost.milliseconds;
    sum.measured &= cost.measured;
  }
  return sum;
}

namespace {

struct Sample {
  const GpuKernelFeatures *kernel;
  double time; ///< microseconds
};

double median(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

/// What a kernel tells something about: all routines, and those that share the
/// first two parts of its name ("gpu.conv"), three ("gpu.conv.gemm") and so on:
/// the first part is every GPU routine's.
std::vector<std::string> families(const std::string &routine) {
  std::vector<std::string> result = {""};
  size_t dot = routine.find('.');
  while (dot != std::string::npos) {
    dot = routine.find('.', dot + 1);
    result.push_back(routine.substr(0, dot));
  }
  return result;
}

GpuEfficiency efficiencyOf(const Coefficients<4> &c) {
  return {c[0], c[1], c[2], c[3]};
}

GpuEfficiency fit(const GpuProfile &gpu, const GpuEfficiency &from,
                  const std::vector<Sample> &samples) {
  // Mean of |log(predicted / measured)|, as for CPUs.
  auto loss = [&](const Coefficients<4> &c) {
    double sum = 0;
    for (const Sample &s : samples)
      sum +=
          std::abs(std::log(predict(gpu, efficiencyOf(c), *s.kernel) / s.time));
    return sum / double(samples.size());
  };
  const Range<4> range = {{1e-3, 1e-5, 1e-3, 1e-3}, {1e5, 1e4, 16, 1e4}};
  // Few samples do not tell four numbers apart. What one coefficient gains
  // another may have to lose: alone neither would move.
  std::vector<Move<4>> moves = {{1, 1, -1, 1}};
  if (samples.size() >= 5)
    moves = {{1, 0, 0, 0},  {0, 1, 0, 0}, {0, 0, 1, 0},  {0, 0, 0, 1},
             {1, -1, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, -1}, {1, 1, -1, 1}};
  // A kernel is bound by one thing at a time, so that where the descent begins
  // decides what it takes for the cause: it begins at several places.
  Coefficients<4> first = {from.wave, from.step, from.memory, from.barrier},
                  best = descend(first, range, moves, loss);
  for (Move<4> start : std::vector<Move<4>>{
           {-1, 1, 0, 0}, {1, -1, 0, 0}, {-1, -1, -1, 0}, {1, 1, 1, 0}}) {
    Coefficients<4> at = first;
    for (size_t i = 0; i < 4; ++i)
      at[i] = std::min(range.most[i], std::max(range.smallest[i], at[i]) *
                                          std::pow(16.0, start[i]));
    at = descend(at, range, moves, loss);
    if (loss(at) < loss(best))
      best = at;
  }
  return efficiencyOf(best);
}

double medianError(const GpuProfile &gpu, const std::vector<Sample> &samples) {
  std::vector<double> errors;
  for (const Sample &s : samples) {
    GpuKernelFeatures unmeasured = *s.kernel;
    unmeasured.key.clear();
    errors.push_back(
        std::abs(gpuCost(gpu, unmeasured).milliseconds * 1e3 / s.time - 1));
  }
  return median(errors);
}

} // namespace

Fit fitGpuEfficiency(GpuProfile &gpu,
                     const std::vector<GpuKernelFeatures> &features) {
  std::vector<Sample> samples;
  std::map<std::string, std::vector<Sample>> measured;
  std::set<std::string> seen;
  for (const GpuKernelFeatures &k : features) {
    auto found = gpu.kernels.find(k.key);
    if (found == gpu.kernels.end() || !(found->second.milliseconds > 0) ||
        !seen.insert(k.key).second)
      continue;
    samples.push_back({&k, found->second.milliseconds * 1e3});
    for (const std::string &name : families(k.routine))
      measured[name].push_back(samples.back());
  }
  Fit result;
  result.kernels = unsigned(samples.size());
  if (samples.empty())
    return result;
  result.errorBefore = medianError(gpu, samples);
  std::map<std::string, GpuEfficiency> fitted = gpu.efficiency;
  for (const auto &[name, of] : measured) {
    const GpuEfficiency *known = gpu.efficiencyOf(name);
    fitted[name] = fit(gpu, known ? *known : GpuEfficiency(), of);
  }
  gpu.efficiency = std::move(fitted);
  result.errorAfter = medianError(gpu, samples);
  return result;
}

size_t coefficientBytes(const GpuProfile &gpu, const std::string &family) {
  size_t sum = 0;
  for (const auto &[name, e] : gpu.efficiency)
    if (name == family || name.rfind(family + ".", 0) == 0)
      sum += sizeof e + name.size() + 1;
  return sum;
}

} // namespace nnv12::device
