//===- RoundingTest.cpp - Floats that fewer bits hold nearly --------------===//

#include "compiler/weights/Rounding.h"

#include "compiler/weights/Exact.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace nnv12;

namespace {

using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

/// By the definition of the format.
double valueOf(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double magnitude = exponent ? std::ldexp(1024 + fraction, exponent - 25)
                              : std::ldexp(fraction, -24);
  return half >> 15 ? -magnitude : magnitude;
}

std::optional<float> scaleOf(const Floats &values) {
  return nearScale(values.data(), values.size());
}

/// Brute force: the least squared difference of any integer's multiple.
double squaredError(const Floats &values, float scale) {
  double sum = 0;
  for (float value : values) {
    double least = std::numeric_limits<double>::infinity();
    for (int q = -127; q <= 127; ++q) {
      double difference = double(float(q) * scale) - value;
      least = std::min(least, difference * difference);
    }
    sum += least;
  }
  return sum;
}

/// Tries many scales, which lie close together.
double leastError(const Floats &values) {
  float largest = 0;
  for (float value : values)
    largest = std::fmax(largest, std::fabs(value));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= 400; ++i)
    least =
        std::min(least, squaredError(values, largest / 127 * float(i) / 390));
  return least;
}

Floats channel(unsigned count, const std::function<double()> &draw) {
  Floats values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(float(draw()));
  return values;
}

} // namespace

TEST(Rounding, HalvesAreTheNearest) {
  std::mt19937 random(1);
  auto check = [](float value) {
    // Two halves may be as near: the even one counts.
    double nearest = valueOf(0), distance = std::fabs(value);
    for (unsigned half = 0; half < 0x7c00; ++half) {
      double found = valueOf(half);
      double difference = std::fabs(found - std::fabs(double(value)));
      if (difference < distance || (difference == distance && half % 2 == 0)) {
        nearest = found;
        distance = difference;
      }
    }
    float found = nearestHalfAsFloat(value);
    ASSERT_EQ(std::fabs(found), nearest) << value;
    ASSERT_EQ(std::signbit(found), std::signbit(value)) << value;
    ASSERT_TRUE(exactHalf(found)) << value;
    ASSERT_EQ(*exactHalf(found), nearestHalf(value)) << value;
  };
  for (float value : {0.0f, -0.0f, 65504.0f, -65504.0f, 6.1e-5f, 6.0e-5f,
                      2.98e-8f, 1e-30f, 1.0f, 2049.0f, 2051.0f, 0.1f})
    check(value);
  for (int i = 0; i < 300; ++i)
    check(
        std::ldexp(float(random() % 4096) / 2048 - 1, int(random() % 40) - 25));
}

TEST(Rounding, MultiplesAreTheNearest) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 2000; ++i) {
    auto scale = float(std::exp(5 * normal(random)));
    auto value = float(60 * normal(random) * scale);
    float found = nearestMultiple(value, scale);
    double difference = double(found) - value;
    ASSERT_LE(difference * difference,
              squaredError({value}, scale) * (1 + 1e-6));
    ASSERT_FALSE(found == 0 && std::signbit(found));
  }
}

TEST(Rounding, ScalesAreCloseToTheBest) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform(-1, 1);
  const std::function<double()> draws[] = {
      [&] { return normal(random); }, [&] { return uniform(random); },
      [&] { return exponential(random) * (random() % 2 ? 1 : -1); },
      [&] { return double(int(random() % 5)) - 2; },
      [&] { return random() % 2 ? 0 : normal(random); }};
  for (const auto &draw : draws)
    for (unsigned count : {1u, 2u, 9u, 25u, 64u, 576u}) {
      Floats values = channel(count, draw);
      std::optional<float> scale = scaleOf(values);
      ASSERT_TRUE(scale);
      double plain = 0;
      for (float value : values)
        plain = std::fmax(plain, std::fabs(value));
      double error = squaredError(values, *scale);
      EXPECT_LE(error, squaredError(values, float(plain / 127)) + 1e-12);
      // The best of few values is a matter of chance.
      double most = count < 64 ? 20 : 1.3;
      EXPECT_LE(error, most * leastError(values) + 1e-12) << count;
    }
}

TEST(Rounding, MultiplesAreFoundAgain) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 3000; ++i) {
    // All magnitudes are there, from denormals to infinity.
    double size = std::exp2(double(int(random() % 240)) - 115);
    Floats values =
        channel(1 + random() % 40, [&] { return size * normal(random); });
    std::optional<float> scale = scaleOf(values);
    ASSERT_TRUE(scale);
    for (float &value : values)
      value = nearestMultiple(value, *scale);
    std::optional<float> found = exactScale(values.data(), values.size());
    ASSERT_TRUE(found) << i;
    for (float value : values)
      ASSERT_EQ(float(quantized(value, *found)) * *found, value);
  }
}

