//===- PrecisionNetTest.cpp - The net of precisions and all choices -------===//

#include "compiler/quantize/PrecisionNet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace nnv12::quantize;
using Layer = PrecisionNet::Layer;
using Value = PrecisionNet::Value;
using Mix = PrecisionNet::Mix;

namespace {
struct RandomNet {
  explicit RandomNet(unsigned seed);

  double between(double least, double most) {
    return least + (most - least) * double(random()) / double(random.max());
  }
  /// Time, error and bytes by definition.
  Mix costOf(const std::vector<bool> &in8) const;
  /// The costs of all choices.
  std::vector<Mix> all() const;

  std::mt19937 random;
  std::vector<Layer> layers;
  std::vector<Value> values;
};
} // namespace

RandomNet::RandomNet(unsigned seed) : random(seed) {
  auto addValue = [&] {
    values.push_back({between(0, 1), between(0, 1), random() % 6 == 0});
    return uint32_t(values.size() - 1);
  };
  addValue();
  unsigned count = 1 + random() % 9;
  for (unsigned i = 0; i < count; ++i) {
    Layer layer;
    layer.isProduct = random() % 3 != 0;
    // Often the value before, so that there are chains.
    uint32_t last = uint32_t(values.size() - 1);
    layer.operands.push_back(random() % 4 ? last
                                          : uint32_t(random() % values.size()));
    if (!layer.isProduct && random() % 2)
      layer.operands.push_back(uint32_t(random() % values.size()));
    layer.results.push_back(addValue());
    for (double &time : layer.time)
      time = between(0, 2);
    layer.storage[PrecisionNet::floats] = between(0, 4);
    layer.storage[PrecisionNet::bytes] = layer.storage[0] / 4;
    layer.error = layer.isProduct ? between(0, 1) : 0;
    layers.push_back(std::move(layer));
  }
}

Mix RandomNet::costOf(const std::vector<bool> &in8) const {
  Mix mix;
  mix.in8 = in8;
  for (size_t i = 0; i < layers.size(); ++i) {
    mix.time += layers[i].time[in8[i]];
    mix.storage += layers[i].storage[in8[i]];
    mix.error += in8[i] ? layers[i].error : 0;
  }
  for (uint32_t value = 0; value < values.size(); ++value) {
    bool wanted[2] = {values[value].isReadAsFloats, false};
    bool made[2] = {true, false}; // as floats, as bytes
    for (size_t i = 0; i < layers.size(); ++i) {
      for (uint32_t operand : layers[i].operands)
        if (operand == value)
          wanted[in8[i]] = true;
      for (uint32_t result : layers[i].results)
        if (result == value && in8[i]) {
          made[0] = layers[i].isProduct;
          made[1] = true;
        }
    }
    double cost = made[0] && made[1] ? INFINITY : 0;
    if (made[0])
      cost = wanted[1] ? values[value].quantize : 0;
    if (made[1]) {
      double asBytes = wanted[0] ? values[value].dequantize : 0;
      cost = made[0] ? std::min(cost, asBytes) : asBytes;
    }
    mix.time += cost;
  }
  return mix;
}

std::vector<Mix> RandomNet::all() const {
  std::vector<Mix> result;
  for (unsigned bits = 0; bits < 1u << layers.size(); ++bits) {
    std::vector<bool> in8;
    for (size_t i = 0; i < layers.size(); ++i)
      in8.push_back(bits >> i & 1);
    result.push_back(costOf(in8));
  }
  return result;
}

static constexpr double tiny = 1e-9;

TEST(PrecisionNetTest, CostsOfAChoice) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomNet random(seed);
    PrecisionNet net(random.layers, random.values);
    for (const Mix &expected : random.all()) {
      Mix found = net.of(expected.in8);
      ASSERT_EQ(found.in8, expected.in8) << "seed " << seed;
      ASSERT_NEAR(found.time, expected.time, tiny) << "seed " << seed;
      ASSERT_NEAR(found.error, expected.error, tiny);
      ASSERT_NEAR(found.storage, expected.storage, tiny);
    }
  }
}

TEST(PrecisionNetTest, TheFastestWithoutBounds) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomNet random(seed);
    double least = INFINITY;
    for (const Mix &mix : random.all())
      least = std::min(least, mix.time);
    auto found = PrecisionNet(random.layers, random.values).best({});
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->time, least, tiny) << "seed " << seed;
    EXPECT_GE(PrecisionNet(random.layers, random.values).greedy().time,
              least - tiny);
  }
}

