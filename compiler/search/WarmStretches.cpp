//===- WarmStretches.cpp - Divides a warm run between processors ----------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/Overlay.h"
#include "compiler/search/Search.h"

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
              coprocessor.sync};
}

} // namespace

StretchTime stretchTime(const Problem &problem, const StretchChoice &choice,
                        Stretch stretch) {
  assert(problem.device.coprocessor && stretch.count > 0 &&
         stretch.end() <= problem.layers.size() && "layers of the problem");
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
                                            const StretchChoice &inStretch) {
  uint32_t n = uint32_t(problem.layers.size());
  assert(cpu.size() == n && inStretch.size() == n && "one of each a layer");
  // All executes are slowed down alike where threads are more than CPUs.
  double scale = std::max(1.0, double(problem.device.executeThreads) /
                                   std::max(1u, problem.device.cpus));
  std::vector<double> best(n + 1, 0), alone(n + 1, 0);
  std::vector<uint32_t> stretch(n + 1, 0); ///< layers of one; 0: the CPUs'
  Boundary boundary(problem);
  for (uint32_t i = n; i-- > 0;) {
    double execute = problem.layers[i].candidates[cpu[i]].execute * scale;
    alone[i] = alone[i + 1] + execute;
    best[i] = best[i + 1] + execute;
    if (!problem.device.coprocessor)
      continue;
    boundary.begin(i);
    double kernels = 0;
    for (uint32_t j = i; j < n && !problem.layers[j].inStretch.empty(); ++j) {
      boundary.add(j);
      kernels += problem.chosenInStretch(inStretch, j).execute;
      double time =
          timeOf(*problem.device.coprocessor, boundary, kernels).sum();
      if (time + best[j + 1] < best[i]) {
        best[i] = time + best[j + 1];
        stretch[i] = j + 1 - i;
      }
    }
  }
  std::vector<WarmStretches> result(n + 1);
  for (uint32_t k = 0; k <= n; ++k) {
    result[k] = {inStretch, {}, best[k], alone[k]};
    for (uint32_t i = k; i < n; i += std::max(1u, stretch[i]))
      if (stretch[i])
        result[k].stretches.push_back({i, stretch[i]});
  }
  return result;
}

WarmStretches planWarmStretches(const Problem &problem, const Choice &cpu,
                                const StretchChoice &inStretch) {
  return planWarmSuffixes(problem, cpu, inStretch).front();
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