TEST(Rounding, SomeChannelsHaveNoScale) {
  EXPECT_FALSE(scaleOf({1, Limits::infinity()}));
  EXPECT_FALSE(scaleOf({Limits::quiet_NaN(), 1}));
  EXPECT_FALSE(scaleOf({1e-37f, 2e-38f}));
  EXPECT_EQ(scaleOf({0, 0, -0.0f}), 1.0f);
  EXPECT_EQ(nearestMultiple(-0.0f, 1.0f), 0);
  EXPECT_FALSE(std::signbit(nearestMultiple(-0.2f, 1.0f)));
}

/// All halves, finite ones.
static std::vector<double> allHalves() {
  std::vector<double> all;
  for (unsigned half = 0; half < 0x7c00; ++half) {
    all.push_back(valueOf(uint16_t(half)));
    all.push_back(valueOf(uint16_t(half | 0x8000)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Rounding, NeighboursAreOnBothSides) {
  std::mt19937 random(3);
  std::vector<double> halves = allHalves();
  auto checkHalves = [&](float value) {
    Neighbours found = halvesAround(value);
    auto above = std::lower_bound(halves.begin(), halves.end(), double(value));
    EXPECT_EQ(found.near, nearestHalfAsFloat(value)) << value;
    if (above == halves.end() || *above == value) {
      EXPECT_EQ(found.other, found.near) << value;
      return;
    }
    double below = above == halves.begin() ? *above : *(above - 1);
    EXPECT_EQ(found.other, float(found.near < value ? *above : below)) << value;
  };
  for (int exponent = -26; exponent < 16; ++exponent)
    for (int i = 0; i < 200; ++i) {
      float value = std::ldexp(1 + float(random() % 65536) / 65536, exponent);
      if (value > 65504)
        continue;
      checkHalves(value);
      checkHalves(-value);
      checkHalves(std::nextafter(std::ldexp(1.0f, exponent), 0.0f));
      checkHalves(std::ldexp(1.0f, exponent));
    }
  checkHalves(0);
  checkHalves(65504);
  checkHalves(65503);
  const float scale = 0.37f;
  for (int i = -140; i <= 140; ++i)
    for (float part : {0.0f, 0.3f, 0.5f, 0.7f}) {
      float value = (float(i) + part) * scale;
      Neighbours found = multiplesAround(value, scale);
      EXPECT_EQ(found.near, nearestMultiple(value, scale));
      int near = int(std::lround(found.near / scale)),
          other = int(std::lround(found.other / scale));
      EXPECT_EQ(found.other, float(other) * scale);
      if (found.near == value || (near == 127 && value > found.near) ||
          (near == -127 && value < found.near))
        EXPECT_EQ(other, near) << value;
      else
        EXPECT_EQ(other, near + (found.near < value ? 1 : -1)) << value;
    }
}

/// Brute force: all subsets that take the other neighbours.
TEST(Rounding, SumsAreKeptAtTheLeastError) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> draw(-40, 40);
  for (unsigned round = 0; round < 300; ++round) {
    size_t count = 1 + random() % 9;
    Floats values = channel(unsigned(count), [&] { return draw(random); });
    std::vector<Neighbours> around;
    for (float value : values)
      around.push_back(multiplesAround(value, 1));
    Floats rounded(count);
    roundKeepingSum(values.data(), around.data(), rounded.data(), count);
    auto errorsOf = [&](auto &&numberAt) {
      double sum = 0, squares = 0;
      for (size_t i = 0; i < count; ++i) {
        double difference = double(numberAt(i)) - values[i];
        sum += difference;
        squares += difference * difference;
      }
      return std::pair(std::fabs(sum), squares);
    };
    auto found = errorsOf([&](size_t i) { return rounded[i]; });
    std::pair<double, double> best(1e9, 1e9);
    for (unsigned subset = 0; subset < 1u << count; ++subset) {
      auto errors = errorsOf([&](size_t i) {
        return subset >> i & 1 ? around[i].other : around[i].near;
      });
      if (errors.first < best.first - 1e-5 ||
          (errors.first < best.first + 1e-5 && errors.second < best.second))
        best = errors;
    }
    EXPECT_NEAR(found.first, best.first, 1e-5) << "round " << round;
    EXPECT_NEAR(found.second, best.second, 1e-5) << "round " << round;
    for (size_t i = 0; i < count; ++i)
      EXPECT_TRUE(rounded[i] == around[i].near ||
                  rounded[i] == around[i].other);
  }
}
