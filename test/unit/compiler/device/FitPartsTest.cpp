//===- FitPartsTest.cpp - The cost of parts of layers ---------------------===//

#include "artifact/TuningParts.h"
#include "compiler/device/CostModel.h"
#include "compiler/device/Fit.h"

#include <gtest/gtest.h>

#include <random>

using namespace nnv12::device;
using nnv12::artifact::frontKey;
using nnv12::artifact::partHasAllWeights;
using nnv12::artifact::partLayer;
using nnv12::artifact::partName;
using nnv12::artifact::partShare;
using nnv12::artifact::wholeKey;

static DeviceProfile cpuOfParts() {
  DeviceProfile p;
  p.big = {"big", 4, 100, 10};
  p.threadScaling = 0.8;
  p.efficiency = {{"", {0.5, 0.5, 1}},
                  {"conv", {0.5, 0.5, 4}},
                  {"conv.direct", {0.5, 0.5, 2}}};
  return p;
}

/// Parts of 20 kernels of each routine: a quarter, a half and three quarters of
/// up to 32 tiles. Their times are those of `truth`, with noise.
static std::vector<PartSample> sampleParts(const DeviceProfile &truth,
                                           double noise) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> whole(0.02, 2);
  std::normal_distribution<double> relative(1, noise);
  std::vector<PartSample> parts;
  for (std::string routine : {"conv.direct.nChw16c", "conv.gemm", "matmul"})
    for (unsigned kernel = 0; kernel < 20; ++kernel)
      for (unsigned threads : {1, 2, 4}) {
        unsigned tiles = 8 + random() % 25;
        double time = whole(random);
        for (unsigned quarter : {1, 2, 3}) {
          double left = std::floor(tiles * quarter / 4.0);
          LayerPart of;
          of.whole = time;
          of.wholeTiles = tiles;
          of.share = left / tiles;
          of.ranges = {left - 1, 1};
          PartSample part = {routine + std::to_string(kernel), routine, of,
                             threads};
          part.median =
              partCost(truth, routine, of, threads) * relative(random);
          part.p10 = part.median * 0.99;
          part.p90 = part.median * 1.01;
          parts.push_back(part);
        }
      }
  return parts;
}

TEST(FitParts, recoversOverheads) {
  DeviceProfile truth = cpuOfParts(), profile = cpuOfParts();
  truth.efficiency["conv.direct"].part = 6;
  truth.efficiency["conv"].part = 12;
  std::vector<PartSample> parts = sampleParts(truth, 0);
  HeldOut held = fitAndHoldOutParts(profile, parts);
  EXPECT_NEAR(profile.efficiency["conv.direct"].part, 6, 1e-9);
  EXPECT_NEAR(profile.efficiency["conv"].part, 12, 1e-9);
  EXPECT_NEAR(profile.efficiency[""].part, 0, 1e-9);
  EXPECT_EQ(held.sum.all, parts.size());
  EXPECT_EQ(held.sum.good, held.sum.all);
  EXPECT_EQ(held.byRoutine.at("matmul x 4").all, 60u);
  // Again: the same, whatever it was before.
  profile.efficiency["conv"].part = 100;
  fitParts(profile, parts);
  EXPECT_NEAR(profile.efficiency["conv"].part, 12, 1e-9);
}

TEST(FitParts, heldOutPartsArePredicted) {
  DeviceProfile truth = cpuOfParts(), profile = cpuOfParts();
  truth.efficiency["conv.direct"].part = 6;
  std::vector<PartSample> parts = sampleParts(truth, 0.04);
  HeldOut held = fitAndHoldOutParts(profile, parts);
  EXPECT_GE(held.sum.good, 0.9 * held.sum.all);
  EXPECT_LT(held.error, 0.05);
  // Other times are not predicted.
  for (size_t i = 0; i < parts.size(); ++i)
    for (double *time : {&parts[i].median, &parts[i].p10, &parts[i].p90})
      *time *= i % 2 ? 1.5 : 0.5;
  EXPECT_LT(fitAndHoldOutParts(profile, parts).sum.good, 0.3 * held.sum.all);
}

TEST(FitParts, nothingMeasured) {
  DeviceProfile profile = cpuOfParts();
  HeldOut held = fitAndHoldOutParts(profile, {});
  EXPECT_EQ(held.sum.all, 0u);
  EXPECT_EQ(held.error, 0);
  EXPECT_EQ(profile.efficiency["conv"].part, 0);
}

