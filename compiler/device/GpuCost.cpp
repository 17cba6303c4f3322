//===- GpuCost.cpp - How long a GPU kernel takes --------------------------===//

#include "compiler/device/GpuCost.h"

#include "compiler/device/Descent.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>

namespace nnv12::device {

/// Of GPUs and routines of which nothing is known: microseconds of a wave of
/// groups and of a barrier, and the part of the memory's bandwidth that a
/// kernel reaches.
static constexpr double usualWave = 2, usualBarrier = 1, usualMemory = 0.6;

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

static double microsecondsOf(double bytes, double gigabytesPerSecond) {
  return gigabytesPerSecond > 0 ? bytes / (gigabytesPerSecond * 1e3) : 0;
}

static bool readsMemory(const GpuProfile &gpu, const GpuKernelFeatures &k) {
  return k.fromMemory || k.bytes > gpu.cacheMB * 1e6;
}

/// Microseconds.
static double predict(const GpuProfile &gpu, const GpuEfficiency &e,
                      const GpuKernelFeatures &k) {
  double groups = std::max(1.0, k.groups), units = std::max(1u, gpu.units);
  double load = std::ceil(groups / units);
  double bytes = microsecondsOf(k.bytes, e.memory * gpu.memoryGBps);
  if (gpu.kind == GpuKind::Software) {
    double steps = k.stepsInTurn > 0 ? k.stepsInTurn / groups : k.steps;
    return e.start + load * (e.group + e.step * steps) +
           e.work * k.multiplyAdds * 1e-6 / units + bytes;
  }
  double latency = readsMemory(gpu, k) ? e.latencyFromMemory : e.latency;
  return e.start +
         std::max(latency * k.steps, load * (e.group + e.step * k.steps)) +
         bytes;
}

/// Of a routine of which nothing is known.
static double predictFromPeak(const GpuProfile &gpu,
                              const GpuKernelFeatures &k) {
  double groups = std::max(1.0, k.groups);
  double atOnce =
      double(std::max(1u, gpu.units)) * double(std::max(1u, gpu.groupsPerUnit));
  // What the peak would take if all waves were full.
  double compute = gpu.gflops > 0
                       ? 2 * k.multiplyAdds / (gpu.compute * gpu.gflops * 1e3) /
                             groups * atOnce
                       : usualWave;
  return gpu.dispatchUs +
         std::max(std::ceil(groups / atOnce) * compute,
                  microsecondsOf(k.bytes, usualMemory * gpu.memoryGBps)) +
         usualBarrier * k.barriers;
}

/// Milliseconds that were measured; 0: none were.
static double measuredTime(const GpuProfile &gpu,
                           const GpuKernelFeatures &kernel) {
  auto found =
      kernel.key.empty() ? gpu.kernels.end() : gpu.kernels.find(kernel.key);
  if (found == gpu.kernels.end())
    return 0;
  const GpuKernelTime &time = found->second;
  return kernel.fromMemory && time.millisecondsFromMemory > 0
             ? time.millisecondsFromMemory
             : time.milliseconds;
}

Cost gpuStampedCost(const GpuProfile &gpu, const GpuKernelFeatures &kernel) {
  if (double measured = measuredTime(gpu, kernel); measured > 0)
    return {measured, true};
  const GpuEfficiency *e = gpu.efficiencyOf(kernel.routine);
  return {(e ? predict(gpu, *e, kernel) : predictFromPeak(gpu, kernel)) * 1e-3,
          false};
}

Cost gpuCost(const GpuProfile &gpu, const GpuKernelFeatures &kernel) {
  Cost cost = gpuStampedCost(gpu, kernel);
  // What follows from the peak has no time stamp.
  if (cost.measured || gpu.efficiencyOf(kernel.routine))
    cost.milliseconds =
        std::max(cost.milliseconds - gpu.stampUs * 1e-3, cost.milliseconds / 4);
  return cost;
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

/// What a kernel tells something about: all kernels, those of its family
/// ("gpu.conv"), which serve kinds that were not measured, and its own kind.
std::set<std::string> families(const std::string &routine) {
  size_t dot = routine.find('.', routine.find('.') + 1);
  return {"", routine.substr(0, dot), routine};
}

constexpr size_t numCoefficients = 7;
using C = Coefficients<numCoefficients>;
using M = Move<numCoefficients>;

GpuEfficiency efficiencyOf(const C &c) {
  return {float(c[0]), float(c[1]), float(c[2]), float(c[3]),
          float(c[4]), float(c[5]), float(c[6])};
}

/// Which coefficients change together: what one gains another may have to lose,
/// alone neither would move.
std::vector<M> movesOf(const GpuProfile &gpu, size_t samples) {
  // Few samples do not tell so many numbers apart.
  if (samples < 5)
    return {{1, 1, 1, 1, -1, 1, 1}};
  if (gpu.kind == GpuKind::Software)
    return {
        {1, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0},  {0, 0, 0, 1, 0, 0, 0},
        {0, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 0, 1},  {1, 0, -1, 0, 0, 0, 0},
        {1, 0, 0, 0, 1, 0, 0}, {0, 0, 1, -1, 0, 0, 0}, {0, 0, 1, 0, 1, 0, 0},
        {0, 0, 0, 1, 1, 0, 0}, {0, 0, 0, 1, 0, 0, -1}, {0, 0, 1, 0, 0, 0, -1},
        {0, 0, 1, 1, 0, 0, 1}, {0, 0, 1, 1, -1, 0, 1}, {1, 0, 1, 1, -1, 0, 1}};
  return {{1, 0, 0, 0, 0, 0},  {0, 1, 0, 0, 0, 0},   {0, 0, 1, 0, 0, 0},
          {0, 0, 0, 1, 0, 0},  {0, 0, 0, 0, 1, 0},   {0, 0, 0, 0, 0, 1},
          {1, -1, 0, 0, 0, 0}, {1, -1, 0, 0, 0, -1}, {1, 0, -1, 0, 0, 0},
          {1, 0, 0, 0, 1, 0},  {0, 0, 1, -1, 0, 0},  {0, 1, 0, -1, 0, 1},
          {0, 1, 0, 0, 0, 1},  {0, 0, 1, 0, 1, 0},   {0, 0, 0, 1, 1, 0},
          {0, 1, 1, 1, 0, 1},  {0, 1, 1, 1, -1, 1},  {1, 1, 1, 1, -1, 1}};
}

GpuEfficiency fit(const GpuProfile &gpu, const GpuEfficiency &from,
                  const std::vector<Sample> &samples) {
  // Mean of |log(predicted / measured)|, as for CPUs.
  auto loss = [&](const C &c) {
    double sum = 0;
    for (const Sample &s : samples)
      sum +=
          std::abs(std::log(predict(gpu, efficiencyOf(c), *s.kernel) / s.time));
    return sum / double(samples.size());
  };
  const Range<numCoefficients> range = {
      {1e-3, 1e-5, 1e-5, 1e-6, 1e-3, 1e-5, 1e-3},
      {1e6, 1e5, 1e5, 1e5, 1e3, 1e5, 1e6}};
  bool isSoftware = gpu.kind == GpuKind::Software;
  std::vector<M> moves = movesOf(gpu, samples.size());
  // A kernel is bound by one thing at a time, so that where the descent begins
  // decides what it takes for the cause: it begins at several places.
  C first = {from.start,  from.latency,           from.group, from.step,
             from.memory, from.latencyFromMemory, from.work},
    best = descend(first, range, moves, loss);
  for (const M &start : std::vector<M>{{0, -1, 1, -1, 1, -1, -1},
                                       {0, 1, -1, -1, 1, 1, 1},
                                       {0, -1, -1, 1, 1, -1, -1},
                                       {0, -1, -1, -1, -1, -1, -1},
                                       {0, 1, 1, 1, 0, 1, 1}}) {
    C at = first;
    for (size_t i = 0; i < at.size(); ++i)
      at[i] = std::min(range.most[i], std::max(range.smallest[i], at[i]) *
                                          std::pow(16.0, start[i]));
    at = descend(at, range, moves, loss);
    if (loss(at) < loss(best))
      best = at;
  }
  GpuEfficiency result = efficiencyOf(best);
  // What such a GPU has not.
  if (isSoftware)
    result.latency = result.latencyFromMemory = 0;
  else
    result.work = 0;
  // Those without weights.
  auto isFromMemory = [&](const Sample &s) {
    return readsMemory(gpu, *s.kernel);
  };
  if (std::none_of(samples.begin(), samples.end(), isFromMemory))
    result.latencyFromMemory = result.latency;
  if (std::all_of(samples.begin(), samples.end(), isFromMemory))
    result.latency = result.latencyFromMemory;
  return result;
}

double medianError(const GpuProfile &gpu, const std::vector<Sample> &samples) {
  std::vector<double> errors;
  for (const Sample &s : samples) {
    GpuKernelFeatures unmeasured = *s.kernel;
    unmeasured.key.clear();
    errors.push_back(std::abs(
        gpuStampedCost(gpu, unmeasured).milliseconds * 1e3 / s.time - 1));
  }
  return median(errors);
}

} // namespace

Fit fitGpuEfficiency(GpuProfile &gpu,
                     const std::vector<GpuKernelFeatures> &features) {
  std::vector<Sample> samples;
  std::map<std::string, std::vector<Sample>> measured;
  std::set<std::pair<std::string, bool>> seen;
  for (const GpuKernelFeatures &k : features) {
    double milliseconds = measuredTime(gpu, k);
    if (!(milliseconds > 0) || !seen.insert({k.key, k.fromMemory}).second)
      continue;
    samples.push_back({&k, milliseconds * 1e3});
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
      sum +=
          sizeof(float) * (4u + (e.latency > 0) +
                           (e.latencyFromMemory != e.latency) + (e.work > 0));
  return sum;
}

} // namespace nnv12::device
