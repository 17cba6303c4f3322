//===- Exact.cpp - The best plan by trying all ----------------------------===//

#include "Exact.h"

#include "compiler/search/Assignment.h"

#include <algorithm>

namespace nnv12::search {

namespace {

/// All choices, all lanes for each preparation, all orders within each lane.
class Enumeration {
public:
  explicit Enumeration(const Problem &problem)
      : problem(problem), simulator(problem.device),
        lanes(problem.device.preparationLanes.size() + 1) {}

  Plan run() {
    best.finish = Simulator::never;
    choice.assign(problem.layers.size(), 0);
    chooseLayer(0);
    best.bound = best.finish;
    best.steps = simulator.steps();
    return best;
  }

private:
  const Candidate &candidate(uint32_t i) const {
    return problem.layers[i].candidates[choice[i]];
  }

  void chooseLayer(uint32_t i) {
    if (i == choice.size()) {
      chosenLanes.assign(choice.size(), 0);
      return chooseLane(0);
    }
    for (choice[i] = 0; choice[i] < problem.layers[i].candidates.size();
         ++choice[i])
      chooseLayer(i + 1);
    choice[i] = 0;
  }

  void chooseLane(uint32_t i) {
    if (i == choice.size()) {
      jobs.assign(lanes, {});
      prepared.assign(choice.size(), false);
      return orderLane(lanes - 1);
    }
    if (!hasPreparation(candidate(i))) {
      chosenLanes[i] = 0;
      return chooseLane(i + 1);
    }
    const auto &cores = problem.device.preparationLanes;
    for (uint32_t l = 0; l < lanes; ++l) {
      // Lanes of one kind are alike: of those without work only the first is
      // tried.
      auto used = [&](uint32_t lane) {
        for (uint32_t j = 0; j < i; ++j)
          if (chosenLanes[j] == lane)
            return true;
        return false;
      };
      if (l > 1 && cores[l - 1] == cores[l - 2] && !used(l) && !used(l - 1))
        continue;
      chosenLanes[i] = l;
      chooseLane(i + 1);
    }
  }

  /// All orders of lane `l`, then of the lanes before it.
  void orderLane(uint32_t l) {
    if (l == 0)
      return orderExecuteLane(0);
    bool complete = true;
    for (uint32_t i = 0; i < choice.size(); ++i)
      if (chosenLanes[i] == l && !prepared[i]) {
        complete = false;
        put(l, i, [&] { orderLane(l); });
      }
    if (complete)
      orderLane(l - 1);
  }

  void orderExecuteLane(uint32_t next) {
    if (next == choice.size())
      return evaluate();
    bool needs = hasPreparation(candidate(next));
    if (!needs || chosenLanes[next] != 0 || prepared[next]) {
      jobs[0].push_back(
          executeJob(problem.layers[next], next, candidate(next), needs));
      orderExecuteLane(next + 1);
      jobs[0].pop_back();
    }
    for (uint32_t i = next; i < choice.size(); ++i)
      if (chosenLanes[i] == 0 && !prepared[i] && hasPreparation(candidate(i)))
        put(0, i, [&] { orderExecuteLane(next); });
  }

  template <typename Rest> void put(uint32_t l, uint32_t i, Rest rest) {
    Core core =
        l ? problem.device.preparationLanes[l - 1] : problem.device.executeCore;
    prepared[i] = true;
    jobs[l].push_back(preparationJob(problem.device, i, candidate(i), core));
    rest();
    jobs[l].pop_back();
    prepared[i] = false;
  }

  void evaluate() {
    double finish = simulator.run(jobs, choice.size(), best.finish) +
                    decoderStart(problem, choice) +
                    lanesStart(problem.device, jobs);
    if (finish >= best.finish)
      return;
    best.finish = finish;
    best.choice = choice;
    best.schedule = scheduleOf(problem, choice, jobs);
  }

  const Problem &problem;
  Simulator simulator;
  uint32_t lanes;
  Choice choice;
  std::vector<uint32_t> chosenLanes;
  std::vector<uint8_t> prepared;
  std::vector<std::vector<Job>> jobs;
  Plan best;
};

} // namespace

Plan exactPlan(const Problem &problem) {
  if (problem.layers.empty())
    return {};
  return Enumeration(problem).run();
}

} // namespace nnv12::search
