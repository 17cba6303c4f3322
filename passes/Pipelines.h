//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//
#ifndef NNV12_PASSES_PIPELINES_H
#define NNV12_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace nnv12 {

/// What makes a model simpler whatever it is compiled for (`--nn-simplify`).
void buildSimplifyPipeline(mlir::OpPassManager &pm);

/// Registers the pipelines with mlir-opt style tools.
void registerPipelines();

} // namespace nnv12

#endif // NNV12_PASSES_PIPELINES_H
