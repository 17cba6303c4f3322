//===- DirtySet.h - Pixels of a tensor that changed -------------*- C++ -*-===//
//
// A frame of a video recomputes the pixels whose operands changed. A set has a
// bit for each pixel of a tensor, and grows along the windows of a layer from
// its operands' sets. Sets of pixels are kept apart from the tiles that are
// computed: a tile with one dirty pixel is computed as a whole, but does not
// make its other pixels dirty.
//
// Rows begin at a word of their own, so threads may change different rows at
// the same time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_DIRTYSET_H
#define NNV12_RUNTIME_VIDEO_DIRTYSET_H

#include "runtime/video/VideoPlane.h"

#include <cassert>
#include <cstddef>

namespace nnv12::runtime {

class DirtySet {
public:
  /// The bytes of memory that the set of a plane takes. Words are read in
  /// pairs, up to three words behind the last one.
  static size_t sizeOf(const VideoPlane &plane) {
    return (plane.numRows() * wordsOf(plane) + 3) * sizeof(uint64_t);
  }
  /// `memory` stays the caller's, and is that of the set as long as the set is
  /// used: sizeOf(plane) bytes. Its contents are undefined until clear() or
  /// setAll().
  void create(const VideoPlane &plane, uint64_t *memory);

  const VideoPlane &plane() const { return plane_; }
  /// The words of a row: pixelWords() with pixels, and maybe one without. Rows
  /// are numbered over all images. Pixel `x` is bit x % 64 of word x / 64; bits
  /// behind the last pixel are 0.
  uint64_t *row(uint64_t index) {
    assert(index < plane_.numRows());
    return words_ + index * rowWords_;
  }
  const uint64_t *row(uint64_t index) const {
    assert(index < plane_.numRows());
    return words_ + index * rowWords_;
  }
  uint32_t pixelWords() const { return (plane_.cols - 1) / 64 + 1; }

  void clear();
  void setAll();
  bool isEmpty() const;
  /// The number of dirty pixels.
  uint64_t count() const;

  /// Rows [row0, row1) and columns [col0, col1) of an image, inside the plane.
  struct Rectangle {
    uint32_t image, row0, row1, col0, col1;
  };
  void set(uint32_t image, uint32_t row, uint32_t col) {
    set({image, row, row + 1, col, col + 1});
  }
  void set(const Rectangle &rectangle) { visit(rectangle, /*sets=*/true); }
  bool hasAny(const Rectangle &rectangle) const {
    return visit(rectangle, /*sets=*/false);
  }

  /// Adds the pixels that depend on a dirty pixel of the source. Image i
  /// depends on image i of the source, or on its only one. All pixels depend
  /// on a source that is a point, and on one with another number of images,
  /// whatever the windows are.
  /// The source is another set.
  void addThrough(const DirtySet &source, const VideoWindow &rows,
                  const VideoWindow &cols);
  /// Adds all pixels if the source has any.
  void addAll(const DirtySet &source);

  /// Writes the numbers of the tiles with dirty pixels, in order, and returns
  /// how many they are. `tiles` has room for all tiles. Each image is cut into
  /// tiles of `tileRows` by `tileCols` pixels, the last ones smaller; they are
  /// numbered image by image, row by row.
  uint32_t listTiles(uint32_t tileRows, uint32_t tileCols,
                     uint32_t *tiles) const {
    return listTiles(tileRows, tileCols, /*isFlat=*/false, tiles);
  }
  /// The same, where tiles are runs of `tilePixels` pixels: those of a row
  /// follow those of the row before, and each image begins with a new tile.
  /// Where images are no boundary, a plane of one image with the rows of all
  /// has the same words.
  uint32_t listFlatTiles(uint32_t tilePixels, uint32_t *tiles) const {
    return listTiles(1, tilePixels, /*isFlat=*/true, tiles);
  }

private:
  /// So many bits behind the last pixel of a row are always 0: pixels of
  /// neighbouring rows are out of reach of most windows.
  static constexpr uint32_t padding = 8;

  static uint64_t wordsOf(const VideoPlane &plane) {
    return (uint64_t(plane.cols) + padding + 63) / 64;
  }
  size_t numWords() const { return plane_.numRows() * rowWords_; }
  void clearPadding(uint64_t *row);
  bool visit(const Rectangle &rectangle, bool sets) const;
  uint32_t listTiles(uint32_t tileRows, uint32_t tileCols, bool isFlat,
                     uint32_t *tiles) const;
  void setImage(uint32_t image);
  bool isImageEmpty(uint32_t image) const;
  bool mayJoinRows(const DirtySet &source, const VideoWindow &rows,
                   const VideoWindow &cols) const;
  void addImageThrough(const DirtySet &source, const VideoWindow &rows,
                       const VideoWindow &cols, uint32_t image,
                       uint32_t sourceImage);
  void addImageInRuns(const DirtySet &source, const VideoWindow &rows,
                      const VideoWindow &cols, uint32_t image,
                      uint32_t sourceImage);

  VideoPlane plane_ = {};
  uint64_t *words_ = nullptr;
  uint32_t rowWords_ = 0;
  uint64_t lastMask_ = 0; ///< the pixels of a row's last word with such
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_DIRTYSET_H
