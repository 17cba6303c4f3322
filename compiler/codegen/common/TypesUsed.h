//===- TypesUsed.h - In which types code computes ---------------*- C++ -*-===//
//
// A kernel's needs of a device follow from the types of its values. The types
// are declared beside the functions that write code, so that they are known
// before any is written.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_TYPESUSED_H
#define NNV12_COMPILER_CODEGEN_COMMON_TYPESUSED_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SetVector.h"

namespace nnv12::codegen {

/// Element types of values, in order of appearance. More of them than code has
/// once it is simplified are allowed, fewer are not.
struct TypesUsed {
  using Types = llvm::SmallSetVector<mlir::Type, 4>;
  /// Types of values that are loaded, stored or converted from number to
  /// number.
  Types moved;
  /// Types of values that anything else is done with: constants, comparisons
  /// and selections count, and conversions from and to truth values.
  Types computed;

  void move(mlir::Type type) { moved.insert(type); }
  void compute(mlir::Type type) { computed.insert(type); }
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_TYPESUSED_H
