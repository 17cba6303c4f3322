//===- TilesBehind.h - The tiles of a part of a result ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_TILESBEHIND_H
#define NNV12_COMPILER_ROUTINES_TILESBEHIND_H

#include "compiler/routines/Cut.h"
#include "compiler/routines/TileMap.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace nnv12 {

/// Tiles [begin, end) of a grid.
struct TileRange {
  int64_t begin, end;
  bool operator==(const TileRange &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// More ranges of tiles than these are not worth a step each.
constexpr unsigned mostTileRanges = 16;

/// The tiles that compute all positions of the cut's back and no others, in
/// ascending order; none where the back is empty. nullopt where a tile has
/// positions on both sides, or where there are more than `mostRanges`. The
/// padding of a block of channels belongs to the last channel that exists.
/// `map` is that of `result`, which has dimension cut.dim.
std::optional<llvm::SmallVector<TileRange>>
tilesBehind(const TileMap &map, mlir::RankedTensorType result, Cut cut,
            unsigned mostRanges = mostTileRanges);

/// All positions in the result, but for 0 and its extent, where a cut along
/// `dim` has tiles behind it, ascending.
llvm::SmallVector<int64_t> tileStarts(const TileMap &map,
                                      mlir::RankedTensorType result,
                                      unsigned dim,
                                      unsigned mostRanges = mostTileRanges);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_TILESBEHIND_H
