//===- ImageInput.cpp - Photos as model inputs ----------------------------===//
#include "tools/common/ImageInput.h"

#include "tools/common/Files.h"

#include <cassert>

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

static std::string named(const std::string &path, const std::string &error) {
  return error.empty() ? error : path + ": " + error;
}

/// `others`: kinds of file that could fit.
static std::string geometryOf(const std::string &path,
                              const nnv12_tensor_info &input,
                              const ImageOptions &options, const char *others,
                              ImageGeometry &geometry) {
  std::string error = findImageGeometry(input, options, geometry);
  if (!error.empty())
    return path + ": " + error + " (or a " + others + " file)";
  return named(path, checkImageOptions(input, geometry, options));
}

std::string checkImageInput(const nnv12_tensor_info &input,
                            const ImageOptions &options) {
  ImageGeometry geometry;
  std::string error = findImageGeometry(input, options, geometry);
  return error.empty() ? checkImageOptions(input, geometry, options) : error;
}

static std::string decodeFile(const std::string &path, int channels,
                              int64_t mostPixels, const char *others,
                              Pixels &picture) {
  artifact::MappedFile file;
  std::string error = openInput(path, file);
  return error.empty()
             ? named(path, decodePicture(file.data(), file.size(), channels,
                                         mostPixels, others, picture))
             : error;
}

std::string readImage(const std::string &path, const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor) {
  ImageGeometry geometry;
  Pixels picture;
  Levels levels;
  std::string error =
      geometryOf(path, input, options, ".npy or .wav", geometry);
  if (error.empty())
    error = decodeFile(path, geometry.channels, options.mostPixels,
                       ".npy, .wav, ", picture);
  if (error.empty())
    error = named(path, fitPixels(picture.bytes.data(), picture.width,
                                  picture.height, geometry, options, levels));
  if (!error.empty())
    return error;
  tensor = Tensor(input);
  fillImage(levels, geometry, options, input.type, tensor.data.data());
  return {};
}

std::string readPicture(const std::string &path, int64_t mostPixels,
                        Frame &picture, const char *others) {
  Pixels pixels;
  std::string error = decodeFile(path, 3, mostPixels, others, pixels);
  picture = {pixels.width, pixels.height, std::move(pixels.bytes)};
  return error;
}

std::string fitFrame(const std::string &path, const Frame &frame,
                     const nnv12_tensor_info &input,
                     const ImageOptions &options, Levels &levels) {
  ImageGeometry geometry;
  std::string error = geometryOf(path, input, options, ".npy", geometry);
  return error.empty()
             ? named(path, fitColors(frame.pixels.data(), frame.width,
                                     frame.height, geometry, options, levels))
             : error;
}

void fillFromLevels(const Levels &levels, const nnv12_tensor_info &input,
                    const ImageOptions &options, Tensor &tensor) {
  ImageGeometry geometry;
  [[maybe_unused]] std::string error =
      findImageGeometry(input, options, geometry);
  assert(error.empty() && "fitFrame() has looked");
  assert(input.byte_size == tensor.data.size() && "the tensor is the input's");
  fillImage(levels, geometry, options, input.type, tensor.data.data());
}

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
