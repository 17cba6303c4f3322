//===- PrecisionChoice.h - Layers in fewer bits, by a net -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_PRECISIONCHOICE_H
#define NNV12_TOOLS_NNV12C_PRECISIONCHOICE_H

#include "compiler/quantize/PrecisionNet.h"
#include "compiler/quantize/QuantizableModel.h"
#include "compiler/quantize/SmallWeights.h"
#include "tools/nnv12c/Observer.h"
#include "tools/nnv12c/PrecisionReport.h"
#include "tools/nnv12c/PricedPlan.h"

namespace nnv12 {

/// Chooses the layers that are in 8 bits, and with a bound on errors those
/// whose weights --weights rounds: plans of the first target say what they
/// cost, runs with switches what their errors are, and the net which choice
/// within the bounds is the fastest, or has the fewest bytes where weights
/// alone are rounded. Each choice is measured. The result scales the
/// predictions for the next one.
class PrecisionChoice {
public:
  /// All must outlive it. `elements` has those of each value.
  PrecisionChoice(const CompileOptions &options, mlir::MLIRContext &context,
                  const quantize::QuantizableModel &model,
                  const quantize::QuantizableModel::Ranges &ranges,
                  const std::map<std::string, uint64_t> &elements,
                  Observer &observer, const PriceModel &price)
      : options(options), context(context), model(model), ranges(ranges),
        elements(elements), observer(observer), price(price),
        isOfWeights(options.precision.precision == Precision::F32),
        choosesWeights(options.weights.areRounded() &&
                       options.precision.bound) {}

  /// Measures layers, and fills in all of the report but what was tried.
  mlir::LogicalResult prepare();
  struct Chosen {
    std::vector<bool> in8; ///< by layers of the model
    WeightOptions weights; ///< of the others
  };
  /// Fails with a diagnostic where no choice keeps the bounds.
  mlir::FailureOr<Chosen> choose();
  /// The ONNX model of a choice.
  std::string bytesOf(const Chosen &chosen) const;

  /// A line for people, on the choice.
  std::string summary() const { return summary_; }
  const PrecisionReport &report() const { return report_; }

private:
  using Mix = quantize::PrecisionNet::Mix;
  using Form = quantize::PrecisionNet::Form;
  /// A layer of the net, as the model has it.
  struct NetLayer {
    int node;
    std::string name;
    bool isProduct;
    std::optional<size_t> layer;   ///< that can be in 8 bits
    std::optional<size_t> weights; ///< that can be rounded
  };
  /// A choice with its plan and its measured errors.
  struct Tried {
    Mix mix;
    PricedPlan plan;
    Observation found;
  };

  mlir::InFlightDiagnostic error() const;
  mlir::FailureOr<PricedPlan> priceOf(std::string bytes,
                                      WeightOptions weights) const;
  mlir::FailureOr<PricedPlan> priceOf(std::string bytes,
                                      CompileOptions how) const;
  void findLayers();
  mlir::LogicalResult findAdapts();
  mlir::LogicalResult measureTimes();
  mlir::LogicalResult measureErrors();
  /// Errors of the model with one layer rounded at a time. `switchedModel`
  /// makes models with a switch for each of some layers. These have `part` of
  /// the bytes of the layers' weights besides.
  mlir::FailureOr<std::vector<double>> noiseWith(
      llvm::ArrayRef<size_t> layers, double part, const char *what,
      llvm::function_ref<std::string(llvm::ArrayRef<size_t>)> switchedModel);
  /// The choice, or another one within the bounds whose plan is faster: the net
  /// does not know how layers are fused, nor limits of the whole model.
  mlir::FailureOr<std::pair<Mix, PricedPlan>>
  fastestPlan(Mix mix, const quantize::PrecisionNet::Bounds &bounds);
  mlir::FailureOr<Tried> measured(const Mix &mix, PricedPlan plan);
  mlir::FailureOr<PricedPlan> planOf(const Mix &mix) const;
  Chosen inModel(const Mix &mix) const;
  double timeOf(const PricedPlan &plan) const {
    return plan.times.sum(options.plan.mode);
  }
  /// Which plan is the best: it has the least of this.
  double valueOf(const PricedPlan &plan) const {
    return isOfWeights ? plan.bytes : timeOf(plan);
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

  const bool isOfWeights;    ///< and no layer is in 8 bits
  const bool choosesWeights; ///< for each layer

  std::vector<bool> all; ///< the layers of the model that can be in 8 bits
  std::vector<quantize::SmallWeights> small;
  std::vector<NetLayer> inNet; ///< by layers of the net
  std::vector<quantize::PrecisionNet::Layer> layers;
  std::vector<quantize::PrecisionNet::Value> values;
  std::map<std::string, uint32_t> numbers; ///< of values, by tensor
  std::optional<quantize::PrecisionNet> net;
  std::vector<Mix> front; ///< of the net
  std::optional<PricedPlan> floats, bytes;
  double wholeTime = 0;                   ///< of all layers in floats
  double fixedTime = 0, fixedStorage = 0; ///< of layers outside of the net
  std::string summary_;
  PrecisionReport report_;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRECISIONCHOICE_H
