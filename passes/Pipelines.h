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

/// How products between QuantizeLinear and DequantizeLinear are computed.
struct QuantizedProducts {
  bool stayFloat = false;
  /// Remarks say why layers stay float that could become products of bytes.
  bool why = false;
};

/// Passes that simplify a model for any target (`--nn-simplify`).
void buildSimplifyPipeline(mlir::OpPassManager &pm,
                           QuantizedProducts quantized = {});

/// Layouts and kernels of several layers (`--nn-layout`).
void buildLayoutPipeline(mlir::OpPassManager &pm);

/// Registers the pipelines with mlir-opt style tools.
void registerPipelines();

} // namespace nnv12

#endif // NNV12_PASSES_PIPELINES_H
