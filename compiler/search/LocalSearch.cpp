//===- LocalSearch.cpp - Improves a plan on the simulator -----------------===//

#include "compiler/search/LocalSearch.h"

#include <algorithm>

namespace nnv12::search {

LocalSearch::LocalSearch(const Problem &problem, const Options &options)
    : problem(problem), options(options), simulator(problem.device) {}

double LocalSearch::score(const Assignment &a, double cutoff) {
  double warm = options.continuous ? 0 : options.warmWeight * warmTime(problem, a.choice);
  if (warm >= cutoff)
    return Simulator::never;
  a.jobs(problem, jobs);
  return warm + simulator.run(jobs, problem.layers.size(), cutoff - warm);
}

bool LocalSearch::consider(const Assignment &a) {
  double value = score(a, bestScore);
  // Rounding is no improvement.
  if (value >= bestScore * (1 - 1e-9) && bestScore != Simulator::never)
    return false;
  bestScore = value;
  bestAssignment = a;
  return true;
}

void LocalSearch::considerLists(const Choice &choice) {
  const Device &device = problem.device;
  size_t lanes = device.preparationLanes.size();
  for (bool spill : {false, true}) {
    Assignment a = Assignment::onExecuteLane(choice);
    std::vector<double> free(lanes + 1, 0);
    bool first = true;
    double storage = 0; // reads cannot be faster than one after another
    for (uint32_t i = 0; i < choice.size(); ++i) {
      const Candidate &c = problem.layers[i].candidates[choice[i]];
      double ready = 0;
      if (hasPreparation(c)) {
        storage += c.bytes / device.readBandwidth;
        uint32_t best = 0;
        double soonest = Simulator::never;
        for (uint32_t l = first || spill || !lanes ? 0 : 1; l <= lanes; ++l) {
          Core core = l ? device.preparationLanes[l - 1] : device.executeCore;
          double end = std::max(free[l] + preparationTime(device, c, core), storage);
          if (end < soonest) {
            soonest = end;
            best = l;
          }
          if (first)
            break;
        }
        first = false;
        a.lane[i] = best;
        ready = free[best] = soonest;
      }
      free[0] = std::max(free[0], ready) + c.execute + problem.layers[i].firstTouch;
    }
    consider(a);
  }
}

void LocalSearch::improve(const std::vector<std::vector<unsigned>> &usable, bool fixedLanes) {}

} // namespace nnv12::search
