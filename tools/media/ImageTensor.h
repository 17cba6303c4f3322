//===- ImageTensor.h - Pictures as tensors ----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_IMAGETENSOR_H
#define NNV12_TOOLS_MEDIA_IMAGETENSOR_H

#include "runtime/include/nnv12.h"
#include "tools/media/Picture.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::tools {

/// How pixels become numbers: (pixel * scale - mean) / std, per channel, in the
/// model's channel order. Inputs of bytes take pixels as they are.
struct ImageOptions {
  double scale = 1.0 / 255;
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
  std::string fit = "stretch";
  std::string layout = "auto";
  bool bgr = false;
  int64_t mostPixels = mostPicturePixels;
};

/// The same as texts, in the form of a bundle's properties (docs/tools.md).
/// Null: the default.
struct ImageTexts {
  const char *scale = nullptr;
  const char *mean = nullptr;
  const char *std = nullptr;
  const char *color = nullptr;
  const char *layout = nullptr;
  const char *fit = nullptr;
};

/// Sets the options that there are texts for. Empty, or one line that starts
/// with the key of a text that is none of its kind.
std::string parseImageOptions(const ImageTexts &texts, ImageOptions &options);

/// An input as an image: its extents, and the place of its channels.
struct ImageGeometry {
  int height = 0, width = 0, channels = 0;
  bool channelsFirst = true;
};

/// Reads the input's shape as that of an image. Empty, or one line.
std::string findImageGeometry(const nnv12_tensor_info &input,
                              const ImageOptions &options,
                              ImageGeometry &geometry);
/// Compares options and type with the input. Empty, or one line.
std::string checkImageOptions(const nnv12_tensor_info &input,
                              const ImageGeometry &geometry,
                              const ImageOptions &options);

/// A picture as the model's input has it, in levels from 0 to 255: as high and
/// wide as the input, row by row; red, green and blue of a pixel side by side,
/// or its gray where the input has one channel.
using Levels = std::vector<uint8_t>;

/// Fits rows of pixels, of as many bytes a pixel as the input has channels.
/// Empty, or one line.
std::string fitPixels(const uint8_t *pixels, int width, int height,
                      const ImageGeometry &geometry,
                      const ImageOptions &options, Levels &levels);
/// Fits pixels of three bytes, red, green and blue, in the same way.
std::string fitColors(const uint8_t *pixels, int width, int height,
                      const ImageGeometry &geometry,
                      const ImageOptions &options, Levels &levels);

/// Makes numbers of levels. `data` has all elements of the input.
void fillImage(const Levels &levels, const ImageGeometry &geometry,
               const ImageOptions &options, nnv12_type type, void *data);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_IMAGETENSOR_H
