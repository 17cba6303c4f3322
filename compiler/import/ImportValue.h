//===- ImportValue.h - The value of a name in an ONNX graph -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_IMPORTVALUE_H
#define NNV12_COMPILER_IMPORT_IMPORTVALUE_H

#include "mlir/IR/Value.h"

#include <vector>

namespace nnv12::importer {

/// The value of a name in an ONNX graph during the import. Sequences and
/// optionals exist only at compile time: as lists of tensors.
///
/// Elements that a mask selects, whose number only a run tells, have no tensor
/// type. They exist between NonZero and ScatterND, which puts them back: until
/// then all elements are computed, selected or not.
struct ImportValue {
  enum Kind {
    Tensor,
    Sequence,
    Optional,
    /// Indices of the selected elements: a column each [rank of mask, number],
    /// as NonZero gives them, or a row each [number, rank of mask].
    Columns,
    Rows,
    /// The selected elements [number, ...].
    Picked
  };
  Kind kind = Tensor;
  mlir::Value tensor;
  /// Elements of a sequence; none or one of an optional.
  std::vector<ImportValue> list;
  /// For Columns, Rows and Picked: which elements are selected, as bools.
  mlir::Value mask;
  /// For Picked: all elements, those that are not selected among them. Its
  /// first dimensions are the mask's.
  mlir::Value all;

  ImportValue() = default;
  ImportValue(mlir::Value v) : tensor(v) {}
  ImportValue(Kind kind, std::vector<ImportValue> list)
      : kind(kind), list(std::move(list)) {}

  static ImportValue selected(Kind kind, mlir::Value mask,
                              mlir::Value all = {}) {
    ImportValue v(kind, {});
    v.mask = mask;
    v.all = all;
    return v;
  }

  bool isSelected() const { return kind >= Columns; }
  /// An optional input or output that is left out.
  bool isAbsent() const { return kind == Tensor && !tensor; }
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_IMPORTVALUE_H
