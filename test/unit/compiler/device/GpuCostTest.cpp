//===- GpuCostTest.cpp - Predicted times of GPU kernels -------------------===//

#include "CoefficientBytes.h"
#include "compiler/device/Fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace nnv12;
using namespace nnv12::device;

static GpuProfile sampleGpu() {
  GpuProfile gpu;
  gpu.name = "sample";
  gpu.units = 4;
  gpu.groupsPerUnit = 2;
  gpu.gflops = 1000;
  gpu.memoryGBps = 100;
  gpu.cacheMB = 50;
  gpu.dispatchUs = 5;
  gpu.efficiency = {{"", {2, 0.5, 1, 0.25, 0.5, 2}}};
  return gpu;
}

TEST(GpuCost, predicted) {
  GpuProfile gpu = sampleGpu();
  KernelFacts k;
  k.routine = "gpu.conv.gemm.16x4";
  k.tiles = 8;
  k.steps = 10;
  auto microseconds = [&] { return cost(gpu, k).milliseconds * 1e3; };
  // Two groups keep a unit busy for longer than a step waits.
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 2 * (1 + 2.5));
  EXPECT_FALSE(cost(gpu, k).measured);
  // A unit of its own for each: they wait.
  k.tiles = 3;
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 5);
  // Work groups come in steps: a ninth takes as long as four more.
  k.tiles = 9;
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 3 * 3.5);
  k.tiles = 12;
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 3 * 3.5);
  k.bytes = 1e6; // 20 us at half of 100 GB/s
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 3 * 3.5 + 20);
  // The longest prefix counts.
  gpu.efficiency["gpu.conv"] = {1, 0, 0, 0, 0.5};
  EXPECT_DOUBLE_EQ(microseconds(), 1 + 20);
  gpu.efficiency["gpu.conv.ge"] = {100, 0, 0, 0, 0.5};
  EXPECT_DOUBLE_EQ(microseconds(), 1 + 20);
  gpu.kernels["k"] = {0.5};
  KernelFacts measured = k;
  measured.key = "k";
  EXPECT_DOUBLE_EQ(cost(gpu, measured).milliseconds, 0.5);
  EXPECT_TRUE(cost(gpu, measured).measured);
}

TEST(GpuCost, ofWeightsFromMemory) {
  GpuProfile gpu = sampleGpu();
  KernelFacts k;
  k.tiles = 4;
  k.steps = 10;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 2 + 5);
  k.fromMemory = true;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 2 + 20);
  // A kernel's own memory may be too much for the cache: 51 MB take 1020 us.
  k.fromMemory = false;
  k.bytes = 51e6;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 2 + 20 + 1020);
  k.bytes = 0;
  k.fromMemory = true;
  // Where a unit has enough to do that no step is waited for.
  k.tiles = 40;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 2 + 10 * 3.5);
  // As measured; kernels without weights were not.
  k.key = "k";
  gpu.kernels["k"] = {0.5};
  EXPECT_EQ(cost(gpu, k).milliseconds, 0.5);
  gpu.kernels["k"].millisecondsFromMemory = 0.75;
  EXPECT_EQ(cost(gpu, k).milliseconds, 0.75);
  k.fromMemory = false;
  EXPECT_EQ(cost(gpu, k).milliseconds, 0.5);
}

TEST(GpuCost, ofSoftware) {
  GpuProfile gpu = sampleGpu();
  gpu.kind = GpuKind::Software;
  gpu.efficiency[""].work = 10;
  KernelFacts k;
  k.tiles = 9;
  k.steps = 10;
  auto microseconds = [&] { return cost(gpu, k).milliseconds * 1e3; };
  // Three groups of a CPU; no step is waited for.
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 3 * (1 + 2.5));
  k.tiles = 1;
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 1 + 2.5);
  // A sixth of them has nothing to compute.
  k.tiles = 12;
  k.stepsInTurn = 100;
  EXPECT_DOUBLE_EQ(microseconds(), 2 + 3 * 1 + 100 * 0.25 / 4);
  k.multiplyAdds = 8e6;
  k.bytes = 1e6;
  EXPECT_DOUBLE_EQ(microseconds(),
                   2 + 3 * 1 + 100 * 0.25 / 4 + 8 * 10.0 / 4 + 20);
}

