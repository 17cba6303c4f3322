//===- RunTimeNumbers.h - Known facts of run-time numbers -------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_RUNTIMENUMBERS_H
#define NNV12_COMPILER_IMPORT_RUNTIMENUMBERS_H

#include "compiler/import/LayerBuilder.h"

namespace nnv12::importer {

// Tensors are int32 or int64; i is an element's row-major index. An element of
// a tensor with one stands for all. nullopt is no fault: the fact is not known.

/// Element i, which may be known though others of the tensor are not.
std::optional<int64_t> knownElement(LayerBuilder &b, Value v, int64_t i);

/// Element i of `to` less element i of `from`. It is known for constants, and
/// for sums of the same run-time number and constants: position + 4 less
/// position.
std::optional<int64_t> knownDistance(LayerBuilder &b, Value from, Value to,
                                     int64_t i);

/// Element i of `v` and `number`, of one element, together: 100 - count and
/// count.
std::optional<int64_t> knownSum(LayerBuilder &b, Value number, Value v,
                                int64_t i);

/// A constant that element i never exceeds.
std::optional<int64_t> knownLimit(LayerBuilder &b, Value v, int64_t i);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_RUNTIMENUMBERS_H
