//===- Fit.cpp - Predictor coefficients from measured kernels -------------===//

#include "compiler/device/Fit.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <set>
#include <tuple>

namespace nnv12::device {

namespace {

/// A kernel and how long it took, in the unit of its cost model.
struct Measured {
  const KernelFacts *kernel;
  double time;
};

double median(std::vector<double> values) {
  assert(!values.empty() && "nothing has no median");
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

/// The name up to its `parts`th dot.
std::string prefix(const std::string &routine, unsigned parts) {
  size_t end = routine.find('.');
  for (unsigned i = 1; i < parts && end != std::string::npos; ++i)
    end = routine.find('.', end + 1);
  return routine.substr(0, end);
}

//===----------------------------------------------------------------------===//
// Descent
//===----------------------------------------------------------------------===//

template <size_t N> using Coefficients = std::array<double, N>;

/// A step of the descent: each coefficient is multiplied by the factor to this
/// power, 1, 0 or -1.
template <size_t N> using Move = std::array<int, N>;

/// The bounds of coefficients. One below `smallest` is multiplied as if it were
/// that: from 0 nothing grows.
template <size_t N> struct Range {
  Coefficients<N> smallest, most;
};

/// Coordinate descent in log space from `at`: coefficients are multiplied by
/// factors that grow smaller, as long as that makes `loss` less.
template <size_t N, typename Loss>
Coefficients<N> descend(Coefficients<N> at, const Range<N> &range,
                        const std::vector<Move<N>> &moves, Loss loss) {
  double best = loss(at);
  for (double factor = 2; factor > 1.005; factor = std::sqrt(factor))
    for (int moved = 1, rounds = 0; moved && rounds < 50; ++rounds) {
      moved = 0;
      for (double f : {factor, 1 / factor})
        for (const Move<N> &move : moves) {
          Coefficients<N> next = at;
          bool allowed = true;
          for (size_t i = 0; i < N; ++i) {
            if (move[i])
              next[i] = std::max(range.smallest[i], next[i]) *
                        (move[i] > 0 ? f : 1 / f);
            allowed &= next[i] <= range.most[i];
          }
          if (!allowed)
            continue;
          double value = loss(next);
          if (value < best * (1 - 1e-9)) {
            best = value;
            at = next;
            moved = 1;
          }
        }
    }
  return at;
}

//===----------------------------------------------------------------------===//
// Cost models
//===----------------------------------------------------------------------===//

/// cost() of tiles on cores, in milliseconds of one big core.
struct CoreModel {
  using Profile = DeviceProfile;
  using Value = Efficiency;
  using C = Coefficients<3>;
  // Beyond these a coefficient no longer means what it is called: a cache is
  // faster than memory, and a peak may be underestimated, but not without
  // limit.
  static constexpr double mostCompute = 4, mostMemory = 16;
  static constexpr Range<3> range = {{0, 0, 0.01},
                                     {mostCompute, mostMemory, 1000}};

  static C coefficients(const Efficiency &e) {
    return {e.compute, e.memory, e.overhead};
  }
  static Efficiency efficiency(const C &c) { return {c[0], c[1], c[2]}; }
  static Efficiency known(const DeviceProfile &profile,
                          const std::string &name) {
    return profile.efficiencyOf(name);
  }
  static double predicted(const DeviceProfile &profile,
                          const KernelFacts &kernel) {
    return predict(profile, profile.efficiencyOf(kernel.routine), kernel);
  }
  static double measured(const DeviceProfile &profile,
                         const KernelFacts &kernel) {
    auto found = profile.kernels.find(kernel.key);
    return found == profile.kernels.end() || found->second.big.empty()
               ? 0
               : found->second.big[0];
  }
  /// The families that a routine's measurement counts for: all routines, those
  /// that share the first part of its name, and those that share the first two
  /// ("conv.direct").
  static std::set<std::string> families(const std::string &routine) {
    return {"", prefix(routine, 1), prefix(routine, 2)};
  }
  static std::vector<Move<3>> moves(const DeviceProfile &, size_t samples) {
    // Few samples do not tell three numbers apart.
    if (samples < 4)
      return {{1, 1, 0}};
    return {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}};
  }
  static C scaled(C c, double ratio) {
    return {std::min(c[0] * ratio, mostCompute),
            std::min(c[1] * ratio, mostMemory), c[2]};
  }
  /// The scale first: the median ratio corrects both parts at once.
  template <typename Loss>
  static std::vector<C> starts(const C &present, double ratio, Loss loss) {
    C at = scaled(present, ratio);
    return {loss(at) < loss(present) ? at : present};
  }
  static Efficiency finish(const DeviceProfile &, const Efficiency &e,
                           const std::vector<Measured> &) {
    return e;
  }
  /// The coefficients of a family without measurements: it is as much off as
  /// the others are. Nothing where one that was measured has it, "" and "conv"
  /// aside.
  static std::optional<Efficiency>
  unmeasured(const std::string &name, const Efficiency &e, double ratio,
             const std::map<std::string, std::vector<Measured>> &measured) {
    for (const auto &[family, of] : measured)
      if (family.find('.') != std::string::npos &&
          name.rfind(family + ".", 0) == 0)
        return std::nullopt;
    return efficiency(scaled(coefficients(e), ratio));
  }
};

/// cost() of dispatches on a GPU, with their time stamps, in microseconds.
struct DispatchModel {
  using Profile = GpuProfile;
  using Value = GpuEfficiency;
  using C = Coefficients<7>;
  static constexpr Range<7> range = {{1e-3, 1e-5, 1e-5, 1e-6, 1e-3, 1e-5, 1e-3},
                                     {1e6, 1e5, 1e5, 1e5, 1e3, 1e5, 1e6}};

