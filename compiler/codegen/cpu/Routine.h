//===- Routine.h - One way to compute a layer -------------------*- C++ -*-===//
//
// A routine is an algorithm with the layouts it works in (SoftNeuro's word).
// Each is a class in a file of its own under routines/, listed in
// routines/Registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/TileMap.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace nnv12::codegen {

/// The layout that a routine wants for each operand and result of a layer: a
/// tag,
/// "" for dense row-major, or nullopt for "any, as it comes".
struct LayoutRequest {
  llvm::SmallVector<std::optional<std::string>> operands;
  llvm::SmallVector<std::optional<std::string>> results;
};

/// What the runtime must know of an emitted kernel.
struct KernelInfo {
  int64_t tiles = 1;        ///< size of the grid
  int64_t scratchBytes = 0; ///< private to each thread
  /// What the tiles compute of each result; empty where tiles are no boxes.
  /// They write disjoint parts that make up the results all the same.
  llvm::SmallVector<TileMap, 1> maps;
  /// Result 0 may share memory with operand i: every element of it is read
  /// before the same place of the result is written, in the same tile, and no
  /// other tile reads it.
  llvm::SmallVector<unsigned> inPlaceOperands;
};

/// Weights that a routine reads in a form that no layout can describe: computed
/// from the packed ones, by the compiler or, at the start, by a kernel.
struct WeightForm {
  unsigned operand; ///< of the layer: a constant
  std::string
      name; ///< stable, e.g. "winograd4"; equal names and types are equal bytes
  int64_t bytes; ///< of the transformed weights
};

/// What a kernel does, for a prediction of its time.
struct Work {
  double multiplyAdds =
      0;            ///< that it really executes (Winograd: after its saving)
  double bytes = 0; ///< of operands, read and written once
};

class Routine {
public:
  virtual ~Routine() = default;
  /// Stable and descriptive, e.g. "conv.direct.nChw16c". Routines that differ
  /// in parameters only differ behind the last dot.
  virtual llvm::StringRef name() const = 0;
  /// One line for docs/routines.md; of a variant, what it does differently.
  virtual llvm::StringRef summary() const = 0;
  /// Whether it computes this layer. Looks at kind, attributes, shapes and
  /// element types, not at layouts.
  virtual bool matches(mlir::Operation *layer) const = 0;
  virtual LayoutRequest layouts(mlir::Operation *layer) const = 0;
  /// Emits an entry point `symbol` whose operands are the layer's results, then
  /// its operands, in the layouts that the types of `layer` name. Two layers of
  /// the same attributes and types share a kernel, so nothing else may be
  /// looked at (constants are memory like any other operand).
  virtual KernelInfo emit(KernelBuilder &k, mlir::Operation *layer,
                          llvm::StringRef symbol) const = 0;
  /// What emit()'s kernel does. Other arithmetic, and an element moved
  /// by itself, counts as multiply-adds. See Work.h for what is shared.
  virtual Work work(mlir::Operation *layer) const;

  /// The form in which emit()'s kernel reads its weights; none: as packed by
  /// the operand's layout. The three members below are called only if there is
  /// one.
  virtual std::optional<WeightForm> weightForm(mlir::Operation *layer) const {
    return std::nullopt;
  }
  /// Emits the kernel that computes the form: operand 0 is the transformed
  /// weights, operand 1 the packed ones.
  virtual KernelInfo emitTransform(KernelBuilder &k, mlir::Operation *layer,
                                   llvm::StringRef symbol) const;
  virtual Work transformWork(mlir::Operation *layer) const;
  /// The same, on the compiler's machine: both borrow memory of the caller,
  /// 64-byte aligned.
  virtual void transform(mlir::Operation *layer, const void *packed,
                         void *transformed) const;
};

/// All routines, the preferred ones first; the last one, "generic", matches
/// every layer.
llvm::ArrayRef<const Routine *> routines();
/// The routine that computes the layer: the one that attribute `nn.routine`
/// names, or the first that matches. Never null for a verified layer.
const Routine *routineFor(mlir::Operation *layer);
/// All that compute the layer in the layouts that its types have, in order of
/// preference; the last of all, "element", only where there is no other. Never
/// empty for a layer whose layouts routineFor()'s choice asked for.
llvm::SmallVector<const Routine *> routinesFor(mlir::Operation *layer);
/// Null where there is none of that name.
const Routine *routineNamed(llvm::StringRef name);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINE_H
