//===- PlanTimes.cpp - The predicted times of a plan ----------------------===//

#include "compiler/plan/PlanTimes.h"

#include "compiler/search/Combinations.h"

using namespace nnv12;

/// Warm inferences that count as much as the first one, where there are any.
static constexpr double warmRuns = 30;

PlanTimes PlanTimes::of(const ModelPlan &plan) {
  return {coldTime(plan), plan.warmTime};
}

double PlanTimes::sum(Mode mode) const {
  return cold + (mode == Mode::Cold ? 0 : warmRuns * warm);
}

double nnv12::timeOfLayer(const ModelPlan &plan, size_t layer, Mode mode) {
  const search::Layer &of = plan.problem.layers[layer];
  // Lanes prepare and read beside the executes, and share that work.
  double share = 1.0 / (1.0 + plan.cpu.schedule.lanes.size());
  double cold = of.firstTouch + search::value(plan.problem.device,
                                              of.candidates[0], {share, share});
  return PlanTimes{cold, of.candidates[1].execute}.sum(mode);
}
