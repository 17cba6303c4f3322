//===- CostModelTest.cpp - Measured and predicted times -------------------===//

#include "compiler/device/Fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace nnv12;
using namespace nnv12::device;

static DeviceProfile sampleCosts() {
  DeviceProfile p;
  p.name = "sample";
  p.big = {"big", 4, 100, 10};
  p.little = {"little", 4, 20, 2};
  p.threadScaling = 0.5;
  p.efficiency = {{"", {0.5, 0.5, 10}}};
  return p;
}

TEST(Cost, predicted) {
  DeviceProfile p = sampleCosts();
  // 2 * 25e6 / (0.5 * 100e9) s = 1 ms, and 10 us.
  KernelFacts compute = {{25e6, 0}, "conv", "", 1000};
  EXPECT_DOUBLE_EQ(cost(p, compute, 1).milliseconds, 1.01);
  EXPECT_FALSE(cost(p, compute, 1).measured);
  EXPECT_DOUBLE_EQ(littleCost(p, compute).milliseconds, 5.05);
  // 10e6 / (0.5 * 10e9) s = 2 ms.
  KernelFacts memory = {{25e6, 10e6}, "conv", "", 1000};
  EXPECT_DOUBLE_EQ(cost(p, memory, 1).milliseconds, 2.01);
  EXPECT_DOUBLE_EQ(littleCost(p, memory).milliseconds, 10.05);
  // Without little cores a preparation lane is a big one.
  p.little.count = 0;
  EXPECT_DOUBLE_EQ(littleCost(p, memory).milliseconds, 2.01);
}

TEST(Cost, threadsAndTiles) {
  DeviceProfile p = sampleCosts();
  EXPECT_EQ(speedup(p, 1, 100), 1);
  EXPECT_EQ(speedup(p, 3, 99), 2); // 1 + 2 * 0.5
  EXPECT_EQ(speedup(p, 0, 99), 1);
  EXPECT_EQ(speedup(p, 16, 100), 2.5); // four cores
  EXPECT_EQ(speedup(p, 4, 1), 1);
  EXPECT_EQ(speedup(p, 4, 2), 1.5);
  EXPECT_EQ(speedup(p, 2, 3), 1.5 * 0.75); // the second round has one tile
  KernelFacts kernel = {{25e6, 0}, "conv", "", 99};
  EXPECT_DOUBLE_EQ(cost(p, kernel, 3).milliseconds, 0.51);
}

/// A part that is `share` of as many tiles of a layer.
static LayerPart partOf(double whole, double wholeTiles, double share) {
  LayerPart part;
  part.whole = whole;
  part.wholeTiles = wholeTiles;
  part.share = share;
  part.ranges = {share * wholeTiles};
  return part;
}

TEST(Cost, ofParts) {
  DeviceProfile p = sampleCosts();
  p.efficiency["conv"] = {0.5, 0.5, 20};
  auto cost = [&](const LayerPart &part, unsigned threads) {
    return partCost(p, "conv.direct", part, threads);
  };
  // 0.02 ms of 4.02 do not get less.
  EXPECT_DOUBLE_EQ(cost(partOf(4.02, 8, 1), 1), 4.02);
  EXPECT_DOUBLE_EQ(cost(partOf(4.02, 8, 0.25), 1), 1.02);
  // Eight tiles take two threads 4 and 3 / 4 rounds, four of them 2 and 3 / 4.
  p.big.count = 2;
  EXPECT_DOUBLE_EQ(cost(partOf(4.02, 8, 1), 2), 4.02);
  EXPECT_DOUBLE_EQ(cost(partOf(4.02, 8, 0.5), 2), 0.02 + 4 * 2.75 / 4.75);
  // The same in two ranges: threads wait for each other twice.
  LayerPart two = partOf(4.02, 8, 0.5);
  two.ranges = {2, 2};
  EXPECT_DOUBLE_EQ(cost(two, 2), 0.02 + 4 * 3.5 / 4.75);
  EXPECT_DOUBLE_EQ(cost(two, 1), 2.02);
  // The last tile is half as large as the others.
  LayerPart small = partOf(4.02, 8, 1);
  small.ranges = {1};
  small.share = 1.0 / 15;
  EXPECT_DOUBLE_EQ(cost(small, 1), 0.02 + 4.0 / 15);
  // A layer of less than its overhead has no other time.
  EXPECT_DOUBLE_EQ(cost(partOf(0.01, 2, 0.5), 2), 0.01);
  // Each range has an overhead of its own.
  p.efficiency["conv"].part = 20;
  EXPECT_DOUBLE_EQ(cost(partOf(4.02, 8, 0.25), 1), 1.04);
  EXPECT_DOUBLE_EQ(cost(two, 1), 2.06);
  EXPECT_DOUBLE_EQ(partCost(p, "matmul", partOf(1.01, 8, 0.5), 1), 0.51);
  // A fit called most of its time overhead.
  p.efficiency["conv"] = {0.5, 0.5, 500};
  EXPECT_DOUBLE_EQ(cost(partOf(1.03, 8, 0.5), 1), 0.53);
}

