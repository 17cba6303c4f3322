//===- TileMap.h - Which part of a result a tile computes -------*- C++ -*-===//
//
// A tile of a kernel writes a box of each result and nothing else, and no tile
// reads what another writes. Threads, a split between processors and the reuse
// of parts of a result all rest on that, so a kernel declares its boxes, and
// TileCheck.h proves by running it that they are what it writes.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_TILEMAP_H
#define NNV12_COMPILER_CODEGEN_CPU_TILEMAP_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

/// The boxes of one result, for each tile of the grid.
struct TileMap {
  /// The result's memory as nested dimensions, outermost first: those of its
  /// layout, or fewer where neighbours are merged. In elements.
  struct Axis {
    int64_t extent, stride;
  };
  /// Along an axis tiles take `size` positions each, the last one what is left.
  struct Cut {
    unsigned axis;
    int64_t count, size;
  };
  /// Positions [lo, hi) along each axis.
  struct Box {
    llvm::SmallVector<int64_t> lo, hi;
    int64_t elements() const;
  };
  /// Consecutive tiles that share a box out. Cuts are outermost first: the last
  /// one changes fastest. Axes without a cut are whole.
  struct Part {
    Box box;
    llvm::SmallVector<Cut> cuts;
    int64_t tiles() const;
  };

  llvm::SmallVector<Axis> axes;
  llvm::SmallVector<Part, 1> parts;

  /// One part: all of the memory.
  static TileMap grid(llvm::ArrayRef<Axis> axes, llvm::ArrayRef<Cut> cuts);
  /// The box that spans all axes.
  Box whole() const;
  int64_t tiles() const;
  /// What tile `tile` of tiles() computes.
  Box boxOf(int64_t tile) const;
};

/// Units of work over some dimensions, outermost first and numbered row-major,
/// in tiles that are boxes: a tile takes some positions of one dimension and
/// all of those inside of it.
class UnitGrid {
public:
  /// `work` is that of a unit, in element operations.
  UnitGrid(llvm::ArrayRef<int64_t> extents, double work);
  /// The same with everything in one tile.
  static UnitGrid single(llvm::ArrayRef<int64_t> extents);

  int64_t tiles() const { return outer * chunks; }
  /// Calls body(first, last) with the units [first, last) of tiles [begin,
  /// end), in one range or several.
  void forRanges(KernelBuilder &k, Index begin, Index end,
                 llvm::function_ref<void(Index, Index)> body) const;
  /// Whether a tile has one unit.
  bool isSingleUnit() const { return size * inner == 1; }
  /// The cuts, where dimension i is axis axes[i] of the memory and a position
  /// of it takes scale[i] positions there.
  llvm::SmallVector<TileMap::Cut> cuts(llvm::ArrayRef<unsigned> axes,
                                       llvm::ArrayRef<int64_t> scale) const;

private:
  UnitGrid() = default;
  llvm::SmallVector<int64_t> extents;
  unsigned cut = 0; ///< the dimension that is cut into chunks of `size`
  int64_t outer = 1, inner = 1, size = 1, chunks = 1;
};

/// Work of a tile, in element operations: enough to be worth a thread's while.
constexpr double tileWork = 32768;

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_TILEMAP_H
