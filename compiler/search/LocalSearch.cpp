//===- LocalSearch.cpp - Improves a plan on the simulator -----------------===//

#include "compiler/search/LocalSearch.h"

#include <algorithm>
#include <tuple>

namespace nnv12::search {

/// So many starts are descended from.
static constexpr size_t mostStarts = 3;
/// Small problems need no more.
static constexpr uint64_t stepsPerLayer = 50'000;
/// Milliseconds of cold inference that an execute's end is worth, by the mean.
static constexpr double earlyWeight = 1e-2;
/// An assignment may be so much worse than the one before, when the search
/// begins to wander.
static constexpr double mostWorse = 0.01;

LocalSearch::LocalSearch(const Problem &problem, const Options &options,
                         const std::vector<std::vector<unsigned>> &usable)
    : problem(problem), options(options), usable(usable),
      slow(slowness(problem.device)), simulator(problem.device) {}

double LocalSearch::score(const Assignment &a, double cutoff) {
  double ties =
      options.continuous ? 0 : options.warmWeight * warmTime(problem, a.choice);
  ties += options.memoryWeight * preparedMemory(problem, a.choice);
  if (ties >= cutoff)
    return Simulator::never;
  a.jobs(problem, jobs);
  ties += lanesStart(problem.device, jobs);
  double finish = simulator.run(jobs, problem.layers.size(), cutoff - ties);
  // Where all wait for the last bytes, plans that leave nothing else for then
  // come first.
  if (slow > 0)
    ties += slow * earlyWeight * simulator.endsOfExecutes() /
            double(problem.layers.size());
  return ties + finish;
}

void LocalSearch::keepIfBest(const Assignment &a, double value) {
  if (value < bestScore) {
    bestScore = value;
    bestAssignment = a;
  }
}

void LocalSearch::consider(const Assignment &a) {
  double worst =
      starts.size() < mostStarts ? Simulator::never : starts.back().score;
  double value = score(a, worst);
  if (value >= worst && worst != Simulator::never)
    return;
  auto at = std::find_if(starts.begin(), starts.end(),
                         [&](const Start &s) { return s.score > value; });
  starts.insert(at, {value, a});
  if (starts.size() > mostStarts)
    starts.pop_back();
  bestScore = starts[0].score;
  bestAssignment = starts[0].assignment;
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
      const Candidate &c = problem.chosen(choice, i);
      double ready = 0;
      if (hasPreparation(c)) {
        storage += c.bytes / device.readBandwidth;
        uint32_t best = 0;
        double soonest = Simulator::never;
        uint32_t l = first || spill || !lanes ? 0 : 1;
        for (uint32_t last = first ? 0 : lanes; l <= last; ++l) {
          double end = std::max(
              free[l] + preparationTime(device, c, device.coreOf(l)), storage);
          if (end < soonest) {
            soonest = end;
            best = l;
          }
        }
        first = false;
        a.lane[i] = best;
        ready = free[best] = soonest;
      }
      free[0] =
          std::max(free[0], ready) + c.execute + problem.layers[i].firstTouch;
    }
    consider(a);
  }
}

/// Numbers that are the same everywhere (Knuth's linear congruential
/// generator).
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

bool LocalSearch::tryAll(uint32_t i, Assignment &a, double &value) {
  bool improved = false;
  auto attempt = [&](const auto &change) {
    if (exhausted())
      return;
    auto before = std::tuple(a.choice[i], a.lane[i], a.key[i]);
    change();
    double next = score(a, value * (1 - 1e-9));
    if (next < value * (1 - 1e-9)) {
      value = next;
      improved = true;
    } else {
      std::tie(a.choice[i], a.lane[i], a.key[i]) = before;
    }
  };

  for (unsigned c : usable[i])
    if (c != a.choice[i])
      attempt([&] { a.choice[i] = c; });
  if (!options.pipeline || !hasPreparation(problem.chosen(a.choice, i)))
    return improved;

  for (uint32_t l = 0; l <= problem.device.preparationLanes.size(); ++l)
    for (uint32_t back : {0u, 1u, 2u, 4u})
      if (l != a.lane[i] && back <= (l ? 0 : i))
        attempt([&] {
          a.lane[i] = l;
          a.key[i] = i - back;
        });

  // Its place in the queue: on the execute lane before some earlier execute,
  // else before its predecessor or behind its successor.
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
  return improved;
}

