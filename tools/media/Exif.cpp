//===- Exif.cpp - How a photo is to be held -------------------------------===//
#include "tools/media/Exif.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>

namespace nnv12::tools {

/// A number of `size` bytes; 0 where they are not all there.
static uint32_t numberAt(std::string_view bytes, size_t at, size_t size,
                         bool isLittle) {
  uint32_t value = 0;
  if (at > bytes.size() || size > bytes.size() - at)
    return 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | uint8_t(bytes[at + (isLittle ? size - 1 - i : i)]);
  return value;
}

/// The orientation in a TIFF file, which EXIF data are.
static unsigned tiffOrientation(std::string_view tiff) {
  bool isLittle = tiff.substr(0, 2) == "II";
  auto number = [&](size_t at, size_t size) {
    return numberAt(tiff, at, size, isLittle);
  };
  if (!(isLittle || tiff.substr(0, 2) == "MM") || number(2, 2) != 42)
    return 1;
  size_t folder = number(4, 4);
  uint32_t entries = number(folder, 2);
  static constexpr size_t entrySize = 12;
  for (uint32_t i = 0; i < entries; ++i) {
    size_t entry = folder + 2 + i * entrySize;
    if (entry + entrySize > tiff.size())
      return 1;
    static constexpr uint32_t orientation = 0x112, shortType = 3;
    if (number(entry, 2) != orientation)
      continue;
    uint32_t value = number(entry + 8, 2);
    bool isOne = number(entry + 2, 2) == shortType && number(entry + 4, 4) == 1;
    return isOne && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

unsigned exifOrientation(const uint8_t *file, size_t size) {
  std::string_view jpeg(reinterpret_cast<const char *>(file), size);
  if (jpeg.substr(0, 2) != "\xff\xd8")
    return 1;
  // Segments: a marker of two bytes, and a length that counts itself.
  for (size_t at = 2; at + 4 <= size;) {
    uint32_t marker = numberAt(jpeg, at, 2, false);
    if (marker == 0xffff) { // fill bytes
      ++at;
      continue;
    }
    uint32_t length = numberAt(jpeg, at + 2, 2, false);
    static constexpr uint32_t app1 = 0xffe1, startOfScan = 0xffda;
    if (marker >> 8 != 0xff || marker == startOfScan || length < 2)
      return 1;
    std::string_view segment = jpeg.substr(at + 4, length - 2);
    static constexpr std::string_view exif("Exif\0\0", 6);
    if (marker == app1 && segment.substr(0, exif.size()) == exif)
      return tiffOrientation(segment.substr(exif.size()));
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
