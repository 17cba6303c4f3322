//===- ImageTensor.cpp - Pictures as tensors ------------------------------===//
#include "tools/media/ImageTensor.h"

#include "tools/media/Elements.h"
#include "tools/media/Numbers.h"
#include "tools/media/Picture.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#ifdef NNV12_HAVE_STB
#define STB_IMAGE_RESIZE_IMPLEMENTATION
// stb asserts that the weights of a pixel add up to nearly 1 before it divides
// them by their sum. Where 7 pixels become 5 they do not.
#define STBIR_ASSERT(condition) static_cast<void>(0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop
#endif

namespace nnv12::tools {

namespace {
/// A rectangle of an image.
struct Window {
  int x = 0, y = 0, width = 0, height = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static std::string refused(const char *key, const char *value,
                           const std::string &expected) {
  return std::string(key) + ": found '" + value + "', expected " + expected;
}

static std::string parseNumbers(const char *key, const char *text,
                                std::vector<double> &numbers) {
  std::vector<double> parsed;
  if (!text)
    return {};
  if (!parseReals(text, parsed))
    return refused(key, text, "numbers with commas between them");
  numbers = std::move(parsed);
  return {};
}

static std::string parseWord(const char *key, const char *text,
                             const std::vector<const char *> &words,
                             std::string &word) {
  if (!text)
    return {};
  std::string list;
  for (const char *one : words) {
    list += (list.empty() ? "" : "|") + std::string(one);
    if (one == std::string(text)) {
      word = text;
      return {};
    }
  }
  return refused(key, text, "one of " + list);
}

std::string parseImageOptions(const ImageTexts &texts, ImageOptions &options) {
  std::vector<double> scale = {options.scale};
  std::string color = options.bgr ? "bgr" : "rgb";
  std::string error = parseNumbers("scale", texts.scale, scale);
  if (error.empty())
    error = parseNumbers("mean", texts.mean, options.mean);
  if (error.empty())
    error = parseNumbers("std", texts.std, options.std);
  if (error.empty())
    error = parseWord("color", texts.color, {"rgb", "bgr"}, color);
  if (error.empty())
    error = parseWord("layout", texts.layout, {"nchw", "nhwc"}, options.layout);
  if (error.empty())
    error =
        parseWord("fit", texts.fit, {"stretch", "crop", "pad"}, options.fit);
  options.scale = scale.front();
  options.bgr = color == "bgr";
  return error;
}

static bool isChannels(int64_t extent) { return extent == 1 || extent == 3; }

std::string findImageGeometry(const nnv12_tensor_info &input,
                              const ImageOptions &options,
                              ImageGeometry &geometry) {
  const std::string &layout = options.layout;
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

std::string checkImageOptions(const nnv12_tensor_info &input,
                              const ImageGeometry &geometry,
                              const ImageOptions &options) {
  int channels = geometry.channels;
  auto fits = [&](const std::vector<double> &values) {
    return values.size() == 1 || values.size() == size_t(channels);
  };
  if (!fits(options.mean) || !fits(options.std))
    return "mean, std: found " + std::to_string(options.mean.size()) + " and " +
           std::to_string(options.std.size()) + " numbers, expected 1 or " +
           std::to_string(channels);
  for (size_t i = 0; i < options.std.size(); ++i)
    if (options.std[i] == 0)
      return "std: found 0 for channel " + std::to_string(i) +
             ", expected other numbers, which pixels are divided by";
  if (input.type > NNV12_BF16 && input.type != NNV12_U8)
    return std::string("type: found an input of ") +
           nnv12_type_name(input.type) + ", expected floats or u8 for an image";
  return {};
}

//===----------------------------------------------------------------------===//
// Pixels
//===----------------------------------------------------------------------===//

#ifndef NNV12_HAVE_STB

std::string fitPixels(const uint8_t *, int, int, const ImageGeometry &,
                      const ImageOptions &, Levels &) {
  return withoutPictures;
}

#else

/// Which part of the source goes to which part of the target.
static void placeImage(const std::string &fit, int width, int height,
                       const ImageGeometry &geometry, Window &source,
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

std::string fitPixels(const uint8_t *pixels, int width, int height,
                      const ImageGeometry &geometry,
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
    return "cannot resize";
  return {};
}

#endif

std::string fitColors(const uint8_t *pixels, int width, int height,
                      const ImageGeometry &geometry,
                      const ImageOptions &options, Levels &levels) {
  if (geometry.channels == 3)
    return fitPixels(pixels, width, height, geometry, options, levels);
  // stb weights colors for gray in the same way.
  std::vector<uint8_t> gray(size_t(width) * size_t(height));
  for (size_t i = 0; i < gray.size(); ++i)
    gray[i] = uint8_t((pixels[3 * i] * 77 + pixels[3 * i + 1] * 150 +
                       pixels[3 * i + 2] * 29) >>
                      8);
  return fitPixels(gray.data(), width, height, geometry, options, levels);
}

static double perChannel(const std::vector<double> &values, int channel) {
  assert((values.size() == 1 || size_t(channel) < values.size()) &&
         "checkImageOptions() has looked");
  return values[values.size() == 1 ? 0 : channel];
}

void fillImage(const Levels &levels, const ImageGeometry &geometry,
               const ImageOptions &options, nnv12_type type, void *data) {
  int channels = geometry.channels;
  size_t plane = size_t(geometry.width) * geometry.height;
  assert(levels.size() == plane * channels && "the input is one image");
  for (int c = 0; c < channels; ++c) {
    int from = options.bgr ? channels - 1 - c : c;
    double mean = perChannel(options.mean, c), std = perChannel(options.std, c);
    for (size_t i = 0; i < plane; ++i) {
      double value = levels[i * channels + from];
      if (type != NNV12_U8)
        value = (value * options.scale - mean) / std;
      size_t index = geometry.channelsFirst ? c * plane + i : i * channels + c;
      setElement(type, data, index, value);
    }
  }
}

} // namespace nnv12::tools
