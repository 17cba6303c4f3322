//===- Import.h - ONNX to the nn dialect ------------------------*- C++ -*-===//
//
// With quantize/ the only part of the compiler that knows ONNX. It accepts IR
// versions from 3 on and operator sets up to 28 (docs/ops.md has the table).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_IMPORT_H
#define NNV12_COMPILER_IMPORT_IMPORT_H

#include "compiler/import/ImportOptions.h"
#include "compiler/import/TensorNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

namespace nnv12 {

/// Imports the ONNX model at `path`. The result has one `func.func @main` whose
/// arguments and results are named by the attribute `nn.name`; the module's
/// `nn.model` is the graph's name, `nn.properties` the model's metadata_props.
/// Shapes are static, and values that depend on shapes alone are folded.
///
/// On a fault it returns null after exactly one error diagnostic
///   FILE: node 'NAME' (OpType): found X, expected Y
/// whose location is the node's name in the file.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// The same from memory; `path` serves messages and finds external data.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBuffer(llvm::StringRef bytes,
                                                   llvm::StringRef path,
                                                   const ImportOptions &options,
                                                   mlir::MLIRContext &context);

} // namespace nnv12

#endif // NNV12_COMPILER_IMPORT_IMPORT_H
