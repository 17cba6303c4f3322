//===- ChannelMeans.h - How large a tensor's channels are -------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_CHANNELMEANS_H
#define NNV12_COMPILER_CALIBRATE_CHANNELMEANS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::calibrate {

/// Streamed over samples. Channels are where the inputs of convolutions and of
/// Gemm have them: dimension 1, of a matrix too.
class ChannelMeans {
public:
  /// `shape` is the same each time. A tensor of fewer than two dimensions has
  /// no channels.
  void add(const float *values, const std::vector<int64_t> &shape);

  /// Empty where there are no channels.
  std::vector<double> means() const;
  /// The largest magnitude of each.
  const std::vector<float> &largest() const { return largest_; }

private:
  std::vector<double> sums_;
  std::vector<float> largest_;
  double count_ = 0; ///< of each sum
};

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_CHANNELMEANS_H
