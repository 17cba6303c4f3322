//===- TileMaps.cpp - Checks which boxes tiles compute --------------------===//
#include "artifact/TileMaps.h"

#include "artifact/Limits.h"

namespace nnv12::artifact {

/// Whether the pieces of a cut share out `length` positions, none of them
/// empty.
static bool sharesOut(uint64_t length, const bundle::TileCut *cut) {
  uint64_t count = cut->count(), size = cut->size();
  if (count == 1)
    return size >= length;
  // Both are bounded by the length, so that nothing overflows.
  return count && size && count <= length && size <= length &&
         count - 1 <= (length - 1) / size && count * size >= length;
}

const char *findWrong(const bundle::TileMap *map, uint64_t tiles) {
  uint32_t rank = map->axes()->size();
  if (rank > maxRank)
    return "found more than 64 axes";
  uint64_t last = 0; // the last element's place
  for (const bundle::TileAxis *axis : *map->axes()) {
    if (axis->extent() == 0 || axis->extent() > maxBytes ||
        axis->stride() > maxBytes / axis->extent())
      return "axes: found an extent or a stride out of range";
    last += (axis->extent() - 1) * axis->stride();
  }
  if (last > maxBytes)
    return "axes: found more than 2^46 elements";
  uint64_t total = 0;
  for (const bundle::TilePart *part : *map->parts()) {
    if (part->lo()->size() != rank || part->hi()->size() != rank)
      return "parts: found a box of another rank than the axes have";
    for (uint32_t i = 0; i < rank; ++i)
      if (part->lo()->Get(i) >= part->hi()->Get(i) ||
          part->hi()->Get(i) > map->axes()->Get(i)->extent())
        return "parts: found an empty box, or one that leaves the axes";
    uint64_t count = 1, cutAxes = 0;
    for (const bundle::TileCut *cut : *part->cuts()) {
      uint32_t axis = cut->axis();
      if (axis >= rank || (cutAxes >> axis & 1) ||
          !sharesOut(part->hi()->Get(axis) - part->lo()->Get(axis), cut))
        return "cuts: found one that does not share out its axis";
      cutAxes |= uint64_t(1) << axis;
      if (cut->count() > maxTiles / count)
        return "cuts: found more than 2^31 tiles";
      count *= cut->count();
    }
    total += count;
    if (total > maxTiles)
      return "cuts: found more than 2^31 tiles";
  }
  return total == tiles ? nullptr
                        : "cuts: found another number of tiles than the grid "
                          "has";
}

} // namespace nnv12::artifact
