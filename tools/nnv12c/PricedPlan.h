//===- PricedPlan.h - The costs of a plan, layer by layer -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_PRICEDPLAN_H
#define NNV12_TOOLS_NNV12C_PRICEDPLAN_H

#include "compiler/plan/PlanTimes.h"
#include "tools/nnv12c/CompileOptions.h"

#include <functional>

namespace nnv12 {

struct PricedLayer {
  /// The ONNX nodes of the layer.
  std::vector<std::string> names;
  double time = 0;  ///< ms, as PlanTimes::sum() counts
  double bytes = 0; ///< of its weights in the file
};

/// The plan of a model for the first target, for comparing it with others.
struct PricedPlan {
  std::vector<PricedLayer> layers;
  PlanTimes times;
  double bytes = 0; ///< of all weights in the file

  PricedPlan(const ModelPlan &plan, const PlanOptions &options);
};

/// Plans a model for the first target of the options.
using PriceModel =
    std::function<mlir::FailureOr<PricedPlan>(const CompileOptions &)>;

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRICEDPLAN_H
