//===- Distance.h - Known differences of run-time numbers -------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_DISTANCE_H
#define NNV12_COMPILER_IMPORT_OPS_DISTANCE_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// Element i of an int32 or int64 tensor, if it is known; nullopt (no fault)
/// if it is not, though others of the tensor may be.
std::optional<int64_t> knownElement(Node &n, Value v, int64_t i);

/// Element i of `to` less element i of `from`, both int32 or int64 of one
/// element or more. It is known for constants, and for sums of the same
/// run-time number and constants: position + 4 less position. nullopt (no
/// fault) where it is not known.
std::optional<int64_t> knownDistance(Node &n, Value from, Value to, int64_t i);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_DISTANCE_H
