//===- PlanProof.h - A program computes what its layers say -----*- C++ -*-===//
//
// A check of the finished program that trusts nothing of what planned it. Each
// byte of arena, prepared memory, inputs and outputs is followed, as runs of
// bytes, from the operation that writes it to those that read it, and must be
// the byte of the value that the layer reads. What a value is, and where layers
// without an operation (reshapes, slices, concatenations) have their bytes
// from, is read off the layers and their layouts alone.
//
// Taken for granted: that a kernel computes its layer and touches its operands
// only, that KernelInfo::inPlaceOperands is true, and that a weight form's
// transform and its codec give the form.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_PLANPROOF_H
#define NNV12_COMPILER_VERIFY_PLANPROOF_H

#include "artifact/Bundle.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/emit/WeightTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// What a program is said to be made of.
struct PlanClaim {
  mlir::func::FuncOp main;
  /// By operation of the program: the layer that it computes.
  llvm::ArrayRef<mlir::Operation *> layers;
  const KernelTable &kernels;
  const WeightTable &weights;
  /// The segment that `weights` become.
  uint32_t weightsSegment;
};

/// Shows of `program` that, whatever order its preparations run in as far as
/// `after` leaves it open, in the first run and in later ones, and whichever
/// switches have been taken,
///   - each operation's kernel is one for its layer, and reads, byte by byte,
///     the values that the layer reads, in the form that the kernel reads, all
///     of it written before;
///   - no preparation writes what another one writes, and who reads prepared
///     bytes waits for who writes them;
///   - a result lies on top of an operand only where the kernel allows it, and
///     nothing else is read there;
///   - at the end each output holds the value that the model returns.
/// Fails with one diagnostic at the layer, with the bytes, what was found there
/// and what was expected: a fault of the compiler.
mlir::LogicalResult provePlan(const PlanClaim &claim,
                              const artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_PLANPROOF_H
