//===- View.h - Layers that move no memory ----------------------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_VIEW_H
#define NNV12_DIALECTS_NN_VIEW_H

#include "mlir/IR/Operation.h"

namespace nnv12::nn {

/// Whether a layer costs nothing wherever it stands: its result is the memory
/// of its operand. A reshape, bitcast or adapt is where the elements of both
/// lie in the order of their indices, with no padding.
bool isView(mlir::Operation *layer);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_VIEW_H
