//===- OutputCopies.h - Results right in the caller's buffers ---*- C++ -*-===//
#ifndef NNV12_COMPILER_LAYERS_OUTPUTCOPIES_H
#define NNV12_COMPILER_LAYERS_OUTPUTCOPIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// Copies results that no layer can write where the caller wants them:
/// arguments, constants, parts of other tensors, and tensors that `main`
/// returns twice. Each becomes the result of an identity layer. Returns how
/// many there are.
unsigned copyOutputs(mlir::func::FuncOp main);

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_OUTPUTCOPIES_H
