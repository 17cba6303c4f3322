//===- WarmStretches.cpp - Divides a warm run between processors ----------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/Overlay.h"
#include "compiler/search/Search.h"
#include "compiler/search/SplitStretches.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace nnv12::search {

namespace {

/// Bytes that pass between the processors at the ends of a stretch that grows
/// layer by layer.
class Boundary {
public:
  explicit Boundary(const Problem &problem)
      : problem(problem), read(problem.layers.size()),
        written(problem.layers.size()) {
    for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
      const Tensor &tensor = problem.tensors[t];
      assert(std::is_sorted(tensor.readers.begin(), tensor.readers.end()) &&
             "readers are in order");
      for (uint32_t reader : tensor.readers) {
        assert(reader < read.size() &&
               (tensor.producer == Tensor::input || tensor.producer < reader) &&
               "layers read what comes before them");
        read[reader].push_back(t);
      }
      if (tensor.producer != Tensor::input)
        written[tensor.producer].push_back(t);
    }
    taken.assign(problem.tensors.size(), ~0u);
  }

  void begin(uint32_t first) {
    start = first;
    in = out = 0;
  }
  void add(uint32_t layer) {
    for (uint32_t t : read[layer]) {
      const Tensor &tensor = problem.tensors[t];
      if (tensor.producer == Tensor::input || tensor.producer < start) {
        if (taken[t] != start)
          in += tensor.bytes;
        taken[t] = start;
      } else if (tensor.readers.back() == layer && !tensor.output) {
        // A layer may read it twice, which is the last reader once.
        if (taken[t] != start)
          out -= tensor.bytes;
        taken[t] = start;
      }
    }
    for (uint32_t t : written[layer])
      if (problem.tensors[t].output || !problem.tensors[t].readers.empty())
        out += problem.tensors[t].bytes;
  }

  double in = 0, out = 0;

private:
  const Problem &problem;
  std::vector<std::vector<uint32_t>> read, written; ///< tensors of each layer
  std::vector<uint32_t> taken; ///< the stretch that counted a tensor last
  uint32_t start = 0;
};

StretchTime timeOf(const Coprocessor &coprocessor, const Boundary &boundary,
                   double kernels) {
  return {boundary.in * coprocessor.inPerByte + coprocessor.submit, kernels,
          // Sums of differences may leave a rounding below nothing.
          std::max(0.0, boundary.out) * coprocessor.outPerByte +
              coprocessor.sync,
          0, kernels};
}

/// Millijoules. `waits`: milliseconds of takeBack in which CPUs have nothing to
/// do.
double energyOf(const Power &power, const StretchTime &time, double waits) {
  double copies = time.handOver + time.takeBack - waits;
  return power.base * time.sum() + power.cpu * (copies + time.cpu) +
         power.gpu * time.gpu;
}

} // namespace

StretchTime stretchTime(const Problem &problem, const StretchChoice &choice,
                        Stretch stretch) {
  assert(problem.device.coprocessor && stretch.count > 0 &&
         stretch.end() <= problem.layers.size() && "layers of the problem");
  if (stretch.split) {
    SplitWalk walk(problem, choice, stretch.split->dim);
    walk.begin(stretch.end() - 1, stretch.split->at);
    for (uint32_t i = 0; i < stretch.count; ++i) {
      [[maybe_unused]] bool grew = walk.grow();
      assert(grew && "its layers can be cut there");
    }
    return walk.time();
  }
  Boundary boundary(problem);
  boundary.begin(stretch.first);
  double kernels = 0;
  for (uint32_t i = stretch.first; i < stretch.end(); ++i) {
    boundary.add(i);
    kernels += problem.chosenInStretch(choice, i).execute;
  }
  return timeOf(*problem.device.coprocessor, boundary, kernels);
}

