//===- HandOver.cpp - Where a first run hands over to a coprocessor -------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/OverlayJobs.h"
#include "compiler/search/Search.h"
#include "compiler/search/SplitStretches.h"

#include <algorithm>

namespace nnv12::search {

/// All layers from k on that can be in stretches.
static std::vector<Stretch> computable(const Problem &problem, uint32_t k) {
  std::vector<Stretch> result;
  for (uint32_t i = k; i < problem.layers.size(); ++i) {
    if (problem.layers[i].inStretch.empty())
      continue;
    if (!result.empty() && result.back().end() == i)
      ++result.back().count;
    else
      result.push_back({i, 1});
  }
  return result;
}

/// An overlay that serves no run.
static Overlay withoutStretches(const Problem &problem, const Plan &cpu) {
  Overlay plan;
  plan.cpuOnly = plan.finish = plan.finishCached =
      simulate(problem, cpu.choice, cpu.schedule).finish;
  plan.stretchesOnly = Simulator::never;
  return plan;
}

namespace {

/// Points of hand-over, the soonest first, for which parts are tried.
constexpr size_t bestPoints = 6;
/// Passes over all layers and pipelines that look for better candidates.
constexpr unsigned passes = 3;

class OverlaySearch {
public:
  OverlaySearch(const Problem &problem, const Plan &cpu, const Options &options,
                const Choice &later)
      : problem(problem), cpu(cpu), options(options), later(later),
        simulator(problem.device) {}

  Overlay run() {
    Overlay plan = withoutStretches(problem, cpu);
    StretchChoice warm = withFewPipelines(problem, fastestInStretches(problem));
    plan.warm = planWarmStretches(problem, later, warm, options);
    if (!problem.device.coprocessor || problem.layers.empty())
      return plan;

    for (const Layer &layer : problem.layers)
      allowed.push_back(allowedCandidates(layer.inStretch, options));
    StretchChoice choice = usable(warm);
    considerAll(choice);
    if (alone.finish < Simulator::never && options.selectKernels) {
      improve(alone);
      considerAll(alone.schedule.choice);
      Found refined = best;
      improve(refined);
      if (refined.finish < best.finish)
        best = refined;
      considerAll(best.schedule.choice);
    }
    plan.stretchesOnly = alone.finish;
    plan.allStretches = alone.schedule;
    if (!plan.warm.stretches.empty()) {
      plan.start = best.finish < plan.cpuOnly * options.worthOverlay
                       ? OverlayStart::AtOpen
                       : OverlayStart::AfterFirst;
      if (plan.start == OverlayStart::AtOpen)
        describeCold(plan);
      plan.later = prepareStretches(
          problem, plan.warm.choice, plan.warm.stretches,
          problem.device.coprocessor->threads, /*backwards=*/false,
          options.pipelineCache, keptFor(plan));
    }
    plan.steps = simulator.steps();
    return plan;
  }

private:
  struct Found {
    double finish = Simulator::never;
    OverlaySchedule schedule;
  };

  StretchChoice usable(StretchChoice choice) const {
    for (uint32_t i = 0; i < choice.size(); ++i) {
      const std::vector<unsigned> &of = allowed[i];
      if (of.empty() || std::find(of.begin(), of.end(), choice[i]) != of.end())
        continue;
      choice[i] =
          *std::min_element(of.begin(), of.end(), [&](unsigned a, unsigned b) {
            return problem.layers[i].inStretch[a].execute <
                   problem.layers[i].inStretch[b].execute;
          });
    }
    return choice;
  }

  OverlaySchedule scheduleOf(const StretchChoice &choice,
                             const std::vector<Stretch> &stretches) const {
    OverlaySchedule result;
    result.choice = choice;
    result.stretches = stretches;
    result.onExecuteLane = !options.pipeline;
    // One stretch needs everything; of several the first is prepared first.
    result.lanes = prepareStretches(
        problem, choice, stretches,
        options.pipeline ? problem.device.coprocessor->threads : 1,
        /*backwards=*/stretches.size() == 1, options.pipelineCache);
    return result;
  }

  /// Keeps a better plan in `found`, and returns how good it is if it may be.
  double consider(Found &found, const StretchChoice &choice,
                  const std::vector<Stretch> &stretches, double cutoff) {
    OverlaySchedule schedule = scheduleOf(choice, stretches);
    OverlayJobs jobs = overlayJobs(problem, cpu.choice, cpu.schedule, schedule,
                                   options.pipelineCache);
    double finish = jobs.start + simulator.run(jobs.lanes, jobs.counters,
                                               cutoff - jobs.start);
    if (finish < found.finish)
      found = {finish, std::move(schedule)};
    return finish;
  }

