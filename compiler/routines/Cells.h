//===- Cells.h - Small tiles of a plane of pixels ---------------*- C++ -*-===//
//
// A layer whose input changed in some pixels is computed in some tiles alone.
// The tiles of most kernels are whole rows; a kernel in cells has tiles of few
// rows and few columns.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_CELLS_H
#define NNV12_COMPILER_ROUTINES_CELLS_H

#include "compiler/routines/TileMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace nnv12 {

/// The pixels of a result that a tile computes. Tiles at the right and bottom
/// edge of a plane may have fewer.
struct Cells {
  int64_t rows = 1, cols = 1;
  /// The dimensions of the result that are the plane.
  unsigned rowDim = 2, colDim = 3;
  /// Channels of a tile: a multiple of 16, or at least all of a group. 0: as
  /// the routine thinks best. Kernels of elements cut the plane alone.
  int64_t channels = 0;
};

/// Columns of a cell that are a few micro-kernels.
constexpr int64_t cellCols = 8;
/// How small cells are. Fewer pixels are computed in vain in small ones, but
/// each reads the border of its pixels, and all weights.
enum class CellGrain { Coarse, Fine };
/// A size that suits planes of `rows` x `cols` pixels, where cells are to have
/// about so many columns.
Cells cellsOf(int64_t rows, int64_t cols, int64_t wantedCols = cellCols,
              CellGrain grain = CellGrain::Coarse);
/// A size for the layer's first result, if it has two spatial dimensions.
std::optional<Cells> cellsOfPlane(mlir::Operation *layer,
                                  int64_t wantedCols = cellCols,
                                  CellGrain grain = CellGrain::Coarse);
/// A part of `extent`, about as long as `wanted`: it divides the extent where
/// some number nearby does.
int64_t pieceOf(int64_t extent, int64_t wanted);

/// Multiply-adds of a tile that takes about 100 us of a thread. A cell that has
/// more is cut into chunks of channels.
constexpr double cellMultiplyAdds = 6e6;

/// The axes of a tile map that are the rows and the columns of a plane.
struct PlaneAxes {
  unsigned rows;
  /// None where each tile has whole rows.
  std::optional<unsigned> cols;
};
/// Finds them for a result of four dimensions, the last two of which are the
/// plane. None where tiles are no rectangles of pixels: all rows may be one
/// axis.
std::optional<PlaneAxes> planeAxes(const TileMap &map,
                                   mlir::RankedTensorType result);

/// The pixels [lo, hi) of a tile.
struct PixelBox {
  struct Range {
    int64_t lo, hi;
  };
  Range images, rows, cols;
};
PixelBox pixelsOf(const TileMap &map, const PlaneAxes &axes,
                  mlir::RankedTensorType result, int64_t tile);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_CELLS_H
