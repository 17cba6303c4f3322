//===- VideoPlane.h - Rows and columns of a tensor --------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_VIDEO_VIDEOPLANE_H
#define NNV12_RUNTIME_VIDEO_VIDEOPLANE_H

#include <cstdint>

namespace nnv12::runtime {

/// The dimensions of a tensor along which parts of it are computed, all from 1
/// on. A pixel is all channels at an image, a row and a column. One row of one
/// column stands for all that an image has, or a tensor without such
/// dimensions.
struct VideoPlane {
  uint32_t images, rows, cols;

  uint64_t numRows() const { return uint64_t(images) * rows; }
  uint64_t numPixels() const { return numRows() * cols; }
  bool isPoint() const { return rows == 1 && cols == 1; }
  bool operator==(const VideoPlane &other) const {
    return images == other.images && rows == other.rows && cols == other.cols;
  }
};

/// The rows of an operand that row `y` of a result depends on, or columns
/// alike: floor((y * num + low) / den) to floor((y * num + high) / den), both
/// included, as far as the operand has them. `den` is at least 1.
struct VideoWindow {
  int32_t num, den, low, high;

  bool isIdentity() const {
    return num == 1 && den == 1 && low == 0 && high == 0;
  }
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_VIDEOPLANE_H
