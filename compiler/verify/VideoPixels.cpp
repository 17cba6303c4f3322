//===- VideoPixels.cpp - Where the pixels of a tensor lie -----------------===//

#include "compiler/verify/VideoPixels.h"

#include "dialects/nn/Layout.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using artifact::VideoPart;
using artifact::VideoTiles;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Pixels
//===----------------------------------------------------------------------===//

/// The axis of a dimension that is not blocked.
static const nn::Layout::Axis *onlyAxis(const nn::Layout &layout,
                                        unsigned dim) {
  const nn::Layout::Axis *found = nullptr;
  for (const nn::Layout::Axis &axis : layout.axes())
    if (axis.dim == dim) {
      if (found)
        return nullptr;
      found = &axis;
    }
  return found;
}

namespace {

/// Bytes [begin, end) in rising order, neighbours joined.
class Pieces {
public:
  /// False where it begins before the end of the last one.
  bool add(uint64_t begin, uint64_t size) {
    if (!all.empty() && begin < all.back().second)
      return false;
    if (size && !all.empty() && begin == all.back().second)
      all.back().second += size;
    else if (size)
      all.push_back({begin, begin + size});
    return true;
  }
  bool operator!=(const Pieces &other) const { return all != other.all; }
  std::string text() const {
    return all.empty() ? std::string("none")
                       : formatv("{0} pieces, the first one [{1}, {2})",
                                 all.size(), all[0].first, all[0].second)
                             .str();
  }

private:
  std::vector<std::pair<uint64_t, uint64_t>> all;
};

} // namespace

/// The bytes of the pixel at row 0 and column 0, those that fill up a block
/// among them.
static Pieces piecesOf(ArrayRef<nn::Layout::Axis> axes, uint64_t element,
                       std::optional<video::Plane> plane) {
  Pieces pieces;
  auto walk = [&](auto &self, size_t at, uint64_t begin) -> void {
    if (at == axes.size()) {
      pieces.add(begin, element);
      return;
    }
    const nn::Layout::Axis &axis = axes[at];
    bool isOne = plane && (axis.dim == plane->row || axis.dim == plane->column);
    for (int64_t i = 0; i < (isOne ? 1 : axis.extent); ++i)
      self(self, at + 1,
           begin + static_cast<uint64_t>(i * axis.stride) * element);
  };
  walk(walk, 0, 0);
  return pieces;
}

