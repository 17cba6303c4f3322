//===- Counted.h - Elements whose number only a run tells -------*- C++ -*-===//
//
// A tensor's shape is known when compiling. Where a run tells how many elements
// there are along an axis, the tensor has room for the most there can be, and a
// scalar beside it says how many count. Padding has any value, so whatever
// would mix it with the others fills it first.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_COUNTED_H
#define NNV12_COMPILER_IMPORT_COUNTED_H

#include "compiler/import/ImportValue.h"
#include "compiler/import/LayerBuilder.h"

namespace nnv12::importer {

/// The least of `count`, of one element, and `most`: i64, a scalar. That it is
/// no more stands in the graph then, for all that ask for a limit.
Value atMost(LayerBuilder &b, Value count, int64_t most);

/// The indices of a mask's true elements, as NonZero gives them.
ImportValue select(LayerBuilder &b, Value mask);

/// The slices of `all` along `axis` where the mask, of rank 1, is true.
ImportValue compact(LayerBuilder &b, Value all, Value mask, int64_t axis);

/// A value with a run-time size as a counted one. Indices of selected elements
/// have the mask's dimensions as rows or columns.
ImportValue toCounted(LayerBuilder &b, const ImportValue &value);

/// The positions 0, 1… of a counted value's axis, i64, in a shape that
/// broadcasts to it.
Value positions(LayerBuilder &b, const ImportValue &value);

/// Which positions count, as bools in a shape that broadcasts to the value.
Value countingMask(LayerBuilder &b, const ImportValue &value);

/// The elements with `padding` behind them.
Value fill(LayerBuilder &b, const ImportValue &value, double padding);
Value fill(LayerBuilder &b, const ImportValue &value, Value padding);

/// The element, a scalar, that all elements of a counted value are; null where
/// they may differ.
Value commonElement(LayerBuilder &b, const ImportValue &value);

/// A shape of which a run tells one size.
struct CountedShape {
  Ints sizes; ///< with the most of that size
  int64_t axis;
  Value count; ///< i64, a scalar, at most that
};
/// `shape` (rank 1) as one; nullopt if another number of its elements than one
/// is unknown, or the unknown one has no limit.
std::optional<CountedShape> countedShape(LayerBuilder &b, Value shape);

/// The value of an empty maximum (or minimum): an infinity, or the type's
/// smallest or largest integer. The largest ones of 64 bits are no doubles: the
/// power of two above stands for them, and makeSplat() clamps it.
double emptyMaximum(Type type, bool isMaximum = true);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_COUNTED_H
