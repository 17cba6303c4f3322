//===- Precision.h - Layers in 8 bits, as a set of samples allows *- C++
//-*-===//
//
// Post-training quantisation: the model of floats runs over a set of samples,
// its values get ranges, products are rounded, and the error is measured.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_PRECISION_H
#define NNV12_TOOLS_NNV12C_PRECISION_H

#include "mlir/IR/MLIRContext.h"
#include "tools/nnv12c/CompileOptions.h"

namespace nnv12 {

/// A model with products in 8 bits.
struct QuantizedModel {
  std::string bytes;  ///< an ONNX file, with QuantizeLinear
  std::string report; ///< lines for people
};

/// Compiles a model for this machine, to try it.
using CompileModel =
    llvm::function_ref<mlir::LogicalResult(const CompileOptions &)>;

/// Quantises the model of the options as these say. Fails with a diagnostic:
/// one line, also where the bound on the error cannot be kept.
mlir::FailureOr<QuantizedModel> quantizeModel(const CompileOptions &options,
                                              mlir::MLIRContext &context,
                                              CompileModel compile);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRECISION_H
