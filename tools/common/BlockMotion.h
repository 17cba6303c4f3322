//===- BlockMotion.h - Blocks of a frame that the last one has --*- C++ -*-===//
//
// DeepCache's matching (section 4 of its paper). Each block of a frame is
// looked for in the frame before, near its place. The mean of the vectors found
// is the motion of the camera. A block is clean where the frame before has
// nearly the same one at that offset; clean blocks are merged to rectangles.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_BLOCKMOTION_H
#define NNV12_TOOLS_COMMON_BLOCKMOTION_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::tools {

/// Bytes of a picture row by row, without gaps: luma, or red, green and blue.
struct Picture {
  const uint8_t *bytes;
  int width, height; ///< in pixels
  int channels;      ///< bytes of a pixel
};

/// A pixel (x, y) of a frame was at (x + dx, y + dy) in the frame before.
struct Motion {
  int dx = 0, dy = 0; ///< in pixels
  bool operator==(const Motion &other) const {
    return dx == other.dx && dy == other.dy;
  }
};

struct PixelRectangle {
  int x, y, width, height; ///< in pixels; (x, y) is its left top pixel
};

enum class MotionSearch {
  None,       ///< a block is compared with the one at its place
  Exhaustive, ///< with all within reach
  ThreeStep,  ///< with eight around the best so far, at distances 4, 2, 1
  Diamond     ///< the same on diamonds, until the middle is the best
};

struct MotionOptions {
  MotionSearch search = MotionSearch::Diamond;
  int block = 10;        ///< pixels of a side, 1 to 64
  double threshold = 20; ///< PSNR in dB above which blocks match
  int reach = 7;         ///< most pixels of a vector each way; at least 0
  /// One block of so many each way is searched, in every so many-th row.
  int skip = 1;
  /// The second comparison takes errors that the search has computed. No
  /// result differs.
  bool keepErrors = false;
};

/// Where the search found a block of a frame.
struct BlockVector {
  int x, y;       ///< the block's left top pixel
  Motion motion;  ///< to the best place that was tried; all of it is inside
  uint64_t error; ///< the sum of squared differences there, over all bytes
  bool isMatched; ///< the PSNR there is above the threshold
};

struct BlockMotion {
  std::vector<BlockVector> vectors; ///< of the blocks that were searched
  /// The mean of the matched vectors, to whole pixels; none: no motion.
  Motion global;
  size_t numBlocks = 0; ///< of the frame; those at its ends may be smaller
  size_t numClean = 0;  ///< of them, that match at the global motion
  /// All pixels of clean blocks, each in one rectangle.
  std::vector<PixelRectangle> clean;
};

/// Matches two pictures of one size and number of channels.
BlockMotion matchBlocks(const Picture &before, const Picture &now,
                        const MotionOptions &options);

/// Merges the cells of a grid that are set to few rectangles of cells: runs of
/// a row, and equal runs of rows below each other. `cells` is row by row.
std::vector<PixelRectangle> mergeCells(const std::vector<uint8_t> &cells,
                                       int rows, int columns);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_BLOCKMOTION_H