/// Each part of some rows reads all weights.
TEST(Cost, ofPartsWithAllWeights) {
  DeviceProfile p = sampleCosts();
  p.efficiency["conv"] = {0.5, 1, 20};
  ASSERT_EQ(p.big.memoryGBps, 10);
  p.big.count = 4;
  auto cost = [&](double bytes, double tiles, unsigned threads) {
    LayerPart part = partOf(4.02, 8, tiles / 8);
    part.weightBytes = bytes;
    return partCost(p, "conv.direct", part, threads);
  };
  // 1 ms for weights, 3 for the rest.
  EXPECT_DOUBLE_EQ(cost(1e7, 8, 1), 4.02);
  EXPECT_DOUBLE_EQ(cost(1e7, 2, 1), 1.02 + 3.0 / 4);
  // Threads read at once, but for those that have no tile.
  double rounds = 2 + 1.5 * 3 / 4;
  EXPECT_DOUBLE_EQ(cost(4e7, 8, 4), 4.02);
  EXPECT_DOUBLE_EQ(cost(4e7, 4, 4), 1.02 + 3 * (rounds - 1) / rounds);
  EXPECT_DOUBLE_EQ(cost(4e7, 2, 4), 2.02 + 3 * (rounds - 1.5) / rounds);
  // Caches serve faster than memory.
  p.efficiency["conv"].memory = 2;
  EXPECT_DOUBLE_EQ(cost(2e7, 2, 1), 1.02 + 3.0 / 4);
  // They take four fifths of the time at most.
  EXPECT_DOUBLE_EQ(cost(1e9, 2, 1), 3.22 + 0.8 / 4);
}

/// More tiles behind a cut never take less time.
TEST(Cost, ofPartsGrows) {
  DeviceProfile p = sampleCosts();
  for (unsigned threads : {1, 2, 3, 4})
    for (int tiles = 1; tiles <= 64; ++tiles) {
      double last = 0;
      for (int left = 1; left <= tiles; ++left) {
        double time = partCost(p, "conv",
                               partOf(5, tiles, double(left) / tiles), threads);
        EXPECT_GE(time, last * (1 - 1e-12))
            << left << " of " << tiles << " tiles, " << threads << " threads";
        last = time;
      }
    }
}

/// Times in a model count more, for the numbers of threads that have one.
TEST(Cost, inModel) {
  DeviceProfile p = sampleCosts();
  p.kernels["f"] = {{8, 5}, 30};
  p.kernels["f"].inModel = {0, 6};
  KernelFacts f = {{25e6, 0}, "conv", "f", 3000};
  EXPECT_EQ(cost(p, f, 1).milliseconds, 8);
  EXPECT_EQ(cost(p, f, 2).milliseconds, 6);
  EXPECT_TRUE(cost(p, f, 2).measured);
  EXPECT_EQ(cost(p, f, 4).milliseconds, 5 * 1.5 / 2.5);
}

