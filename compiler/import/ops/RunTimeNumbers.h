//===- RunTimeNumbers.h - Known facts of run-time numbers -------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_RUNTIMENUMBERS_H
#define NNV12_COMPILER_IMPORT_OPS_RUNTIMENUMBERS_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

// Tensors are int32 or int64; i is an element's row-major index. An element of
// a tensor with one stands for all. nullopt is no fault: the fact is not known.

/// Element i, which may be known though others of the tensor are not.
std::optional<int64_t> knownElement(Node &n, Value v, int64_t i);

/// Element i of `to` less element i of `from`. It is known for constants, and
/// for sums of the same run-time number and constants: position + 4 less
/// position.
std::optional<int64_t> knownDistance(Node &n, Value from, Value to, int64_t i);

/// Element i of `v` and `number`, of one element, together: 100 - count and
/// count.
std::optional<int64_t> knownSum(Node &n, Value number, Value v, int64_t i);

/// A constant that element i never exceeds.
std::optional<int64_t> knownLimit(Node &n, Value v, int64_t i);

/// A shape of which a run tells one size.
struct CountedShape {
  Ints sizes; ///< with the most of that size
  int64_t axis;
  Value count; ///< i64, a scalar, at most that
};
/// `shape` (rank 1) as one; nullopt if another number of its elements than one
/// is unknown, or the unknown one has no limit.
std::optional<CountedShape> countedShape(Node &n, Value shape);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_RUNTIMENUMBERS_H
