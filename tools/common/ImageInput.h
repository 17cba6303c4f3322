//===- ImageInput.h - Photos as model inputs --------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_IMAGEINPUT_H
#define NNV12_TOOLS_COMMON_IMAGEINPUT_H

#include "tools/common/FrameSource.h"
#include "tools/common/Options.h"
#include "tools/common/Tensor.h"
#include "tools/media/ImageTensor.h"

#include <optional>

namespace nnv12::tools {

/// The options of the command line. Where an option is missing, the bundle
/// decides (Properties.h), or else the default.
struct ImageArguments {
  std::optional<double> scale;
  std::vector<double> mean, std;
  std::string fit = "auto";
  std::string layout = "auto";
  std::string color = "auto";
  bool bgr = false;

  void addTo(Options &options);
};

/// Reads an image (Picture.h) and makes it a tensor of the input's type and
/// shape. Empty, or one line that starts
/// with the path.
std::string readImage(const std::string &path, const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor);

/// Reads an image of at most so many pixels as colors, whatever it has.
/// `others`: further kinds of file that the caller reads, for the message.
std::string readPicture(const std::string &path, int64_t mostPixels,
                        Frame &picture, const char *others = "");

/// The tensor of such a picture, or of a frame of a clip, which `path` names.
std::string readFrame(const std::string &path, const Frame &frame,
                      const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor);

/// readFrame() in two steps, between which the pixels can be changed.

/// Fits a frame to the input.
std::string fitFrame(const std::string &path, const Frame &frame,
                     const nnv12_tensor_info &input,
                     const ImageOptions &options, Levels &levels);
/// Makes numbers of them. `tensor` has the input's type and shape.
void fillFromLevels(const Levels &levels, const nnv12_tensor_info &input,
                    const ImageOptions &options, Tensor &tensor);

/// Empty, or one line: why no image fits the input.
std::string checkImageInput(const nnv12_tensor_info &input,
                            const ImageOptions &options);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_IMAGEINPUT_H
