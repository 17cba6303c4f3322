//===- Networks.h - Models as tables of convolutions ------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_DEVICE_NETWORKS_H
#define NNV12_TEST_UNIT_COMPILER_DEVICE_NETWORKS_H

#include "compiler/device/CostModel.h"

namespace nnv12::device {

/// A convolution, or a fully connected layer as one of a 1x1 map.
struct Conv {
  std::string name;
  unsigned in, out, kernel, stride;
  unsigned size; ///< of the output map, which is square

  double weights() const { return double(in) * out * kernel * kernel; }
  double multiplyAdds() const { return weights() * size * size; }
};

/// For inputs of 224 x 224, in execution order.
std::vector<Conv> resnet50();
std::vector<Conv> googlenet();
/// Only the layer of NNV12's Table 2: 64 to 192 channels, 3x3, at 56 x 56.
std::vector<Conv> table2Layer();

/// The layers with ncnn's kernels as candidates, as in NNV12's Table 2, each
/// with its weights raw and, where it has a transform, transformed.
search::Problem ncnnProblem(const std::vector<Conv> &network,
                            DeviceProfile profile, unsigned threads);

} // namespace nnv12::device

#endif // NNV12_TEST_UNIT_COMPILER_DEVICE_NETWORKS_H