std::string nnv12::findWrongPixels(const artifact::PixelLayout &pixels,
                                   RankedTensorType type,
                                   std::optional<video::Plane> plane) {
  nn::Layout layout = nn::Layout::of(type);
  auto element =
      static_cast<uint64_t>(nn::storageElementSize(type.getElementType()));
  if (plane) {
    const nn::Layout::Axis *row = onlyAxis(layout, plane->row),
                           *column = onlyAxis(layout, plane->column);
    if (!row || !column)
      return "found pixels of blocked rows or columns, expected none";
    auto distance = [&](const nn::Layout::Axis *axis) {
      return static_cast<uint64_t>(axis->stride) * element;
    };
    if (pixels.row != distance(row))
      return formatv("found rows at a distance of {0} bytes, expected {1}",
                     pixels.row, distance(row));
    if (pixels.column != distance(column))
      return formatv("found columns at a distance of {0} bytes, expected {1}",
                     pixels.column, distance(column));
  }
  Pieces expected = piecesOf(layout.axes(), element, plane), found;
  bool isRising = true;
  for (uint64_t i = 0; i < pixels.pieces && isRising; ++i)
    isRising = found.add(i * pixels.distance, pixels.piece);
  if (!isRising)
    return formatv("found pieces of {0} bytes at a distance of {1}, expected "
                   "pieces apart",
                   pixels.piece, pixels.distance);
  if (found != expected)
    return formatv("found a pixel of {0}, expected {1}", found.text(),
                   expected.text());
  return "";
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Whether the axes number each element of memory once, outermost first.
static bool isNested(const TileMap &map, int64_t size) {
  int64_t inner = 1;
  for (const TileMap::Axis &axis : llvm::reverse(map.axes)) {
    if (axis.extent != 1 && axis.stride != inner)
      return false;
    inner *= axis.extent;
  }
  return inner == size;
}

namespace {

/// Positions of an axis of memory, which tiles share out.
struct Positions {
  const char *name; ///< of one
  uint32_t axis;
  TileMap::Axis expected;
};

} // namespace

/// Whether a tile takes those positions for which the runtime computes it
/// (Stream::gridOf).
static std::string findWrong(const Positions &positions, const TileMap &map) {
  auto [name, axis, expected] = positions;
  if (axis >= map.axes.size())
    return formatv("{0}s: found axis {1}, expected one of {2}", name, axis,
                   map.axes.size());
  const TileMap::Axis &found = map.axes[axis];
  if (found.extent != expected.extent || found.stride != expected.stride)
    return formatv("{0}s: found an axis of {1} at a distance of {2} elements, "
                   "expected {3} at {4}",
                   name, found.extent, found.stride, expected.extent,
                   expected.stride);
  int64_t stride = 1;
  const TileMap::Cut *cut = nullptr;
  for (const TileMap::Cut &other : llvm::reverse(map.parts[0].cuts)) {
    if (other.axis == axis)
      cut = &other;
    else if (!cut)
      stride *= other.count;
  }
  if (!cut)
    return formatv("{0}s: found axis {1}, which tiles do not share out, "
                   "expected one that they do",
                   name, axis);
  int64_t listed = llvm::divideCeil(expected.extent, cut->size);
  if (cut->count != listed)
    return formatv("{0}s: found {1} parts of {2}, expected {3}", name,
                   cut->count, cut->size, listed);
  for (int64_t tile = 0, count = map.tiles(); tile < count; ++tile) {
    TileMap::Box box = map.boxOf(tile);
    int64_t first = tile / stride % cut->count * cut->size,
            end = std::min(first + cut->size, expected.extent);
    if (box.lo[axis] != first || box.hi[axis] != end)
      return formatv("tile {0}: found {1}s {2} to {3}, expected {4} to {5}",
                     tile, name, box.lo[axis], box.hi[axis] - 1, first,
                     end - 1);
  }
  return "";
}

std::string nnv12::findWrongTiles(const VideoPart &part, const TileMap &map,
                                  RankedTensorType type, video::Plane plane) {
  nn::Layout layout = nn::Layout::of(type);
  if (map.parts.size() != 1 || map.parts[0].box.lo != map.whole().lo ||
      map.parts[0].box.hi != map.whole().hi)
    return formatv("found {0} parts of boxes, expected one, with all of the "
                   "result",
                   map.parts.size());
  for (const TileMap::Cut &cut : map.parts[0].cuts)
    if (cut.count * cut.size < map.axes[cut.axis].extent)
      return formatv("found tiles of {0} of {1} positions of axis {2}, "
                     "expected all",
                     cut.count * cut.size, map.axes[cut.axis].extent, cut.axis);
  if (!isNested(map, layout.size()))
    return formatv("found axes that are not those of {0} elements, one inside "
                   "of the other",
                   layout.size());
  const nn::Layout::Axis *row = onlyAxis(layout, plane.row),
                         *column = onlyAxis(layout, plane.column);
  if (!row || !column)
    return "found tiles of blocked rows or columns, expected none that are "
           "known";
  if (part.tiles == VideoTiles::Runs) {
    if (row->stride != column->extent * column->stride)
      return "found runs of pixels, expected rows behind one another";
    return findWrong(
        {"pixel", part.rowAxis, {row->extent * column->extent, column->stride}},
        map);
  }
  std::string wrong =
      findWrong({"row", part.rowAxis, {row->extent, row->stride}}, map);
  if (wrong.empty() && part.tiles == VideoTiles::Cells)
    wrong = findWrong(
        {"column", part.columnAxis, {column->extent, column->stride}}, map);
  return wrong;
}
