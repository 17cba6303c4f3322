//===- TilePieces.cpp - The memory that tiles write -----------------------===//
#include "artifact/TilePieces.h"

#include <algorithm>

namespace nnv12::artifact {

uint64_t elementBytes(const bundle::TileMap *map, uint64_t bytes) {
  uint64_t elements = 1;
  for (const bundle::TileAxis *axis : *map->axes())
    elements += (axis->extent() - 1) * axis->stride();
  return bytes % elements ? 0 : bytes / elements;
}

/// The box of as many tiles from `next_` on as make one: tiles are digits of
/// the cuts, so these are a range of one digit, all of the digits behind it,
/// and one each of those before it.
bool TilePieces::nextBox() {
  if (next_ >= end_)
    return false;
  uint64_t first = 0, tiles = 0; // of the part that holds the tile
  const bundle::TilePart *part = nullptr;
  for (const bundle::TilePart *each : *map_->parts()) {
    first += tiles;
    tiles = 1;
    for (const bundle::TileCut *cut : *each->cuts())
      tiles *= cut->count();
    part = each;
    if (next_ < first + tiles)
      break;
  }
  std::copy(part->lo()->begin(), part->lo()->end(), lo_);
  std::copy(part->hi()->begin(), part->hi()->end(), hi_);
  uint64_t tile = next_ - first, left = std::min(end_ - first, tiles) - tile;
  // All tiles of the cuts from `k` on are taken.
  uint32_t k = part->cuts()->size();
  uint64_t unit = 1; // tiles of these cuts
  while (k) {
    uint64_t larger = unit * part->cuts()->Get(k - 1)->count();
    if (tile % larger || larger > left)
      break;
    unit = larger;
    --k;
  }
  next_ += unit;
  uint64_t digits = tile / unit;
  for (uint32_t i = k; i-- > 0;) {
    const bundle::TileCut *cut = part->cuts()->Get(i);
    uint64_t digit = digits % cut->count(), taken = 1;
    digits /= cut->count();
    if (cut->count() == 1) // and of any size
      continue;
    if (i + 1 == k) {
      taken = std::min(cut->count() - digit, left / unit);
      next_ += (taken - 1) * unit;
    }
    uint64_t begin = lo_[cut->axis()] + digit * cut->size();
    // Nothing overflows: the pieces of a cut are no longer than its axis.
    hi_[cut->axis()] = std::min(hi_[cut->axis()], begin + taken * cut->size());
    lo_[cut->axis()] = begin;
  }
  return true;
}

/// Takes inner axes together, as far as their positions follow one another in
/// memory.
void TilePieces::join() {
  count_ = 1;
  outer_ = map_->axes()->size();
  std::copy(lo_, lo_ + outer_, at_);
  for (; outer_; --outer_) {
    uint64_t taken = hi_[outer_ - 1] - lo_[outer_ - 1];
    if (taken != 1 && map_->axes()->Get(outer_ - 1)->stride() != count_)
      return;
    count_ *= taken;
  }
}

bool TilePieces::next(uint64_t &first, uint64_t &count) {
  if (!isInBox_) {
    if (!nextBox())
      return false;
    join();
    isInBox_ = true;
  }
  first = 0;
  for (uint32_t i = 0; i < map_->axes()->size(); ++i)
    first += at_[i] * map_->axes()->Get(i)->stride();
  count = count_;
  uint32_t axis = outer_;
  while (axis && ++at_[axis - 1] == hi_[axis - 1]) {
    at_[axis - 1] = lo_[axis - 1];
    --axis;
  }
  isInBox_ = axis != 0;
  return true;
}

} // namespace nnv12::artifact
