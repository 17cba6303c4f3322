//===- Exif.cpp - How a photo is to be held -------------------------------===//
#include "tools/common/Exif.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace nnv12::tools {

namespace {
/// Bytes that numbers are read from; numbers outside of them are 0.
class ExifBytes {
public:
  ExifBytes(const uint8_t *data, size_t size) : data_(data), size_(size) {}

  size_t length() const { return size_; }
  uint32_t number(size_t at, size_t bytes, bool isLittle) const {
    uint32_t value = 0;
    if (at > size_ || bytes > size_ - at)
      return 0;
    for (size_t i = 0; i < bytes; ++i)
      value = value << 8 | data_[at + (isLittle ? bytes - 1 - i : i)];
    return value;
  }
  bool begins(const char *text, size_t length) const {
    return size_ >= length && memcmp(data_, text, length) == 0;
  }
  /// The bytes at `at`, as many of `length` as there are.
  ExifBytes part(size_t at, size_t length) const {
    at = std::min(at, size_);
    return {data_ + at, std::min(length, size_ - at)};
  }

private:
  const uint8_t *data_;
  size_t size_;
};
} // namespace

/// The orientation in a TIFF file, which EXIF data are.
static unsigned tiffOrientation(const ExifBytes &tiff) {
  bool isLittle = tiff.begins("II", 2);
  if (!(isLittle || tiff.begins("MM", 2)) || tiff.number(2, 2, isLittle) != 42)
    return 1;
  size_t folder = tiff.number(4, 4, isLittle);
  uint32_t entries = tiff.number(folder, 2, isLittle);
  static constexpr size_t entrySize = 12;
  for (uint32_t i = 0; i < entries; ++i) {
    size_t entry = folder + 2 + i * entrySize;
    if (entry + entrySize > tiff.length())
      return 1;
    static constexpr uint32_t orientation = 0x112, shortType = 3;
    if (tiff.number(entry, 2, isLittle) != orientation)
      continue;
    uint32_t value = tiff.number(entry + 8, 2, isLittle);
    bool isOne = tiff.number(entry + 2, 2, isLittle) == shortType &&
                 tiff.number(entry + 4, 4, isLittle) == 1;
    return isOne && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

unsigned exifOrientation(const uint8_t *file, size_t size) {
  ExifBytes jpeg(file, size);
  if (!jpeg.begins("\xff\xd8", 2))
    return 1;
  // Segments: a marker of two bytes, and a length that counts itself.
  for (size_t at = 2; at + 4 <= size;) {
    uint32_t marker = jpeg.number(at, 2, false);
    if (marker == 0xffff) { // fill bytes
      ++at;
      continue;
    }
    uint32_t length = jpeg.number(at + 2, 2, false);
    static constexpr uint32_t app1 = 0xffe1, startOfScan = 0xffda;
    if (marker >> 8 != 0xff || marker == startOfScan || length < 2)
      return 1;
    ExifBytes segment = jpeg.part(at + 4, length - 2);
    static constexpr char exif[] = "Exif\0"; // and the 0 of the string
    if (marker == app1 && segment.begins(exif, sizeof exif))
      return tiffOrientation(segment.part(sizeof exif, segment.length()));
    at += 2 + length;
  }
  return 1;
}

void orient(const uint8_t *source, unsigned orientation, Pixels &pixels) {
  assert(orientation >= 1 && orientation <= 8 && "as EXIF has it");
  auto is = [&](std::initializer_list<unsigned> list) {
    return std::find(list.begin(), list.end(), orientation) != list.end();
  };
  bool isTurned = orientation >= 5;
  bool mirrorsX = is({2, 3, 7, 8}), mirrorsY = is({3, 4, 6, 7});
  int width = pixels.width, height = pixels.height;
  if (isTurned)
    std::swap(pixels.width, pixels.height);
  size_t channels = size_t(pixels.channels);
  pixels.bytes.resize(size_t(width) * size_t(height) * channels);
  uint8_t *target = pixels.bytes.data();
  for (int y = 0; y < pixels.height; ++y)
    for (int x = 0; x < pixels.width; ++x, target += channels) {
      int fromX = isTurned ? y : x, fromY = isTurned ? x : y;
      if (mirrorsX)
        fromX = width - 1 - fromX;
      if (mirrorsY)
        fromY = height - 1 - fromY;
      memcpy(target, source + (size_t(fromY) * width + fromX) * channels,
             channels);
    }
}

} // namespace nnv12::tools
