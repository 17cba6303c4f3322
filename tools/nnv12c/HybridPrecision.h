//===- HybridPrecision.h - Which layers are in 8 bits, by a net -*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_HYBRIDPRECISION_H
#define NNV12_TOOLS_NNV12C_HYBRIDPRECISION_H

#include "compiler/quantize/PrecisionNet.h"
#include "compiler/quantize/QuantizableModel.h"
#include "tools/nnv12c/Observer.h"
#include "tools/nnv12c/PrecisionReport.h"
#include "tools/nnv12c/PricedPlan.h"

namespace nnv12 {

/// Chooses the layers that are in 8 bits: the plans of the first target say
/// what they cost, a run with switches what their errors are, and the net
/// which choice is the fastest within the bounds. Each choice is measured. The
/// result scales the predictions for the next one.
class HybridPrecision {
public:
  /// All must outlive it. `elements` has those of each value.
  HybridPrecision(const CompileOptions &options, mlir::MLIRContext &context,
                  const quantize::QuantizableModel &model,
                  const quantize::QuantizableModel::Ranges &ranges,
                  const std::map<std::string, uint64_t> &elements,
                  Observer &observer, const PriceModel &price)
      : options(options), context(context), model(model), ranges(ranges),
        elements(elements), observer(observer), price(price) {}

  /// Measures layers, and fills in all of the report but what was tried.
  mlir::LogicalResult prepare();
  /// The choice, by layers of the model. Fails with a diagnostic where none
  /// keeps the bounds.
  mlir::FailureOr<std::vector<bool>> choose();

  /// A line for people, on the choice.
  std::string summary() const { return summary_; }
  const PrecisionReport &report() const { return report_; }

private:
  using Mix = quantize::PrecisionNet::Mix;
  /// A choice with its plan and its measured errors.
  struct Tried {
    Mix mix;
    PricedPlan plan;
    Observation found;
  };

  mlir::InFlightDiagnostic error() const;
  mlir::FailureOr<PricedPlan> priceOf(std::string bytes) const;
  mlir::FailureOr<PricedPlan> priceOf(std::string bytes,
                                      CompileOptions how) const;
  mlir::LogicalResult measureTimes();
  mlir::LogicalResult measureErrors();
  /// The choice, or another one within the bounds whose plan is faster: the net
  /// does not know how layers are fused, nor limits of the whole model.
  mlir::FailureOr<std::pair<Mix, PricedPlan>>
  fastestPlan(Mix mix, const quantize::PrecisionNet::Bounds &bounds);
  mlir::FailureOr<Tried> measured(const Mix &mix, PricedPlan plan);
  /// The choice by layers of the model.
  std::vector<bool> inModel(const Mix &mix) const;
  double timeOf(const PricedPlan &plan) const {
    return plan.times.sum(options.plan.mode);
  }
  PrecisionReport::Point pointOf(const Mix &mix) const;
  void describe(const Tried &chosen, bool isFloat);

  const CompileOptions &options;
  mlir::MLIRContext &context;
  const quantize::QuantizableModel &model;
  const quantize::QuantizableModel::Ranges &ranges;
  const std::map<std::string, uint64_t> &elements;
  Observer &observer;
  const PriceModel &price;

  std::vector<bool> all;        ///< the layers that can be in 8 bits
  std::vector<size_t> numbered; ///< by layers of the net: of the model
  std::vector<quantize::PrecisionNet::Layer> layers;
  std::vector<quantize::PrecisionNet::Value> values;
  std::optional<quantize::PrecisionNet> net;
  std::vector<Mix> front; ///< of the net
  std::optional<PricedPlan> floats, bytes;
  double wholeTime = 0;                   ///< of all layers in floats
  double fixedTime = 0, fixedStorage = 0; ///< of layers outside of the net
  std::string summary_;
  PrecisionReport report_;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_HYBRIDPRECISION_H