TEST(GpuCost, withoutTimeStamps) {
  GpuProfile gpu = sampleGpu();
  gpu.stampUs = 3;
  KernelFacts k;
  k.tiles = 4;
  k.steps = 10;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 2 + 5 - 3);
  k.steps = 0;
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds * 1e3, 3.0 / 4);
  k.key = "k";
  gpu.kernels["k"] = {0.5};
  EXPECT_DOUBLE_EQ(cost(gpu, k).milliseconds, 0.497);
  // Coefficients are fitted to the measured times.
  gpu.kernels.clear();
  k.routine = "gpu.map";
  fitAndHoldOut(gpu, {{k, 40, 39, 41}});
  EXPECT_EQ(gpu.stampUs, 3);
  EXPECT_NEAR(cost(gpu, k).milliseconds, 0.037, 1e-3);
  EXPECT_DOUBLE_EQ(gpu.kernels.at("k").milliseconds, 0.04);
}

TEST(GpuCost, fromThePeakWhereNothingIsKnown) {
  GpuProfile gpu = sampleGpu();
  gpu.efficiency.clear();
  gpu.compute = 0.5;
  KernelFacts k;
  k.tiles = 80;
  k.multiplyAdds = 250e6; // 0.5 GFLOP at 500 GFLOPS: 1 ms
  EXPECT_NEAR(cost(gpu, k).milliseconds, 0.005 + 1, 1e-9);
  k.tiles = 4; // half of the GPU idles
  EXPECT_NEAR(cost(gpu, k).milliseconds, 0.005 + 2, 1e-9);
}

namespace {

/// A GPU whose true coefficients are known, "measured" with noise.
struct SyntheticGpu {
  GpuProfile truth = sampleGpu();
  std::vector<KernelFacts> facts;

  SyntheticGpu(unsigned kernels, double noise, unsigned seed) {
    truth.units = 20;
    truth.memoryGBps = 60;
    truth.efficiency = {{"gpu.conv.gemm.16x4", {4, 0.8, 0.4, 0.3, 0.7, 1.6}},
                        {"gpu.conv.direct.16x4", {9, 1.7, 0.5, 0.2, 0.5, 2.5}},
                        {"gpu.map", {1.5, 0.05, 0.2, 0.02, 0.9, 0.05}}};
    std::mt19937 random(seed);
    auto between = [&](double low, double high) {
      return low + (high - low) * double(random() % 10007) / 10006;
    };
    const char *routines[] = {"gpu.conv.gemm.16x4", "gpu.conv.direct.16x4",
                              "gpu.map"};
    for (unsigned i = 0; i < kernels; ++i) {
      KernelFacts f;
      f.routine = routines[i % 3];
      f.key = "k" + std::to_string(i);
      f.tiles = std::floor(std::pow(10, between(0, 3.5)));
      f.steps = std::floor(std::pow(2, between(0, 7)));
      f.bytes = std::pow(10, between(3, 7.5));
      f.barriers = random() % 3;
      f.multiplyAdds = f.tiles * f.steps * 16384;
      KernelFacts unmeasured = f;
      unmeasured.key.clear();
      auto measure = [&](bool fromMemory) {
        unmeasured.fromMemory = f.fromMemory = fromMemory;
        facts.push_back(f);
        return cost(truth, unmeasured).milliseconds *
               std::exp(between(-noise, noise));
      };
      double cached = measure(false);
      // Maps have no weights.
      truth.kernels[f.key] = {cached, i % 3 < 2 ? measure(true) : 0};
    }
  }

  /// Milliseconds.
  double timeOf(const KernelFacts &f) const {
    const GpuKernelTime &time = truth.kernels.at(f.key);
    return f.fromMemory ? time.millisecondsFromMemory : time.milliseconds;
  }
};

/// The least-squares line of time over multiply-adds, through measured ones: a
/// prediction from FLOPs alone.
struct FlopsModel {
  double offset = 0, slope = 0;

