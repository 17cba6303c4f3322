//===- RoundedWeights.cpp - Weights of a product in 8 bits ----------------===//

#include "compiler/quantize/RoundedWeights.h"

#include "compiler/quantize/Product.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

using namespace nnv12::quantize;

std::vector<float> RoundedWeights::floats() const {
  WeightPlaces of(shape, axis);
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[i] = float(values[i]) * scales[of.output(i)];
  return result;
}

RoundedWeights nnv12::quantize::roundWeights(const FloatTensor &weights,
                                             int axis, float inputScale,
                                             const std::vector<float> *bias) {
  constexpr float most = 127, mostBias = 1 << 30;
  WeightPlaces of(weights.shape, axis);
  assert((!bias || bias->size() == of.outputs()) && "one for each output");
  RoundedWeights result;
  result.shape = weights.shape;
  result.axis = axis;
  std::vector<float> largest(of.outputs(), 0);
  for (size_t i = 0; i < weights.values.size(); ++i)
    largest[of.output(i)] =
        std::max(largest[of.output(i)], std::fabs(weights.values[i]));
  for (size_t c = 0; c < of.outputs(); ++c) {
    float scale = largest[c] / most;
    if (bias)
      scale = std::max(scale, std::fabs((*bias)[c]) / mostBias / inputScale);
    // Nothing is told from 0 by a denormal scale.
    if (!(scale >= std::numeric_limits<float>::min()))
      scale = 1;
    result.scales.push_back(scale);
  }
  for (size_t i = 0; i < weights.values.size(); ++i) {
    float q = std::nearbyint(weights.values[i] / result.scales[of.output(i)]);
    result.values.push_back(int8_t(std::clamp(q, -most, most)));
  }
  for (size_t c = 0; bias && c < of.outputs(); ++c) {
    float scale = result.scales[c] * inputScale;
    result.biasScales.push_back(scale);
    double q = std::nearbyint(double((*bias)[c]) / double(scale));
    result.bias.push_back(int32_t(std::clamp<double>(q, -mostBias, mostBias)));
  }
  return result;
}

std::vector<double>
nnv12::quantize::meanChanges(const FloatTensor &weights,
                             const RoundedWeights &rounded,
                             const std::vector<double> &means, int64_t groups) {
  WeightPlaces of(weights.shape, rounded.axis, groups);
  if (means.empty() || means.size() != of.channels())
    return {};
  std::vector<double> changes(of.outputs(), 0);
  for (size_t i = 0; i < weights.values.size(); ++i) {
    size_t output = of.output(i);
    double weight = double(rounded.values[i]) * double(rounded.scales[output]);
    changes[output] +=
        (weight - double(weights.values[i])) * means[of.channel(i)];
  }
  return changes;
}
