//===- UnitGrid.cpp - Tiles over independent units of work ----------------===//

#include "compiler/codegen/cpu/UnitGrid.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace nnv12;
using namespace nnv12::codegen;
using llvm::ArrayRef;
using llvm::divideCeil;

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
