//===- Candidates.cpp - Which candidates a search looks at ----------------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/Simulator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <limits>
#include <numeric>

namespace nnv12::search {

bool derivable(const Candidate &cold, const Candidate &warm) {
  if (!hasPreparation(warm) || cold.form == warm.form)
    return true;
  if (warm.readsNarrow)
    return cold.storage.narrow == warm.storage.narrow;
  return cold.storage.storage != plan::Storage::transformed;
}

/// The fastest execute of a layer, of equals the soonest ready.
static unsigned fastestExecute(const Problem &problem, const Layer &layer) {
  return fastest(layer.candidates, [&](const Candidate &candidate) {
    return preparationTime(problem.device, candidate, Core::Big);
  });
}

/// Leaves the candidates of `allowed` that are wanted, where there is one.
template <typename Wanted>
static void keep(const std::vector<Candidate> &candidates,
                 std::vector<unsigned> &allowed, Wanted wanted) {
  std::vector<unsigned> kept;
  for (unsigned i : allowed)
    if (wanted(candidates[i]))
      kept.push_back(i);
  if (!kept.empty())
    allowed = std::move(kept);
}

/// Leaves those whose `number` is the least.
static void keepLeast(const std::vector<Candidate> &candidates,
                      std::vector<unsigned> &allowed,
                      double Candidate::*number) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned i : allowed)
    least = std::min(least, candidates[i].*number);
  keep(candidates, allowed,
       [&](const Candidate &c) { return c.*number == least; });
}

std::vector<unsigned>
allowedCandidates(const std::vector<Candidate> &candidates,
                  const Options &options) {
  std::vector<unsigned> allowed(candidates.size());
  std::iota(allowed.begin(), allowed.end(), 0);
  if (!options.storedForms)
    keep(candidates, allowed, [](const Candidate &c) {
      return c.storage == plan::StoredForm{plan::Storage::raw};
    });
  if (!options.decoding)
    keep(candidates, allowed, [](const Candidate &c) { return !c.decode; });
  if (options.mappedWeights)
    keepLeast(candidates, allowed, &Candidate::prepared);
  if (!options.selectKernels)
    keepLeast(candidates, allowed, &Candidate::execute);
  keep(candidates, allowed, [](const Candidate &c) { return !c.onlyLater; });
  return allowed;
}

Choice warmChoice(const Problem &problem) {
  Choice choice;
  for (const Layer &layer : problem.layers)
    choice.push_back(fastestExecute(problem, layer));
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
    std::vector<unsigned> allowed =
        allowedCandidates(layer.candidates, options);
    if (options.continuous) {
      const Candidate &warm = layer.candidates[fastestExecute(problem, layer)];
      keep(layer.candidates, allowed, [&](const Candidate &c) {
        return c.routine == warm.routine || derivable(c, warm);
      });
    }
    std::vector<unsigned> kept;
    for (unsigned i : allowed) {
      auto a = costs(problem.device, layer.candidates[i], dominance);
      auto dominates = [&](unsigned j) {
        auto b = costs(problem.device, layer.candidates[j], dominance);
        return i != j && (a != b || j < i) &&
               std::equal(b.begin(), b.end(), a.begin(), std::less_equal<>());
      };
      if (std::none_of(allowed.begin(), allowed.end(), dominates))
        kept.push_back(i);
    }
    assert(!kept.empty() && "the best of each cost is dominated by none");
    result.push_back(kept);
  }
  return result;
}

} // namespace nnv12::search
