//===- RoundedWeightsTest.cpp - Weights of a product in 8 bits ------------===//

#include "compiler/quantize/RoundedWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace nnv12::quantize;

namespace {

FloatTensor someWeights(std::vector<int64_t> shape, unsigned seed) {
  std::mt19937 random(seed);
  FloatTensor tensor{std::move(shape), {}};
  tensor.values.resize(size_t(llvm::product_of(tensor.shape)));
  for (float &x : tensor.values)
    x = float(random()) / float(1u << 31) - 1;
  return tensor;
}

} // namespace

/// Each output's largest weight is 127, and all are within half a step.
TEST(RoundedWeights, EachOutputHasItsScale) {
  for (int axis : {0, 1, 3}) {
    FloatTensor weights = someWeights({5, 4, 3, 2}, 1);
    int64_t outputs = weights.shape[axis], inner = 1;
    for (size_t d = size_t(axis) + 1; d < 4; ++d)
      inner *= weights.shape[d];
    // Outputs of very different sizes.
    for (size_t i = 0; i < weights.values.size(); ++i)
      weights.values[i] *= std::ldexp(1.0f, int(i / inner % outputs) * 4);
    RoundedWeights rounded = roundWeights(weights, axis, 0.1f, nullptr);
    ASSERT_EQ(rounded.scales.size(), size_t(outputs));
    EXPECT_TRUE(rounded.bias.empty());
    std::vector<int> largest(outputs, 0);
    std::vector<float> floats = rounded.floats();
    for (size_t i = 0; i < weights.values.size(); ++i) {
      size_t output = i / inner % outputs;
      largest[output] =
          std::max(largest[output], std::abs(int(rounded.values[i])));
      EXPECT_LE(std::fabs(floats[i] - weights.values[i]),
                0.501f * rounded.scales[output]);
    }
    EXPECT_EQ(largest, std::vector<int>(outputs, 127));
  }
}

/// i32 in steps of both scales; outputs of zeros have a scale all the same.
TEST(RoundedWeights, Bias) {
  FloatTensor weights{{3, 2}, {1, -2, 0, 0, 1e-30f, 0}};
  std::vector<float> bias = {0.5f, -3, 100};
  RoundedWeights rounded = roundWeights(weights, 0, 0.02f, &bias);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(rounded.biasScales[c], rounded.scales[c] * 0.02f);
    EXPECT_NEAR(double(rounded.bias[c]) * double(rounded.biasScales[c]),
                double(bias[c]),
                1e-6 * std::fabs(bias[c]) +
                    0.51 * double(rounded.biasScales[c]));
    // Sums of products have room beside it.
    EXPECT_LE(std::abs(int64_t(rounded.bias[c])), int64_t(1) << 30);
  }
  EXPECT_EQ(rounded.values[2], 0);
}
