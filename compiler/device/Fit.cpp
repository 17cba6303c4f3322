//===- Fit.cpp - Predictor coefficients from measured kernels -------------===//

#include "compiler/device/CostModel.h"
#include "compiler/device/Descent.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

namespace nnv12::device {

namespace {

// Beyond these a coefficient no longer means what it is called: a cache is
// faster than memory, and a peak may be underestimated, but not without limit.
constexpr double mostCompute = 4, mostMemory = 16;

struct Sample {
  const KernelFeatures *kernel;
  double time; ///< milliseconds on one big core
};

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  double upper = values[middle];
  if (values.size() % 2)
    return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + middle)) /
         2;
}

double predict(const DeviceProfile &profile, const Efficiency &e,
               const KernelFeatures &k) {
  double compute =
      profile.big.gflops > 0 && e.compute > 0
          ? 2 * k.multiplyAdds / (e.compute * profile.big.gflops * 1e6)
          : 0;
  double memory = profile.big.memoryGBps > 0 && e.memory > 0
                      ? k.bytes / (e.memory * profile.big.memoryGBps * 1e6)
                      : 0;
  return std::max(compute, memory) + e.overhead * 1e-3;
}

/// Mean of |log(predicted / measured)|: a relative error that is as large for
/// half the time as for twice the time, and that one outlier does not decide.
double loss(const DeviceProfile &profile, const Efficiency &e,
            const std::vector<Sample> &samples) {
  assert(!samples.empty() && "families have what was measured");
  double sum = 0;
  for (const Sample &s : samples)
    sum += std::abs(std::log(predict(profile, e, *s.kernel) / s.time));
  return sum / double(samples.size());
}

/// What a routine's measurement tells something about: all routines, those that
/// share the first part of its name, and those that share the first two
/// ("conv.direct").
std::vector<std::string> families(const std::string &routine) {
  std::vector<std::string> result = {""};
  size_t dot = routine.find('.');
  result.push_back(routine.substr(0, dot));
  if (dot != std::string::npos)
    result.push_back(routine.substr(0, routine.find('.', dot + 1)));
  return result;
}

/// Coordinate descent from the present coefficients.
Efficiency fit(const DeviceProfile &profile, Efficiency e,
               const std::vector<Sample> &samples) {
  double best = loss(profile, e, samples);
  // The scale first: the median ratio corrects both parts at once.
  std::vector<double> ratios;
  for (const Sample &s : samples)
    ratios.push_back(predict(profile, e, *s.kernel) / s.time);
  Efficiency scaled = e;
  scaled.compute = std::min(scaled.compute * median(ratios), mostCompute);
  scaled.memory = std::min(scaled.memory * median(ratios), mostMemory);
  if (loss(profile, scaled, samples) < best)
    e = scaled;
  auto efficiency = [](const Coefficients<3> &c) {
    return Efficiency{c[0], c[1], c[2]};
  };
  std::vector<Move<3>> moves = {{1, 1, 0}};
  // Few samples do not tell three numbers apart.
  if (samples.size() >= 4)
    moves = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}};
  return efficiency(descend<3>({e.compute, e.memory, e.overhead},
                               {{0, 0, 0.01}, {mostCompute, mostMemory, 1000}},
                               moves, [&](const Coefficients<3> &c) {
                                 return loss(profile, efficiency(c), samples);
                               }));
}

double medianError(const DeviceProfile &profile,
                   const std::vector<Sample> &samples) {
  std::vector<double> errors;
  for (const Sample &s : samples)
    errors.push_back(std::abs(
        predict(profile, profile.efficiencyOf(s.kernel->routine), *s.kernel) /
            s.time -
        1));
  return median(errors);
}

} // namespace

Fit fitEfficiency(DeviceProfile &profile,
                  const std::vector<KernelFeatures> &features) {
  std::vector<Sample> samples;
  std::map<std::string, std::vector<Sample>> measured;
  std::set<std::string> seen;
  for (const KernelFeatures &k : features) {
    auto found = profile.kernels.find(k.key);
    if (found == profile.kernels.end() || found->second.big.empty() ||
        !(found->second.big[0] > 0) || !seen.insert(k.key).second)
      continue;
    samples.push_back({&k, found->second.big[0]});
    for (const std::string &name : families(k.routine))
      measured[name].push_back(samples.back());
  }
  Fit result;
  result.kernels = unsigned(samples.size());
  if (samples.empty())
    return result;
  result.errorBefore = medianError(profile, samples);
  std::vector<double> ratios;
  for (const Sample &s : samples)
    ratios.push_back(
        predict(profile, profile.efficiencyOf(s.kernel->routine), *s.kernel) /
        s.time);
  double scale = median(ratios);

  std::map<std::string, Efficiency> fitted;
  for (const auto &[name, of] : measured)
    fitted[name] = fit(profile, profile.efficiencyOf(name), of);
  for (auto [name, e] : profile.efficiency) {
    bool covered = false; // by a family that was measured, "" and "conv" aside
    for (const auto &[family, of] : measured)
      covered |= name == family || (family.find('.') != std::string::npos &&
                                    name.rfind(family + ".", 0) == 0);
    if (covered)
      continue;
    // Of this family nothing was measured: it is as much off as the others are.
    e.compute = std::min(e.compute * scale, mostCompute);
    e.memory = std::min(e.memory * scale, mostMemory);
    fitted[name] = e;
  }
  profile.efficiency = std::move(fitted);
  result.errorAfter = medianError(profile, samples);
  return result;
}

} // namespace nnv12::device
