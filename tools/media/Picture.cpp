//===- Picture.cpp - Pictures of files ------------------------------------===//
#include "tools/media/Picture.h"

#include "artifact/Escape.h"
#include "artifact/FileKind.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstring>
#include <memory>

#ifdef NNV12_HAVE_STB
#define STB_IMAGE_IMPLEMENTATION
// Pictures come from anywhere: the kinds that people have, and no others, of
// which some can be made to crash.
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_PNM
#define STBI_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop
#endif

namespace nnv12::tools {

#ifndef NNV12_HAVE_STB

std::string decodePicture(const uint8_t *, size_t, int, int64_t, const char *,
                          Pixels &) {
  return std::string("format: ") + withoutPictures;
}

#else

/// `reason`: why stb cannot read it. `others`: readPicture().
static std::string explainFormat(const uint8_t *file, size_t size,
                                 const char *reason, const char *others) {
  const char *kind = artifact::fileKind(file, size);
  bool isForeign = strcmp(reason, "unknown image type") == 0;
  std::string found = kind ? kind : isForeign ? "no image" : "an image";
  // The reason is about a kind of image that we read.
  if (!isForeign)
    found += " that cannot be read (" + artifact::escaped(reason) + ")";
  return "found " + found + ", expected " + others + imageKinds;
}

/// The bytes before the pixels of a PNM picture: three numbers, with spaces and
/// comments before each, and one byte behind the last.
static size_t pnmHeaderSize(const uint8_t *file, size_t size) {
  size_t at = 2;
  for (int number = 0; number < 3; ++number) {
    for (bool isComment = false; at < size; ++at) {
      isComment = isComment ? file[at] != '\n' : file[at] == '#';
      if (!isComment && isdigit(file[at]))
        break;
    }
    while (at < size && isdigit(file[at]))
      ++at;
  }
  return at + 1;
}

std::string decodePicture(const uint8_t *file, size_t size, int channels,
                          int64_t mostPixels, const char *others,
                          Pixels &picture) {
  int width = 0, height = 0, own = 0;
  auto bytes = static_cast<int>(std::min<size_t>(size, INT_MAX));
  // stb converts these as if they had 8 bits, and reads beyond them.
  if (size && file[0] == 'P' && stbi_is_16_bit_from_memory(file, bytes))
    return "format: found a PNM picture of 16 bits a channel, "
           "expected 8";
  // Before memory is taken: a file of some bytes can say that it is huge.
  if (stbi_info_from_memory(file, bytes, &width, &height, &own) &&
      int64_t(width) * height > mostPixels)
    return "format: found an image of " + std::to_string(width) + "x" +
           std::to_string(height) + " pixels, expected at most " +
           std::to_string(mostPixels);
  // stb leaves pixels that a PNM file has not as memory was.
  uint64_t pixelBytes = uint64_t(width) * uint64_t(height) * uint64_t(own);
  if (size && file[0] == 'P' && width > 0 && height > 0 &&
      pnmHeaderSize(file, size) + pixelBytes > size)
    return "format: found fewer bytes than " + std::to_string(width) + "x" +
           std::to_string(height) + " pixels have (truncated)";
  std::unique_ptr<stbi_uc, void (*)(void *)> pixels(
      stbi_load_from_memory(file, bytes, &width, &height, &own, channels),
      stbi_image_free);
  if (!pixels)
    return "format: " +
           explainFormat(file, size, stbi_failure_reason(), others);
  // stb takes a cut PNM for an image without rows.
  if (width < 1 || height < 1)
    return "format: found an image of " + std::to_string(width) + "x" +
           std::to_string(height) + " pixels (truncated)";

  picture = {width, height, channels};
  unsigned orientation = std::max(1u, exifOrientation(file, size));
  orient(pixels.get(), orientation, picture);
  return {};
}

#endif

} // namespace nnv12::tools
