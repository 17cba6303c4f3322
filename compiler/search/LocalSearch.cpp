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

/// Numbers that are the same everywhere (Knuth's linear congruential generator).
namespace {
class Sequence {
public:
  unsigned below(size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return unsigned((state >> 33) % n);
  }

private:
  uint64_t state = 12;
};
} // namespace

bool LocalSearch::tryAll(uint32_t i, Assignment &a, double &value,
                         const std::vector<std::vector<unsigned>> &usable, bool fixedLanes) {
  bool improved = false;
  auto attempt = [&](const auto &change) {
    if (exhausted())
      return;
    undo = {a.choice[i], a.lane[i], a.key[i]};
    change();
    double next = score(a, value * (1 - 1e-9));
    if (next < value * (1 - 1e-9)) {
      value = next;
      improved = true;
    } else {
      a.choice[i] = undo.choice;
      a.lane[i] = undo.lane;
      a.key[i] = undo.key;
    }
  };

  // Candidate and lane.
  uint32_t lanes = fixedLanes ? 1 : uint32_t(problem.device.preparationLanes.size() + 1);
  for (unsigned c : usable[i])
    for (uint32_t l = 0; l < lanes; ++l)
      if (c != a.choice[i] || l != a.lane[i])
        attempt([&] {
          a.choice[i] = c;
          if (a.lane[i] != l)
            a.key[i] = i;
          a.lane[i] = l;
        });
  if (fixedLanes || !hasPreparation(problem.layers[i].candidates[a.choice[i]]))
    return improved;

  // Its place in the queue: on the execute lane before some earlier execute, else
  // before its predecessor or behind its successor.
  if (a.lane[i] == 0) {
    for (uint32_t back : {0u, 1u, 2u, 4u, 8u, 16u, i})
      if (back <= i && a.key[i] != double(i - back))
        attempt([&] { a.key[i] = i - back; });
  } else {
    double before = -1e9, behind = 1e9;
    for (uint32_t j = 0; j < a.lane.size(); ++j)
      if (j != i && a.lane[j] == a.lane[i]) {
        bool less = a.key[j] < a.key[i] || (a.key[j] == a.key[i] && j < i);
        if (less)
          before = std::max(before, a.key[j]);
        else
          behind = std::min(behind, a.key[j]);
      }
    if (before > -1e9)
      attempt([&] { a.key[i] = before - 1e-3; });
    if (behind < 1e9)
      attempt([&] { a.key[i] = behind + 1e-3; });
  }

  // Two layers change places.
  for (uint32_t j = i + 1; j < a.lane.size() && j <= i + 12; ++j) {
    if (a.lane[j] == a.lane[i] || exhausted() ||
        !hasPreparation(problem.layers[j].candidates[a.choice[j]]))
      continue;
    Assignment swapped = a;
    std::swap(swapped.lane[i], swapped.lane[j]);
    swapped.key[i] = i;
    swapped.key[j] = j;
    double next = score(swapped, value * (1 - 1e-9));
    if (next < value * (1 - 1e-9)) {
      value = next;
      a = std::move(swapped);
      improved = true;
    }
  }
  return improved;
}

void LocalSearch::improve(const std::vector<std::vector<unsigned>> &usable, double target,
                          bool fixedLanes) {
  uint32_t layers = uint32_t(problem.layers.size());
  limit = simulator.steps() + options.steps;
  auto done = [&] { return exhausted() || bestScore <= target; };
  auto descend = [&](Assignment &a, double &value, uint32_t from, uint32_t to) {
    // On from the layer after the last improvement, until once around without one.
    uint32_t quiet = 0, count = to - from;
    for (uint32_t n = 0; quiet < count && !exhausted(); ++n, ++quiet)
      if (tryAll(from + n % count, a, value, usable, fixedLanes))
        quiet = 0;
    if (value < bestScore) {
      bestScore = value;
      bestAssignment = a;
    }
  };

  Assignment a = bestAssignment;
  double value = bestScore;
  descend(a, value, 0, layers);
  Sequence sequence;
  uint32_t lanes = fixedLanes ? 1 : uint32_t(problem.device.preparationLanes.size() + 1);
  // Disturbances are near one another: what two layers could gain together, single
  // changes do not find.
  while (!done()) {
    a = bestAssignment;
    uint32_t width = std::min(layers, 4 + sequence.below(12));
    uint32_t from = sequence.below(layers - width + 1);
    for (unsigned n = 2 + sequence.below(3); n > 0; --n) {
      uint32_t i = from + sequence.below(width);
      a.choice[i] = usable[i][sequence.below(usable[i].size())];
      if (!fixedLanes) {
        a.lane[i] = sequence.below(lanes);
        a.key[i] = i;
        // Now and then at another place of the queue.
        if (sequence.below(3) == 0)
          a.key[i] = from + sequence.below(width) - 0.5;
      }
    }
    value = score(a, Simulator::never);
    if (value == Simulator::never)
      continue;
    descend(a, value, from, from + width);
  }
}

} // namespace nnv12::search
