//===- PlanTimes.h - The predicted times of a plan --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_PLANTIMES_H
#define NNV12_COMPILER_PLAN_PLANTIMES_H

#include "compiler/plan/ModelPlan.h"

namespace nnv12 {

/// The times of a plan, in milliseconds, as the plan says them.
struct PlanTimes {
  double cold = 0; ///< from opening the bundle until the first result
  double warm = 0; ///< of a later inference

  static PlanTimes of(const ModelPlan &plan);
  /// By which plans of this mode are compared.
  double sum(Mode mode) const;
};

/// The part of it that a layer with this number has.
double timeOfLayer(const ModelPlan &plan, size_t layer, Mode mode);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_PLANTIMES_H