StretchChoice fastestInStretches(const Problem &problem) {
  StretchChoice choice;
  for (const Layer &layer : problem.layers)
    choice.push_back(fastest(layer.inStretch, [&](const Candidate &candidate) {
      double sum = candidate.transform.big;
      for (uint32_t pipeline : candidate.pipelines)
        sum += problem.pipelines[pipeline].build;
      return sum;
    }));
  return choice;
}

StretchChoice withFewPipelines(const Problem &problem, StretchChoice choice) {
  std::set<uint32_t> used;
  // Makes `to` do without a pipeline, and says what that loses.
  auto avoid = [&](uint32_t pipeline, StretchChoice &to) {
    constexpr double never = std::numeric_limits<double>::infinity();
    double loss = 0;
    for (uint32_t i = 0; i < problem.layers.size(); ++i) {
      const std::vector<Candidate> &candidates = problem.layers[i].inStretch;
      if (candidates.empty() || !candidates[to[i]].uses(pipeline))
        continue;
      double before = candidates[to[i]].execute, best = never;
      for (unsigned c = 0; c < candidates.size(); ++c)
        if (!candidates[c].uses(pipeline) && candidates[c].execute < best &&
            std::all_of(
                candidates[c].pipelines.begin(), candidates[c].pipelines.end(),
                [&](uint32_t p) { return used.count(p) > 0; })) {
          best = candidates[c].execute;
          to[i] = c;
        }
      loss += best - before;
    }
    return loss;
  };
  for (;;) {
    double sum = 0;
    used.clear();
    for (uint32_t i = 0; i < problem.layers.size(); ++i)
      if (!problem.layers[i].inStretch.empty()) {
        const Candidate &candidate = problem.chosenInStretch(choice, i);
        sum += candidate.execute;
        used.insert(candidate.pipelines.begin(), candidate.pipelines.end());
      }
    double least = worthPipeline * sum;
    std::optional<StretchChoice> without;
    for (uint32_t pipeline : used) {
      StretchChoice next = choice;
      double loss = avoid(pipeline, next);
      if (loss >= least)
        continue;
      least = loss;
      without = std::move(next);
    }
    if (!without)
      return choice;
    choice = std::move(*without);
  }
}

std::vector<WarmStretches> planWarmSuffixes(const Problem &problem,
                                            const Choice &cpu,
                                            const StretchChoice &inStretch,
                                            const Options &options) {
  uint32_t n = uint32_t(problem.layers.size());
  assert(cpu.size() == n && inStretch.size() == n && "one of each a layer");
  // All executes are slowed down alike.
  double scale = problem.device.crowding();
  const auto &coprocessor = problem.device.coprocessor;
  Power power;
  if (coprocessor && coprocessor->power)
    power = *coprocessor->power;

  /// The best from a layer on, and how it begins.
  struct Way {
    double cost = std::numeric_limits<double>::infinity(), time = 0, energy = 0;
    Stretch stretch; ///< empty: an execute of the CPUs
  };
  std::vector<Way> best(n + 1);
  best[n].cost = 0;
  // Keeps a way to compute the layers before `rest` if it is better.
  auto offer = [&](Way &to, double time, double energy, const Way &rest,
                   const Stretch &stretch) {
    double all = time + rest.time, millijoules = energy + rest.energy,
           cost = options.objective.of(all, millijoules);
    if (cost < to.cost)
      to = {cost, all, millijoules, stretch};
  };
  std::vector<SplitWalk> walks;
  if (coprocessor && options.splits == Splits::WherePays)
    for (uint32_t dim : splitDims(problem))
      walks.emplace_back(problem, inStretch, dim);
  std::vector<double> alone(n + 1, 0);
  std::vector<Way> split(n); ///< the best that begins with one
  Boundary boundary(problem);
  for (uint32_t i = n; i-- > 0;) {
    double execute = problem.chosen(cpu, i).execute * scale;
    alone[i] = alone[i + 1] + execute;
    offer(best[i], execute, (power.base + power.cpu) * execute, best[i + 1],
          {i, 0});
    if (!coprocessor)
      continue;
    boundary.begin(i);
    double kernels = 0;
    for (uint32_t j = i; j < n && !problem.layers[j].inStretch.empty(); ++j) {
      boundary.add(j);
      kernels += problem.chosenInStretch(inStretch, j).execute;
      StretchTime time = timeOf(*coprocessor, boundary, kernels);
      offer(best[i], time.sum(), energyOf(power, time, coprocessor->sync),
            best[j + 1], {i, j + 1 - i});
    }
    // Splits grow from their last layer: that is i, and those that begin there
    // are known by now.
    for (size_t w = 0; w < walks.size(); ++w)
      for (uint32_t at : walks[w].placesOf(i)) {
        walks[w].begin(i, at);
        while (walks[w].grow()) {
          StretchTime time = walks[w].time();
          uint32_t first = walks[w].first();
          offer(split[first], time.sum(), energyOf(power, time, 0), best[i + 1],
                {first, i + 1 - first, Split{walks[w].dim(), at}});
        }
      }
    if (split[i].cost < best[i].cost)
      best[i] = split[i];
  }
  uint64_t steps = 0;
  for (const SplitWalk &walk : walks)
    steps += walk.steps();
  std::vector<WarmStretches> result(n + 1);
  for (uint32_t k = 0; k <= n; ++k) {
    result[k] = {inStretch, {}, best[k].time, alone[k], best[k].energy, steps};
    for (uint32_t i = k; i < n; i += std::max(1u, best[i].stretch.count))
      if (best[i].stretch.count)
        result[k].stretches.push_back(best[i].stretch);
  }
  return result;
}

