//===- PartGrid.h - Tiles for a part of a layer -----------------*- C++ -*-===//
//
// Where a coprocessor computes the front of a layer's result, CPUs compute its
// back (Cut.h), in tiles. Those of a layer's own kernel are made for threads
// and caches, and often have few places to cut or none. Where that is so, cells
// (Cells.h) are a grid for parts: they are as wide as the plane.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H
#define NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H

#include "compiler/codegen/cpu/CpuRoutine.h"

#include <optional>

namespace nnv12::codegen {

/// The tiles of a layer that is cut along some dimension of its result.
struct PartGrid {
  /// Those of emitCells() with this size; none: those of emit().
  std::optional<Cells> cells;
  /// Where a back can begin, in positions of the dimension, ascending: behind
  /// such a cut there are tiles (TilesBehind.h). 0 is not among them.
  SmallVector<int64_t> starts;
};

/// The grid for parts along dimension `dim` (Cut.h) of what the routine
/// computes of the layer; nullopt where it cannot be cut there. It emits the
/// kernels that it considers, for `target`, and drops them: where their tiles
/// begin they know best.
std::optional<PartGrid> partGrid(Operation *layer, const CpuRoutine &routine,
                                 unsigned dim, const Target &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_PARTGRID_H
