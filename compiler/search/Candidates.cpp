//===- Candidates.cpp - Which candidates a search looks at ----------------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/Simulator.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace nnv12::search {

bool derivable(const Candidate &cold, const Candidate &warm) {
  if (!hasPreparation(warm) || cold.form == warm.form)
    return true;
  return cold.storage.storage != plan::Storage::transformed;
}

/// The fastest execute among `allowed`, of equals the soonest ready.
static unsigned fastestExecute(const Problem &problem, const Layer &layer,
                               const std::vector<unsigned> &allowed) {
  assert(!allowed.empty());
  unsigned best = allowed[0];
  auto ready = [&](unsigned i) {
    return preparationTime(problem.device, layer.candidates[i], Core::Big);
  };
  for (unsigned i : allowed) {
    double a = layer.candidates[i].execute, b = layer.candidates[best].execute;
    if (a < b || (a == b && ready(i) < ready(best)))
      best = i;
  }
  return best;
}

static double leastPrepared(const Layer &layer,
                            const std::vector<unsigned> &allowed) {
  assert(!allowed.empty());
  double least = layer.candidates[allowed[0]].prepared;
  for (unsigned i : allowed)
    least = std::min(least, layer.candidates[i].prepared);
  return least;
}

static std::vector<unsigned> all(const Layer &layer) {
  std::vector<unsigned> indices(layer.candidates.size());
  for (unsigned i = 0; i < indices.size(); ++i)
    indices[i] = i;
  return indices;
}

Choice warmChoice(const Problem &problem) {
  Choice choice;
  for (const Layer &layer : problem.layers)
    choice.push_back(fastestExecute(problem, layer, all(layer)));
  return choice;
}

/// The numbers of a candidate that count: less is better in each.
static std::array<double, 5> costs(const Device &device, const Candidate &c,
                                   Dominance dominance) {
  if (dominance == Dominance::Paper)
    return {preparationTime(device, c, Core::Big),
            preparationTime(device, c, Core::Little), 0, c.execute, 0};
  return {preparationJob(device, 0, c, Core::Big).work,
          preparationJob(device, 0, c, Core::Little).work, c.bytes, c.execute,
          c.memory};
}

std::vector<std::vector<unsigned>> usableCandidates(const Problem &problem,
                                                    const Options &options,
                                                    Dominance dominance) {
  std::vector<std::vector<unsigned>> result;
  for (const Layer &layer : problem.layers) {
    std::vector<unsigned> allowed = all(layer);
    // Each restriction holds where it leaves a candidate.
    auto keep = [&](auto wanted) {
      std::vector<unsigned> kept;
      for (unsigned i : allowed)
        if (wanted(layer.candidates[i]))
          kept.push_back(i);
      if (!kept.empty())
        allowed = kept;
    };
    if (!options.storedForms)
      keep([](const Candidate &c) { return isAsInTheModel(c); });
    if (!options.decoding)
      keep([](const Candidate &c) { return !isDecoded(c); });
    if (options.mappedWeights) {
      double least = leastPrepared(layer, allowed);
      keep([&](const Candidate &c) { return c.prepared == least; });
    }
    if (!options.selectKernels) {
      double fastest =
          layer.candidates[fastestExecute(problem, layer, allowed)].execute;
      keep([&](const Candidate &c) { return c.execute == fastest; });
    }
    if (options.continuous) {
      const Candidate &warm =
          layer.candidates[fastestExecute(problem, layer, all(layer))];
      keep([&](const Candidate &c) {
        return c.routine == warm.routine || derivable(c, warm);
      });
    }
    std::vector<unsigned> kept;
    for (unsigned i : allowed) {
      auto a = costs(problem.device, layer.candidates[i], dominance);
      bool dominated = false;
      for (unsigned j : allowed) {
        auto b = costs(problem.device, layer.candidates[j], dominance);
        bool noWorse = true;
        for (size_t k = 0; k < a.size(); ++k)
          noWorse &= b[k] <= a[k];
        dominated |= i != j && noWorse && (a != b || j < i);
      }
      if (!dominated)
        kept.push_back(i);
    }
    assert(!kept.empty() && "the best of each cost is dominated by none");
    result.push_back(kept);
  }
  return result;
}

} // namespace nnv12::search
