//===- Combinations.cpp - Choices worth scheduling ------------------------===//

#include "compiler/search/Combinations.h"
#include "compiler/search/Simulator.h"

#include <algorithm>
#include <set>

namespace nnv12::search {

static std::vector<Choice>
every(const std::vector<std::vector<unsigned>> &usable) {
  std::vector<Choice> result = {{}};
  for (const std::vector<unsigned> &layer : usable) {
    std::vector<Choice> longer;
    for (const Choice &choice : result)
      for (unsigned c : layer) {
        longer.push_back(choice);
        longer.back().push_back(c);
      }
    result = std::move(longer);
  }
  return result;
}

const std::vector<Balance> &balances() {
  static const std::vector<Balance> all = [] {
    std::vector<Balance> result;
    for (double preparation : {0.0, 1e-4, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,
                               0.4, 0.5, 0.6, 0.75, 1.0, 1.5, 2.0, 4.0, 16.0})
      for (double storage : {0.0, 0.1, 0.3, 1.0, 3.0})
        result.push_back({preparation, storage});
    return result;
  }();
  return all;
}

double value(const Device &device, const Candidate &candidate,
             Balance balance) {
  Core core = device.preparationLanes.empty() ? device.executeCore
                                              : device.preparationLanes.back();
  // A read keeps its lane waiting, too.
  return candidate.execute +
         balance.preparation * preparationTime(device, candidate, core) +
         balance.storage * candidate.bytes / device.readBandwidth;
}

std::vector<Choice>
combinations(const Problem &problem,
             const std::vector<std::vector<unsigned>> &usable, size_t limit) {
  double count = 1;
  for (const std::vector<unsigned> &layer : usable)
    count *= double(layer.size());
  if (count <= double(limit))
    return every(usable);

  std::vector<Choice> result;
  std::set<Choice> seen;
  for (Balance balance : balances()) {
    Choice choice;
    for (size_t i = 0; i < usable.size(); ++i) {
      auto valueOf = [&](unsigned c) {
        return value(problem.device, problem.layers[i].candidates[c], balance);
      };
      choice.push_back(*std::min_element(
          usable[i].begin(), usable[i].end(),
          [&](unsigned a, unsigned b) { return valueOf(a) < valueOf(b); }));
    }
    if (seen.insert(choice).second)
      result.push_back(choice);
  }
  return result;
}

} // namespace nnv12::search