  FlopsModel(const std::vector<std::pair<double, double>> &samples) {
    double n = double(samples.size()), x = 0, y = 0, xx = 0, xy = 0;
    for (auto [work, time] : samples) {
      x += work;
      y += time;
      xx += work * work;
      xy += work * time;
    }
    slope = (n * xy - x * y) / (n * xx - x * x);
    offset = (y - slope * x) / n;
  }
  double at(double work) const { return offset + slope * work; }
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

TEST(GpuFit, recoversCoefficients) {
  for (double noise : {0.0, 0.1}) {
    SyntheticGpu device(360, noise, 5);
    GpuProfile gpu = sampleGpu();
    gpu.units = device.truth.units;
    gpu.memoryGBps = device.truth.memoryGBps;
    gpu.kernels = device.truth.kernels;
    Fit fit = fitEfficiency(gpu, device.facts);
    EXPECT_EQ(fit.kernels, 600u);
    EXPECT_GT(fit.errorBefore, 0.2);
    EXPECT_LT(fit.errorAfter, noise == 0 ? 0.01 : 0.06);
    for (const auto &[name, truth] : device.truth.efficiency) {
      const GpuEfficiency &found = gpu.efficiency[name];
      double near = noise == 0 ? 0.05 : 0.3;
      EXPECT_NEAR(found.start / truth.start, 1, near) << name;
      EXPECT_NEAR(found.latency / truth.latency, 1, near) << name;
      EXPECT_NEAR(found.group / truth.group, 1, 2 * near) << name;
      EXPECT_NEAR(found.step / truth.step, 1, near) << name;
      EXPECT_NEAR(found.memory / truth.memory, 1, near / 2) << name;
      EXPECT_NEAR(found.latencyFromMemory / truth.latencyFromMemory, 1, near)
          << name;
      printf("noise %.1f, %s: %.3f %.3f %.3f %.3f %.3f %.3f (true: %.3f %.3f "
             "%.3f %.3f %.3f %.3f)\n",
             noise, name.c_str(), found.start, found.latency, found.group,
             found.step, found.memory, found.latencyFromMemory, truth.start,
             truth.latency, truth.group, truth.step, truth.memory,
             truth.latencyFromMemory);
    }
  }
}

TEST(GpuFit, beatsFlops) {
  SyntheticGpu device(360, 0.1, 6);
  GpuProfile gpu = sampleGpu();
  gpu.units = device.truth.units;
  gpu.memoryGBps = device.truth.memoryGBps;
  std::map<std::string, std::vector<std::pair<double, double>>> measured;
  size_t half = 300;
  ASSERT_EQ(device.facts.size(), 2 * half);
  for (size_t i = 0; i < half; ++i) {
    const KernelFacts &f = device.facts[i];
    gpu.kernels[f.key] = device.truth.kernels[f.key];
    measured[f.routine].push_back({f.multiplyAdds, device.timeOf(f)});
  }
  fitEfficiency(gpu, device.facts);
  // Kernels that were left out.
  std::vector<double> errors, flopsErrors;
  unsigned within = 0;
  for (size_t i = half; i < 2 * half; ++i) {
    const KernelFacts &f = device.facts[i];
    double truth = device.timeOf(f);
    Cost predicted = cost(gpu, f);
    EXPECT_FALSE(predicted.measured);
    errors.push_back(std::abs(predicted.milliseconds / truth - 1));
    within += errors.back() <= 0.1;
    FlopsModel flops(measured[f.routine]);
    flopsErrors.push_back(std::abs(flops.at(f.multiplyAdds) / truth - 1));
  }
  printf("kernels that were not measured: median error %.3f, %.0f %% within "
         "10 %%; by FLOPs alone %.3f\n",
         medianOf(errors), within * 100.0 / half, medianOf(flopsErrors));
  EXPECT_LT(medianOf(errors), 0.08);
  EXPECT_GT(within, half * 2 / 3);
  EXPECT_GT(medianOf(flopsErrors), 3 * medianOf(errors));
}

/// The kernels as a tool measures them, with times spread by a tenth.
static std::vector<Sample> samplesOf(const SyntheticGpu &device) {
  std::vector<Sample> samples;
  for (const KernelFacts &f : device.facts) {
    double time = device.timeOf(f) * 1e3;
    samples.push_back({f, time, time * 0.99, time * 1.01});
  }
  return samples;
}

TEST(GpuFit, heldOutKernelsArePredicted) {
  SyntheticGpu device(360, 0.0, 8);
  GpuProfile gpu = sampleGpu();
  gpu.units = device.truth.units;
  gpu.memoryGBps = device.truth.memoryGBps;
  HeldOut held = fitAndHoldOut(gpu, samplesOf(device));
  EXPECT_EQ(held.sum.all, 600u);
  EXPECT_GE(held.sum.good, held.sum.all * 9 / 10);
  EXPECT_LT(held.error, 0.05);
  unsigned sum = 0;
  for (const auto &[routine, count] : held.byRoutine)
    sum += count.all;
  EXPECT_EQ(sum, held.sum.all);
  // All of them are in the profile.
  EXPECT_EQ(gpu.kernels.size(), 360u);
}

TEST(GpuFit, isSmall) {
  SyntheticGpu device(90, 0.1, 7);
  GpuProfile gpu = sampleGpu();
  gpu.kernels = device.truth.kernels;
  fitEfficiency(gpu, device.facts);
  // With every kind of kernel of convolutions that there is.
  while (gpu.efficiency.size() < 20)
    gpu.efficiency["gpu.conv." + std::to_string(gpu.efficiency.size())] = {};
  EXPECT_LT(coefficientBytes(gpu, "gpu.conv"), 500u);
  EXPECT_GT(coefficientBytes(gpu, "gpu.conv"), 200u);
}

TEST(GpuFit, ofSoftware) {
  GpuProfile truth = sampleGpu();
  truth.kind = GpuKind::Software;
  truth.units = 1;
  truth.efficiency = {{"gpu.conv.few", {3, 0, 2, 0.5, 0.5, 0, 400}},
                      {"gpu.pool.max", {1, 0, 0.5, 1.5, 0.8, 0, 0}}};
  std::mt19937 random(9);
  auto between = [&](double low, double high) {
    return low + (high - low) * double(random() % 10007) / 10006;
  };
  std::vector<Sample> samples;
  for (unsigned i = 0; i < 120; ++i) {
    Sample s;
    KernelFacts &f = s.facts;
    f.routine = i % 2 ? "gpu.pool.max" : "gpu.conv.few";
    f.tiles = std::floor(std::pow(10, between(0, 3)));
    f.steps = std::floor(std::pow(2, between(0, 7)));
    f.stepsInTurn = f.tiles * f.steps * between(0.2, 1);
    f.bytes = std::pow(10, between(3, 6));
    f.multiplyAdds = f.stepsInTurn * double(64 + random() % 3 * 64);
    s.median = stampedCost(truth, f).milliseconds * 1e3;
    f.key = "k" + std::to_string(i);
    s.p10 = s.p90 = s.median;
    samples.push_back(s);
  }
  GpuProfile gpu = sampleGpu();
  gpu.kind = GpuKind::Software;
  gpu.units = 1;
  HeldOut held = fitAndHoldOut(gpu, samples);
  EXPECT_GE(held.sum.good, held.sum.all * 9 / 10);
  EXPECT_LT(held.error, 0.03);
  // It is said in fewer numbers: nothing is waited for.
  EXPECT_EQ(gpu.efficiency.at("gpu.conv.few").latency, 0);
  EXPECT_EQ(gpu.efficiency.at("gpu.conv.few").latencyFromMemory, 0);
  EXPECT_LE(coefficientBytes(gpu, "gpu.conv"), 2 * 5 * sizeof(float));
  // Others have no such number.
  gpu.kind = GpuKind::Discrete;
  fitAndHoldOut(gpu, samples);
  EXPECT_EQ(gpu.efficiency.at("gpu.conv.few").work, 0);
}

TEST(GpuFit, nothingMeasured) {
  GpuProfile gpu = sampleGpu();
  EXPECT_EQ(fitEfficiency(gpu, {KernelFacts()}).kernels, 0u);
  EXPECT_EQ(gpu.efficiency.size(), 1u);
  // A single kernel moves all that its family has.
  KernelFacts k;
  k.routine = "gpu.conv.gemm.16x4";
  k.key = "k";
  k.tiles = 80;
  k.steps = 20;
  gpu.kernels["k"] = {1};
  Fit fit = fitEfficiency(gpu, {k, k});
  EXPECT_EQ(fit.kernels, 1u);
  EXPECT_LT(fit.errorAfter, 0.01);
  EXPECT_EQ(gpu.efficiency.count("gpu.conv"), 1u);
  EXPECT_EQ(gpu.efficiency.count("gpu.conv.gemm.16x4"), 1u);
}

TEST(SearchGpu, fromProfile) {
  GpuProfile gpu = sampleGpu();
  gpu.kind = GpuKind::Discrete;
  gpu.startMs = 200;
  gpu.pipelineMs = 30;
  gpu.pipelineCachedMs = 0.5;
  gpu.pipelineThreads = 8;
  gpu.pipelineBatch = 2;
  gpu.uploadGBps = 10;
  gpu.inputGBps = 8;
  gpu.downloadGBps = 5;
  gpu.submitUs = 20;
  gpu.syncUs = 30;
  gpu.flushUsPerMB = 40;
  search::Coprocessor g = searchGpu(gpu);
  EXPECT_EQ(g.start, 200);
  EXPECT_EQ(g.threads, 8u);
  EXPECT_EQ(g.batch, 2u);
  EXPECT_DOUBLE_EQ(g.uploadBandwidth, 1e7);
  EXPECT_DOUBLE_EQ(g.submit, 0.02);
  EXPECT_DOUBLE_EQ(g.sync, 0.03);
  EXPECT_DOUBLE_EQ(g.inPerByte * 1e6, 0.125); // ms a MB
  EXPECT_DOUBLE_EQ(g.outPerByte * 1e6, 0.2);
  EXPECT_EQ(searchPipeline(gpu).build, 30);
  EXPECT_EQ(searchPipeline(gpu).cached, 0.5);
  gpu.kind = GpuKind::Unified;
  EXPECT_DOUBLE_EQ(searchGpu(gpu).inPerByte * 1e6, 0.04);
  // One memory, but a driver that does not compute in the CPUs'.
  gpu.imports = false;
  EXPECT_DOUBLE_EQ(searchGpu(gpu).inPerByte * 1e6, 0.125);
  EXPECT_DOUBLE_EQ(searchGpu(gpu).outPerByte * 1e6, 0.2);
  EXPECT_EQ(searchGpu(gpu).beside, 1) << "not known";
  EXPECT_FALSE(searchGpu(gpu).power);
  gpu.beside = 1.5;
  gpu.besideCpu = 1.25;
  gpu.power = {1, 2, 3};
  EXPECT_EQ(searchGpu(gpu).beside, 1.5);
  EXPECT_EQ(searchGpu(gpu).besideCpu, 1.25);
  ASSERT_TRUE(searchGpu(gpu).power);
  EXPECT_EQ(searchGpu(gpu).power->base, 1);
  EXPECT_EQ(searchGpu(gpu).power->cpu, 2);
  EXPECT_EQ(searchGpu(gpu).power->gpu, 3);
  gpu.hostCores = 2;
  EXPECT_EQ(searchGpu(gpu).hostCores, 0u);
  gpu.kind = GpuKind::Software;
  EXPECT_EQ(searchGpu(gpu).hostCores, 2u);
  DeviceProfile profile = builtinProfile("aarch64", "aarch64");
  EXPECT_FALSE(searchDevice(profile, 1).coprocessor);
  profile.gpu = gpu;
  EXPECT_TRUE(searchDevice(profile, 1).coprocessor);
}
