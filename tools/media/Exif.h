//===- Exif.h - How a photo is to be held -----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_EXIF_H
#define NNV12_TOOLS_MEDIA_EXIF_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::tools {

/// The orientation that a JPEG's EXIF data tell, 1 to 8 (EXIF 2.32, tag 0x112);
/// 1, as it is stored, where they tell none or are malformed. Touches nothing
/// outside of the file.
unsigned exifOrientation(const uint8_t *file, size_t size);

/// Pixels as they lie in memory: rows of `width` times `channels` bytes.
struct Pixels {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> bytes = {};
};

/// The picture as it is to be looked at. `source` has `pixels.width` times
/// `pixels.height` pixels of `pixels.channels` bytes; its width becomes the
/// height for orientations from 5 on.
void orient(const uint8_t *source, unsigned orientation, Pixels &pixels);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_EXIF_H
