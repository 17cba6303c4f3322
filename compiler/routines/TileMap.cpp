//===- TileMap.cpp - Which part of a result a tile computes ---------------===//

#include "compiler/routines/TileMap.h"

#include "artifact/Bundle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <functional>

using namespace nnv12;
using llvm::ArrayRef;

int64_t TileMap::Box::elements() const {
  int64_t n = 1;
  for (size_t a = 0; a < lo.size(); ++a)
    n *= std::max<int64_t>(hi[a] - lo[a], 0);
  return n;
}

int64_t TileMap::Part::tiles() const {
  return llvm::product_of(
      llvm::map_range(cuts, [](const Cut &cut) { return cut.count; }));
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

bool TileMap::shareOut(ArrayRef<unsigned> axes, int64_t size) {
  Part &part = parts.back();
  int64_t outer = 1; ///< positions of the axes that are left
  for (unsigned axis : axes)
    outer *= part.box.extent(axis);
  size = std::min(size, outer);
  if (size <= 0)
    return false;
  llvm::SmallVector<Cut> innermostFirst;
  for (unsigned axis : llvm::reverse(axes)) {
    int64_t extent = part.box.extent(axis);
    outer /= extent;
    if (size % extent == 0) {
      size /= extent; // a tile takes all of this axis
      continue;
    }
    if (extent % size != 0 && outer != 1)
      return false;
    innermostFirst.push_back(
        {axis, int64_t(llvm::divideCeil(extent, size)), size});
    size = 1;
  }
  part.cuts.append(innermostFirst.rbegin(), innermostFirst.rend());
  return true;
}

int64_t TileMap::tiles() const {
  return llvm::sum_of(llvm::map_range(parts, std::mem_fn(&Part::tiles)));
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

bool TileMap::forPieces(const Box &box,
                        llvm::function_ref<bool(int64_t, int64_t)> body) const {
  assert(box.lo.size() == axes.size() && "a box of this map");
  if (box.elements() == 0)
    return true;
  size_t last = axes.size();
  int64_t piece = 1;
  // Inner axes that follow each other in memory and are whole are one piece.
  while (last > 0 && axes[last - 1].stride == piece) {
    --last;
    piece *= box.extent(last);
    if (box.extent(last) != axes[last].extent)
      break;
  }
  int64_t start = 0;
  for (size_t a = 0; a < axes.size(); ++a)
    start += box.lo[a] * axes[a].stride;
  llvm::SmallVector<int64_t> at(last, 0);
  for (;;) {
    int64_t offset = start;
    for (size_t a = 0; a < last; ++a)
      offset += at[a] * axes[a].stride;
    if (!body(offset, piece))
      return false;
    size_t a = last;
    while (a > 0 && ++at[a - 1] == box.extent(a - 1))
      at[--a] = 0;
    if (a == 0)
      return true;
  }
}

artifact::TileMap TileMap::inBundle() const {
  artifact::TileMap result;
  for (const Axis &axis : axes)
    result.axes.push_back({uint64_t(axis.extent), uint64_t(axis.stride)});
  for (const Part &part : parts) {
    artifact::TilePart box;
    box.lo.assign(part.box.lo.begin(), part.box.lo.end());
    box.hi.assign(part.box.hi.begin(), part.box.hi.end());
    for (const Cut &cut : part.cuts)
      box.cuts.push_back({cut.axis, uint64_t(cut.count), uint64_t(cut.size)});
    result.parts.push_back(std::move(box));
  }
  return result;
}
