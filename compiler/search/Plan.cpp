//===- Plan.cpp - The search as a whole -----------------------------------===//

#include "compiler/search/Algorithm1.h"
#include "compiler/search/Candidates.h"
#include "compiler/search/Combinations.h"
#include "compiler/search/LocalSearch.h"
#include "compiler/search/Simulator.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace nnv12::search {

/// With so many combinations of candidates at most, each is scheduled.
static constexpr size_t allCombinations = 256;

/// So near the lower bound the local search does not look further.
static constexpr double nearEnough = 1.0001;

/// How often, and by how much, the price of memory rises: to 0.25 ms a
/// megabyte, then to 6.
static constexpr unsigned dearerTimes = 3, mostTimes = 5;
static constexpr double dearerBy = 5;
/// So many of these searches may take as many steps as the first.
static constexpr uint64_t shorterBy = 16;

/// Where storage is slow decoding is worth any gain that is more than a
/// rounding.
static constexpr double worthDecodingSlow = 0.99;

/// Without a pipeline: the execute lane prepares everything, then executes.
static Assignment sequential(const Choice &choice) {
  Assignment a = Assignment::onExecuteLane(choice);
  std::fill(a.key.begin(), a.key.end(), 0);
  return a;
}

/// A problem in which all is done by the execute lane.
static Problem withoutLanes(const Problem &problem) {
  Problem result = problem;
  result.device.preparationLanes.clear();
  return result;
}

/// With or without decoding, as the options say.
static Plan planEither(const Problem &problem, const Options &options) {
  Plan result;
  const Problem used = options.pipeline ? problem : withoutLanes(problem);

  auto usable = usableCandidates(
      used, options, options.localSearch ? Dominance::Every : Dominance::Paper);
  LocalSearch search(used, options, usable);
  for (const Choice &choice : combinations(used, usable, allCombinations)) {
    if (!options.pipeline) {
      search.consider(sequential(choice));
      continue;
    }
    search.consider(algorithm1(used, choice));
    if (options.localSearch)
      search.considerLists(choice);
  }
  double bound = lowerBound(problem);
  double starts = std::min(used.device.laneStart, used.device.aloneStart);
  if (options.localSearch)
    search.improve(bound * nearEnough + starts);

  result.choice = search.best().choice;
  result.schedule = search.best().schedule(used);
  result.schedule.lanes.resize(problem.device.preparationLanes.size() + 1);
  result.finish = simulate(problem, result.choice, result.schedule).finish;
  result.bound = std::min(result.finish, bound);
  assert(result.finish < Simulator::never &&
         "what was found can be carried out");
  result.steps = search.steps();
  return result;
}

/// The number by which plans of one problem are compared.
static double cost(const Problem &problem, const Plan &plan,
                   const Options &options) {
  return plan.finish +
         options.memoryWeight * preparedMemory(problem, plan.choice);
}

/// A small model may be done before a lane's thread is worth its start.
static Plan planWithLanesOrNot(const Problem &problem, const Options &options) {
  Plan with = planEither(problem, options);
  double starts = lanesStart(problem.device, with.schedule.lanes);
  if (!options.pipeline || starts <= 0 || !usedLanes(with.schedule.lanes))
    return with;
  Schedule alone = Assignment::onExecuteLane(with.choice).schedule(problem);
  if (simulate(problem, with.choice, alone).finish > with.finish + starts)
    return with;
  Plan without = planEither(withoutLanes(problem), options);
  without.schedule.lanes.resize(with.schedule.lanes.size());
  without.steps = with.steps += without.steps;
  without.bound = std::min(with.bound, without.finish);
  return cost(problem, without, options) <= cost(problem, with, options)
             ? without
             : with;
}

static bool canDecode(const Problem &problem) {
  for (const Layer &layer : problem.layers)
    for (const Candidate &candidate : layer.candidates)
      if (candidate.decode)
        return true;
  return false;
}

/// With decoding only where it is worth it.
static Plan planDecodingOrNot(const Problem &problem, const Options &options) {
  if (problem.device.decoderStart <= 0 || !canDecode(problem))
    return planWithLanesOrNot(problem, options);
  // Starting the decoder costs once, decoding saves layer by layer:
  // a search that changes layer after layer cannot see both.
  Options without = options;
  without.decoding = false;
  Plan best = planWithLanesOrNot(problem, without);
  bool mayBeBetter = decoderStart(problem, best.choice) > 0 ||
                     best.bound + problem.device.decoderStart < best.finish;
  if (!options.decoding || !mayBeBetter)
    return best;
  Plan decoding = planWithLanesOrNot(problem, options);
  decoding.steps += best.steps;
  best.steps = decoding.steps;
  double most = std::max(worthDecodingSlow, options.worthDecoding),
         worth = options.worthDecoding +
                 (most - options.worthDecoding) * slowness(problem.device);
  return cost(problem, decoding, options) < cost(problem, best, options) * worth
             ? decoding
             : best;
}

double preparedMemory(const Problem &problem, const Choice &choice) {
  double sum = 0;
  for (size_t i = 0; i < choice.size(); ++i)
    sum += problem.chosen(choice, i).memory;
  return sum;
}

Plan plan(const Problem &problem, const Options &options) {
  Plan best;
  if (problem.layers.empty()) {
    best.schedule.lanes.resize(problem.device.preparationLanes.size() + 1);
    return best;
  }
  best = planDecodingOrNot(problem, options);
  // A limit that some layers must keep to at the cost of others is a price that
  // all pay: it rises until little enough is taken.
  Options dearer = options;
  dearer.steps /= shorterBy;
  for (unsigned i = 0; i < mostTimes && options.selectKernels; ++i) {
    double limit = i < dearerTimes ? options.memoryLimit : options.memoryMost;
    if (preparedMemory(problem, best.choice) <= limit)
      break;
    // Where storage is slow decoded weights may take memory.
    double rises = 1;
    if (i >= dearerTimes && decoderStart(problem, best.choice) > 0)
      rises = std::clamp((mostTimes - dearerTimes) *
                                 (1 - slowness(problem.device)) -
                             (i - dearerTimes),
                         0.0, 1.0);
    if (rises == 0)
      break;
    dearer.memoryWeight *= std::pow(dearerBy, rises);
    Plan next = planDecodingOrNot(problem, dearer);
    next.steps += best.steps;
    next.bound = std::min(best.bound, next.finish);
    if (preparedMemory(problem, next.choice) <=
        preparedMemory(problem, best.choice))
      best = std::move(next);
    else
      best.steps = next.steps;
  }
  return best;
}

} // namespace nnv12::search
