//===- ExactTest.cpp - Which floats fewer bits hold -----------------------===//

#include "compiler/weights/Exact.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <unordered_map>
#include <vector>

using namespace nnv12;

namespace {

using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

std::optional<float> scaleOf(const Floats &values) {
  return exactScale(values.data(), values.size());
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

float next(float x, int steps) {
  for (int i = 0; i < std::abs(steps); ++i)
    x = std::nextafterf(x,
                        steps < 0 ? -Limits::infinity() : Limits::infinity());
  return x;
}

/// Whether some int8 times the scale is the value.
bool isMade(float value, float scale) {
  for (int q = -128; q < 128; ++q)
    if (bitsOf(float(q) * scale) == bitsOf(value))
      return true;
  return false;
}

bool areMade(const Floats &values, float scale) {
  for (float value : values)
    if (!isMade(value, scale))
      return false;
  return true;
}

/// Brute force: some value is one of 128 multiples of the scale, and that is
/// not far from a quotient.
bool hasScale(const Floats &values) {
  float largest = 0;
  for (float value : values)
    largest = std::fmax(largest, std::fabs(value));
  if (largest == 0)
    return areMade(values, 1);
  for (int k = 1; k <= 128; ++k)
    for (int step = -8; step <= 8; ++step) {
      float scale = next(largest / float(k), step);
      if (std::isnormal(scale) && areMade(values, scale))
        return true;
    }
  return false;
}

void expectAgreement(const Floats &values) {
  std::optional<float> scale = scaleOf(values);
  ASSERT_EQ(scale.has_value(), hasScale(values));
  if (!scale)
    return;
  for (float value : values)
    ASSERT_EQ(bitsOf(float(quantized(value, *scale)) * *scale), bitsOf(value));
}

/// Quantized channels of all kinds: few and many values, small and large ones.
Floats channel(std::mt19937 &random) {
  int most = 1 + int(random() % 128);
  float scale = std::ldexp(1.0f + float(random() % 8388608) / 8388608,
                           int(random() % 60) - 30);
  Floats values(1 + random() % 40);
  for (float &value : values)
    value = float(int(random() % (2 * most)) - most) * scale;
  return values;
}

} // namespace

TEST(ExactScale, IsFoundWhereThereIsOne) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    Floats values = channel(random);
    ASSERT_TRUE(scaleOf(values)) << i;
    expectAgreement(values);
  }
}

TEST(ExactScale, AgreesWithBruteForceNearby) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Floats values = channel(random);
    float &changed = values[random() % values.size()];
    if (changed == 0)
      continue;
    changed = next(changed, random() % 2 ? 1 : -1);
    expectAgreement(values);
    refused += !scaleOf(values);
  }
  EXPECT_GT(refused, 500);
}

TEST(ExactScale, RefusesOneElementThatIsOffByOneUlp) {
  for (size_t place : {0, 57, 127}) {
    Floats values;
    for (int q = 0; q < 128; ++q)
      values.push_back(float(127 - q) * 0.0123f);
    ASSERT_EQ(scaleOf(values), 0.0123f);
    for (int step : {1, -1}) {
      Floats other = values;
      other[place] = next(other[place], step);
      EXPECT_FALSE(scaleOf(other)) << place;
    }
  }
}

TEST(ExactScale, KnowsAllOfInt8AndNoMore) {
  EXPECT_EQ(scaleOf({-128 * 0.3f, 0.3f}), 0.3f);
  EXPECT_EQ(scaleOf({127 * 0.3f, 0.3f}), 0.3f);
  EXPECT_FALSE(scaleOf({128 * 0.3f, 0.3f, 127 * 0.3f}));
  EXPECT_FALSE(scaleOf({-129 * 0.3f, 0.3f}));
}

TEST(ExactScale, OfZerosIsAny) {
  std::optional<float> scale = scaleOf({0, 0, 0});
  ASSERT_TRUE(scale);
  EXPECT_EQ(bitsOf(float(quantized(0, *scale)) * *scale), 0u);
  EXPECT_TRUE(scaleOf({}));
}