  /// Each stretch in as many parts as that, if it has so many layers, each of
  /// which takes about as long: the first may run while the second is prepared.
  std::vector<Stretch> inParts(const StretchChoice &choice,
                               const std::vector<Stretch> &stretches,
                               uint32_t parts) const {
    std::vector<Stretch> result;
    for (const Stretch &stretch : stretches) {
      auto execute = [&](uint32_t i) {
        return problem.chosenInStretch(choice, i).execute;
      };
      double sum = 0, passed = 0;
      for (uint32_t i = stretch.first; i < stretch.end(); ++i)
        sum += execute(i);
      uint32_t first = stretch.first, done = 1;
      for (uint32_t i = stretch.first; i < stretch.end(); ++i) {
        passed += execute(i);
        bool isLast = i + 1 == stretch.end();
        if (!isLast && parts < stretch.count && passed < sum * done / parts)
          continue;
        result.push_back({first, i + 1 - first});
        first = i + 1;
        ++done;
      }
    }
    return result;
  }

  void considerParts(Found &found, const StretchChoice &choice,
                     const std::vector<Stretch> &stretches) {
    if (!options.pipeline)
      return;
    uint32_t longest = 1;
    for (const Stretch &stretch : stretches)
      longest = std::max(longest, stretch.count);
    for (uint32_t parts = 2; parts / 2 < longest; parts *= 2)
      consider(found, choice, inParts(choice, stretches, parts), found.finish);
  }

  /// All points of hand-over, with the rest as in the warm plan, and with all
  /// of it in stretches that can be.
  void considerAll(const StretchChoice &choice) {
    std::vector<Stretch> all = computable(problem, 0);
    if (all.empty())
      return;
    consider(alone, choice, all, Simulator::never);
    considerParts(alone, choice, all);

    std::vector<std::pair<double, std::vector<Stretch>>> points;
    std::vector<WarmStretches> rests =
        planWarmSuffixes(problem, cpu.choice, choice);
    auto offer = [&](uint32_t k, const std::vector<Stretch> &stretches) {
      if (stretches.empty() || stretches[0].first != k)
        return; // as from a later point
      points.emplace_back(consider(best, choice, stretches, Simulator::never),
                          stretches);
    };
    for (uint32_t k = 0; k < problem.layers.size(); ++k) {
      offer(k, rests[k].stretches);
      std::vector<Stretch> rest = computable(problem, k);
      if (rest != rests[k].stretches)
        offer(k, rest);
    }
    std::stable_sort(
        points.begin(), points.end(),
        [](const auto &a, const auto &b) { return a.first < b.first; });
    for (size_t i = 0; i < std::min(points.size(), bestPoints); ++i)
      considerParts(best, choice, points[i].second);
    if (alone.finish < best.finish)
      best = alone;
  }

  /// Other candidates for the same stretches, as long as that helps: of a
  /// layer; of all layers that use a pipeline, which then is not needed; of all
  /// that can use one, so that others may not be needed.
  void improve(Found &found) {
    std::vector<Stretch> stretches = found.schedule.stretches;
    auto change = [&](const StretchChoice &choice) {
      double before = found.finish;
      return consider(found, choice, stretches, found.finish) < before;
    };
    for (unsigned pass = 0; pass < passes; ++pass) {
      bool moved = false;
      for (uint32_t p = 0; p < problem.pipelines.size(); ++p) {
        StretchChoice choice = found.schedule.choice;
        if (use(p, false, stretches, choice))
          moved |= change(choice);
        choice = found.schedule.choice;
        if (use(p, true, stretches, choice))
          moved |= change(choice);
      }
      for (const Stretch &stretch : stretches)
        for (uint32_t i = stretch.first; i < stretch.end(); ++i)
          for (unsigned c : allowed[i]) {
            StretchChoice choice = found.schedule.choice;
            if (choice[i] == c)
              continue;
            choice[i] = c;
            moved |= change(choice);
          }
      if (!moved)
        break;
    }
  }

  /// Makes all layers use a pipeline that can, or all layers do without. False
  /// where that changes nothing, or a layer cannot do without it.
  bool use(uint32_t pipeline, bool wanted,
           const std::vector<Stretch> &stretches, StretchChoice &choice) const {
    bool changed = false;
    for (const Stretch &stretch : stretches)
      for (uint32_t i = stretch.first; i < stretch.end(); ++i) {
        const auto &candidates = problem.layers[i].inStretch;
        unsigned old = choice[i];
        if (candidates[old].uses(pipeline) == wanted)
          continue;
        for (unsigned c : allowed[i])
          if (candidates[c].uses(pipeline) == wanted &&
              (choice[i] == old ||
               candidates[c].execute < candidates[choice[i]].execute))
            choice[i] = c;
        if (choice[i] == old && !wanted)
          return false;
        changed |= choice[i] != old;
      }
    return changed;
  }

