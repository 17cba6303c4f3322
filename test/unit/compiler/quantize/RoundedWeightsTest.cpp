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

namespace {

/// A convolution with one output place, in double: the sum of all products.
/// `w` is [outputs, channels of a group, taps].
std::vector<double> convolve(const std::vector<float> &w, size_t outputs,
                             size_t ofGroup, size_t taps, size_t groups,
                             const std::vector<double> &x) {
  std::vector<double> y(outputs, 0);
  for (size_t o = 0; o < outputs; ++o)
    for (size_t c = 0; c < ofGroup; ++c)
      for (size_t t = 0; t < taps; ++t) {
        size_t channel = o / (outputs / groups) * ofGroup + c;
        y[o] += double(w[(o * ofGroup + c) * taps + t]) * x[channel];
      }
  return y;
}

} // namespace

/// The change is that of the layer's result where each channel has its mean.
TEST(RoundedWeights, ChangesOfMeans) {
  struct {
    int64_t outputs, ofGroup, groups;
  } cases[] = {{5, 4, 1}, {6, 2, 3}, {8, 1, 8}, {8, 1, 4}};
  for (auto [outputs, ofGroup, groups] : cases) {
    FloatTensor weights = someWeights({outputs, ofGroup, 3, 2}, 7);
    RoundedWeights rounded = roundWeights(weights, 0, 0.1f, nullptr);
    std::vector<double> means;
    for (int64_t c = 0; c < ofGroup * groups; ++c)
      means.push_back(double(c) - 1.5);
    auto run = [&, o = outputs, c = ofGroup,
                g = groups](const std::vector<float> &w) {
      return convolve(w, size_t(o), size_t(c), 6, size_t(g), means);
    };
    std::vector<double> exact = run(weights.values),
                        found = run(rounded.floats()),
                        changes = meanChanges(weights, rounded, means, groups);
    ASSERT_EQ(changes.size(), size_t(outputs));
    double largest = 0;
    for (size_t o = 0; o < changes.size(); ++o) {
      EXPECT_NEAR(changes[o], found[o] - exact[o], 1e-6);
      largest = std::max(largest, std::fabs(changes[o]));
    }
    EXPECT_GT(largest, 1e-4) << "rounding changes something";
    // Means of other channels say nothing.
    means.push_back(1);
    EXPECT_TRUE(meanChanges(weights, rounded, means, groups).empty());
    EXPECT_TRUE(meanChanges(weights, rounded, {}, groups).empty());
  }
}

/// A matrix, with the outputs in rows and in columns.
TEST(RoundedWeights, ChangesOfMeansOfMatrices) {
  FloatTensor rows = someWeights({3, 5}, 8), columns{{5, 3}, rows.values};
  for (size_t o = 0; o < 3; ++o)
    for (size_t c = 0; c < 5; ++c)
      columns.values[c * 3 + o] = rows.values[o * 5 + c];
  std::vector<double> means = {1, -2, 0, 4, 8};
  RoundedWeights rounded = roundWeights(rows, 0, 1, nullptr);
  std::vector<double> exact = convolve(rows.values, 3, 5, 1, 1, means),
                      found = convolve(rounded.floats(), 3, 5, 1, 1, means),
                      ofRows = meanChanges(rows, rounded, means, 1),
                      ofColumns = meanChanges(
                          columns, roundWeights(columns, 1, 1, nullptr), means,
                          1);
  for (size_t o = 0; o < 3; ++o) {
    EXPECT_NEAR(ofRows[o], found[o] - exact[o], 1e-6);
    EXPECT_NEAR(ofColumns[o], ofRows[o], 1e-9);
  }
}