TEST(ExactScale, RefusesWhatNoProductIs) {
  EXPECT_FALSE(scaleOf({-0.0f}));
  EXPECT_FALSE(scaleOf({1, -0.0f}));
  EXPECT_FALSE(scaleOf({1, Limits::infinity()}));
  EXPECT_FALSE(scaleOf({1, Limits::quiet_NaN()}));
  EXPECT_FALSE(scaleOf({Limits::quiet_NaN()}));
}

TEST(ExactScale, RefusesWhatMayBeFlushed) {
  EXPECT_FALSE(scaleOf({Limits::denorm_min()}));
  EXPECT_FALSE(scaleOf({Limits::min() / 2, Limits::min()}));
  // The values are normal, but no scale of them is.
  EXPECT_FALSE(scaleOf({Limits::min() * 1.5f, Limits::min()}));
  EXPECT_EQ(scaleOf({Limits::min() * 3, Limits::min()}), Limits::min());
}

TEST(ExactScale, OfHugeValues) {
  EXPECT_TRUE(scaleOf({Limits::max(), -Limits::max()}));
  expectAgreement({Limits::max(), Limits::max() / 2});
  expectAgreement({Limits::max(), Limits::max() / 127});
}

TEST(ExactScale, RefusesOrdinaryWeights) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100; ++i) {
    Floats values(64);
    for (float &value : values)
      value = normal(random);
    EXPECT_FALSE(scaleOf(values));
  }
}

/// The number of the 16 bits, by the definition.
static float half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent
                   ? std::ldexp(1.0f + float(fraction) / 1024, exponent - 15)
                   : std::ldexp(float(fraction), -24);
  return bits & 0x8000 ? -size : size;
}

TEST(ExactHalf, AllOfThemAndNothingElse) {
  std::unordered_map<uint32_t, uint16_t> all;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    if ((bits >> 10 & 31) != 31)
      all[bitsOf(half(bits))] = bits;
  ASSERT_EQ(all.size(), 2 * 31 * 1024u);
  auto check = [&](float value) {
    auto found = all.find(bitsOf(value));
    std::optional<uint16_t> bits = exactHalf(value);
    ASSERT_EQ(bits.has_value(), found != all.end()) << value;
    if (bits) {
      ASSERT_EQ(*bits, found->second) << value;
    }
  };
  for (auto [bits, same] : all) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    check(value);
    check(next(value, 1));
    check(next(value, -1));
    check(value * 1.5f);
    check(value / 2);
    check(value * 2);
  }
  std::mt19937 random(4);
  for (int i = 0; i < 1000000; ++i) {
    uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    check(value);
  }
}

TEST(ExactHalf, RefusesWhatIsNoNumberOrTooLarge) {
  EXPECT_FALSE(exactHalf(Limits::infinity()));
  EXPECT_FALSE(exactHalf(Limits::quiet_NaN()));
  EXPECT_FALSE(exactHalf(65536.0f));
  EXPECT_EQ(exactHalf(65504.0f), 0x7bff);
  EXPECT_FALSE(exactHalf(Limits::denorm_min()));
  EXPECT_EQ(exactHalf(-0.0f), 0x8000);
}

/// The floats that a kernel makes of halves and a scale.
static Floats scaled(const std::vector<uint16_t> &halves, double scale) {
  Floats values;
  for (uint16_t bits : halves)
    values.push_back(float(double(half(bits)) * scale));
  return values;
}

static std::vector<uint16_t> someHalves(std::mt19937 &random, size_t count) {
  std::vector<uint16_t> halves(count);
  std::normal_distribution<float> normal(0, 0.02f);
  for (uint16_t &bits : halves)
    bits = nearestHalf(normal(random));
  return halves;
}

TEST(ExactHalfScale, IsFoundWhereThereIsOne) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    // One that is a half or a float, as those of normalisations are, and one
    // that only f64 holds, as those of batch normalisations are.
    double scale =
        std::ldexp(1 + double(random()) / 0x1p32, -int(random() % 9));
    if (i % 3 == 1)
      scale = float(scale);
    if (i % 3 == 2)
      scale = half(nearestHalf(float(scale)));
    Floats values = scaled(someHalves(random, 1 + random() % 300), scale);
    std::optional<double> found = exactHalfScale(values.data(), values.size());
    ASSERT_TRUE(found) << i;
    for (float value : values)
      ASSERT_EQ(bitsOf(float(double(half(scaledHalf(value, *found))) * *found)),
                bitsOf(value));
  }
}

