//===- RangeTest.cpp - Which values 8 bits stand for ----------------------===//

#include "compiler/calibrate/Range.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace nnv12::calibrate;

namespace {

Histogram histogramOf(const std::vector<float> &values) {
  Histogram histogram;
  histogram.add(values.data(), values.size());
  return histogram;
}

/// As a layer's results often are: a bell, with few values far outside.
std::vector<float> withOutliers() {
  std::mt19937 random(1);
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i) {
    double sum = 0;
    for (int k = 0; k < 12; ++k)
      sum += double(random()) / double(std::mt19937::max());
    values.push_back(float(sum - 6));
  }
  values.insert(values.end(), {60, -40});
  return values;
}

double errorOf(const std::vector<float> &values, const Range &range,
               size_t count) {
  Grid grid = gridOf(range);
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += std::pow(rounded(values[i], grid) - values[i], 2);
  return sum;
}

} // namespace

TEST(Range, MinMax) {
  Range range = rangeOf(histogramOf({-1, 3, 2}), {});
  EXPECT_EQ(range.least, -1);
  EXPECT_EQ(range.most, 3);
  // 0 is in each.
  range = rangeOf(histogramOf({2, 3}), {});
  EXPECT_EQ(range.least, 0);
  range = rangeOf(histogramOf({-2, -3}), {});
  EXPECT_EQ(range.most, 0);
  range = rangeOf(Histogram(), {});
  EXPECT_EQ(range.least, 0);
  EXPECT_EQ(range.most, 0);
}

TEST(Range, PercentileLeavesOutBothEnds) {
  std::vector<float> values;
  for (int i = -1000; i < 3000; ++i)
    values.push_back(float(i) / 1000);
  Histogram histogram = histogramOf(values);
  for (double percent : {90.0, 99.0, 100.0}) {
    Range range = rangeOf(histogram, {RangeMethod::Kind::Percentile, percent});
    size_t inside = 0;
    for (float x : values)
      inside += x >= range.least && x <= range.most;
    EXPECT_GE(double(inside), double(values.size()) * percent / 100);
    EXPECT_NEAR(range.least, -1 + 4 * (1 - percent / 100) / 2,
                histogram.width() + 1e-3);
    EXPECT_NEAR(range.most, 3 - 4 * (1 - percent / 100) / 2,
                histogram.width() + 1e-3);
  }
}

/// Both methods give up outliers for finer steps of all else.
TEST(Range, OutliersCostLittle) {
  std::vector<float> values = withOutliers();
  size_t bell = values.size() - 2;
  Histogram histogram = histogramOf(values);
  Range all = rangeOf(histogram, {});
  for (auto kind :
       {RangeMethod::Kind::Percentile, RangeMethod::Kind::Entropy}) {
    Range range = rangeOf(histogram, {kind, 99.99});
    EXPECT_LT(range.most, 20);
    EXPECT_GT(range.least, -20);
    EXPECT_LT(errorOf(values, range, bell), errorOf(values, all, bell) / 10);
  }
}

TEST(Range, EntropyKeepsAllOfEvenValues) {
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i)
    values.push_back(float(i % 1024) / 1024);
  Range range = rangeOf(histogramOf(values), {RangeMethod::Kind::Entropy, 0});
  EXPECT_GT(range.most, 0.98);
  EXPECT_EQ(range.least, 0);
}

/// Few bins have values: there is nothing to shrink.
TEST(Range, EntropyOfFewValues) {
  Range range =
      rangeOf(histogramOf({0, 0.5f, 1}), {RangeMethod::Kind::Entropy, 0});
  EXPECT_GE(range.most, 0.5);
  EXPECT_LE(range.most, 1);
}

TEST(Range, GridsHaveZero) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    double a = double(random()) / 1e9, b = double(random()) / 1e9;
    Range range{i % 3 ? -a : 0, i % 5 ? b : 0};
    Grid grid = gridOf(range);
    EXPECT_EQ(rounded(0, grid), 0);
    if (range.least == range.most)
      continue;
    for (double x : {range.least, range.most, range.most / 3, range.least / 7})
      EXPECT_LE(std::fabs(double(rounded(float(x), grid)) - x),
                0.51 * double(grid.scale) + 1e-6 * std::fabs(x));
    // Others become the nearer bound.
    EXPECT_EQ(rounded(1e9f, grid), float(255 - grid.zero) * grid.scale);
    EXPECT_EQ(rounded(-1e9f, grid), -float(grid.zero) * grid.scale);
  }
  EXPECT_EQ(gridOf({0, 0}), (Grid{1, 0}));
  EXPECT_EQ(gridOf({0, 1e-40}), (Grid{1, 0}));
}

TEST(RangeMethod, Parse) {
  EXPECT_EQ(RangeMethod::parse("min-max")->kind, RangeMethod::Kind::MinMax);
  EXPECT_EQ(RangeMethod::parse("entropy")->kind, RangeMethod::Kind::Entropy);
  EXPECT_EQ(RangeMethod::parse("percentile")->percent, 99.99);
  EXPECT_EQ(RangeMethod::parse("percentile:99.9")->percent, 99.9);
  EXPECT_EQ(RangeMethod::parse("percentile:100")->percent, 100);
  for (const char *text :
       {"", "max", "percentile:", "percentile:50", "percentile:101",
        "percentile:9x", "percentile9", "percentile:nan", "entropy:1"})
    EXPECT_FALSE(RangeMethod::parse(text)) << text;
}

/// The squares that are lost are about the least ones of all ranges; of values
/// that were cut off at zero before, too.
TEST(Range, SquaredErrorIsTheLeast) {
  for (bool isCutOff : {false, true}) {
    std::vector<float> values = withOutliers();
    if (isCutOff)
      for (float &x : values)
        x = std::max(x, 0.0f);
    Histogram histogram = histogramOf(values);
    Range whole = rangeOf(histogram, {});
    Range found = rangeOf(histogram, {RangeMethod::Kind::SquaredError});
    double least = errorOf(values, whole, values.size());
    for (int low = 1; low <= 16; ++low)
      for (int high = 1; high <= 16; ++high)
        least = std::min(
            least,
            errorOf(values, {whole.least * low / 16, whole.most * high / 16},
                    values.size()));
    EXPECT_LE(errorOf(values, found, values.size()), 1.01 * least);
    EXPECT_EQ(found.least == 0, isCutOff);
  }
}