WarmStretches planWarmStretches(const Problem &problem, const Choice &cpu,
                                const StretchChoice &inStretch,
                                const Options &options) {
  Options whole = options;
  whole.splits = Splits::Never;
  WarmStretches without =
      planWarmSuffixes(problem, cpu, inStretch, whole).front();
  if (options.splits != Splits::WherePays)
    return without;
  WarmStretches with =
      planWarmSuffixes(problem, cpu, inStretch, options).front();
  auto cost = [&](const WarmStretches &plan) {
    return options.objective.of(plan.time, plan.energy);
  };
  bool isSplit = std::any_of(with.stretches.begin(), with.stretches.end(),
                             [](const Stretch &s) { return bool(s.split); });
  return isSplit && cost(with) <= cost(without) * options.worthSplit ? with
                                                                     : without;
}

void leaveToCpus(Problem &problem, const Choice &cpu) {
  for (;;) {
    StretchChoice choice =
        withFewPipelines(problem, fastestInStretches(problem));
    WarmStretches plan = planWarmStretches(problem, cpu, choice);
    // By pipeline, the layers in stretches that use it.
    std::map<uint32_t, std::vector<uint32_t>> layersOf;
    for (const Stretch &stretch : plan.stretches)
      for (uint32_t i = stretch.first; i < stretch.end(); ++i)
        for (uint32_t p : problem.chosenInStretch(choice, i).pipelines)
          layersOf[p].push_back(i);
    double least = worthPipeline * plan.time;
    const std::vector<uint32_t> *left = nullptr;
    for (const auto &[pipeline, layers] : layersOf) {
      std::vector<std::vector<Candidate>> taken;
      for (uint32_t i : layers)
        taken.push_back(std::exchange(problem.layers[i].inStretch, {}));
      double loss = planWarmStretches(problem, cpu, choice).time - plan.time;
      for (size_t n = 0; n < layers.size(); ++n)
        problem.layers[layers[n]].inStretch = std::move(taken[n]);
      if (loss >= least)
        continue;
      least = loss;
      left = &layers;
    }
    if (!left)
      return;
    for (uint32_t i : *left)
      problem.layers[i].inStretch.clear();
  }
}

} // namespace nnv12::search
