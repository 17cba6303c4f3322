//===- RoundedWeights.h - Weights of a product in 8 bits --------*- C++ -*-===//
#ifndef NNV12_COMPILER_QUANTIZE_ROUNDEDWEIGHTS_H
#define NNV12_COMPILER_QUANTIZE_ROUNDEDWEIGHTS_H

#include "compiler/quantize/OnnxGraph.h"

namespace nnv12::quantize {

/// Weights and bias of a product whose input has a scale.
struct RoundedWeights {
  std::vector<int64_t> shape;
  int axis = 0;               ///< of the outputs
  std::vector<int8_t> values; ///< -127 to 127
  std::vector<float> scales;  ///< by output
  std::vector<int32_t> bias;  ///< empty where there is none
  std::vector<float> biasScales;

  /// The weights that these stand for.
  std::vector<float> floats() const;
};

/// Rounds to the nearest integer. The largest weight of an output is 127; less
/// where the output's bias would not fit in 30 bits.
RoundedWeights roundWeights(const FloatTensor &weights, int axis,
                            float inputScale, const std::vector<float> *bias);

/// By how much rounded weights change the mean of each output, where `means`
/// are those of the input's channels: the sum of (rounded - weight) * mean.
/// Padding counts as if it had the channel's mean: on photos, counting it as
/// zeros was no better. Empty where the means are of other channels than the
/// weights are for.
std::vector<double> meanChanges(const FloatTensor &weights,
                                const RoundedWeights &rounded,
                                const std::vector<double> &means,
                                int64_t groups);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_ROUNDEDWEIGHTS_H
