//===- Import.h - ONNX to the nn dialect ------------------------*- C++ -*-===//
//
// The only part of the compiler that knows protobuf and ONNX. It accepts IR
// versions 3 to 11 and operator sets up to 23 (docs/ops.md has the table).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_IMPORT_H
#define NNV12_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nnv12::artifact {
class InputFiles;
} // namespace nnv12::artifact

namespace nnv12 {

struct ImportOptions {
  /// Shapes of graph inputs by name. A name that is no input but a dimension
  /// parameter of some input (`dim_param`), with one value, sets that
  /// dimension.
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  /// Graph inputs whose value is known when compiling: name and file, either
  /// .npy or a serialised TensorProto/SequenceProto/OptionalProto (.pb). Such
  /// an input is no input of the compiled model.
  std::vector<std::pair<std::string, std::string>> constants;
  /// No tensor may be larger.
  uint64_t maxTensorBytes = uint64_t(1) << 34;
  /// How many nodes may be imported, counting those of inlined functions and of
  /// unrolled loops once for every time.
  uint64_t maxNodes = 1000000;
  /// Where to note the files with external data that were read, if at all.
  artifact::InputFiles *inputs = nullptr;
};

/// Imports the ONNX model at `path`. The result has one `func.func @main` whose
/// arguments and results are named by the attribute `nn.name`; the module's
/// `nn.model` is the graph's name. Shapes are static and what depends on shapes
/// alone is folded.
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

/// Writes docs/ops.md: operator, operator set versions, element types, notes.
void printOpsTable(llvm::raw_ostream &os);

} // namespace nnv12

#endif // NNV12_COMPILER_IMPORT_IMPORT_H