  static C coefficients(const GpuEfficiency &e) {
    return {e.start,  e.latency,           e.group, e.step,
            e.memory, e.latencyFromMemory, e.work};
  }
  static GpuEfficiency efficiency(const C &c) {
    return {float(c[0]), float(c[1]), float(c[2]), float(c[3]),
            float(c[4]), float(c[5]), float(c[6])};
  }
  static GpuEfficiency known(const GpuProfile &gpu, const std::string &name) {
    const GpuEfficiency *found = gpu.efficiencyOf(name);
    return found ? *found : GpuEfficiency();
  }
  static double predicted(const GpuProfile &gpu, KernelFacts kernel) {
    kernel.key.clear();
    return stampedCost(gpu, kernel).milliseconds * 1e3;
  }
  static double measured(const GpuProfile &gpu, const KernelFacts &kernel) {
    return measuredTime(gpu, kernel) * 1e3;
  }
  /// The families that a kernel counts for: all kernels, those of its family
  /// ("gpu.conv"), which serve kinds that were not measured, and its own kind.
  static std::set<std::string> families(const std::string &routine) {
    return {"", prefix(routine, 2), routine};
  }
  /// The coefficients that change together: one may have to lose as much as
  /// another gains; alone neither would move.
  static std::vector<Move<7>> moves(const GpuProfile &gpu, size_t samples) {
    // Few samples do not tell so many numbers apart.
    if (samples < 5)
      return {{1, 1, 1, 1, -1, 1, 1}};
    if (gpu.kind == GpuKind::Software)
      return {{1, 0, 0, 0, 0, 0, 0},  {0, 0, 1, 0, 0, 0, 0},
              {0, 0, 0, 1, 0, 0, 0},  {0, 0, 0, 0, 1, 0, 0},
              {0, 0, 0, 0, 0, 0, 1},  {1, 0, -1, 0, 0, 0, 0},
              {1, 0, 0, 0, 1, 0, 0},  {0, 0, 1, -1, 0, 0, 0},
              {0, 0, 1, 0, 1, 0, 0},  {0, 0, 0, 1, 1, 0, 0},
              {0, 0, 0, 1, 0, 0, -1}, {0, 0, 1, 0, 0, 0, -1},
              {0, 0, 1, 1, 0, 0, 1},  {0, 0, 1, 1, -1, 0, 1},
              {1, 0, 1, 1, -1, 0, 1}};
    return {{1, 0, 0, 0, 0, 0},  {0, 1, 0, 0, 0, 0},   {0, 0, 1, 0, 0, 0},
            {0, 0, 0, 1, 0, 0},  {0, 0, 0, 0, 1, 0},   {0, 0, 0, 0, 0, 1},
            {1, -1, 0, 0, 0, 0}, {1, -1, 0, 0, 0, -1}, {1, 0, -1, 0, 0, 0},
            {1, 0, 0, 0, 1, 0},  {0, 0, 1, -1, 0, 0},  {0, 1, 0, -1, 0, 1},
            {0, 1, 0, 0, 0, 1},  {0, 0, 1, 0, 1, 0},   {0, 0, 0, 1, 1, 0},
            {0, 1, 1, 1, 0, 1},  {0, 1, 1, 1, -1, 1},  {1, 1, 1, 1, -1, 1}};
  }
  /// A kernel is bound by one thing at a time, so that where the descent begins
  /// decides what it takes for the cause: it begins at several places.
  template <typename Loss>
  static std::vector<C> starts(const C &present, double, Loss) {
    std::vector<C> result = {present};
    for (const Move<7> &start :
         std::vector<Move<7>>{{0, -1, 1, -1, 1, -1, -1},
                              {0, 1, -1, -1, 1, 1, 1},
                              {0, -1, -1, 1, 1, -1, -1},
                              {0, -1, -1, -1, -1, -1, -1},
                              {0, 1, 1, 1, 0, 1, 1}}) {
      C at = present;
      for (size_t i = 0; i < at.size(); ++i)
        at[i] = std::min(range.most[i], std::max(range.smallest[i], at[i]) *
                                            std::pow(16.0, start[i]));
      result.push_back(at);
    }
    return result;
  }
  static GpuEfficiency finish(const GpuProfile &gpu, GpuEfficiency e,
                              const std::vector<Measured> &samples) {
    // Coefficients that such a GPU does not have.
    if (gpu.kind == GpuKind::Software)
      e.latency = e.latencyFromMemory = 0;
    else
      e.work = 0;
    // Those without weights.
    auto isFromMemory = [&](const Measured &s) {
      return readsMemory(gpu, *s.kernel);
    };
    if (std::none_of(samples.begin(), samples.end(), isFromMemory))
      e.latencyFromMemory = e.latency;
    if (std::all_of(samples.begin(), samples.end(), isFromMemory))
      e.latency = e.latencyFromMemory;
    return e;
  }
  static std::optional<GpuEfficiency>
  unmeasured(const std::string &, const GpuEfficiency &e, double,
             const std::map<std::string, std::vector<Measured>> &) {
    return e;
  }
};

//===----------------------------------------------------------------------===//
// The fit of any of them
//===----------------------------------------------------------------------===//

template <typename Model>
typename Model::Value fitFamily(const typename Model::Profile &profile,
                                const typename Model::Value &known,
                                const std::vector<Measured> &samples) {
  using C = typename Model::C;
  assert(!samples.empty() && "families have what was measured");
  // Mean of |log(predicted / measured)|: a relative error that is as large for
  // half the time as for twice the time, and that one outlier does not decide.
  auto loss = [&](const C &c) {
    double sum = 0;
    for (const Measured &s : samples)
      sum += std::abs(
          std::log(predict(profile, Model::efficiency(c), *s.kernel) / s.time));
    return sum / double(samples.size());
  };
  std::vector<double> ratios;
  for (const Measured &s : samples)
    ratios.push_back(predict(profile, known, *s.kernel) / s.time);
  auto moves = Model::moves(profile, samples.size());
  std::optional<C> best;
  for (const C &start :
       Model::starts(Model::coefficients(known), median(ratios), loss)) {
    C at = descend(start, Model::range, moves, loss);
    if (!best || loss(at) < loss(*best))
      best = at;
  }
  return Model::finish(profile, Model::efficiency(*best), samples);
}

/// Predicted by measured times.
template <typename Model>
std::vector<double> ratiosOf(const typename Model::Profile &profile,
                             const std::vector<Measured> &samples) {
  std::vector<double> ratios;
  for (const Measured &s : samples)
    ratios.push_back(Model::predicted(profile, *s.kernel) / s.time);
  return ratios;
}

double medianError(std::vector<double> ratios) {
  for (double &ratio : ratios)
    ratio = std::abs(ratio - 1);
  return median(std::move(ratios));
}

template <typename Model>
Fit fitTo(typename Model::Profile &profile,
          const std::vector<KernelFacts> &kernels) {
  std::vector<Measured> samples;
  std::map<std::string, std::vector<Measured>> measured;
  std::set<std::pair<std::string, bool>> seen;
  for (const KernelFacts &k : kernels) {
    double time = Model::measured(profile, k);
    if (!(time > 0) || !seen.insert({k.key, k.fromMemory}).second)
      continue;
    samples.push_back({&k, time});
    for (const std::string &name : Model::families(k.routine))
      measured[name].push_back(samples.back());
  }
  Fit result;
  result.kernels = unsigned(samples.size());
  if (samples.empty())
    return result;
  std::vector<double> ratios = ratiosOf<Model>(profile, samples);
  result.errorBefore = medianError(ratios);
  std::map<std::string, typename Model::Value> fitted;
  for (const auto &[name, of] : measured)
    fitted[name] = fitFamily<Model>(profile, Model::known(profile, name), of);
  for (const auto &[name, e] : profile.efficiency)
    if (!measured.count(name))
      if (auto other = Model::unmeasured(name, e, median(ratios), measured))
        fitted[name] = *other;
  profile.efficiency = std::move(fitted);
  result.errorAfter = medianError(ratiosOf<Model>(profile, samples));
  return result;
}

//===----------------------------------------------------------------------===//
// How good it is
//===----------------------------------------------------------------------===//

/// One of so many kernels is left out at a time.
constexpr size_t folds = 4;

/// Coefficients of the samples alone.
void fitSamples(GpuProfile &gpu, const std::vector<Sample> &samples) {
  std::vector<KernelFacts> kernels;
  gpu.kernels.clear();
  for (const Sample &sample : samples) {
    GpuKernelTime &time = gpu.kernels[sample.facts.key];
    (sample.facts.fromMemory ? time.millisecondsFromMemory
                             : time.milliseconds) = sample.median * 1e-3;
    kernels.push_back(sample.facts);
  }
  fitEfficiency(gpu, kernels);
}

} // namespace

Fit fitEfficiency(DeviceProfile &profile,
                  const std::vector<KernelFacts> &kernels) {
  return fitTo<CoreModel>(profile, kernels);
}

Fit fitEfficiency(GpuProfile &gpu, const std::vector<KernelFacts> &kernels) {
  return fitTo<DispatchModel>(gpu, kernels);
}

HeldOut fitAndHoldOut(GpuProfile &gpu, std::vector<Sample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const Sample &a, const Sample &b) {
              auto of = [](const KernelFacts &facts) {
                return std::tie(facts.routine, facts.key, facts.fromMemory);
              };
              return of(a.facts) < of(b.facts);
            });
  // With its weights in a cache and in memory a kernel is left out at once.
  std::vector<size_t> number(samples.size());
  for (size_t i = 1; i < samples.size(); ++i)
    number[i] =
        number[i - 1] + (samples[i].facts.key != samples[i - 1].facts.key);
  HeldOut result;
  std::vector<double> errors;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<Sample> known, left;
    for (size_t i = 0; i < samples.size(); ++i)
      (number[i] % folds == fold ? left : known).push_back(samples[i]);
    GpuProfile fitted = gpu;
    fitSamples(fitted, known);
    for (const Sample &sample : left) {
      double predicted = DispatchModel::predicted(fitted, sample.facts);
      errors.push_back(std::abs(predicted / sample.median - 1));
      for (HeldOutCount *count :
           {&result.sum, &result.byRoutine[sample.facts.routine]}) {
        ++count->all;
        count->good += errors.back() <= 0.1 ||
                       (predicted >= sample.p10 && predicted <= sample.p90);
      }
    }
  }
  if (!errors.empty()) {
    auto middle = errors.begin() + errors.size() / 2;
    std::nth_element(errors.begin(), middle, errors.end());
    result.error = *middle;
  }
  fitSamples(gpu, samples);
  return result;
}

} // namespace nnv12::device
