//===- RoundedWeights.cpp - Weights of a product in 8 bits ----------------===//

#include "compiler/quantize/RoundedWeights.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

using namespace nnv12::quantize;

namespace {
/// Which output a weight belongs to.
struct OutputOf {
  OutputOf(const std::vector<int64_t> &shape, int axis)
      : count(size_t(shape[size_t(axis)])) {
    for (size_t i = size_t(axis) + 1; i < shape.size(); ++i)
      inner *= size_t(shape[i]);
  }
  size_t operator()(size_t weight) const { return weight / inner % count; }

  size_t count, inner = 1;
};
} // namespace

std::vector<float> RoundedWeights::floats() const {
  OutputOf output(shape, axis);
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[i] = float(values[i]) * scales[output(i)];
  return result;
}

RoundedWeights nnv12::quantize::roundWeights(const FloatTensor &weights,
                                             int axis, float inputScale,
                                             const std::vector<float> *bias) {
  constexpr float most = 127, mostBias = 1 << 30;
  OutputOf output(weights.shape, axis);
  assert((!bias || bias->size() == output.count) && "one for each output");
  RoundedWeights result;
  result.shape = weights.shape;
  result.axis = axis;
  std::vector<float> largest(output.count, 0);
  for (size_t i = 0; i < weights.values.size(); ++i)
    largest[output(i)] =
        std::max(largest[output(i)], std::fabs(weights.values[i]));
  for (size_t c = 0; c < output.count; ++c) {
    float scale = largest[c] / most;
    if (bias)
      scale = std::max(scale, std::fabs((*bias)[c]) / mostBias / inputScale);
    // Nothing is told from 0 by a denormal scale.
    if (!(scale >= std::numeric_limits<float>::min()))
      scale = 1;
    result.scales.push_back(scale);
  }
  for (size_t i = 0; i < weights.values.size(); ++i) {
    float q = std::nearbyint(weights.values[i] / result.scales[output(i)]);
    result.values.push_back(int8_t(std::clamp(q, -most, most)));
  }
  for (size_t c = 0; bias && c < output.count; ++c) {
    float scale = result.scales[c] * inputScale;
    result.biasScales.push_back(scale);
    double q = std::nearbyint(double((*bias)[c]) / double(scale));
    result.bias.push_back(int32_t(std::clamp<double>(q, -mostBias, mostBias)));
  }
  return result;
}
