//===- QuantizedProduct.h - The normal form of products ---------*- C++ -*-===//
//
// nn.qconv and nn.qmatmul in the form that kernels compute: x and the result
// are ui8, weights are i8, and zero points are a part of the bias. With a and b
// the zero points of x and w, and K terms in a sum:
//
//   sum of (x - a)(w - b) = sum of xw - a * (sum of w - K b) - b * sum of x
//
// Padding has the value a, so that it holds at edges, too. The last part is
// computed by layers of its own, where b is not zero.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_QUANTIZEDPRODUCT_H
#define NNV12_DIALECTS_NN_QUANTIZEDPRODUCT_H

#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"

namespace nnv12::nn {

/// 8-bit integers of either sign that count from a zero point of their type,
/// which is null for zero.
///
/// The zero point of x is one number or, in a matrix product, one a row
/// [..., M, 1]. The zero point of w is one number or one a column, [N] or, in a
/// batch of matrices, [..., 1, N].
struct CentredBytes {
  mlir::Value values, zero;
};

/// How the result of a product goes on; see NNQuantOps.td. Without a step it
/// does not, and all members are null.
struct ProductRest {
  mlir::Value step, offset, residual, residualScale, residualZero, finalScale,
      finalZero;
  FunctionAttr activation;
};

/// The steps after the sum; see NNQuantOps.td. Without a scale the result is
/// the sum as i32. With one it is f32 or of `outZero`'s type.
struct ProductEnd {
  mlir::Value scale, shift, outScale, outZero;
  FunctionAttr activation;
  ProductRest rest = {};
};

struct ConvWindow {
  llvm::ArrayRef<int64_t> strides, dilations, padsLow, padsHigh;
  int64_t groups = 1;
};

/// `bias` [O] is i32, and may be null. Shapes are those of a convolution.
mlir::Value quantizedConv(mlir::OpBuilder &b, mlir::Location loc,
                          CentredBytes x, CentredBytes w, mlir::Value bias,
                          const ConvWindow &window, const ProductEnd &end = {});

/// `bias` [N] is i32, and may be null. Shapes are those of a matrix product, of
/// ranks of at least 2.
mlir::Value quantizedMatMul(mlir::OpBuilder &b, mlir::Location loc,
                            CentredBytes x, CentredBytes w, bool transposeRhs,
                            mlir::Value bias, const ProductEnd &end = {});

/// i8 as ui8 that are larger by 128, and back.
mlir::Value withFlippedSign(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value bytes);
/// The value whose sign has been flipped to i8 (to ui8); null if none has.
mlir::Value flippedToSigned(mlir::Value bytes);
mlir::Value flippedToUnsigned(mlir::Value bytes);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_QUANTIZEDPRODUCT_H
