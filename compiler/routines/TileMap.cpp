//===- TileMap.cpp - Which part of a result a tile computes ---------------===//

#include "compiler/routines/TileMap.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace nnv12;
using llvm::ArrayRef;

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