TEST(Cost, measured) {
  DeviceProfile p = sampleCosts();
  p.kernels["f"] = {{8, 5}, 30};
  p.kernels["g"] = {{8}, 0};
  KernelFacts f = {{25e6, 0}, "conv", "f", 3000}, g = f;
  g.key = "g";
  EXPECT_EQ(cost(p, f, 1).milliseconds, 8);
  EXPECT_TRUE(cost(p, f, 1).measured);
  EXPECT_EQ(cost(p, f, 2).milliseconds, 5);
  EXPECT_DOUBLE_EQ(cost(p, f, 3).milliseconds, 5 * 1.5 / 2);
  EXPECT_EQ(littleCost(p, f).milliseconds, 30);
  EXPECT_TRUE(littleCost(p, f).measured);
  EXPECT_DOUBLE_EQ(littleCost(p, g).milliseconds,
                   40); // as predicted: five times
  EXPECT_FALSE(littleCost(p, g).measured);
}

TEST(Cost, missingKernels) {
  DeviceProfile p = sampleCosts();
  p.kernels["f"] = {{8}, 0};
  std::vector<KernelFacts> kernels = {
      {{1, 1}, "a", "f"}, {{1, 1}, "b", "g"}, {{1, 1}, "c"}};
  EXPECT_EQ(missingKernels(p, kernels), "");
  p.measured = true;
  EXPECT_EQ(missingKernels(p, kernels),
            "device profile 'sample': kernels: 2 of 3 were not measured "
            "(first: b, g), expected "
            "all; run nnv12-tune for this model");
  p.file = "p.json";
  EXPECT_EQ(missingKernels(p, kernels).find("p.json: kernels: 2 of 3"), 0u);
  kernels.resize(1);
  EXPECT_EQ(missingKernels(p, kernels), "");
}

TEST(SearchDevice, lanesByCores) {
  DeviceProfile p = sampleCosts();
  p.readMBps = 500;
  p.readLatencyUs = 20;
  p.mapUsPerMB = 100;
  p.mapLittleUsPerMB = 300;
  search::Device d = searchDevice(p, 4);
  EXPECT_EQ(d.preparationLanes,
            std::vector<search::Core>(4, search::Core::Little));
  EXPECT_EQ(d.cpus, 8u);
  EXPECT_EQ(d.executeThreads, 4u);
  EXPECT_DOUBLE_EQ(d.readBandwidth, 5e5);
  EXPECT_DOUBLE_EQ(d.readLatency, 0.02);
  EXPECT_DOUBLE_EQ(d.mapPerByte.big * 1e6, 0.1);
  EXPECT_DOUBLE_EQ(d.mapPerByte.little * 1e6, 0.3);
  // Nothing is known of the file's arrival: 2 MB less the part before weights
  // are one piece, at the storage's rate.
  ASSERT_EQ(d.arrival.size(), 1u);
  EXPECT_DOUBLE_EQ(d.arrival[0].bytes, (2048 - 192) * 1024);
  EXPECT_DOUBLE_EQ(d.arrival[0].time, d.arrival[0].bytes / 5e5);
  p.arrival = {{1.5, 5000}, {8, 9000}};
  EXPECT_EQ(searchDevice(p, 4).arrival.size(), 2u);
  // One kind of core: those that do not execute, and one at least.
  p.little.count = 0;
  EXPECT_EQ(searchDevice(p, 1).preparationLanes.size(), 3u);
  EXPECT_EQ(searchDevice(p, 3).preparationLanes.size(), 1u);
  EXPECT_EQ(searchDevice(p, 4).preparationLanes,
            std::vector<search::Core>(1, search::Core::Big));
  EXPECT_EQ(searchDevice(p, 0).executeThreads, 1u);
  EXPECT_EQ(searchDevice(p, 4, 0).preparationLanes.size(), 0u);
  EXPECT_EQ(searchDevice(p, 4, 2).preparationLanes.size(), 2u);
  EXPECT_EQ(searchDevice(p, 4, 1000).preparationLanes.size(), 63u)
      << "what a bundle can have";
}

/// A device whose true coefficients are known, "measured" with noise.
namespace {
struct Synthetic {
  DeviceProfile truth;
  std::vector<KernelFacts> features;

