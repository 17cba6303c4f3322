//===- DirtySet.cpp - Pixels of a tensor that changed ---------------------===//
#include "runtime/video/DirtySet.h"

#include "runtime/video/WordBits.h"

#include <algorithm>
#include <cstring>

namespace nnv12::runtime {

void DirtySet::create(const VideoPlane &plane, uint64_t *memory) {
  assert(plane.images && plane.rows && plane.cols);
  plane_ = plane;
  words_ = memory;
  rowWords_ = static_cast<uint32_t>(wordsOf(plane));
  lastMask_ = lowBits(plane.cols - (pixelWords() - 1) * 64);
}

void DirtySet::clear() { memset(words_, 0, numWords() * sizeof *words_); }

void DirtySet::setAll() {
  for (uint32_t image = 0; image < plane_.images; ++image)
    setImage(image);
}

void DirtySet::setImage(uint32_t image) {
  uint64_t *words = row(uint64_t(image) * plane_.rows);
  size_t count = size_t(plane_.rows) * rowWords_;
  memset(words, 0xff, count * sizeof *words);
  for (size_t i = 0; i < count; i += rowWords_)
    clearPadding(words + i);
}

void DirtySet::clearPadding(uint64_t *row) {
  uint32_t numWords = pixelWords();
  row[numWords - 1] &= lastMask_;
  if (numWords < rowWords_)
    row[numWords] = 0;
}

static bool areZero(const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (words[i])
      return false;
  return true;
}

bool DirtySet::isEmpty() const { return areZero(words_, numWords()); }

bool DirtySet::isImageEmpty(uint32_t image) const {
  return areZero(row(uint64_t(image) * plane_.rows),
                 size_t(plane_.rows) * rowWords_);
}

uint64_t DirtySet::count() const {
  uint64_t result = 0;
  for (size_t i = 0, end = numWords(); i < end; ++i)
    if (words_[i])
      result += countBits(words_[i]);
  return result;
}

/// The bits of a word whose columns are in [col0, col1).
static uint64_t columnsOf(uint32_t word, uint32_t col0, uint32_t col1) {
  uint32_t first = word * 64;
  uint64_t result = ~uint64_t(0);
  if (col0 > first)
    result <<= col0 - first;
  if (col1 - first < 64)
    result &= lowBits(col1 - first);
  return result;
}

bool DirtySet::visit(const Rectangle &r, bool sets) const {
  assert(r.image < plane_.images && r.row1 <= plane_.rows &&
         r.col1 <= plane_.cols);
  uint64_t found = 0;
  for (uint64_t y = r.row0; y < r.row1 && r.col0 < r.col1; ++y) {
    uint64_t *words =
        words_ + (uint64_t(r.image) * plane_.rows + y) * rowWords_;
    for (uint32_t w = r.col0 / 64; w <= (r.col1 - 1) / 64; ++w) {
      uint64_t bits = columnsOf(w, r.col0, r.col1);
      found |= words[w] & bits;
      if (sets)
        words[w] |= bits;
    }
  }
  return found != 0;
}

void DirtySet::addAll(const DirtySet &source) {
  if (!source.isEmpty())
    setAll();
}

namespace {

/// Lists tiles of `length` pixels each, in the order of the pixels.
class TileLister {
public:
  TileLister(uint32_t length, uint32_t *tiles)
      : length_(length), left_(length), tiles_(tiles) {}

  /// The next `count` pixels.
  [[gnu::noinline]] void take(uint64_t bits, uint32_t count) {
    while (count) {
      uint32_t part = std::min(count, left_);
      isDirty_ |= (bits & lowBits(part)) != 0;
      bits = part < 64 ? bits >> part : 0;
      count -= part;
      left_ -= part;
      if (left_ == 0)
        endTile();
    }
  }
  /// The last tile of a row or of an image may be smaller.
  void endLine() {
    if (left_ != length_)
      endTile();
  }
  uint32_t count() const { return count_; }

private:
  void endTile() {
    // There is room for as many as have been looked at.
    tiles_[count_] = tile_++;
    count_ += isDirty_;
    isDirty_ = false;
    left_ = length_;
  }

  const uint32_t length_;
  uint32_t left_; ///< pixels of the tile that have not come yet
  uint32_t *const tiles_;
  uint32_t count_ = 0, tile_ = 0;
  bool isDirty_ = false;
};

} // namespace

uint32_t DirtySet::listTiles(uint32_t tileRows, uint32_t tileCols, bool isFlat,
                             uint32_t *tiles) const {
  assert(tileRows && tileCols);
  const uint32_t numWords = pixelWords();
  TileLister lister(tileCols, tiles);
  for (uint32_t image = 0; image < plane_.images; ++image) {
    for (uint64_t row0 = 0; row0 < plane_.rows; row0 += tileRows) {
      const uint64_t *first = row(uint64_t(image) * plane_.rows + row0);
      uint64_t count = std::min<uint64_t>(tileRows, plane_.rows - row0);
      for (uint32_t w = 0; w < numWords; ++w) {
        uint64_t bits = first[w];
        for (uint64_t y = 1; y < count; ++y)
          bits |= first[y * rowWords_ + w];
        lister.take(bits, std::min(64u, plane_.cols - w * 64));
      }
      if (!isFlat)
        lister.endLine();
    }
    lister.endLine();
  }
  return lister.count();
}

} // namespace nnv12::runtime