TEST(ExactHalfScale, RefusesOneElementThatIsOffByOneUlp) {
  std::mt19937 random(12);
  for (size_t place : {0, 57, 127}) {
    Floats values = scaled(someHalves(random, 128), 0.3);
    ASSERT_TRUE(exactHalfScale(values.data(), values.size()));
    for (int step : {1, -1}) {
      Floats other = values;
      other[place] = next(other[place], step);
      EXPECT_FALSE(exactHalfScale(other.data(), other.size())) << place;
    }
  }
}

TEST(ExactHalfScale, RefusesOrdinaryWeightsAndWhatMayBeFlushed) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100; ++i) {
    Floats values(64);
    for (float &value : values)
      value = normal(random);
    EXPECT_FALSE(exactHalfScale(values.data(), values.size()));
  }
  auto scaleOf = [](const Floats &values) {
    return exactHalfScale(values.data(), values.size());
  };
  EXPECT_FALSE(scaleOf({1, Limits::infinity()}));
  EXPECT_FALSE(scaleOf({1, Limits::quiet_NaN()}));
  EXPECT_FALSE(scaleOf({Limits::denorm_min()}));
  // More than halves reach from one end to the other.
  EXPECT_FALSE(scaleOf({1e7f, 1e-7f}));
  EXPECT_TRUE(scaleOf({Limits::max() / 2, -Limits::max() / 2, -0.0f}));
  EXPECT_TRUE(scaleOf({0, -0.0f}));
  EXPECT_TRUE(scaleOf({}));
}

TEST(NearestHalf, IsNoFartherThanItsNeighbours) {
  std::mt19937 random(5);
  auto check = [&](float value) {
    uint16_t found = nearestHalf(value);
    ASSERT_EQ(found >> 15, std::signbit(value)) << value;
    double distance = std::fabs(double(half(found)) - value);
    for (int step : {-1, 1}) {
      uint16_t other = found + step;
      if ((other & 0x7fff) >= 0x7c00 || (other >> 15) != (found >> 15))
        continue;
      double theirs = std::fabs(double(half(other)) - value);
      // In the middle the even one.
      ASSERT_TRUE(distance < theirs || (distance == theirs && found % 2 == 0))
          << value;
    }
  };
  for (int i = 0; i < 300000; ++i)
    check(std::ldexp(float(int32_t(random())), -31 + int(random() % 44) - 28));
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    float low = half(bits), high = half(bits + 1);
    check(low);
    check((low + high) / 2);
    check(next((low + high) / 2, 1));
    check(next((low + high) / 2, -1));
  }
}

TEST(NearestHalf, BeyondTheLargest) {
  EXPECT_EQ(nearestHalf(65519.996f), 0x7bff);
  EXPECT_EQ(nearestHalf(65520.0f), 0x7c00);
  EXPECT_EQ(nearestHalf(-Limits::infinity()), 0xfc00);
  EXPECT_EQ(nearestHalf(Limits::quiet_NaN()) & 0x7c00, 0x7c00);
  EXPECT_NE(nearestHalf(Limits::quiet_NaN()) & 0x3ff, 0);
  EXPECT_EQ(nearestHalf(-0.0f), 0x8000);
  EXPECT_EQ(nearestHalf(Limits::denorm_min()), 0);
}

TEST(FitHalves, RangeAndWhatDevicesFlush) {
  auto fit = [](const Floats &values) {
    return fitHalves(values.data(), values.size());
  };
  EXPECT_TRUE(fit({0, 0.1f, -65504}));
  EXPECT_FALSE(fit({0, 0.1f, 65505}));
  EXPECT_FALSE(fit({0.1f, Limits::infinity()}));
  EXPECT_FALSE(fit({0.1f, Limits::quiet_NaN()}));
  EXPECT_TRUE(fit({0, 0}));
  // Small beside large ones, and all that there is.
  EXPECT_TRUE(fit({1, 1e-5f}));
  EXPECT_FALSE(fit({1e-5f, 2e-5f}));
  EXPECT_FALSE(fit({0.05f, 5e-5f}));
}
