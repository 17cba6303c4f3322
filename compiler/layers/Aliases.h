//===- Aliases.h - Tensors that lie in other tensors ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_LAYERS_ALIASES_H
#define NNV12_COMPILER_LAYERS_ALIASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace nnv12 {

/// Tensors that are part of another tensor's memory: a dense reshape is its
/// operand, a contiguous slice lies in its operand, and the operands of a
/// concatenation along the outermost dimension are written into its result.
class Aliases {
public:
  explicit Aliases(mlir::func::FuncOp main);

  struct Place {
    mlir::Value base;
    int64_t offset; ///< bytes
  };
  /// Follows a value to the tensor whose memory it is.
  Place find(mlir::Value value) const;
  /// Whether the layer needs no kernel, because its result is in place already.
  bool isFree(mlir::Operation *op) const { return withoutCode.contains(op); }

private:
  bool joinConcat(mlir::Operation *op);
  llvm::DenseMap<mlir::Value, Place> parent;
  llvm::DenseSet<mlir::Operation *> withoutCode;
};

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_ALIASES_H
