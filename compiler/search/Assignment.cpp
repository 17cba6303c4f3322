//===- Assignment.cpp - A plan as the search changes it -------------------===//

#include "compiler/search/Assignment.h"
#include "compiler/search/Search.h"

#include <algorithm>
#include <cassert>

namespace nnv12::search {

Assignment Assignment::onExecuteLane(Choice choice) {
  Assignment a;
  a.lane.assign(choice.size(), 0);
  for (size_t i = 0; i < choice.size(); ++i)
    a.key.push_back(double(i));
  a.choice = std::move(choice);
  return a;
}

/// Layers that need a preparation, by lane and in order.
static std::vector<std::vector<uint32_t>> order(const Problem &problem,
                                                const Assignment &a) {
  std::vector<std::vector<uint32_t>> result(
      problem.device.preparationLanes.size() + 1);
  assert(std::all_of(a.lane.begin(), a.lane.end(),
                     [&](uint32_t lane) { return lane < result.size(); }) &&
         "lanes exist");
  for (uint32_t i = 0; i < a.lane.size(); ++i)
    if (hasPreparation(problem.chosen(a.choice, i)))
      result[a.lane[i]].push_back(i);
  for (size_t l = 0; l < result.size(); ++l) {
    auto key = [&](uint32_t i) {
      return l ? a.key[i] : std::min(a.key[i], double(i));
    };
    // Mostly sorted already; stable, so equal keys stay in order of layers.
    std::vector<uint32_t> &lane = result[l];
    for (size_t n = 1; n < lane.size(); ++n)
      for (size_t m = n; m > 0 && key(lane[m]) < key(lane[m - 1]); --m)
        std::swap(lane[m], lane[m - 1]);
  }
  return result;
}

void Assignment::jobs(const Problem &problem,
                      std::vector<std::vector<Job>> &lanes) const {
  const Device &device = problem.device;
  assert(choice.size() == problem.layers.size() &&
         lane.size() == choice.size() && key.size() == choice.size() &&
         "one of each a layer");
  auto ordered = order(problem, *this);
  lanes.resize(ordered.size());
  for (auto &l : lanes)
    l.clear();
  auto prepare = [&](size_t l, uint32_t i) {
    lanes[l].push_back(
        preparationJob(device, i, problem.chosen(choice, i), device.coreOf(l)));
  };
  for (size_t l = 1; l < ordered.size(); ++l)
    for (uint32_t i : ordered[l])
      prepare(l, i);
  size_t next = 0;
  for (uint32_t i = 0; i < lane.size(); ++i) {
    for (; next < ordered[0].size(); ++next) {
      uint32_t j = ordered[0][next];
      if (std::min(key[j], double(j)) > i)
        break;
      prepare(0, j);
    }
    const Candidate &c = problem.chosen(choice, i);
    lanes[0].push_back(executeJob(problem.layers[i], i, c, hasPreparation(c)));
  }
}

Schedule Assignment::schedule(const Problem &problem) const {
  std::vector<std::vector<Job>> lanes;
  jobs(problem, lanes);
  Schedule result = scheduleOf(problem, choice, lanes);
  assert(checkSchedule(problem, choice, result).empty() &&
         "it can be carried out");
  return result;
}

Schedule scheduleOf(const Problem &problem, const Choice &choice,
                    const std::vector<std::vector<Job>> &lanes) {
  Schedule result;
  result.lanes.resize(lanes.size());
  for (size_t l = 0; l < lanes.size(); ++l)
    for (const Job &job : lanes[l]) {
      const Candidate &c = problem.chosen(choice, job.layer);
      auto add = [&](bool exists, Stage stage) {
        if (exists)
          result.lanes[l].push_back({job.layer, stage});
      };
      add(!job.execute && c.bytes > 0, Stage::Read);
      add(!job.execute && c.decode, Stage::Decode);
      add(!job.execute && c.transform, Stage::Transform);
      add(job.execute, Stage::Execute);
    }
  return result;
}

} // namespace nnv12::search
