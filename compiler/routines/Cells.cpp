//===- Cells.cpp - Small tiles of a plane of pixels -----------------------===//

#include "compiler/routines/Cells.h"

#include "dialects/nn/Layout.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace nnv12;
using llvm::divideCeil;

int64_t nnv12::pieceOf(int64_t extent, int64_t wanted) {
  assert(extent > 0 && wanted > 0 && "there is something to cut");
  // A last piece that is shorter takes code of its own, and more of its time
  // for its border.
  constexpr double rest = 0.1, perOctave = 0.25;
  int64_t best = std::min(extent, wanted);
  double bestCost = 0;
  int64_t least = std::min<int64_t>(divideCeil(wanted, 2), extent),
          most = std::min(wanted * 3 / 2, extent);
  for (int64_t size = least; size <= most; ++size) {
    auto missing = double(divideCeil(extent, size) * size - extent);
    double cost =
        missing / double(extent) + (missing > 0 ? rest : 0) +
        perOctave * std::fabs(std::log2(double(size) / double(wanted)));
    if (size == least || cost < bestCost)
      best = size, bestCost = cost;
  }
  return best;
}

Cells nnv12::cellsOf(int64_t rows, int64_t cols, int64_t wantedCols,
                     CellGrain grain) {
  constexpr int64_t smallPlane = 7, largePlane = 40;
  if (rows <= smallPlane && cols <= smallPlane)
    return {rows, cols};
  bool isLarge = rows >= largePlane && cols >= largePlane;
  int64_t wantedRows = isLarge ? 8 : 4;
  if (grain == CellGrain::Fine)
    wantedRows /= 2;
  return {pieceOf(rows, wantedRows), pieceOf(cols, wantedCols)};
}

std::optional<Cells> nnv12::cellsOfPlane(mlir::Operation *layer,
                                         int64_t wantedCols, CellGrain grain) {
  llvm::ArrayRef<int64_t> shape = nn::typeOf(layer->getResult(0)).getShape();
  if (shape.size() != 4)
    return std::nullopt;
  return cellsOf(shape[2], shape[3], wantedCols, grain);
}

/// The only axis of a dimension; null where it is blocked.
static const nn::Layout::Axis *axisOf(const nn::Layout &layout, unsigned dim) {
  const nn::Layout::Axis *found = nullptr;
  for (const nn::Layout::Axis &axis : layout.axes()) {
    if (axis.dim != dim)
      continue;
    if (found)
      return nullptr;
    found = &axis;
  }
  return found;
}

std::optional<PlaneAxes> nnv12::planeAxes(const TileMap &map,
                                          mlir::RankedTensorType result) {
  if (result.getRank() != 4)
    return std::nullopt;
  nn::Layout layout = nn::Layout::of(result);
  const nn::Layout::Axis *rows = axisOf(layout, 2), *cols = axisOf(layout, 3);
  if (!rows || !cols)
    return std::nullopt;
  auto find = [&](const nn::Layout::Axis &axis,
                  unsigned from) -> std::optional<unsigned> {
    for (unsigned a = from; a < map.axes.size(); ++a)
      if (map.axes[a].extent == axis.extent &&
          map.axes[a].stride == axis.stride)
        return a;
    return std::nullopt;
  };
  std::optional<unsigned> row = find(*rows, 0);
  if (!row)
    return std::nullopt;
  return PlaneAxes{*row, find(*cols, *row + 1)};
}

PixelBox nnv12::pixelsOf(const TileMap &map, const PlaneAxes &axes,
                         mlir::RankedTensorType result, int64_t tile) {
  TileMap::Box box = map.boxOf(tile);
  int64_t first = 0, last = 0;
  for (auto [a, axis] : llvm::enumerate(map.axes)) {
    first += box.lo[a] * axis.stride;
    last += (box.hi[a] - 1) * axis.stride;
  }
  int64_t images = result.getDimSize(0),
          image = nn::Layout::of(result).size() / images;
  auto range = [&](unsigned axis) {
    return PixelBox::Range{box.lo[axis], box.hi[axis]};
  };
  return {{first / image, last / image + 1},
          range(axes.rows),
          axes.cols ? range(*axes.cols)
                    : PixelBox::Range{0, result.getDimSize(3)}};
}
