//===- Product.h - Layers that can be in 8 bits -----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_QUANTIZE_PRODUCT_H
#define NNV12_COMPILER_QUANTIZE_PRODUCT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::quantize {

class OnnxGraph;

/// A layer that can be in 8 bits: Conv, Gemm or MatMul with constant weights.
struct Product {
  int node;
  std::string name; ///< for people: that of the node, or of its result
  int axis;         ///< of the weights: the outputs
};

/// The product that a node is; nothing for others.
std::optional<Product> productAt(const OnnxGraph &graph, int node);

/// Which output and which channel of the input a weight belongs to.
class WeightPlaces {
public:
  /// `groups` is 1 but for convolutions.
  WeightPlaces(const std::vector<int64_t> &shape, int axis, int64_t groups = 1);

  size_t outputs() const { return outputs_; }
  /// Channels of the input; 0 where groups do not fit.
  size_t channels() const { return channels_; }
  /// Whether each output has weights for one channel alone.
  bool isDepthwise() const { return axis_ == 0 && ofGroup_ == 1; }
  size_t output(size_t weight) const { return weight / inner_ % outputs_; }
  size_t channel(size_t weight) const {
    if (axis_ != 0)
      return weight / outputs_;
    return weight % inner_ / taps_ + output(weight) / perGroup_ * ofGroup_;
  }

private:
  int axis_;
  size_t outputs_, inner_ = 1, taps_ = 1;
  size_t ofGroup_ = 1;  ///< input channels
  size_t perGroup_ = 1; ///< outputs
  size_t channels_ = 0;
};

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_PRODUCT_H
