//===- CpuRoutine.h - How a CPU computes a layer ----------------*- C++ -*-===//
//
// Each routine is a class in a file of its own under routines/, listed in
// routines/Registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_CPUROUTINE_H
#define NNV12_COMPILER_CODEGEN_CPU_CPUROUTINE_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/routines/Cells.h"
#include "compiler/routines/RoutineSet.h"
#include "compiler/routines/TileMap.h"

namespace nnv12::codegen {

/// The runtime's facts about an emitted kernel.
struct KernelInfo {
  int64_t tiles = 1;        ///< size of the grid
  int64_t scratchBytes = 0; ///< private to each thread
  /// The boxes of each result that the tiles compute; empty where tiles are no
  /// boxes. They write disjoint parts that make up the results all the same.
  SmallVector<TileMap, 1> maps;
  /// Result 0 may share memory with operand i: every element of it is read
  /// before the same place of the result is written, in the same tile, and no
  /// other tile reads it.
  SmallVector<unsigned> inPlaceOperands = {};
};

class CpuRoutine : public Routine {
public:
  using Routine::Routine;
  /// Emits an entry point `symbol` whose operands are the layer's results, then
  /// its operands, in the layouts that the types of `layer` name. Two layers of
  /// the same attributes and types share a kernel, so nothing else may be
  /// looked at (constants are memory like any other operand).
  virtual KernelInfo emit(KernelBuilder &k, Operation *layer,
                          StringRef symbol) const = 0;
  /// The instructions beyond a base's that emit() uses where the target has
  /// them: `k.target` has no others. Like misfit(), it looks at the layer
  /// alone.
  virtual Extension extension(Operation *layer) const {
    return Extension::None;
  }
  /// Whether it computes the layer with its whole extension() alone. Another
  /// routine is preferred then, which computes it on all targets.
  virtual bool needsExtension() const { return false; }
  /// Whether it is a candidate for a layer that it computes.
  bool isFor(Operation *layer, const Target &target) const {
    return !needsExtension() || extension(layer) <= target.extension;
  }
  /// The name of the target that the kernel belongs to, for its key.
  std::string targetOf(Operation *layer, const Target &target) const {
    return target.upTo(extension(layer)).name;
  }

  /// Rows and columns of pixels that the kernel computes together, in groups
  /// from the first ones on. The rounding of a pixel may depend on the operands
  /// of its whole group.
  virtual int64_t together(Operation *layer) const { return 1; }

  /// The size of cells that suits the layer, none where there is no kernel in
  /// cells.
  virtual std::optional<Cells> cells(Operation *layer) const {
    return std::nullopt;
  }
  /// The same where these dimensions of the result are the plane.
  virtual std::optional<Cells> cellsAlong(Operation *layer, unsigned rowDim,
                                          unsigned colDim) const {
    Cells usual;
    return rowDim == usual.rowDim && colDim == usual.colDim ? cells(layer)
                                                            : std::nullopt;
  }
  /// Whether there is a kernel in cells for any dimensions of any result, be
  /// they small, blocked or one and the same.
  virtual bool hasCellsOfAnyDim() const { return false; }
  /// Emits the kernel of emit() with other tiles: cells of the result's plane,
  /// or runs of its pixels. The cuts of its map are image and group, rows,
  /// columns, channels; some routines cut the plane alone. It has the same
  /// operands, weight form and order of sums, so that a tile writes the same
  /// bits. The routine may round sizes up. Called only where cells() has a
  /// size, or where there are cells of any dimension.
  virtual KernelInfo emitCells(KernelBuilder &k, Operation *layer,
                               StringRef symbol, const Cells &size) const {
    llvm_unreachable("a routine with cells emits them");
  }

  // Called only where there is a weightForm() that is computed.

  /// Emits the kernel that computes the form: operand 0 is the transformed
  /// weights, operand 1 the packed ones.
  virtual KernelInfo emitTransform(KernelBuilder &k, Operation *layer,
                                   StringRef symbol) const {
    llvm_unreachable("a routine with a weight form has a transform");
  }
  /// The same, on the compiler's machine: both borrow memory of the caller,
  /// 64-byte aligned.
  virtual void transform(Operation *layer, const void *packed,
                         void *transformed) const {
    llvm_unreachable("a routine with a weight form has a transform");
  }

  /// Casts a routine of cpuRoutines() to its class.
  static const CpuRoutine &of(const Routine &routine) {
    return static_cast<const CpuRoutine &>(routine);
  }
};

/// All that CPUs have.
const RoutineSet &cpuRoutines();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CPUROUTINE_H
