//===- Dprs.cpp - The cheapest signatures of a net ------------------------===//
//
// The paper's dynamic programming keeps, behind a branch, a table over the
// schemas of the layers that still matter ("constraints"), and forgets one
// where all paths from it have merged (Proposition 3). That is elimination of
// variables in the order of the layers; here the order is one that keeps tables
// small, and forgetting is elimination itself. Inputs, outputs and branches
// need nothing special.
//
//===----------------------------------------------------------------------===//

#include "compiler/search/DeadEnds.h"
#include "compiler/search/NetDescent.h"
#include "compiler/search/NetSets.h"

#include <algorithm>
#include <cassert>

namespace nnv12::search {

namespace {

class Dprs {
public:
  Dprs(const Net &net, const NetLimits &limits,
       const std::vector<uint32_t> &start)
      : net(net), limits(limits), start(start), view(net) {
    for (const NetValue &value : net.values)
      steps += size_t(value.schemas) << value.schemas;
  }

  NetChoice run() {
    live = withoutDeadEnds(view, steps);
    for (const std::vector<uint32_t> &signatures : live)
      if (signatures.empty())
        return impossibleChoice(steps);
    Elimination problem = eliminationOf(view, live);
    // More than this no machine has memory for.
    uint64_t largest = std::min(limits.table, uint64_t(1) << 28);
    Elimination::Outline outline = problem.outline(largest, steps);
    if (outline.exact && outline.entries <= 8 * largest && affords(outline))
      return exactly(problem, outline);
    return approximately(problem, largest);
  }

private:
  bool affords(const Elimination::Outline &outline) const {
    return steps <= limits.steps && outline.steps <= limits.steps - steps;
  }

  std::vector<uint32_t>
  signaturesOf(const std::vector<uint32_t> &values) const {
    std::vector<uint32_t> chosen;
    for (size_t i = 0; i < live.size(); ++i)
      chosen.push_back(live[i][values[i]]);
    return chosen;
  }

  NetChoice exactly(const Elimination &problem,
                    const Elimination::Outline &outline) {
    steps += outline.steps;
    Elimination::Solution solution = problem.solve(outline);
    if (solution.least == impossible)
      return impossibleChoice(steps);
    NetChoice best = view.priced(signaturesOf(solution.values));
    assert(best.cost <= solution.least * (1 + 1e-9) + 1e-9 &&
           best.cost >= solution.least * (1 - 1e-9) - 1e-9 &&
           "the tables say what the net costs");
    best.bound = best.cost;
    best.exact = true;
    best.steps = steps;
    return best;
  }

  NetChoice approximately(const Elimination &problem, uint64_t largest) {
    std::vector<std::vector<uint32_t>> starts;
    if (!start.empty())
      starts.push_back(start);
    starts.push_back(greedySignatures(view));
    for (uint8_t schema = 0; schema < view.schemas; ++schema)
      starts.push_back(uniformSignatures(net, schema));

    double bound = 0;
    for (size_t i = 0; i < live.size(); ++i) {
      double least = impossible;
      for (uint32_t s : live[i])
        least = std::min(least, net.layers[i].signatures[s].cost);
      bound += least;
    }
    // The largest tables that half of the steps suffice for.
    for (uint64_t size : {1u << 16, 1u << 12, 1u << 8, 1u << 4}) {
      Elimination::Outline outline =
          problem.outline(std::min(size, largest), steps);
      if (outline.steps > limits.steps / 2)
        continue;
      steps += outline.steps;
      Elimination::Solution solution = problem.solve(outline);
      if (solution.least == impossible)
        return impossibleChoice(steps);
      bound = std::max(bound, solution.least);
      starts.push_back(signaturesOf(solution.values));
      break;
    }

    NetChoice best;
    best.cost = impossible;
    auto consider = [&](const std::vector<uint32_t> &chosen) {
      NetChoice choice = view.priced(chosen);
      steps += choice.steps;
      if (choice.cost < best.cost)
        best = std::move(choice);
    };
    uint64_t limit = steps + limits.steps / 2;
    for (const std::vector<uint32_t> &chosen : starts) {
      consider(chosen);
      consider(descend(view, live, chosen, limit, steps));
    }
    // Sums in another order may round to more.
    best.bound = std::min(best.cost, bound * (1 - 1e-9));
    best.exact = false;
    best.steps = steps;
    return best;
  }

  const Net &net;
  const NetLimits &limits;
  const std::vector<uint32_t> &start;
  NetView view;
  LiveSignatures live;
  uint64_t steps = 0;
};

} // namespace

NetChoice dprs(const Net &net, const NetLimits &limits,
               const std::vector<uint32_t> &start) {
  assert((start.empty() || start.size() == net.layers.size()) &&
         "a signature for each layer");
  return Dprs(net, limits, start).run();
}

} // namespace nnv12::search
