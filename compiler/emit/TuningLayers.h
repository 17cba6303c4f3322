//===- TuningLayers.h - Layers that tell what a GPU takes -------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_TUNINGLAYERS_H
#define NNV12_COMPILER_EMIT_TUNINGLAYERS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nnv12 {

/// A model of layers that have nothing to do with one another, of every kind
/// that GPUs have routines for. Their shapes span work groups, reduction steps
/// and bytes, so that coefficients can be fitted to their times.
mlir::OwningOpRef<mlir::ModuleOp> tuningLayers(mlir::MLIRContext &context);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_TUNINGLAYERS_H
