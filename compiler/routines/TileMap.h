//===- TileMap.h - Which part of a result a tile computes -------*- C++ -*-===//
//
// A tile of a kernel writes a box of each result and nothing else, and no tile
// reads memory that another writes. Threads, a split between processors and the
// reuse of parts of a result all rest on that, so a kernel declares its boxes.
// The tiles of a GPU's dispatch are its work groups. Running kernels proves
// that the boxes are what they write: TileCheck.h does so for CPUs, the tests'
// ShaderRunner.h for GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_TILEMAP_H
#define NNV12_COMPILER_ROUTINES_TILEMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace nnv12 {

namespace artifact {
struct TileMap;
}

/// The boxes of one result, for each tile of the grid.
struct TileMap {
  /// The result's memory as nested dimensions, outermost first: those of its
  /// layout, or fewer where neighbours are merged. In elements.
  struct Axis {
    int64_t extent, stride;
  };
  /// Along an axis tiles take `size` positions each, the last one the rest.
  struct Cut {
    unsigned axis;
    int64_t count, size;
  };
  /// Positions [lo, hi) along each axis.
  struct Box {
    llvm::SmallVector<int64_t> lo, hi;
    int64_t extent(unsigned axis) const { return hi[axis] - lo[axis]; }
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
  static TileMap grid(llvm::ArrayRef<Axis> axes, llvm::ArrayRef<Cut> cuts = {});
  /// Cuts the last part further. The positions of `axes`, outermost first, are
  /// numbered together, and tiles take `size` of them each, the last one the
  /// rest. Returns false, with nothing cut, where such tiles are no boxes.
  bool shareOut(llvm::ArrayRef<unsigned> axes, int64_t size);
  /// The box that spans all axes.
  Box whole() const;
  int64_t tiles() const;
  /// The box that tile `tile` of tiles() computes.
  Box boxOf(int64_t tile) const;
  /// Calls body(first element, elements) for each contiguous piece of a box
  /// until it returns false.
  bool forPieces(const Box &box,
                 llvm::function_ref<bool(int64_t, int64_t)> body) const;
  artifact::TileMap inBundle() const;
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_TILEMAP_H
