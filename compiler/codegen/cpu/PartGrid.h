//===- PartGrid.h - Tiles for a part of a layer -----------------*- C++ -*-===//
//
// Where a coprocessor computes the front of a layer's result, CPUs compute its
// back (Cut.h), in tiles. The layer's own kernel has tiles made for threads and
// caches, and so it often has few places to cut. Cells (Cells.h) take its place
// then: they are as wide as the plane.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H
#define NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/routines/TilesBehind.h"

#include <optional>

namespace nnv12::codegen {

/// The tiles of a layer that is cut along some dimension of its result.
struct PartGrid {
  /// The tiles are cells of this size; none: the layer's own kernel has them.
  std::optional<Cells> cells;
  /// Where a back can begin, in positions of the dimension, ascending: behind
  /// such a cut there are tiles (TilesBehind.h). 0 is not among them.
  SmallVector<int64_t> starts;
  /// The tiles behind each start, one range of the kernel's behind another.
  SmallVector<SmallVector<TileRange>> ranges;
  int64_t tiles = 0; ///< of the whole layer
};

/// Chooses a grid for parts along dimension `dim` (Cut.h) of the layer's
/// result; nullopt where it cannot be cut there. Emits kernels for `target`,
/// and drops them, to learn where their tiles begin.
std::optional<PartGrid> partGrid(Operation *layer, const CpuRoutine &routine,
                                 unsigned dim, const Target &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H
