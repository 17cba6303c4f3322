//===- ImportValue.h - The value of a name in an ONNX graph -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_IMPORTVALUE_H
#define NNV12_COMPILER_IMPORT_IMPORTVALUE_H

#include "mlir/IR/Value.h"

#include <vector>

namespace nnv12::importer {

/// The value of a name in an ONNX graph during the import. Sequences and
/// optionals exist only at compile time: as lists of tensors.
///
/// Elements whose number only a run tells have no tensor type. Those that a
/// mask selects exist between NonZero and ScatterND, which puts them back:
/// until then all elements are computed, selected or not. Where an operator
/// needs them one behind the other, they become Counted (Counted.h).
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
    Picked,
    /// The first `count` along `axis` of more elements: padding follows.
    Counted
  };
  Kind kind = Tensor;
  mlir::Value tensor;
  /// Elements of a sequence; none or one of an optional.
  std::vector<ImportValue> list;
  /// For Columns, Rows and Picked: which elements are selected, as bools, and
  /// their row-major indices [size of mask], zeros behind the last.
  mlir::Value mask, places;
  /// For Picked: all elements, those that are not selected among them. Its
  /// first dimensions are the mask's. For Counted: the elements and the
  /// padding.
  mlir::Value all;
  /// For Counted.
  int64_t axis = 0;
  /// How many elements are selected, or count: i64, a scalar, at most the size
  /// of the mask, or of the axis.
  mlir::Value count;
  /// For Counted: whether its padding says that it is some, as the -1 of
  /// indices does.
  bool isMarked = false;

  ImportValue() = default;
  ImportValue(mlir::Value v) : tensor(v) {}
  ImportValue(Kind kind, std::vector<ImportValue> list)
      : kind(kind), list(std::move(list)) {}

  /// The same selection as another kind.
  ImportValue as(Kind other, mlir::Value all = {}) const {
    ImportValue v = *this;
    v.kind = other;
    v.all = all;
    return v;
  }

  static ImportValue counted(mlir::Value all, int64_t axis, mlir::Value count) {
    ImportValue v(Counted, {});
    v.all = all;
    v.axis = axis;
    v.count = count;
    return v;
  }

  /// Whether only a run tells how many elements there are.
  bool hasRunTimeSize() const { return kind >= Columns; }
  bool isCounted() const { return kind == Counted; }
  /// An optional input or output that is left out.
  bool isAbsent() const { return kind == Tensor && !tensor; }
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_IMPORTVALUE_H
