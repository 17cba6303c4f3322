//===- StreamPixels.cpp - Pixels that a stream's last run computed --------===//
#include "runtime/Stream.h"

#if NNV12_VIDEO

#include <cstring>

namespace nnv12::runtime {

using artifact::Fault;

bool Stream::tellPixels(bool isInput, uint32_t number, uint8_t *pixels,
                        Fault &fault) {
  const DirtySet &set = sets_[setOf(isInput, number)];
  const VideoPlane plane = set.plane();
  bool computesAll = kept_ == Kept::Nothing || !isReused_;
  memset(pixels, computesAll, plane.numPixels());
  // Where no input has changed the other sets are those of an earlier frame.
  if (computesAll || (!isInput && computed_ == 0))
    return true;
  if (isInput) {
    for (uint64_t y = 0; y < plane.rows; ++y)
      for (uint32_t x = 0; x < plane.cols; ++x)
        *pixels++ = set.row(y)[x / 64] >> x % 64 & 1;
    return true;
  }
  // A set that has a check lost pixels behind it: those that it reads tell
  // again what was computed.
  Array<uint64_t> words;
  if (!words.allocate(DirtySet::sizeOf(plane) / sizeof(uint64_t)))
    return fault.set(Fault::OutOfMemory, "stream: no memory for a set");
  DirtySet computed;
  computed.create(plane, words.data());
  computed.clear();
  addReads(computed, setOf(isInput, number));
  if (computed.isEmpty())
    return true;
  const Part &part = parts_[number];
  const Grid &grid = part.grid;
  uint64_t tiles = part.tiles;
  if (grid.tiles != bundle::VideoTiles_All)
    tiles = listTiles(part, computed);
  if (areMost(tiles, part)) {
    memset(pixels, 1, plane.numPixels());
    return true;
  }
  memset(marks_.data(), 0, uint64_t(grid.rowCount) * grid.columnCount);
  for (uint64_t i = 0; i < tiles; ++i) {
    uint64_t row = tiles_[i] / grid.rowStride % grid.rowCount,
             column = tiles_[i] / grid.columnStride % grid.columnCount;
    marks_[row * grid.columnCount + column] = 1;
  }
  for (uint64_t y = 0; y < plane.rows; ++y)
    for (uint32_t x = 0; x < plane.cols; ++x) {
      uint64_t place = grid.tiles == bundle::VideoTiles_Runs
                           ? (y * plane.cols + x) / grid.rowSize
                           : y / grid.rowSize * grid.columnCount;
      if (grid.tiles == bundle::VideoTiles_Cells)
        place += x / grid.columnSize;
      *pixels++ = marks_[place];
    }
  return true;
}

} // namespace nnv12::runtime

#endif // NNV12_VIDEO
