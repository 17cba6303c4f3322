//===- StoragePlan.h - Where every tensor of a model lives ------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_STORAGEPLAN_H
#define NNV12_COMPILER_EMIT_STORAGEPLAN_H

#include "artifact/Bundle.h"
#include "compiler/emit/KernelTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// Tensors that are part of another tensor's memory: a dense reshape is its
/// operand, a contiguous slice lies in its operand, and the operands of a
/// concatenation along the outermost dimension are written into its result.
class Aliases {
public:
  explicit Aliases(mlir::func::FuncOp main);

  struct Place {
    mlir::Value base;
    int64_t offset; ///< bytes
  };
  /// Follows a value to the tensor whose memory it is.
  Place find(mlir::Value value) const;
  /// Whether the layer needs no kernel, because its result is in place already.
  bool isFree(mlir::Operation *op) const { return free_.contains(op); }

private:
  bool joinConcat(mlir::Operation *op);
  llvm::DenseMap<mlir::Value, Place> parent_;
  llvm::DenseSet<mlir::Operation *> free_;
};

/// Makes sure that each returned value can be computed right into the caller's
/// buffer: returns of arguments, constants, the same value twice or parts of others are copied.
void insertOutputCopies(mlir::func::FuncOp main);

/// The constants of a model in execution order, as they will lie in the file.
class WeightTable {
public:
  /// Offset in the weights segment of a constant (packed as its type says).
  uint64_t offsetOf(mlir::Value constant);
  uint64_t size() const { return size_; }
  /// The bytes; valid as long as the table and the constants' module.
  std::vector<artifact::Segment::Piece> pieces() const { return pieces_; }

  static constexpr uint64_t alignment = 64;

private:
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, uint64_t> offsets_;
  std::vector<artifact::Segment::Piece> pieces_;
  std::vector<std::shared_ptr<void>> owned_;
  uint64_t size_ = 0;
};

/// The operations of `main` for one target, with every operand placed.
struct PlannedProgram {
  std::vector<artifact::Operation> operations;
  uint64_t arenaSize = 0;
};
PlannedProgram planProgram(mlir::func::FuncOp main, const KernelTable &kernels,
                           WeightTable &weights, uint32_t weightsSegment);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_STORAGEPLAN_H
