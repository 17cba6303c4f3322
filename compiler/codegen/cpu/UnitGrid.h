//===- UnitGrid.h - Tiles over independent units of work --------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_UNITGRID_H
#define NNV12_COMPILER_CODEGEN_CPU_UNITGRID_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/routines/TileMap.h"

namespace nnv12::codegen {

/// Units of work over some dimensions, outermost first and numbered row-major,
/// in tiles that are boxes: a tile takes some positions of one dimension and
/// all of those inside of it.
class UnitGrid {
public:
  /// `work` is that of a unit, in element operations.
  UnitGrid(ArrayRef<int64_t> extents, double work);
  /// The same with everything in one tile.
  static UnitGrid single(ArrayRef<int64_t> extents);

  int64_t tiles() const { return outer * chunks; }
  /// Calls body(first, last) with the units [first, last) of tiles [begin,
  /// end), in one range or several.
  void forRanges(KernelBuilder &k, Index begin, Index end,
                 function_ref<void(Index, Index)> body) const;
  /// The cuts, where dimension i is axis axes[i] of the memory and a position
  /// of it takes scale[i] positions there.
  SmallVector<TileMap::Cut> cuts(ArrayRef<unsigned> axes,
                                 ArrayRef<int64_t> scale) const;

private:
  UnitGrid() = default;
  SmallVector<int64_t> extents;
  unsigned cut = 0; ///< the dimension that is cut into chunks of `size`
  int64_t outer = 1, inner = 1, size = 1, chunks = 1;
};

/// Work of a tile, in element operations: enough to be worth a thread's while.
constexpr double tileWork = 32768;

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_UNITGRID_H
