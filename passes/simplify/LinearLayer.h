//===- LinearLayer.h - Convolutions and matrix products ---------*- C++ -*-===//
//
// What passes ask of a `Linear` layer, a conv, conv_transpose or matmul, beside
// that interface.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_PASSES_SIMPLIFY_LINEARLAYER_H
#define NNV12_PASSES_SIMPLIFY_LINEARLAYER_H

#include "dialects/nn/NNDialect.h"

namespace nnv12 {

/// The layer that defines a value nothing else uses; null for another one.
nn::Linear soleLinear(mlir::Value result);

inline mlir::Value inputOf(nn::Linear layer) { return layer->getOperand(0); }
inline mlir::Value weightsOf(nn::Linear layer) { return layer->getOperand(1); }
inline mlir::Value resultOf(nn::Linear layer) { return layer->getResult(0); }

/// Dimension of the result along which the bias varies, and its size.
int64_t outputAxis(nn::Linear layer);
int64_t numOutputs(nn::Linear layer);
/// Dimension of the weights along which the outputs vary, within a group.
int64_t weightsAxis(nn::Linear layer);
/// Dimension of the input over which the product sums, and its size.
int64_t inputAxis(nn::Linear layer);
int64_t numInputs(nn::Linear layer);

/// The weights seen as an array in which the output (input) channels are the
/// dimensions that `channelShape` has and broadcasts over elsewhere:
///   conv            [G, O/G, C/G, kernel]
///   conv_transpose  [G, C/G, O/G, kernel]
///   matmul          [batch, K, N] or [batch, N, K]
struct WeightsView {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> channelShape;
};
enum class Channels { Output, Input };
WeightsView viewWeights(nn::Linear layer, Channels channels);

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_LINEARLAYER_H
