//===- Image.h - Photos as model inputs -------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_IMAGE_H
#define NNV12_TOOLS_COMMON_IMAGE_H

#include "tools/common/Options.h"
#include "tools/common/Tensor.h"

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

  void addTo(Options &options);
};

/// Reads JPEG, PNG, BMP, GIF, TGA, PNM or PSD and makes it a tensor of the
/// input's type and shape. Empty, or one line that starts with the path.
std::string readImage(const std::string &path, const nnv12_tensor_info &input,
                      const ImageOptions &options, Tensor &tensor);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_IMAGE_H
