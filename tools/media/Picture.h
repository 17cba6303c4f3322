//===- Picture.h - Pictures of files ----------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_PICTURE_H
#define NNV12_TOOLS_MEDIA_PICTURE_H

#include "tools/media/Exif.h"

#include <string>

namespace nnv12::tools {

/// The kinds of image that can be read, for help and messages.
constexpr char imageKinds[] = "JPEG, PNG, BMP or PNM";
/// More pixels than cameras have. With four channels that is 512 MiB.
constexpr int64_t mostPicturePixels = int64_t(1) << 27;

/// Said of images by a build that cannot read them.
constexpr char withoutPictures[] =
    "found a build that reads no images (it was built without stb: Debian "
    "package libstb-dev)";

/// Reads the bytes of a file of these kinds as so many channels, 1 or 3, held
/// as its EXIF data say (JPEG). Empty, or one line. `others`: further kinds of
/// file that the caller reads, for the message: ".npy, ".
std::string decodePicture(const uint8_t *file, size_t size, int channels,
                          int64_t mostPixels, const char *others,
                          Pixels &picture);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_PICTURE_H
