//===- QuantizedFactors.h - Float layers that multiply bytes ----*- C++ -*-===//
#ifndef NNV12_PASSES_SIMPLIFY_QUANTIZEDFACTORS_H
#define NNV12_PASSES_SIMPLIFY_QUANTIZEDFACTORS_H

#include "dialects/nn/Layout.h"
#include "dialects/nn/QuantizedProduct.h"

#include <string>

namespace nnv12 {

inline mlir::Type elementOf(mlir::Value v) {
  return nn::typeOf(v).getElementType();
}
/// Whether a scale or zero point is one number, or absent.
inline bool isSingle(mlir::Value v) {
  return !v || nn::typeOf(v).getNumElements() == 1;
}
/// Such a value as a tensor without dimensions.
mlir::Value asScalar(mlir::OpBuilder &b, mlir::Value v);

/// The parts of a product of dequantised bytes.
struct Factors {
  nn::CentredBytes x, w;
  /// One number, and one or one for each output, both f32.
  mlir::Value xScale, wScale;
  /// One for each output, or null: as i32 in steps of xScale * wScale, as f32,
  /// and other summands of the result as f32.
  mlir::Value bias, shift, rest;
  /// Why a quantised bias is a shift; empty for others.
  std::string floatBias;

  /// Reads a layer, and says why it has to stay one of floats; empty, with null
  /// values, for a layer of which no factor is dequantised. The builder makes
  /// constants.
  std::string read(nn::Linear layer, mlir::OpBuilder &b);

  /// Biases that are found to be integers are less than this.
  static constexpr double mostSteps = 0x1p24;

private:
  std::string readFactors(nn::Linear layer, mlir::OpBuilder &b);
  void readBias(nn::Linear layer, mlir::OpBuilder &b);
  std::string readIntegers(nn::DequantizeOp given, nn::Linear layer,
                           mlir::OpBuilder &b);
  /// No sum is larger, nor smaller than its negative.
  double mostSum(nn::Linear layer) const;
};

/// The constant that a dequantised one is; any other value as it is.
mlir::Value withoutDequantize(mlir::OpBuilder &b, mlir::Value v);

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_QUANTIZEDFACTORS_H
