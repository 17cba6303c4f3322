//===- ComparisonTest.cpp - Whether made up times are called slower -------===//
#include "tools/nnv12-prof/Comparison.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace nnv12::prof;

namespace {

/// By trying all signs: the probability that the sum of the positive ranks of n
/// samples is at most `most`.
double probabilityOf(size_t n, size_t most) {
  size_t count = 0;
  for (uint64_t signs = 0; signs < uint64_t(1) << n; ++signs) {
    size_t sum = 0;
    for (size_t i = 0; i < n; ++i)
      sum += signs >> i & 1 ? i + 1 : 0;
    count += sum <= most;
  }
  return double(count) / double(uint64_t(1) << n);
}

/// Blocks of a model with `layers` layers of 100 us. Sessions differ by half a
/// hundredth and sometimes by much more; the first layer takes `slower` longer
/// on the second side.
struct Trial {
  Trial(std::mt19937 &random, size_t blocks, size_t layers, double slower) {
    std::normal_distribution<double> normal(0, 0.006);
    std::uniform_real_distribution<double> uniform(0, 1);
    auto noise = [&] {
      double tail = uniform(random) < 0.02 ? uniform(random) * 0.3 : 0;
      return std::exp(normal(random) + tail);
    };
    run.before.assign(blocks, 0);
    run.after.assign(blocks, 0);
    for (size_t i = 0; i < layers; ++i) {
      Series series;
      series.name = "layer" + std::to_string(i);
      for (size_t block = 0; block < blocks; ++block) {
        double factor = i == 0 ? 1 + slower : 1;
        series.before.push_back(1e5 * noise());
        series.after.push_back(1e5 * noise() * factor);
        run.before[block] += series.before.back();
        run.after[block] += series.after.back();
      }
      all.push_back(series);
    }
  }

  Comparison compare(const Limits &limits = Limits()) const {
    return nnv12::prof::compare(run, all, limits);
  }

  Series run;
  std::vector<Series> all;
};

} // namespace

TEST(FindCentre, Interval) {
  std::vector<double> samples = {5, 1, 4, 2, 3};
  // One of 32 signs leads to a sum of 0.
  Interval found = findCentre(samples, 0.04);
  EXPECT_EQ(found.estimate, 3);
  EXPECT_EQ(found.low, 1);
  EXPECT_EQ(found.high, 5);
  found = findCentre(samples, 0.03);
  EXPECT_EQ(found.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.high, std::numeric_limits<double>::infinity());
  // Two of 32: sums of 0 and 1.
  EXPECT_EQ(findCentre(samples, 0.07).low, 1.5);
  EXPECT_EQ(findCentre({7}, 0.1).estimate, 7);
}

/// Against all signs of samples without ties.
TEST(FindCentre, RiskIsKept) {
  for (size_t n : {6, 11, 16}) {
    // Means of pairs of powers are all different.
    std::vector<double> samples;
    for (size_t i = 0; i < n; ++i)
      samples.push_back(std::pow(3.0, double(i)));
    std::vector<double> means;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = i; j < n; ++j)
        means.push_back((samples[i] + samples[j]) / 2);
    std::sort(means.begin(), means.end());
    for (double risk : {0.001, 0.01, 0.1}) {
      Interval found = findCentre(samples, risk);
      if (std::isinf(found.low)) {
        EXPECT_GT(probabilityOf(n, 0), risk);
        continue;
      }
      size_t rank = size_t(std::find(means.begin(), means.end(), found.low) -
                           means.begin());
      EXPECT_LE(probabilityOf(n, rank), risk);
      EXPECT_GT(probabilityOf(n, rank + 1), risk);
      EXPECT_EQ(found.high, means[means.size() - 1 - rank]);
    }
  }
}

