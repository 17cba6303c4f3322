//===- Work.h - The costs of a layer, counted -------------------*- C++ -*-===//
//
// Arithmetic and bytes of a layer, from its types: features for the prediction
// of a kernel's time, and the measure by which kernels are cut into tiles.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_WORK_H
#define NNV12_COMPILER_ROUTINES_WORK_H

#include "compiler/routines/Routine.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nnv12 {

/// Bytes of the layer's operands and results, each once, padding of blocks
/// included; of an operand of which only a part is taken (slice, gather), as
/// many as are taken.
double bytesOf(mlir::Operation *layer);

/// Multiply-adds of a conv, conv_transpose, matmul or recurrent (its products
/// with the state; those with the input are a matmul) by its definition, taps
/// on padding included; 0 for other layers.
double definedMultiplyAdds(mlir::Operation *layer);

/// The same with the output channels (dimension 1 of the result; the last one
/// of a matmul's) in whole blocks of 16 of each group.
double blockedMultiplyAdds(mlir::Operation *layer);

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}
/// Elements of a tensor.
int64_t elementsOf(mlir::Value tensor);

/// Operations that one element of the layer's result takes where a kernel
/// computes it by itself, addresses included.
double elementSteps(mlir::Operation *layer);
/// The work of such a kernel for all elements of the first result.
Work elementWork(mlir::Operation *layer);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_WORK_H