/// Lagrange's prices find no choice inside of the convex hull; the descent
/// behind them finds many. So most answers are the best ones, and none breaks
/// a bound or is slower than floats.
TEST(PrecisionNetTest, WithinBounds) {
  unsigned asked = 0, exact = 0, missed = 0;
  double worse = 0;
  for (unsigned seed = 0; seed < 250; ++seed) {
    RandomNet random(seed);
    PrecisionNet net(random.layers, random.values);
    std::vector<Mix> all = random.all();
    double error = 0, storage = 0;
    for (const Layer &layer : random.layers) {
      error += layer.error;
      storage += layer.storage[0];
    }
    PrecisionNet::Bounds bounds;
    bounds.error = error * random.between(0, 1);
    if (seed % 2)
      bounds.storage = storage * random.between(0.25, 1);
    std::optional<Mix> found = net.best(bounds);
    const Mix *best = nullptr;
    for (const Mix &mix : all)
      if (bounds.areKeptBy(mix) && (!best || mix.time < best->time))
        best = &mix;
    if (!best) {
      EXPECT_FALSE(found) << "seed " << seed;
      continue;
    }
    ++asked;
    if (!found) {
      ++missed;
      continue;
    }
    EXPECT_TRUE(bounds.areKeptBy(*found)) << "seed " << seed;
    EXPECT_GE(found->time, best->time - tiny) << "seed " << seed;
    if (bounds.areKeptBy(all[0])) {
      EXPECT_LE(found->time, all[0].time + tiny) << "seed " << seed;
    }
    exact += found->time <= best->time + tiny;
    worse += found->time / best->time - 1;
  }
  EXPECT_GE(asked, 150u);
  EXPECT_GE(exact, asked * 3 / 4) << "of " << asked;
  EXPECT_LE(missed, asked / 50) << "of " << asked;
  EXPECT_LE(worse / asked, 0.02);
}

TEST(PrecisionNetTest, TheFrontFalls) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomNet random(seed);
    PrecisionNet net(random.layers, random.values);
    std::vector<Mix> front = net.front();
    ASSERT_FALSE(front.empty());
    EXPECT_EQ(front[0].count(), 0u);
    for (size_t i = 1; i < front.size(); ++i) {
      EXPECT_LT(front[i].time, front[i - 1].time) << "seed " << seed;
      EXPECT_GE(front[i].error, front[i - 1].error - tiny) << "seed " << seed;
    }
    EXPECT_NEAR(front.back().time, net.best({})->time, tiny) << "seed " << seed;
  }
}

/// ResNet-50's size: many nets are solved for one answer.
TEST(PrecisionNetTest, LongNetsWithResiduals) {
  std::mt19937 random(1);
  std::vector<Layer> layers;
  std::vector<Value> values = {{0.1, 0.1, false}};
  auto add = [&](std::vector<uint32_t> operands, bool isProduct) {
    Layer layer;
    layer.operands = std::move(operands);
    layer.isProduct = isProduct;
    layer.time[0] = isProduct ? 1 : 0.1;
    layer.time[1] = layer.time[0] * (0.3 + double(random() % 100) / 100);
    layer.storage[0] = 4;
    layer.storage[1] = 1;
    layer.error = isProduct ? double(1 + random() % 100) : 0;
    values.push_back({0.05, 0.05, false});
    layer.results = {uint32_t(values.size() - 1)};
    layers.push_back(layer);
    return layer.results[0];
  };
  uint32_t x = 0;
  for (int block = 0; block < 40; ++block) {
    uint32_t y = add({add({add({x}, true)}, true)}, true);
    x = add({y, x}, false);
  }
  values[x].isReadAsFloats = true;
  PrecisionNet net(layers, values);
  Mix all = net.at({});
  PrecisionNet::Bounds bounds;
  bounds.error = all.error / 3;
  bounds.storage = 4 * double(layers.size()) * 0.8;
  auto found = net.best(bounds);
  ASSERT_TRUE(found);
  EXPECT_TRUE(bounds.areKeptBy(*found));
  EXPECT_GT(found->count(), 20u);
}
