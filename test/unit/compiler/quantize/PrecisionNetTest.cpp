//===- PrecisionNetTest.cpp - The net of precisions and all choices -------===//

#include "compiler/quantize/PrecisionNet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace nnv12::quantize;
using Layer = PrecisionNet::Layer;
using Value = PrecisionNet::Value;
using Mix = PrecisionNet::Mix;
using Form = PrecisionNet::Form;

namespace {
struct RandomNet {
  explicit RandomNet(unsigned seed);

  double between(double least, double most) {
    return least + (most - least) * double(random()) / double(random.max());
  }
  /// Time, error and bytes by definition.
  Mix costOf(const std::vector<Form> &forms) const;
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
  unsigned count = 1 + random() % 8;
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
    double storage = between(0, 4);
    layer.costs[Form::F32] = {between(0, 2), storage};
    if (random() % 8)
      layer.costs[Form::U8] = {between(0, 2), storage / 4,
                               layer.isProduct ? between(0, 1) : 0};
    if (layer.isProduct && random() % 2) {
      layer.costs[Form::F16Weights] = {between(0, 2), storage / 2,
                                       between(0, 0.1)};
      layer.costs[Form::Q8Weights] = {between(0, 2), storage / 4,
                                      between(0, 0.5)};
    }
    layers.push_back(std::move(layer));
  }
}

Mix RandomNet::costOf(const std::vector<Form> &forms) const {
  Mix mix;
  mix.forms = forms;
  std::vector<bool> in8;
  for (size_t i = 0; i < layers.size(); ++i) {
    const PrecisionNet::Costs &costs = *layers[i].costs[forms[i]];
    mix.time += costs.time;
    mix.storage += costs.storage;
    mix.error += costs.error;
    in8.push_back(forms[i] == Form::U8);
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
  std::vector<std::vector<Form>> choices = {{}};
  for (const Layer &layer : layers) {
    std::vector<std::vector<Form>> longer;
    for (const std::vector<Form> &choice : choices)
      for (unsigned form = 0; form < PrecisionNet::forms; ++form)
        if (layer.costs[form]) {
          longer.push_back(choice);
          longer.back().push_back(Form(form));
        }
    choices = std::move(longer);
  }
  std::vector<Mix> result;
  for (const std::vector<Form> &choice : choices)
    result.push_back(costOf(choice));
  return result;
}

static constexpr double tiny = 1e-9;

TEST(PrecisionNetTest, CostsOfAChoice) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomNet random(seed);
    PrecisionNet net(random.layers, random.values);
    for (const Mix &expected : random.all()) {
      Mix found = net.of(expected.forms);
      ASSERT_EQ(found.forms, expected.forms) << "seed " << seed;
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
      error += layer.costs[Form::U8].value_or(PrecisionNet::Costs()).error;
      storage += layer.costs[Form::F32]->storage;
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
    EXPECT_TRUE(front[0].isF32());
    for (size_t i = 1; i < front.size(); ++i) {
      EXPECT_LT(front[i].time, front[i - 1].time) << "seed " << seed;
      EXPECT_GE(front[i].error, front[i - 1].error - tiny) << "seed " << seed;
    }
    EXPECT_NEAR(front.back().time, net.best({})->time, tiny) << "seed " << seed;
  }
}

/// The fewest bytes within a bound on errors, of floats with narrow weights.
TEST(PrecisionNetTest, TheSmallest) {
  unsigned exact = 0;
  constexpr unsigned count = 200;
  for (unsigned seed = 0; seed < count; ++seed) {
    RandomNet random(seed);
    PrecisionNet net(random.layers, random.values);
    std::vector<Mix> all = random.all();
    double most = 0;
    for (const Mix &mix : all)
      most = std::max(most, mix.error);
    double error = most * random.between(0, 1), least = INFINITY;
    for (const Mix &mix : all)
      if (mix.error <= error)
        least = std::min(least, mix.storage);
    Mix found = net.smallest(error);
    EXPECT_LE(found.error, error) << "seed " << seed;
    EXPECT_GE(found.storage, least - tiny) << "seed " << seed;
    exact += found.storage <= least + 1e-6;
  }
  EXPECT_GE(exact, count * 3 / 4);
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
    double time = isProduct ? 1 : 0.1;
    layer.costs[Form::F32] = {time, 4};
    layer.costs[Form::U8] = {time * (0.3 + double(random() % 100) / 100), 1,
                             isProduct ? double(1 + random() % 100) : 0};
    if (isProduct)
      layer.costs[Form::Q8Weights] = {time, 1, double(1 + random() % 50)};
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
  EXPECT_GT(found->count(Form::U8), 20u);
}
