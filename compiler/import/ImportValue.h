//===- ImportValue.h - The value of a name in an ONNX graph -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_IMPORTVALUE_H
#define NNV12_COMPILER_IMPORT_IMPORTVALUE_H

#include "mlir/IR/Value.h"

#include <vector>

namespace nnv12::importer {

/// The value of a name in an ONNX graph during the import. Sequences and
/// optionals exist only at compile time: as lists of tensors.
struct ImportValue {
  enum Kind { Tensor, Sequence, Optional };
  Kind kind = Tensor;
  mlir::Value tensor;
  /// Elements of a sequence; none or one of an optional.
  std::vector<ImportValue> list;

  ImportValue() = default;
  ImportValue(mlir::Value v) : tensor(v) {}
  ImportValue(Kind kind, std::vector<ImportValue> list)
      : kind(kind), list(std::move(list)) {}

  /// An optional input or output that is left out.
  bool isAbsent() const { return kind == Tensor && !tensor; }
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_IMPORTVALUE_H
