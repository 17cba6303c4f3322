//===- RoutineSet.h - All routines of a processor ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_ROUTINESET_H
#define NNV12_COMPILER_ROUTINES_ROUTINESET_H

#include "compiler/routines/Routine.h"

namespace nnv12 {

/// Routines in order of preference, each with a name of its own.
class RoutineSet {
public:
  explicit RoutineSet(llvm::SmallVector<const Routine *> routines);

  llvm::ArrayRef<const Routine *> all() const { return routines; }
  /// Null where there is none of that name.
  const Routine *named(llvm::StringRef name) const;
  /// The first that computes the layer; null where none does.
  const Routine *preferred(mlir::Operation *layer) const;
  /// All that compute the layer in some layouts, in order of preference. A
  /// fallback is one of them only where there is no other.
  llvm::SmallVector<const Routine *> matching(mlir::Operation *layer) const;
  /// All that compute the layer in the layouts that its types have, in order
  /// of preference; a fallback only where there is no other. Never empty for a
  /// layer whose layouts preferred() asked for.
  llvm::SmallVector<const Routine *> agreeing(mlir::Operation *layer) const;

private:
  llvm::SmallVector<const Routine *> routines;
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_ROUTINESET_H