  explicit Synthetic(unsigned kernels, double noise) {
    truth = builtinProfile("x86-64", "x86-64-v3");
    truth.efficiency = {{"", {0.1, 0.3, 2}},
                        {"conv.direct", {0.35, 0.5, 4}},
                        {"conv.winograd4", {0.2, 0.3, 12}},
                        {"matmul", {0.3, 0.9, 3}}};
    std::mt19937 random(3);
    auto between = [&](double low, double high) {
      return low + (high - low) * double(random() % 10007) / 10006;
    };
    const char *routines[] = {"conv.direct.nChw16c.t14",
                              "conv.winograd4.nChw16c", "matmul.panels"};
    for (unsigned i = 0; i < kernels; ++i) {
      KernelFacts f = {
          {std::pow(10, between(5, 9)), std::pow(10, between(4, 7.5))},
          routines[i % 3],
          "k" + std::to_string(i),
          64};
      features.push_back(f);
      truth.kernels[f.key] = {
          {cost(truth, {f, f.routine, "", f.tiles}, 1).milliseconds *
           std::exp(between(-noise, noise))},
          0};
    }
  }
};
} // namespace

TEST(Fit, predictsWhatWasNotMeasured) {
  Synthetic device(120, 0.1);
  // The profile knows half of the kernels and the built-in coefficients.
  DeviceProfile p = builtinProfile("x86-64", "x86-64-v3");
  for (unsigned i = 0; i < 60; ++i)
    p.kernels["k" + std::to_string(i)] =
        device.truth.kernels["k" + std::to_string(i)];
  Fit fit = fitEfficiency(p, device.features);
  EXPECT_EQ(fit.kernels, 60u);
  EXPECT_GT(fit.errorBefore, 0.3);
  EXPECT_LT(fit.errorAfter, 0.07);
  std::vector<double> errors;
  for (unsigned i = 60; i < 120; ++i) {
    const KernelFacts &f = device.features[i];
    Cost predicted = cost(p, f, 1);
    EXPECT_FALSE(predicted.measured);
    errors.push_back(std::abs(
        predicted.milliseconds / device.truth.kernels[f.key].big[0] - 1));
  }
  std::sort(errors.begin(), errors.end());
  printf("median relative error: %.3f before, %.3f after, %.3f of kernels that "
         "were not measured\n",
         fit.errorBefore, fit.errorAfter, errors[30]);
  EXPECT_LT(errors[30], 0.1);
  EXPECT_LT(errors[54], 0.5);
  // The fitted profile can be written and read.
  std::string error;
  EXPECT_TRUE(parseProfile(printProfile(p), "p", error)) << error;
}

TEST(Fit, familiesWithoutMeasurementsAreScaled) {
  DeviceProfile p = sampleCosts();
  p.efficiency = {{"", {0.5, 0.5, 0}},
                  {"conv.direct", {0.8, 0.5, 0}},
                  {"pool", {0.4, 0.2, 0}},
                  {"conv.direct.nChw16c.t8", {0.1, 0.1, 0}}};
  // Twice as slow as predicted by 0.8 of the peak.
  KernelFacts f = {{40e6, 0}, "conv.direct.nChw16c", "f"};
  p.kernels["f"] = {{2}, 0};
  Fit fit = fitEfficiency(p, {f, f});
  EXPECT_EQ(fit.kernels, 1u);
  EXPECT_DOUBLE_EQ(fit.errorBefore, 0.5);
  EXPECT_LT(fit.errorAfter, 1e-3);
  EXPECT_NEAR(p.efficiencyOf("conv.direct.nChw16c").compute, 0.4, 1e-3);
  EXPECT_NEAR(p.efficiencyOf("conv.direct.nChw16c.t8").compute, 0.4, 1e-3);
  EXPECT_NEAR(p.efficiencyOf("pool.nChw16c").compute, 0.2, 1e-3);
  EXPECT_NEAR(p.efficiencyOf("pool.nChw16c").memory, 0.1, 1e-3);
}

TEST(Fit, nothingMeasured) {
  DeviceProfile p = sampleCosts();
  std::string before = printProfile(p);
  Fit fit = fitEfficiency(p, {{{1, 1}, "conv", "f"}, {{1, 1}, "conv"}});
  EXPECT_EQ(fit.kernels, 0u);
  EXPECT_EQ(printProfile(p), before);
}
