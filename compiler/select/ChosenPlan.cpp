//===- ChosenPlan.cpp - The search's view of what was chosen --------------===//

#include "compiler/select/ChosenPlan.h"

using namespace mlir;
using namespace nnv12;

static FailureOr<search::Schedule> scheduleOf(const ChosenPlan &plan,
                                              ArrayRef<ChosenCandidate> layers,
                                              const search::Options &options) {
  size_t lanes = plan.problem.device.preparationLanes.size() + 1;
  search::Places places;
  for (const ChosenCandidate &layer : layers) {
    if (layer.place && layer.place->lane >= lanes)
      return layer.layer.op->emitOpError("nn.place: found lane ")
             << layer.place->lane << ", but the device has " << lanes;
    places.push_back(layer.place);
  }
  if (auto known = search::scheduleAt(plan.problem, plan.cold, places))
    return *known;
  return search::schedule(plan.problem, plan.cold, options);
}

FailureOr<ChosenPlan> nnv12::chosenPlan(ArrayRef<ChosenCandidate> layers,
                                        const device::DeviceProfile &profile,
                                        CostTable &costs,
                                        const PlanOptions &options) {
  ChosenPlan plan;
  plan.problem.device = costs.device(options);
  double weightBytes = 0;
  for (const ChosenCandidate &layer : layers) {
    CostedCandidate cost = costs.cost(layer.layer, layer.candidate);
    costs.add(plan.problem, layer.layer, cost);
    search::Candidate warm = plan.problem.layers.back().candidates[0];
    warm.execute = cost.costs.execute;
    if (layer.warm) {
      warm.routine = layer.warm->name().str();
      warm.execute = costs.execute(layer.layer.op, *layer.warm);
    }
    plan.warmTime += warm.execute;
    plan.problem.layers.back().candidates.push_back(std::move(warm));
    plan.cold.push_back(0);
    plan.warm.push_back(1);
    weightBytes += cost.costs.bytes;
  }
  auto schedule = scheduleOf(plan, layers, searchOptions(options));
  if (failed(schedule))
    return failure();
  plan.schedule = std::move(*schedule);
  plan.start =
      device::startUs(profile, layers.size(), weightBytes, options.threads) *
      1e-3;
  return plan;
}
