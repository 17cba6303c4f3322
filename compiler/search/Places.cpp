//===- Places.cpp - A schedule, layer by layer ----------------------------===//

#include "compiler/search/Assignment.h"
#include "compiler/search/Search.h"

#include <algorithm>
#include <cassert>

namespace nnv12::search {

Places placesOf(const Schedule &schedule, size_t layers) {
  Places places(layers);
  for (uint32_t l = 0; l < schedule.lanes.size(); ++l) {
    uint32_t index = 0;
    for (const Operation &operation : schedule.lanes[l]) {
      std::optional<Place> &place = places[operation.layer];
      if (operation.stage == Stage::Execute)
        ++index;
      else if (!place) // the first stage of a preparation
        place = Place{l, index++};
    }
  }
  return places;
}

std::optional<Schedule> scheduleAt(const Problem &problem, const Choice &choice,
                                   const Places &places) {
  assert(places.size() == choice.size() &&
         choice.size() == problem.layers.size());
  std::vector<uint32_t> prepared;
  for (uint32_t i = 0; i < choice.size(); ++i)
    if (hasPreparation(problem.layers[i].candidates[choice[i]])) {
      if (!places[i])
        return std::nullopt;
      prepared.push_back(i);
    }
  std::stable_sort(prepared.begin(), prepared.end(),
                   [&](uint32_t i, uint32_t j) {
                     return std::pair(places[i]->lane, places[i]->index) <
                            std::pair(places[j]->lane, places[j]->index);
                   });
  Assignment a = Assignment::onExecuteLane(choice);
  for (uint32_t n = 0; n < prepared.size(); ++n) {
    auto [lane, index] = *places[prepared[n]];
    assert(lane <= problem.device.preparationLanes.size() && "the lane exists");
    a.lane[prepared[n]] = lane;
    // On the execute lane, which comes first here, `n` of the jobs before it
    // are preparations. It goes before the next execute, and behind those `n`.
    double behind = double(n + 1) / double(prepared.size()) - 1;
    a.key[prepared[n]] = lane ? index : double(index) - n + behind;
  }
  return a.schedule(problem);
}

} // namespace nnv12::search
