//===- LinearLayer.h - Convolutions and matrix products alike ---*- C++ -*-===//
#ifndef NNV12_PASSES_SIMPLIFY_LINEARLAYER_H
#define NNV12_PASSES_SIMPLIFY_LINEARLAYER_H

#include "dialects/nn/NNDialect.h"

namespace nnv12 {

/// A `Linear` layer: a conv, conv_transpose or matmul, all alike.
/// The setters change the operation in place: call them inside
/// `modifyOpInPlace`.
class LinearLayer {
public:
  /// nullopt if `op` is null or another layer.
  static std::optional<LinearLayer> get(mlir::Operation *op);
  /// The layer that defines a value nothing else uses.
  static std::optional<LinearLayer> onlyUse(mlir::Value result);

  mlir::Operation *operation() const { return op; }
  mlir::Value result() const { return op->getResult(0); }
  mlir::Value input() const { return op->getOperand(0); }
  mlir::Value weights() const { return op->getOperand(1); }
  mlir::Value bias() const { return linear().getBias(); }
  mlir::Value residual() const { return linear().getResidual(); }
  nn::FunctionAttr activation() const { return linear().getActivationAttr(); }
  nn::FunctionAttr residualActivation() const {
    return linear().getResidualActivationAttr();
  }

  void setInput(mlir::Value value) { op->setOperand(0, value); }
  void setWeights(mlir::Value value) { op->setOperand(1, value); }
  void setBias(mlir::Value value) { linear().getBiasMutable().assign(value); }
  void setResidual(mlir::Value value);
  void setActivation(nn::FunctionAttr function);
  void setResidualActivation(nn::FunctionAttr function);

  /// Dimension of the result along which the bias varies.
  int64_t outputAxis() const;
  /// Dimension of the input over which the product sums.
  int64_t inputAxis() const;
  int64_t outputs() const;
  int64_t inputs() const;

  /// The weights seen as an array in which the output (input) channels are the
  /// dimensions that `channelShape` has and broadcasts over elsewhere:
  ///   conv            [G, O/G, C/G, kernel]
  ///   conv_transpose  [G, C/G, O/G, kernel]
  ///   matmul          [batch, K, N] or [batch, N, K]
  struct WeightsView {
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<int64_t> channelShape;
  };
  WeightsView viewByOutput() const { return view(/*byOutput=*/true); }
  WeightsView viewByInput() const { return view(/*byOutput=*/false); }

private:
  explicit LinearLayer(mlir::Operation *op) : op(op) {}
  nn::Linear linear() const { return llvm::cast<nn::Linear>(op); }
  WeightsView view(bool byOutput) const;
  mlir::Operation *op;
};

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_LINEARLAYER_H