/// Parts that are faster than their share of the whole need no overhead.
TEST(FitParts, noOverheadBelowZero) {
  DeviceProfile profile = cpuOfParts();
  LayerPart half;
  half.whole = 1;
  half.wholeTiles = 8;
  half.share = 0.5;
  half.ranges = {4};
  fitParts(profile, {{"layer", "matmul", half, 1, 0.4, 0.4, 0.4}});
  EXPECT_EQ(profile.efficiency[""].part, 0);
}

static GpuProfile gpuOfSteps() {
  GpuProfile gpu;
  gpu.units = 16;
  gpu.memoryGBps = 500;
  gpu.cacheMB = 50;
  gpu.efficiency = {{"", {2, 0.1, 1, 0.25, 1, 0.2}}};
  return gpu;
}

static Sample sampleOfGroups(double groups, const std::string &key,
                             double median) {
  Sample sample;
  sample.facts.routine = "gpu.conv.gemm.16x4";
  sample.facts.key = key;
  sample.facts.tiles = groups;
  sample.facts.steps = 64;
  sample.median = median;
  sample.p10 = sample.p90 = median;
  return sample;
}

/// A front of as many groups as keep one unit busy takes as long as one group.
TEST(PredictFronts, goesInStepsOfGroups) {
  GpuProfile gpu = gpuOfSteps();
  auto good = [&](double groups, double median) {
    return predictFronts(
               gpu, {sampleOfGroups(64, "k", 2 + 4 * 17)},
               {sampleOfGroups(groups, frontKey("k", "rows", 7), median)})
        .sum.good;
  };
  EXPECT_TRUE(good(1, 2 + 17));
  EXPECT_TRUE(good(16, 2 + 17));
  EXPECT_FALSE(good(17, 2 + 17));
  EXPECT_TRUE(good(17, 2 + 2 * 17));
  EXPECT_TRUE(good(33, 2 + 3 * 17));
  EXPECT_TRUE(good(64, 2 + 4 * 17));
}

/// A kernel that is slower than its kind is slower in parts.
TEST(PredictFronts, asTheWholeWasMeasured) {
  GpuProfile gpu = gpuOfSteps();
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.04);
  std::vector<Sample> wholes, fronts;
  auto time = [](double groups) { return 2 + std::ceil(groups / 16) * 17; };
  for (unsigned i = 0; i < 100; ++i) {
    std::string key = "k" + std::to_string(i);
    double slower = 0.5 + i % 7 * 0.3, groups = 16 + random() % 500;
    wholes.push_back(sampleOfGroups(groups, key, time(groups) * slower));
    for (unsigned quarter : {1, 2, 3}) {
      double front = std::ceil(groups * quarter / 4);
      fronts.push_back(sampleOfGroups(front, frontKey(key, "channels", quarter),
                                      time(front) * slower * noise(random)));
    }
  }
  HeldOut held = predictFronts(gpu, wholes, fronts);
  EXPECT_EQ(held.sum.all, fronts.size());
  EXPECT_GE(held.sum.good, 0.9 * held.sum.all);
  // Without the whole layer's time nothing is asked.
  EXPECT_EQ(predictFronts(gpu, {}, fronts).sum.all, 0u);
  // Weights in memory are another kernel.
  for (Sample &whole : wholes)
    whole.facts.fromMemory = true;
  EXPECT_EQ(predictFronts(gpu, wholes, fronts).sum.all, 0u);
}

TEST(TuningParts, namesAreReadBack) {
  EXPECT_DOUBLE_EQ(partShare(partName("conv1", "rows", 14, 56)), 0.75);
  EXPECT_EQ(partName("conv1", "rows", 14, 56), "from 14 of 56 rows of conv1");
  for (const char *name :
       {"", "conv1", "from x of 56 rows", "from 0 of 56 rows",
        "from 56 of 56 rows", "from 57 of 56 rows"})
    EXPECT_EQ(partShare(name), 0) << name;
  EXPECT_EQ(partLayer(partName("a of b", "rows", 1, 2)), "a of b");
  EXPECT_TRUE(partHasAllWeights(partName("a", "rows", 1, 2)));
  EXPECT_TRUE(partHasAllWeights(partName("1 channels of x", "rows", 1, 2)));
  EXPECT_FALSE(partHasAllWeights(partName("a", "channels", 16, 32)));
  EXPECT_EQ(wholeKey(frontKey("k", "rows", 3)), "k");
  EXPECT_EQ(wholeKey("k"), "");
}
