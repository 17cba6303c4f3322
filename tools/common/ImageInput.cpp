//===- ImageInput.cpp - Photos as model inputs ----------------------------===//
#include "tools/common/ImageInput.h"

#include "artifact/Escape.h"
#include "artifact/FileKind.h"
#include "tools/common/Exif.h"
#include "tools/common/Files.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstring>
#include <memory>

#ifdef NNV12_HAVE_STB
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
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
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop
#endif

namespace nnv12::tools {

void ImageArguments::addTo(Options &options) {
  options.real("scale", "X", scale,
               "Images: each pixel, 0 to 255, is multiplied by this first. "
               "This and the following options are as the bundle says unless "
               "they are given. Where it says nothing: 1/255.");
  options.reals("mean", "R,G,B", mean,
                "Images: then subtracted, per channel. Else 0.");
  options.reals("std", "R,G,B", std,
                "Images: then divided by, per channel. Else 1.");
  options.choice("color", {"auto", "rgb", "bgr"}, color,
                 "Images: the order of colors that the model takes. --mean and "
                 "--std are in the model's order. auto, the default: as the "
                 "bundle says, else rgb.");
  options.flag("bgr", bgr, "The same as --color bgr.");
  options.choice(
      "fit", {"auto", "stretch", "crop", "pad"}, fit,
      "Images: how to fill the input's height and width. stretch "
      "changes proportions; crop fills the input and cuts off both sides; "
      "pad shows all and leaves the rest black. auto, the "
      "default: as the bundle says, else stretch.");
  options.choice("layout", {"auto", "nchw", "nhwc"}, layout,
                 "Images: order of the input's dimensions. auto, the default: "
                 "as the bundle says, else where there are 1 or 3 channels, "
                 "nchw when both could be.");
}

namespace {

/// Where height, width and channels of an input are.
struct Geometry {
  int height = 0, width = 0, channels = 0;
  bool channelsFirst = true;
};

/// A rectangle of an image.
struct Window {
  int x = 0, y = 0, width = 0, height = 0;
};

} // namespace

#ifndef NNV12_HAVE_STB

std::string checkImageInput(const nnv12_tensor_info &, const ImageOptions &) {
  return "found a build that reads no images (it was built without stb: Debian "
         "package libstb-dev)";
}

static std::string withoutStb(const std::string &path) {
  return path + ": format: found no .npy file, and this build reads no images "
                "(it was built without stb: Debian package libstb-dev)";
}

std::string readImage(const std::string &path, const nnv12_tensor_info &,
                      const ImageOptions &, Tensor &) {
  return withoutStb(path);
}

std::string readPicture(const std::string &path, int64_t, Frame &,
                        const char *) {
  return withoutStb(path);
}

std::string fitFrame(const std::string &path, const Frame &,
                     const nnv12_tensor_info &, const ImageOptions &,
                     Levels &) {
  return withoutStb(path);
}

void fillFromLevels(const Levels &, const nnv12_tensor_info &,
                    const ImageOptions &, Tensor &) {}

#else

static bool isChannels(int64_t extent) { return extent == 1 || extent == 3; }

static std::string findGeometry(const nnv12_tensor_info &input,
                                const std::string &layout, Geometry &geometry) {
  // A leading batch of one may be there or not.
  const int64_t *shape = input.shape;
  uint32_t rank = input.rank;
  if (rank == 4 && shape[0] == 1) {
    ++shape;
    --rank;
  }
  bool first = rank == 3 && isChannels(shape[0]) && layout != "nhwc";
  bool last = rank == 3 && isChannels(shape[2]) && layout != "nchw";
  if (!first && !last)
    return "shape: found " + shapeText(input.shape, input.rank) +
           ", expected one image of 1 or 3 channels";
  geometry.channelsFirst = first;
  int64_t height = shape[first ? 1 : 0], width = shape[first ? 2 : 1];
  if (height < 1 || width < 1 || height > 65536 || width > 65536)
    return "shape: found " + shapeText(input.shape, input.rank) +
           ", expected a height and width of 1 to 65536";
  geometry.height = static_cast<int>(height);
  geometry.width = static_cast<int>(width);
  geometry.channels = static_cast<int>(shape[first ? 0 : 2]);
  return {};
}

/// Which part of the source goes to which part of the target.
static void placeImage(const std::string &fit, int width, int height,
                       const Geometry &geometry, Window &source,
                       Window &target) {
  source = {0, 0, width, height};
  target = {0, 0, geometry.width, geometry.height};
  double wanted = double(geometry.width) / geometry.height;
  double found = double(width) / height;
  auto round = [](double x) { return std::max(1, int(std::lround(x))); };
  if (fit == "crop" && found > wanted) {
    source.width = round(height * wanted);
    source.x = (width - source.width) / 2;
  } else if (fit == "crop") {
    source.height = round(width / wanted);
    source.y = (height - source.height) / 2;
  } else if (fit == "pad" && found > wanted) {
    target.height = round(geometry.width / found);
    target.y = (geometry.height - target.height) / 2;
  } else if (fit == "pad") {
    target.width = round(geometry.height * found);
    target.x = (geometry.width - target.width) / 2;
  }
  assert(source.x + source.width <= width &&
         source.y + source.height <= height &&
         target.x + target.width <= geometry.width &&
         target.y + target.height <= geometry.height &&
         "parts lie inside of the images");
}

static double perChannel(const std::vector<double> &values, int channel) {
  assert((values.size() == 1 || size_t(channel) < values.size()) &&
         "checkOptions() has looked");
  return values[values.size() == 1 ? 0 : channel];
}

static std::string checkOptions(const ImageOptions &options,
                                const nnv12_tensor_info &input, int channels) {
  auto fits = [&](const std::vector<double> &values) {
    return values.size() == 1 || values.size() == size_t(channels);
  };
  if (!fits(options.mean) || !fits(options.std))
    return "--mean, --std: found " + std::to_string(options.mean.size()) +
           " and " + std::to_string(options.std.size()) +
           " numbers, expected 1 or " + std::to_string(channels);
  for (size_t i = 0; i < options.std.size(); ++i)
    if (options.std[i] == 0)
      return "--std: found 0 for channel " + std::to_string(i) +
             ", expected other numbers, which pixels are divided by";
  if (input.type > NNV12_BF16 && input.type != NNV12_U8)
    return std::string("type: found an input of ") +
           nnv12_type_name(input.type) + ", expected floats or u8 for an image";
  return {};
}

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

/// Fits pixels of as many bytes as the input has channels.
static std::string fitPixels(const std::string &path, const uint8_t *pixels,
                             int width, int height, const Geometry &geometry,
                             const ImageOptions &options, Levels &levels) {
  int channels = geometry.channels;
  Window source, target;
  placeImage(options.fit, width, height, geometry, source, target);
  levels.assign(size_t(geometry.width) * geometry.height * channels, 0);
  int row = geometry.width * channels;
  // Bilinear, over all source pixels when it shrinks: as PIL does. The default
  // filter would blur even where the size stays.
  if (!stbir_resize_uint8_generic(
          pixels + (size_t(source.y) * width + source.x) * channels,
          source.width, source.height, width * channels,
          levels.data() + size_t(target.y) * row + target.x * channels,
          target.width, target.height, row, channels, STBIR_ALPHA_CHANNEL_NONE,
          0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR,
          nullptr))
    return path + ": cannot resize";
  return {};
}

static void fillTensor(const Levels &levels, const Geometry &geometry,
                       const ImageOptions &options, Tensor &tensor) {
  int channels = geometry.channels;
  size_t plane = size_t(geometry.width) * geometry.height;
  assert(plane * channels * elementSize(tensor.type) == tensor.data.size() &&
         levels.size() == plane * channels && "the input is one image");
  for (int c = 0; c < channels; ++c) {
    int from = options.bgr ? channels - 1 - c : c;
    double mean = perChannel(options.mean, c), std = perChannel(options.std, c);
    for (size_t i = 0; i < plane; ++i) {
      double value = levels[i * channels + from];
      if (tensor.type != NNV12_U8)
        value = (value * options.scale - mean) / std;
      size_t index = geometry.channelsFirst ? c * plane + i : i * channels + c;
      setElement(tensor.type, tensor.data.data(), index, value);
    }
  }
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

/// The image in so many channels, held as its EXIF data say.
static std::string decode(const std::string &path, int channels,
                          int64_t mostPixels, const char *others,
                          Pixels &picture) {
  artifact::MappedFile file;
  std::string error = openInput(path, file);
  if (!error.empty())
    return error;
  int width = 0, height = 0, own = 0;
  auto size = static_cast<int>(std::min<size_t>(file.size(), INT_MAX));
  // stb converts these as if they had 8 bits, and reads beyond them.
  if (file.size() && file.data()[0] == 'P' &&
      stbi_is_16_bit_from_memory(file.data(), size))
    return path + ": format: found a PNM picture of 16 bits a channel, "
                  "expected 8";
  // Before memory is taken: a file of some bytes can say that it is huge.
  if (stbi_info_from_memory(file.data(), size, &width, &height, &own) &&
      int64_t(width) * height > mostPixels)
    return path + ": format: found an image of " + std::to_string(width) + "x" +
           std::to_string(height) + " pixels, expected at most " +
           std::to_string(mostPixels);
  // stb leaves pixels that a PNM file has not as memory was.
  uint64_t pixelBytes = uint64_t(width) * uint64_t(height) * uint64_t(own);
  if (file.size() && file.data()[0] == 'P' && width > 0 && height > 0 &&
      pnmHeaderSize(file.data(), file.size()) + pixelBytes > file.size())
    return path + ": format: found fewer bytes than " + std::to_string(width) +
           "x" + std::to_string(height) + " pixels have (truncated)";
  std::unique_ptr<stbi_uc, void (*)(void *)> pixels(
      stbi_load_from_memory(file.data(), size, &width, &height, &own, channels),
      stbi_image_free);
  if (!pixels)
    return path + ": format: " +
           explainFormat(file.data(), file.size(), stbi_failure_reason(),
                         others);
  // stb takes a cut PNM for an image without rows.
  if (width < 1 || height < 1)
    return path + ": format: found an image of " + std::to_string(width) + "x" +
           std::to_string(height) + " pixels (truncated)";

  picture = {width, height, channels};
  unsigned orientation =
      std::max(1u, exifOrientation(file.data(), file.size()));
  orient(pixels.get(), orientation, picture);
  return {};
}

static std::string geometryOf(const std::string &path,
                              const nnv12_tensor_info &input,
                              const ImageOptions &options, Geometry &geometry) {
  std::string error = findGeometry(input, options.layout, geometry);
  if (!error.empty())
    return path + ": " + error + " (or a .npy file)";
  error = checkOptions(options, input, geometry.channels);
  return error.empty() ? error : path + ": " + error;
}

std::string checkImageInput(const nnv12_tensor_info &input,
                            const ImageOptions &options) {
  Geometry geometry;
  std::string error = findGeometry(input, options.layout, geometry);
  return error.empty() ? checkOptions(options, input, geometry.channels)
                       : error;
}

std::string readImage(const std::string &path, const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor) {
  Geometry geometry;
  Pixels picture;
  Levels levels;
  std::string error = geometryOf(path, input, options, geometry);
  if (error.empty())
    error =
        decode(path, geometry.channels, options.mostPixels, ".npy, ", picture);
  if (error.empty())
    error = fitPixels(path, picture.bytes.data(), picture.width, picture.height,
                      geometry, options, levels);
  if (!error.empty())
    return error;
  tensor = Tensor(input);
  fillTensor(levels, geometry, options, tensor);
  return {};
}

std::string readPicture(const std::string &path, int64_t mostPixels,
                        Frame &picture, const char *others) {
  Pixels pixels;
  std::string error = decode(path, 3, mostPixels, others, pixels);
  picture = {pixels.width, pixels.height, std::move(pixels.bytes)};
  return error;
}

std::string fitFrame(const std::string &path, const Frame &frame,
                     const nnv12_tensor_info &input,
                     const ImageOptions &options, Levels &levels) {
  Geometry geometry;
  std::string error = geometryOf(path, input, options, geometry);
  if (!error.empty())
    return error;
  if (geometry.channels == 3)
    return fitPixels(path, frame.pixels.data(), frame.width, frame.height,
                     geometry, options, levels);
  // As stb makes gray of colors.
  std::vector<uint8_t> gray(frame.pixels.size() / 3);
  for (size_t i = 0; i < gray.size(); ++i)
    gray[i] =
        uint8_t((frame.pixels[3 * i] * 77 + frame.pixels[3 * i + 1] * 150 +
                 frame.pixels[3 * i + 2] * 29) >>
                8);
  return fitPixels(path, gray.data(), frame.width, frame.height, geometry,
                   options, levels);
}

void fillFromLevels(const Levels &levels, const nnv12_tensor_info &input,
                    const ImageOptions &options, Tensor &tensor) {
  Geometry geometry;
  std::string error = findGeometry(input, options.layout, geometry);
  assert(error.empty() && "fitFrame() has looked");
  fillTensor(levels, geometry, options, tensor);
}

#endif

std::string readFrame(const std::string &path, const Frame &frame,
                      const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor) {
  Levels levels;
  std::string error = fitFrame(path, frame, input, options, levels);
  if (!error.empty())
    return error;
  tensor = Tensor(input);
  fillFromLevels(levels, input, options, tensor);
  return {};
}

} // namespace nnv12::tools