void LocalSearch::improve(double target) {
  uint32_t layers = uint32_t(problem.layers.size());
  limit = simulator.steps() + std::min(options.steps, stepsPerLayer * layers);
  auto done = [&] { return exhausted() || bestScore <= target; };
  auto descend = [&](Assignment &a, double &value, uint32_t from, uint32_t to) {
    // On from the layer after the last improvement, until once around without
    // one.
    uint32_t quiet = 0, count = to - from;
    for (uint32_t n = 0; quiet < count && !exhausted(); ++n, ++quiet)
      if (tryAll(from + n % count, a, value))
        quiet = 0;
    keepIfBest(a, value);
  };

  // From each of the best starts; their ends differ.
  std::vector<Start> from = std::move(starts);
  starts.clear();
  Assignment current = bestAssignment;
  double currentScore = bestScore;
  for (Start &start : from) {
    if (done())
      return;
    descend(start.assignment, start.score, 0, layers);
    if (start.score <= bestScore) {
      current = start.assignment;
      currentScore = start.score;
    }
  }

  // Then random changes of one layer or two. The result may be a little
  // worse than its origin, less and less so (threshold accepting, Dueck
  // and Scheuer 1990). After many changes in vain, a larger disturbance of the
  // best.
  Sequence sequence;
  uint32_t lanes = uint32_t(problem.device.preparationLanes.size() + 1);
  uint64_t begin = simulator.steps(),
           span = std::max<uint64_t>(1, limit - begin);
  uint32_t inVain = 0;
  while (!done()) {
    double left =
        double(limit - std::min(limit, simulator.steps())) / double(span);
    auto newCandidate = [&](Assignment &a, uint32_t i) {
      a.choice[i] = usable[i][sequence.below(usable[i].size())];
    };
    auto newLane = [&](Assignment &a, uint32_t i) {
      if (!options.pipeline)
        return;
      a.lane[i] = sequence.below(lanes);
      a.key[i] = i;
    };
    // Earlier more often than later, and in any order with others of that
    // place.
    auto newPlace = [&](Assignment &a, uint32_t i) {
      if (options.pipeline)
        a.key[i] = std::max(-0.5, i + 2.5 - sequence.below(8)) +
                   0.1 * sequence.below(5);
    };
    if (++inVain > 50 * layers + 50) {
      inVain = 0;
      Assignment a = bestAssignment;
      uint32_t width = std::min(layers, 4 + sequence.below(12));
      uint32_t first = sequence.below(layers - width + 1);
      for (unsigned n = 2 + sequence.below(3); n > 0; --n) {
        uint32_t i = first + sequence.below(width);
        newCandidate(a, i);
        newLane(a, i);
        if (sequence.below(3) == 0)
          newPlace(a, i);
      }
      double value = score(a, Simulator::never);
      descend(a, value, first, first + width);
      current = std::move(a);
      currentScore = value;
      continue;
    }
    Assignment a = current;
    uint32_t i = sequence.below(layers);
    uint32_t j = std::min(layers - 1, i + 1 + sequence.below(6));
    switch (sequence.below(options.pipeline ? 6 : 2)) {
    case 0:
      newCandidate(a, i);
      break;
    case 1:
      newCandidate(a, i);
      newCandidate(a, j);
      break;
    case 2:
      newCandidate(a, i);
      newLane(a, i);
      break;
    case 3:
      newLane(a, i);
      if (sequence.below(2))
        newPlace(a, i);
      break;
    case 4:
      newPlace(a, i);
      break;
    default:
      std::swap(a.lane[i], a.lane[j]);
      a.key[i] = i;
      a.key[j] = j;
      break;
    }
    double most = currentScore * (1 + mostWorse * left * left);
    double value = score(a, most);
    if (value > most)
      continue;
    if (value < currentScore * (1 - 1e-9))
      inVain = 0;
    current = std::move(a);
    currentScore = value;
    keepIfBest(current, value);
  }
}

} // namespace nnv12::search
