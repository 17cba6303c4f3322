//===- Reduce.h - Attributes that reductions share --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_REDUCE_H
#define NNV12_COMPILER_IMPORT_OPS_REDUCE_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// Axes became an input with 18 (ReduceSum: 13). None means all, or, with
/// noop_with_empty_axes, no reduction: nullopt.
std::optional<Ints> reduceAxes(Node &n, Value x);

/// ONNX knows 0 and 1; for any other number ONNX Runtime drops the dimensions.
bool keepDims(Node &n);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_REDUCE_H