  /// The first run's preparations that the warm plan's candidates use too.
  HostLanes keptFor(const Overlay &plan) const {
    HostLanes kept = plan.cold.lanes;
    for (auto &lane : kept)
      lane.erase(std::remove_if(lane.begin(), lane.end(),
                                [&](const StretchPreparation &p) {
                                  return p.stage == Stage::Upload &&
                                         plan.cold.choice[p.items[0]] !=
                                             plan.warm.choice[p.items[0]];
                                }),
                 lane.end());
    return kept;
  }

  void describeCold(Overlay &plan) {
    plan.cold = best.schedule;
    uint32_t first = best.schedule.stretches.front().first;
    plan.handOvers.push_back(first);
    std::vector<WarmStretches> rests =
        planWarmSuffixes(problem, cpu.choice, best.schedule.choice);
    for (uint32_t k = first + 1; k < problem.layers.size(); ++k)
      if (!rests[k].stretches.empty() && rests[k].stretches[0].first == k)
        plan.handOvers.push_back(k);
    plan.finish = plan.finishCached = best.finish;
    if (!options.pipelineCache)
      plan.finishCached = simulateOverlay(problem, cpu.choice, cpu.schedule,
                                          plan.cold, /*cached=*/true)
                              .finish;
  }

  const Problem &problem;
  const Plan &cpu;
  const Options options;
  const Choice &later; ///< of the CPUs, in later runs
  Simulator simulator;
  std::vector<std::vector<unsigned>> allowed; ///< by the options
  Found best;                                 ///< wherever it hands over
  Found alone; ///< with all layers in stretches that can be
};

} // namespace

/// The CPUs' choice in later runs.
static const Choice &laterChoice(const Plan &cpu, const Choice &later) {
  return later.empty() ? cpu.choice : later;
}

/// `later` with the stretches of plan.warm in place of its executes.
static void countStretches(const Problem &problem, const Choice &later,
                           WarmStretches &plan) {
  plan.cpuOnly = plan.time = warmTime(problem, later);
  for (const Stretch &stretch : plan.stretches) {
    plan.time += stretchTime(problem, plan.choice, stretch).sum();
    for (uint32_t i = stretch.first; i < stretch.end(); ++i)
      plan.time -= problem.chosen(later, i).execute * problem.device.crowding();
  }
}

/// Later runs are split wherever they can be.
static Overlay splitOverlay(const Problem &problem, const Plan &cpu,
                            const Options &options, const Choice &later) {
  Overlay plan = withoutStretches(problem, cpu);
  plan.warm.choice = withFewPipelines(problem, fastestInStretches(problem));
  plan.warm.stretches = forcedSplits(problem, plan.warm.choice,
                                     options.forcedDim, options.forcedPercent);
  countStretches(problem, later, plan.warm);
  if (plan.warm.stretches.empty())
    return plan;
  plan.start = OverlayStart::AfterFirst;
  plan.later = prepareStretches(problem, plan.warm.choice, plan.warm.stretches,
                                problem.device.coprocessor->threads,
                                /*backwards=*/false, options.pipelineCache);
  return plan;
}

Overlay planOverlay(const Problem &problem, const Plan &cpu,
                    const Options &options, const Choice &later) {
  if (options.splits == Splits::Forced)
    return splitOverlay(problem, cpu, options, laterChoice(cpu, later));
  return OverlaySearch(problem, cpu, options, laterChoice(cpu, later)).run();
}

Overlay forcedOverlay(const Problem &problem, const Plan &cpu,
                      const Options &options, const Choice &later,
                      uint32_t from) {
  Overlay plan = withoutStretches(problem, cpu);
  std::vector<Stretch> stretches = computable(problem, from);
  plan.warm.choice = withFewPipelines(problem, fastestInStretches(problem));
  if (problem.device.coprocessor)
    plan.warm.stretches = stretches;
  countStretches(problem, laterChoice(cpu, later), plan.warm);
  if (plan.warm.stretches.empty())
    return plan;
  plan.cold.stretches = stretches;
  plan.start = OverlayStart::AtOpen;
  plan.cold.choice = plan.warm.choice;
  plan.cold.lanes = prepareStretches(
      problem, plan.warm.choice, stretches, problem.device.coprocessor->threads,
      /*backwards=*/false, options.pipelineCache);
  plan.allStretches = plan.cold;
  plan.handOvers = {stretches.front().first};
  auto finish = [&](bool cached) {
    return simulateOverlay(problem, cpu.choice, cpu.schedule, plan.cold, cached)
        .finish;
  };
  plan.finishCached = finish(true);
  plan.finish = plan.stretchesOnly = finish(options.pipelineCache);
  return plan;
}

} // namespace nnv12::search