/// Even if everything that can be told from noise counts.
TEST(Comparison, FalseAlarms) {
  std::mt19937 random(1);
  Limits limits;
  limits.run = limits.layer = 0;
  limits.risk = 0.05;
  int slower = 0, trials = 2000;
  for (int i = 0; i < trials; ++i)
    slower += Trial(random, 30, 10, 0).compare(limits).isSlower();
  EXPECT_LT(slower, 0.05 * trials * 1.25);
  // Much less often would be to see nothing.
  EXPECT_GT(slower, 0.005 * trials);
}

TEST(Comparison, PlantedSlowdownIsFound) {
  std::mt19937 random(2);
  int found = 0, wrong = 0, trials = 300;
  for (int i = 0; i < trials; ++i) {
    Comparison comparison = Trial(random, 30, 10, 0.03).compare();
    found += comparison.layers[0].verdict == Verdict::Slower;
    for (size_t j = 1; j < comparison.layers.size(); ++j)
      wrong += comparison.layers[j].verdict != Verdict::Same;
    // The run's difference is less than the budget.
    EXPECT_EQ(comparison.run.verdict, Verdict::Same);
    EXPECT_NEAR(comparison.layers[0].ratio.estimate, 1.03, 0.03);
  }
  EXPECT_GE(found, 0.95 * trials);
  EXPECT_LE(wrong, 2);
}

TEST(Comparison, SidesSwapped) {
  std::mt19937 random(3);
  Trial trial(random, 20, 3, 0.1);
  Comparison one = trial.compare();
  std::swap(trial.run.before, trial.run.after);
  for (Series &series : trial.all)
    std::swap(series.before, series.after);
  Comparison other = trial.compare();
  EXPECT_EQ(one.layers[0].verdict, Verdict::Slower);
  EXPECT_EQ(other.layers[0].verdict, Verdict::Faster);
  EXPECT_TRUE(one.isSlower());
  EXPECT_FALSE(other.isSlower());
  EXPECT_NEAR(one.layers[0].ratio.estimate * other.layers[0].ratio.estimate, 1,
              1e-9);
  EXPECT_NEAR(one.layers[0].ratio.low * other.layers[0].ratio.high, 1, 1e-9);
}

/// A run that is slower by more than its budget, in layers that are not.
TEST(Comparison, Run) {
  std::mt19937 random(4);
  Trial trial(random, 20, 3, 0);
  for (double &time : trial.run.after)
    time *= 1.05;
  EXPECT_EQ(trial.compare().run.verdict, Verdict::Slower);
  EXPECT_TRUE(trial.compare().isSlower());
  Limits generous;
  generous.run = 0.1;
  EXPECT_FALSE(trial.compare(generous).isSlower());
}

TEST(Comparison, WhatIsNotJudged) {
  std::vector<double> ones(20, 1e6), small(20, 15e3), other(20, 30e3);
  std::vector<Series> layers = {{"small", small, other},
                                {"smaller", small, small},
                                {"gone", ones, {}},
                                {"new", {}, ones},
                                {"nothing", {}, {}}};
  Comparison found = compare({"run", ones, ones}, layers, Limits());
  EXPECT_EQ(found.layers[0].verdict, Verdict::Slower);
  EXPECT_EQ(found.layers[1].verdict, Verdict::Small);
  EXPECT_EQ(found.layers[2].verdict, Verdict::OnlyBefore);
  EXPECT_EQ(found.layers[3].verdict, Verdict::OnlyAfter);
  EXPECT_EQ(found.layers[3].after, 1e6);
  // A fiftieth of a run of 2 ms is more than that.
  std::vector<double> longer(20, 2e6);
  EXPECT_EQ(
      compare({"run", longer, longer}, layers, Limits()).layers[0].verdict,
      Verdict::Small);
}

/// Too few blocks tell nothing, and say so.
TEST(Comparison, FewBlocks) {
  Comparison found = compare({"run", {1e6, 1e6}, {2e6, 2e6}}, {}, Limits());
  EXPECT_EQ(found.run.verdict, Verdict::Same);
  EXPECT_TRUE(std::isinf(found.run.ratio.high));
  EXPECT_EQ(found.run.ratio.low, 0);
}
