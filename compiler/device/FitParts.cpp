//===- FitParts.cpp - The cost of a part of a layer -----------------------===//

#include "artifact/TuningParts.h"
#include "compiler/device/CostModel.h"
#include "compiler/device/Fit.h"

#include <algorithm>
#include <cmath>

namespace nnv12::device {

/// The median of at least one value.
static double middleOf(std::vector<double> values) {
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

static double predictedPart(const DeviceProfile &profile,
                            const PartSample &part) {
  return partCost(profile, part.routine, part.part, part.threads);
}

void fitParts(DeviceProfile &profile, const std::vector<PartSample> &parts) {
  std::map<Efficiency *, std::vector<double>> lacks;
  for (const PartSample &part : parts) {
    const Efficiency &found = profile.efficiencyOf(part.routine);
    for (auto &[routine, efficiency] : profile.efficiency)
      if (&efficiency == &found)
        lacks[&efficiency].push_back(
            (part.median - predictedPart(profile, part)) * 1e3 /
                double(part.part.ranges.size()) +
            found.part);
  }
  for (auto &[efficiency, of] : lacks)
    efficiency->part =
        std::max(0.0, std::round(middleOf(std::move(of)) * 1e3) / 1e3);
}

static void count(HeldOut &result, std::vector<double> &errors,
                  const std::string &routine, double predicted, double median,
                  double p10, double p90) {
  double error = std::abs(predicted / median - 1);
  bool isGood = error <= 0.1 || (predicted >= p10 && predicted <= p90);
  for (HeldOutCount *count : {&result.sum, &result.byRoutine[routine]}) {
    count->good += isGood;
    ++count->all;
  }
  errors.push_back(error);
}

HeldOut predictFronts(const GpuProfile &gpu, const std::vector<Sample> &wholes,
                      const std::vector<Sample> &fronts) {
  std::map<std::pair<std::string, bool>, const Sample *> byKey;
  for (const Sample &whole : wholes)
    byKey[{whole.facts.key, whole.facts.fromMemory}] = &whole;
  // The prediction alone counts, no measured time.
  auto predicted = [&](KernelFacts facts) {
    facts.key.clear();
    return stampedCost(gpu, facts).milliseconds * 1e3;
  };
  HeldOut result;
  std::vector<double> errors;
  for (const Sample &front : fronts) {
    auto whole = byKey.find(
        {artifact::wholeKey(front.facts.key), front.facts.fromMemory});
    if (whole == byKey.end())
      continue;
    double scale = whole->second->median / predicted(whole->second->facts);
    count(result, errors, front.facts.routine, predicted(front.facts) * scale,
          front.median, front.p10, front.p90);
  }
  if (!errors.empty())
    result.error = middleOf(errors);
  return result;
}

/// The routine's family and variant, for people: "conv.gemm".
static std::string shortName(const std::string &routine) {
  return routine.substr(0, routine.find('.', routine.find('.') + 1));
}

HeldOut fitAndHoldOutParts(DeviceProfile &profile,
                           const std::vector<PartSample> &parts) {
  HeldOut result;
  std::vector<double> errors;
  std::map<std::string, size_t> layers;
  for (unsigned half : {0, 1}) {
    std::vector<PartSample> learned, asked;
    for (const PartSample &part : parts) {
      size_t layer =
          layers.try_emplace(part.layer, layers.size()).first->second;
      (layer % 2 == half ? asked : learned).push_back(part);
    }
    DeviceProfile fitted = profile;
    fitParts(fitted, learned);
    for (const PartSample &part : asked)
      count(result, errors,
            shortName(part.routine) + " x " + std::to_string(part.threads),
            predictedPart(fitted, part), part.median, part.p10, part.p90);
  }
  if (!errors.empty())
    result.error = middleOf(errors);
  fitParts(profile, parts);
  return result;
}

} // namespace nnv12::device
