//===- Routine.h - One way to compute a layer -------------------*- C++ -*-===//
//
// A routine is an algorithm with the layouts it works in (SoftNeuro's word). Each
// is a class in a file of its own under routines/, listed in routines/Registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace nnv12::codegen {

/// The layout that a routine wants for each operand and result of a layer: a tag,
/// "" for dense row-major, or nullopt for "any, as it comes".
struct LayoutRequest {
  llvm::SmallVector<std::optional<std::string>> operands;
  llvm::SmallVector<std::optional<std::string>> results;
};

/// What the runtime must know of an emitted kernel.
struct KernelInfo {
  int64_t tiles = 1;        ///< size of the grid
  int64_t scratchBytes = 0; ///< private to each thread
  /// Result 0 may share memory with operand i: every element of it is read before
  /// the same place of the result is written, in the same tile, and no other tile reads it.
  llvm::SmallVector<unsigned> inPlaceOperands;
};

class Routine {
public:
  virtual ~Routine() = default;
  /// Stable and descriptive, e.g. "conv.direct.nChw16c".
  virtual llvm::StringRef name() const = 0;
  /// Whether it computes this layer. Looks at kind, attributes, shapes and
  /// element types, not at layouts.
  virtual bool matches(mlir::Operation *layer) const = 0;
  virtual LayoutRequest layouts(mlir::Operation *layer) const = 0;
  /// Emits an entry point `symbol` whose operands are the layer's results, then
  /// its operands, in the layouts that the types of `layer` name. Two layers of
  /// the same attributes and types share a kernel, so nothing else may be looked
  /// at (constants are memory like any other operand).
  virtual KernelInfo emit(KernelBuilder &k, mlir::Operation *layer,
                          llvm::StringRef symbol) const = 0;
};

/// All routines, the preferred ones first; the last one, "generic", matches every layer.
llvm::ArrayRef<const Routine *> routines();
/// The first that matches; never null for a verified layer.
const Routine *routineFor(mlir::Operation *layer);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H
