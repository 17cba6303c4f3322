//===- NNBuild.h - Builds and folds layers, with errors ---------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_NNBUILD_H
#define NNV12_DIALECTS_NN_NNBUILD_H

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"

namespace nnv12::nn {

/// Builds the layer `OpTy`, infers its result types when `types` is empty,
/// verifies it, and folds it. Unlike `OpTy::create`, a mistake in operands or
/// attributes (that is, in the user's model) gives a diagnostic at `loc` and
/// failure, never an abort. An absent optional operand is a null value; for a
/// layer with optional operands in the middle (conv, matmul, recurrent…), give
/// all of them. On success the results are those of the layer or the constants
/// it folded to.
mlir::FailureOr<mlir::SmallVector<mlir::Value>>
tryCreate(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef opName,
          mlir::ValueRange operands,
          llvm::ArrayRef<mlir::NamedAttribute> attributes,
          mlir::TypeRange types = {});

template <typename OpTy>
mlir::FailureOr<mlir::Value>
tryCreate(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands,
          llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
          mlir::TypeRange types = {}) {
  auto results =
      tryCreate(b, loc, OpTy::getOperationName(), operands, attributes, types);
  if (mlir::failed(results))
    return mlir::failure();
  return results->front();
}

/// A constant layer.
mlir::Value createConstant(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::ElementsAttr value);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_NNBUILD_H
