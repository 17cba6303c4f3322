//===- PricedPlan.cpp - The costs of a plan, layer by layer ---------------===//

#include "tools/nnv12c/PricedPlan.h"

using namespace mlir;
using namespace nnv12;

static std::vector<std::string> namesOf(Location location) {
  std::vector<std::string> names;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part))
      names.push_back(named.getName().str());
    return WalkResult::advance();
  });
  return names;
}

PricedPlan::PricedPlan(const ModelPlan &plan, const PlanOptions &options)
    : times(PlanTimes::of(plan)) {
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const PlannedLayer &of = plan.layers[i];
    double weights = of.first().costs.bytes;
    layers.push_back({namesOf(of.layer.op->getLoc()),
                      timeOfLayer(plan, i, options.mode), weights});
    bytes += weights;
  }
}
