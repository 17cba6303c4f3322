//===- LayoutNet.h - The layouts of a model as a net ------------*- C++ -*-===//
//
// From a model that has layouts, and the costs of its layers in these and in
// others, to search::Net; and from a choice back to a model.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SELECT_LAYOUTNET_H
#define NNV12_COMPILER_SELECT_LAYOUTNET_H

#include "compiler/plan/ModelPlan.h"
#include "compiler/search/Combinations.h"
#include "compiler/search/Net.h"
#include "compiler/select/Signatures.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12 {

class LayoutNet {
public:
  /// The net of `main`, which must outlive it, with a signature of each layer:
  /// the layouts that it has. An nn.adapt is no layer of the net: it makes a
  /// copy of a value.
  explicit LayoutNet(mlir::func::FuncOp main);

  /// Adds all signatures of layers, with their costs; those of the layouts that
  /// `first` has are in that plan. A measured profile
  /// offers no signature that it has no times of, but for these. A layer on
  /// which a comparison of floats for equality depends keeps its layouts. With
  /// `constantsStay` no constant comes in another layout than it has.
  void addSignatures(const ModelPlan &first, CostTable &costs,
                     const PlanOptions &options, bool constantsStay);

  /// The net with the costs of warm inferences.
  search::Net net() const;
  /// Gives it the costs for this balance.
  void price(search::Net &net, search::Balance balance) const;
  /// By layers, their own layouts.
  std::vector<uint32_t> own() const {
    return std::vector<uint32_t>(layers.size());
  }
  /// The number of layers that may have other layouts.
  unsigned numFree() const;
  /// Signatures that were not offered since no time of them was measured.
  unsigned numUnmeasured() const { return unmeasured; }
  /// Why the layer has no other signature; empty if it has.
  llvm::StringRef whyFixed(uint32_t layer) const {
    return numSignatures(layer) > 1 ? "" : layers[layer].fixed;
  }
  unsigned numSignatures(uint32_t layer) const {
    return layers[layer].signatures.size();
  }

  /// A copy of the model's module in other layouts.
  mlir::OwningOpRef<mlir::ModuleOp>
  build(const search::NetChoice &choice) const;

  /// The schemas of each value with blocks have these numbers.
  static constexpr uint8_t dense = 0, blocked = 1;

private:
  struct Signature {
    LayerLayouts layouts;
    /// Ways to compute it. Empty: it costs nothing.
    std::vector<search::Candidate> candidates;
  };
  struct Layer {
    mlir::Operation *op;
    std::vector<Signature> signatures;
    const char *fixed = "in place"; ///< see whyFixed()
  };
  struct Tensor {
    mlir::Value value;             ///< where it is made
    std::vector<std::string> tags; ///< by schema
    /// [from][to] in milliseconds.
    std::vector<double> adapt = {};
  };

  void addSchema(mlir::Value value, llvm::StringRef tag);
  uint8_t schemaOf(mlir::Value value, llvm::StringRef tag) const;
  void priceAdapts(CostTable &costs, bool mustBeMeasured);
  /// Calls `visit` with each operand that is no constant, and its value.
  static void
  forOperands(mlir::Operation *op,
              llvm::function_ref<void(mlir::OpOperand &, mlir::Value)> visit);

  mlir::Operation *main;
  mlir::Block *block; ///< of its layers
  search::Device device;
  std::vector<Layer> layers;
  std::vector<Tensor> tensors;
  llvm::DenseMap<mlir::Value, uint32_t> numbers; ///< of tensors
  unsigned unmeasured = 0;
};

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_LAYOUTNET_H
