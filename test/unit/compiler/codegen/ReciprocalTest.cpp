//===- ReciprocalTest.cpp - Quantizing by products and by divisions -------===//

#include "compiler/codegen/common/Reciprocal.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

using namespace nnv12::codegen;

namespace {

float divided(float x, float scale, int least, int most) {
  float quotient = std::nearbyint(x / scale);
  return std::fmin(std::fmax(quotient, float(least)), float(most));
}

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// Scales as quantisers make them: any mantissa, powers of two, 1 / 255.
float someScale(std::mt19937 &random) {
  switch (random() % 4) {
  case 0:
    return std::ldexp(1.0f, int(random() % 40) - 20);
  case 1:
    return float(random() % 1000 + 1) / 255;
  default:
    return std::ldexp(1 + float(random() % (1 << 23)) / (1 << 23),
                      int(random() % 60) - 30);
  }
}

} // namespace

TEST(Reciprocal, IsTheDivisionOfAllNumbers) {
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    float scale = someScale(random);
    int zero = int(random() % 256);
    auto r = reciprocalOf(scale, -zero, 255 - zero);
    if (!r)
      continue;
    ++found;
    // Each number whose quotient is near the middle of two integers, any
    // numbers of that size, any numbers at all.
    for (int j = 0; j < 2000; ++j) {
      float middle = float(int(random() % 300) - 150 - zero) + 0.5f;
      float x = middle * scale;
      uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      for (float y : {fromBits(bits + random() % 17 - 8),
                      (float(random() % 10000) / 10 - 500) * scale,
                      fromBits(uint32_t(random()))}) {
        if (y != y)
          continue;
        ASSERT_EQ(r->rounded(y), divided(y, scale, -zero, 255 - zero))
            << y << " / " << scale << ", zero point " << zero;
      }
    }
  }
  // It is a rare scale that has none.
  EXPECT_GE(found, 198);
}

TEST(Reciprocal, SixteenBits) {
  std::mt19937 random(2);
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    float scale = someScale(random);
    auto r = reciprocalOf(scale, -32768, 32767);
    if (!r)
      continue;
    ++found;
    for (int j = 0; j < 20000; ++j) {
      float x = (float(int(random() % 65536) - 32768) + 0.5f) * scale;
      ASSERT_EQ(r->rounded(x), divided(x, scale, -32768, 32767));
    }
  }
  EXPECT_GE(found, 15);
}

TEST(Reciprocal, Limits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto r = reciprocalOf(0.05f, -128, 127);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->rounded(infinity), 127);
  EXPECT_EQ(r->rounded(-infinity), -128);
  EXPECT_EQ(r->rounded(3e38f), 127);
  EXPECT_EQ(r->rounded(1e-44f), 0);
  for (float scale : {0.0f, -1.0f, 1e-30f, 1e30f, infinity,
                      std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(reciprocalOf(scale, -128, 127)) << scale;
}

/// A product alone is another step function.
TEST(Reciprocal, OneProductIsNotEnough) {
  float scale = 0.05f;
  int different = 0;
  for (int i = -128; i < 127; ++i) {
    float x = (float(i) + 0.5f) * scale;
    for (int j = 0; j < 4; ++j, x = std::nextafter(x, 100.0f))
      different += std::nearbyint(x * (1 / scale)) != std::nearbyint(x / scale);
  }
  EXPECT_GT(different, 0);
}
