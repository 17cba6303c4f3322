//===- TileMap.cpp - Which part of a result a tile computes ---------------===//

#include "compiler/codegen/cpu/TileMap.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace nnv12::codegen;
using llvm::ArrayRef;
using llvm::divideCeil;

int64_t TileMap::Box::elements() const {
  int64_t n = 1;
  for (size_t a = 0; a < lo.size(); ++a)
    n *= std::max<int64_t>(hi[a] - lo[a], 0);
  return n;
}

int64_t TileMap::Part::tiles() const {
  int64_t n = 1;
  for (const Cut &cut : cuts)
    n *= cut.count;
  return n;
}

TileMap::Box TileMap::whole() const {
  Box box;
  for (const Axis &axis : axes) {
    box.lo.push_back(0);
    box.hi.push_back(axis.extent);
  }
  return box;
}

TileMap TileMap::grid(ArrayRef<Axis> axes, ArrayRef<Cut> cuts) {
  assert(llvm::all_of(cuts,
                      [&](const Cut &cut) {
                        return cut.axis < axes.size() && cut.count >= 0 &&
                               cut.size > 0;
                      }) &&
         "tiles take positions of an axis");
  TileMap map;
  map.axes.assign(axes.begin(), axes.end());
  Part part;
  part.box = map.whole();
  part.cuts.assign(cuts.begin(), cuts.end());
  map.parts.push_back(std::move(part));
  return map;
}

int64_t TileMap::tiles() const {
  int64_t n = 0;
  for (const Part &part : parts)
    n += part.tiles();
  return n;
}

TileMap::Box TileMap::boxOf(int64_t tile) const {
  assert(tile >= 0 && tile < tiles() && "a tile of the grid");
  const Part *part = parts.begin();
  for (; tile >= part->tiles(); ++part)
    tile -= part->tiles();
  Box box = part->box;
  for (const Cut &cut : llvm::reverse(part->cuts)) {
    int64_t first = box.lo[cut.axis] + tile % cut.count * cut.size;
    box.hi[cut.axis] = std::min(first + cut.size, box.hi[cut.axis]);
    box.lo[cut.axis] = std::min(first, box.hi[cut.axis]);
    tile /= cut.count;
  }
  return box;
}

UnitGrid::UnitGrid(ArrayRef<int64_t> dims, double work)
    : extents(dims.begin(), dims.end()) {
  assert(work >= 0 && llvm::all_of(extents, [](int64_t e) { return e >= 0; }) &&
         "there is no less than nothing to do");
  if (extents.empty())
    extents.push_back(1);
  int64_t count = llvm::product_of(extents);
  cut = extents.size() - 1;
  if (count == 0) {
    outer = 0;
    return;
  }
  double wanted = work * count < 2 * tileWork ? double(count) : tileWork / work;
  int64_t units = std::clamp<int64_t>(int64_t(wanted), 1, count);
  for (; cut > 0 && inner * extents[cut] <= units; --cut)
    inner *= extents[cut];
  chunks = divideCeil(extents[cut], std::min(units / inner, extents[cut]));
  size = divideCeil(extents[cut], chunks);
  chunks = divideCeil(extents[cut], size);
  for (unsigned d = 0; d < cut; ++d)
    outer *= extents[d];
  assert(chunks * size >= extents[cut] && "tiles have all units");
}

UnitGrid UnitGrid::single(ArrayRef<int64_t> dims) { return UnitGrid(dims, 0); }

void UnitGrid::forRanges(KernelBuilder &k, Index begin, Index end,
                         llvm::function_ref<void(Index, Index)> body) const {
  if (tiles() == 0)
    return;
  int64_t perTile = size * inner, perOuter = extents[cut] * inner;
  // Tiles follow each other without a shorter one between.
  if (outer == 1 || extents[cut] % size == 0) {
    Index last = k.mul(end, perTile);
    if (extents[cut] % size)
      last = k.min(last, perOuter);
    return body(k.mul(begin, perTile), last);
  }
  k.loop(begin, end, 1, [&](mlir::Value tile) {
    Index start = k.mul(k.div(Index(tile), chunks), perOuter);
    Index first = k.mul(k.rem(Index(tile), chunks), perTile);
    Index last = k.min(k.add(first, perTile), perOuter);
    body(k.add(start, first), k.add(start, last));
  });
}

llvm::SmallVector<TileMap::Cut> UnitGrid::cuts(ArrayRef<unsigned> axes,
                                               ArrayRef<int64_t> scale) const {
  assert(axes.size() == scale.size() && axes.size() >= cut &&
         "an axis for each dimension");
  llvm::SmallVector<TileMap::Cut> result;
  for (unsigned d = 0; d < cut; ++d)
    result.push_back({axes[d], extents[d], scale[d]});
  if (chunks > 1)
    result.push_back({axes[cut], chunks, size * scale[cut]});
  return result;
}
