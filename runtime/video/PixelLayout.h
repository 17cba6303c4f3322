//===- PixelLayout.h - Where the values of pixels lie -----------*- C++ -*-===//
#ifndef NNV12_RUNTIME_VIDEO_PIXELLAYOUT_H
#define NNV12_RUNTIME_VIDEO_PIXELLAYOUT_H

#include "runtime/video/VideoPlane.h"

#include <algorithm>
#include <cstddef>

namespace nnv12::runtime {

/// Where the values of a tensor with a plane lie. The channels of a pixel come
/// in blocks: channels of a block lie side by side, and blocks `blockStride`
/// apart. NCHW has a channel a block, NHWC has one block, nChw16c has 16
/// channels a block. Channels that fill up the last block are copied with the
/// others, but never compared.
struct PixelLayout {
  VideoPlane plane;
  uint32_t channels;    ///< from 1 on, without those that fill up
  uint32_t inner;       ///< channels a block
  uint32_t valueSize;   ///< bytes
  uint64_t imageStride; ///< bytes, as are those below
  uint64_t blockStride, rowStride, colStride;

  /// A tensor without blocks has a stride for each dimension.
  static PixelLayout ofStrides(const VideoPlane &plane, uint32_t channels,
                               uint32_t valueSize, uint64_t imageStride,
                               uint64_t channelStride, uint64_t rowStride,
                               uint64_t colStride) {
    bool isLast = channelStride == valueSize;
    return {plane,     channels,    isLast ? channels : 1,
            valueSize, imageStride, channelStride,
            rowStride, colStride};
  }

  uint32_t numBlocks() const { return (channels - 1) / inner + 1; }
  /// How many channels of a block are compared.
  uint32_t channelsOf(uint32_t block) const {
    return std::min(inner, channels - block * inner);
  }
  size_t blockSize() const { return size_t(inner) * valueSize; }
  /// Whether a block's values of a row follow each other.
  bool hasDenseRows() const { return colStride == blockSize(); }
  /// Where a row begins. Rows are numbered over all images.
  size_t offsetOf(uint64_t row) const {
    return row / plane.rows * imageStride + row % plane.rows * rowStride;
  }
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_PIXELLAYOUT_H
