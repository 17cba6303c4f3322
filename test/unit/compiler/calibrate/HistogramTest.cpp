//===- HistogramTest.cpp - Counts of values, in any order -----------------===//

#include "compiler/calibrate/Histogram.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using nnv12::calibrate::Histogram;

namespace {

/// Zeros, and numbers of many magnitudes and both signs.
std::vector<float> someValues(unsigned seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    float x = float(random()) / float(1u << 31) - 1;
    values.push_back(i % 7 ? std::ldexp(x, int(random() % 20) - 10) : 0);
  }
  return values;
}

} // namespace

TEST(Histogram, EachValueIsInItsBin) {
  std::vector<float> values = someValues(1, 5000);
  Histogram histogram;
  histogram.add(values.data(), values.size());
  std::vector<uint64_t> expected(Histogram::bins, 0);
  float most = 0;
  for (float x : values) {
    most = std::max(most, std::fabs(x));
    for (size_t i = 0; i < Histogram::bins; ++i)
      expected[i] += x >= histogram.begin(i) && x < histogram.begin(i + 1);
  }
  EXPECT_EQ(histogram.counts(), expected);
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_GT(histogram.limit(), most);
  EXPECT_LE(histogram.limit(), 2 * most) << "bins are as small as they can be";
  EXPECT_EQ(histogram.least(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.most(), *std::max_element(values.begin(), values.end()));
}

TEST(Histogram, OrderAndPartsDoNotMatter) {
  std::vector<float> values = someValues(2, 3000);
  Histogram whole, parts;
  whole.add(values.data(), values.size());
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); i += 100)
    parts.add(values.data() + i, 100);
  EXPECT_EQ(whole.counts(), parts.counts());
  EXPECT_EQ(whole.limit(), parts.limit());
}

TEST(Histogram, NotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  float values[] = {1, infinity, -infinity, std::nanf(""), -2};
  Histogram histogram;
  histogram.add(values, 5);
  EXPECT_EQ(histogram.notFinite(), 3u);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.least(), -2);
  EXPECT_EQ(histogram.most(), 1);
}

TEST(Histogram, ZerosAlone) {
  float zeros[3] = {};
  Histogram histogram;
  histogram.add(zeros, 3);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_EQ(histogram.counts()[Histogram::bins / 2], 3u);
}

TEST(Histogram, FromCounts) {
  std::vector<float> values = someValues(3, 1000);
  Histogram from;
  from.add(values.data(), values.size());
  std::vector<uint64_t> some(from.counts().begin() + 5, from.counts().end());
  Histogram again(from.limit(), 5, some, from.least(), from.most());
  for (size_t i = 5; i < Histogram::bins; ++i)
    EXPECT_EQ(again.counts()[i], from.counts()[i]);
  EXPECT_EQ(again.limit(), from.limit());
  EXPECT_EQ(again.least(), from.least());
}
