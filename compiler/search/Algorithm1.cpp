//===- Algorithm1.cpp - The paper's kernel scheduler ----------------------===//

#include "compiler/search/Algorithm1.h"

#include <algorithm>

namespace nnv12::search {

std::vector<double> loadsOf(const Problem &problem, const Assignment &a) {
  const Device &device = problem.device;
  std::vector<double> load(device.preparationLanes.size() + 1, 0);
  for (size_t i = 0; i < problem.layers.size(); ++i) {
    const Candidate &c = problem.chosen(a.choice, i);
    load[0] += c.execute + problem.layers[i].firstTouch;
    load[a.lane[i]] += preparationTime(device, c, device.coreOf(a.lane[i]));
  }
  return load;
}

Assignment algorithm1(const Problem &problem, const Choice &choice) {
  const Device &device = problem.device;
  size_t layers = problem.layers.size();
  size_t lanes = device.preparationLanes.size();
  // Line 3: all on the execute lane...
  Assignment a = Assignment::onExecuteLane(choice);
  if (lanes == 0 || layers == 0)
    return a;
  auto time = [&](size_t i, Core core) {
    return preparationTime(device, problem.chosen(choice, i), core);
  };
  // The first layer that has something to prepare boots on the execute lane.
  std::vector<uint8_t> onExecuteLane(layers, 0);
  size_t s = 0;
  while (s + 1 < layers && !hasPreparation(problem.chosen(choice, s)))
    ++s;
  onExecuteLane[s++] = 1;

  std::vector<double> load;
  double epsilon = 0;
  for (;;) {
    // Line 12: ...then dealt to the preparation lanes in turn.
    size_t turn = 0;
    for (size_t i = 0; i < layers; ++i)
      if (hasPreparation(problem.chosen(choice, i))) {
        a.lane[i] = onExecuteLane[i] ? 0 : uint32_t(1 + turn++ % lanes);
        if (onExecuteLane[i])
          a.key[i] = 0; // "header"
      }
    load = loadsOf(problem, a);
    if (epsilon == 0)
      epsilon = 1e-3 * *std::max_element(load.begin(), load.end());

    // Lines 13 to 19: from the busiest preparation lane to the idlest.
    for (bool moved = true; moved;) {
      moved = false;
      auto most = std::max_element(load.begin() + 1, load.end());
      auto least = std::min_element(load.begin() + 1, load.end());
      if (*most - *least <= epsilon)
        break;
      uint32_t from = most - load.begin(), to = least - load.begin();
      Core coreFrom = device.coreOf(from), coreTo = device.coreOf(to);
      std::vector<uint32_t> sorted;
      for (uint32_t i = 0; i < layers; ++i)
        if (a.lane[i] == from)
          sorted.push_back(i);
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](uint32_t x, uint32_t y) {
                         return time(x, coreFrom) > time(y, coreFrom);
                       });
      for (uint32_t i : sorted) {
        double t = time(i, coreTo);
        if (t > 0 && t < (load[from] - load[to]) / 2) {
          a.lane[i] = to;
          load[from] -= time(i, coreFrom);
          load[to] += t;
          moved = true;
        }
      }
    }

    // Lines 6 to 11: one more for the execute lane while it has less to do.
    double most = *std::max_element(load.begin() + 1, load.end());
    if (most - load[0] <= epsilon)
      break;
    bool inserted = false;
    for (size_t i = s; i < layers && !inserted; ++i)
      if (hasPreparation(problem.chosen(choice, i)) && !onExecuteLane[i] &&
          time(i, device.executeCore) + time(i, device.preparationLanes[0]) <
              most - load[0]) {
        onExecuteLane[i] = 1;
        s = i + 1;
        inserted = true;
      }
    if (!inserted)
      break;
  }
  return a;
}

} // namespace nnv12::search
