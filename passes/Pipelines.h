//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//
//
// From an imported model to one that can be planned. nnv12c runs these;
// nnv12-opt has each as a flag. Lowering.h in codegen/cpu lowers a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_PASSES_PIPELINES_H
#define NNV12_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

namespace nnv12 {

/// Passes that simplify a model for any target (`--nn-simplify`). `whyFloat`:
/// remarks say why layers of a quantised model stay float.
void buildSimplifyPipeline(mlir::OpPassManager &pm, bool whyFloat = false);

/// Layouts and kernels of several layers (`--nn-layout`).
void buildLayoutPipeline(mlir::OpPassManager &pm);

/// Registers the pipelines with mlir-opt style tools.
void registerPipelines();

} // namespace nnv12

#endif // NNV12_PASSES_PIPELINES_H
