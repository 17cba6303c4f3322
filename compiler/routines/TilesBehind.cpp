//===- TilesBehind.cpp - The tiles of a part of a result ------------------===//

#include "compiler/routines/TilesBehind.h"

#include "dialects/nn/Layout.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace nnv12;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Positions [lo, hi) along a dimension.
struct Positions {
  int64_t lo, hi;
  bool isEmpty() const { return lo >= hi; }
  void include(Positions other) {
    if (isEmpty())
      *this = other;
    else if (!other.isEmpty())
      lo = std::min(lo, other.lo), hi = std::max(hi, other.hi);
  }
};

} // namespace

/// The positions along `dim` that the elements [begin, end) of memory have, or
/// a range around them with the same ends. `axes` are those of all memory.
static Positions positionsIn(ArrayRef<nn::Layout::Axis> axes, unsigned dim,
                             int64_t begin, int64_t end) {
  if (axes.empty())
    return {0, 1};
  const nn::Layout::Axis &axis = axes.front();
  ArrayRef<nn::Layout::Axis> inner = axes.drop_front();
  int64_t stride = axis.stride, first = begin / stride,
          last = (end - 1) / stride, step = axis.dim == dim ? axis.step : 0;
  Positions found = {0, 0};
  // Elements [from, to) of each step of the axis in [low, high].
  auto include = [&](int64_t low, int64_t high, int64_t from, int64_t to) {
    Positions inside = positionsIn(inner, dim, from, to);
    found.include({low * step + inside.lo, high * step + inside.hi});
  };
  if (first == last) {
    include(first, first, begin % stride, (end - 1) % stride + 1);
    return found;
  }
  include(first, first, begin % stride, stride);
  include(last, last, 0, (end - 1) % stride + 1);
  if (last - first > 1)
    include(first + 1, last - 1, 0, stride);
  return found;
}

/// The positions that each tile has.
static SmallVector<Positions> positionsOfTiles(const TileMap &map,
                                               mlir::RankedTensorType result,
                                               unsigned dim) {
  assert(dim < result.getRank() && "a dimension of the result");
  nn::Layout layout = nn::Layout::of(result);
  assert(map.whole().elements() == layout.size() && "the map of this result");
  int64_t extent = result.getDimSize(dim);
  SmallVector<Positions> tiles;
  for (int64_t tile = 0, count = map.tiles(); tile < count; ++tile) {
    Positions all = {0, 0};
    map.forPieces(map.boxOf(tile), [&](int64_t begin, int64_t elements) {
      all.include(positionsIn(layout.axes(), dim, begin, begin + elements));
      return true;
    });
    // The padding belongs to the last position.
    if (!all.isEmpty())
      all = {std::min(all.lo, extent - 1), std::min(all.hi, extent)};
    tiles.push_back(all);
  }
  return tiles;
}

static std::optional<SmallVector<TileRange>>
rangesBehind(ArrayRef<Positions> tiles, int64_t at, unsigned mostRanges) {
  SmallVector<TileRange> ranges;
  for (auto [i, positions] : llvm::enumerate(tiles)) {
    int64_t tile = int64_t(i);
    if (positions.isEmpty() || positions.hi <= at)
      continue;
    if (positions.lo < at)
      return std::nullopt;
    if (!ranges.empty() && ranges.back().end == tile)
      ++ranges.back().end;
    else if (ranges.size() == mostRanges)
      return std::nullopt;
    else
      ranges.push_back({tile, tile + 1});
  }
  return ranges;
}

std::optional<SmallVector<TileRange>>
nnv12::tilesBehind(const TileMap &map, mlir::RankedTensorType result, Cut cut,
                   unsigned mostRanges) {
  assert(cut.at >= 0 && cut.at <= result.getDimSize(cut.dim) &&
         "a place in the result");
  return rangesBehind(positionsOfTiles(map, result, cut.dim), cut.at,
                      mostRanges);
}

SmallVector<int64_t> nnv12::tileStarts(const TileMap &map,
                                       mlir::RankedTensorType result,
                                       unsigned dim, unsigned mostRanges) {
  SmallVector<Positions> tiles = positionsOfTiles(map, result, dim);
  SmallVector<int64_t> starts;
  for (const Positions &positions : tiles)
    if (!positions.isEmpty() && positions.lo > 0)
      starts.push_back(positions.lo);
  llvm::sort(starts);
  starts.erase(llvm::unique(starts), starts.end());
  llvm::erase_if(
      starts, [&](int64_t at) { return !rangesBehind(tiles, at, mostRanges); });
  return starts;
}
