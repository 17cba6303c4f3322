//===- PlanProof.h - Proves that a program computes its layers --*- C++ -*-===//
//
// A check of the finished program that trusts nothing of the code that planned
// it. It follows each byte of arena, prepared memory, inputs and outputs, as
// runs of bytes, from the operation that writes it to those that read it. It
// must be the byte of the value that the layer reads. The check reads values
// off the layers and their layouts alone, also those of layers without an
// operation (reshapes, slices, concatenations).
//
// Taken for granted: that a kernel computes its layer and touches its operands
// only, that KernelInfo::inPlaceOperands is true, and that a weight form's
// transform and its codec give the form.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_PLANPROOF_H
#define NNV12_COMPILER_VERIFY_PLANPROOF_H

#include "compiler/verify/PlanClaim.h"

namespace nnv12 {

/// Shows of `program` that, for any order of its preparations that `after`
/// leaves open, in the first run and in later ones, and for any choice of
/// switches that have been taken,
///   - each operation's kernel is one for its layer, and reads, byte by byte,
///     the values that the layer reads, in the form that the kernel reads, all
///     of it written before;
///   - no two preparations write the same bytes, and each reader of prepared
///     bytes waits for their writer;
///   - a result lies on top of an operand only where the kernel allows it, and
///     nothing else is read there;
///   - at the end each output holds the value that the model returns;
///   - whichever stretches a GPU takes over, it computes the same
///     (StretchProof.h).
/// Fails with one diagnostic at the layer that says which bytes, what was found
/// there and what was expected: a fault of the compiler.
mlir::LogicalResult provePlan(const PlanClaim &claim,
                              const artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_PLANPROOF_H
