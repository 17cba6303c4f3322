//===- Compiler.h - From an ONNX file to a bundle ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_COMPILER_H
#define NNV12_TOOLS_NNV12C_COMPILER_H

#include "mlir/IR/MLIRContext.h"
#include "tools/nnv12c/CompileOptions.h"

namespace nnv12 {

/// Loads every dialect that the compiler uses.
void loadDialects(mlir::MLIRContext &context);

/// Compiles one model. On failure one error diagnostic has been emitted in
/// `context` and the output is as it was.
mlir::LogicalResult compile(const CompileOptions &options,
                            mlir::MLIRContext &context);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_COMPILER_H
