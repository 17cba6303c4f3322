//===- FitTest.cpp - Coefficients of both cost models ---------------------===//

#include "compiler/device/Fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

using namespace nnv12;
using namespace nnv12::device;

/// Numbers that depend on the seed alone.
class Numbers {
public:
  explicit Numbers(unsigned seed) : random(seed) {}
  double between(double low, double high) {
    return low + (high - low) * double(random() % 10007) / 10006;
  }

private:
  std::mt19937 random;
};

/// Kernels of routines in turns, without their times.
static std::vector<Sample> kernelsOf(std::vector<const char *> routines,
                                     unsigned count, Numbers &numbers) {
  std::vector<Sample> samples(count);
  for (unsigned i = 0; i < count; ++i) {
    KernelFacts &facts = samples[i].facts;
    facts.routine = routines[i % routines.size()];
    facts.key = "k" + std::to_string(i);
    facts.tiles = std::floor(std::pow(10, numbers.between(0, 3.5)));
    facts.steps = std::floor(std::pow(2, numbers.between(0, 7)));
    facts.bytes = std::pow(10, numbers.between(3, 7.5));
    facts.multiplyAdds = facts.tiles * facts.steps * 16384;
  }
  return samples;
}

/// That they took `time`, but for noise.
static void measure(Sample &sample, double time, Numbers &numbers) {
  sample.median = time * std::exp(numbers.between(-0.2, 0.2));
  sample.p10 = sample.median * 0.97;
  sample.p90 = sample.median * 1.05;
}

static DeviceProfile fittedCores() {
  Numbers numbers(2);
  DeviceProfile truth = builtinProfile("x86-64", "x86-64-v3");
  truth.efficiency = {{"", {0.1, 0.3, 2}},
                      {"conv.direct", {0.35, 0.5, 4}},
                      {"matmul", {0.3, 0.9, 3}}};
  auto samples =
      kernelsOf({"conv.direct.nChw16c", "matmul.panels"}, 60, numbers);
  for (Sample &sample : samples) {
    KernelFacts unmeasured = sample.facts;
    unmeasured.key.clear();
    measure(sample, cost(truth, unmeasured, 1).milliseconds * 1e3, numbers);
  }
  std::sort(samples.begin(), samples.end(),
            [](const Sample &a, const Sample &b) {
              return std::tie(a.facts.routine, a.facts.key) <
                     std::tie(b.facts.routine, b.facts.key);
            });
  DeviceProfile profile = builtinProfile("x86-64", "x86-64-v3");
  std::vector<KernelFacts> facts;
  for (const Sample &sample : samples) {
    profile.kernels[sample.facts.key].big = {sample.median * 1e-3};
    facts.push_back(sample.facts);
  }
  EXPECT_LT(fitEfficiency(profile, facts).errorAfter, 0.15);
  return profile;
}

static GpuProfile fittedGpu(GpuKind kind, HeldOut &held) {
  Numbers numbers(3);
  GpuProfile truth;
  truth.kind = kind;
  truth.units = 20;
  truth.gflops = 1000;
  truth.memoryGBps = 60;
  truth.cacheMB = 20;
  truth.efficiency = {
      {"gpu.conv.gemm.16x4", {4, 0.8f, 0.4f, 0.3f, 0.7f, 1.6f, 30}},
      {"gpu.map", {1.5f, 0.05f, 0.2f, 0.02f, 0.9f, 0.05f, 3}}};
  auto samples = kernelsOf({"gpu.conv.gemm.16x4", "gpu.map"}, 60, numbers);
  for (Sample &sample : samples) {
    KernelFacts unmeasured = sample.facts;
    unmeasured.key.clear();
    measure(sample, stampedCost(truth, unmeasured).milliseconds * 1e3, numbers);
  }
  GpuProfile gpu = truth;
  gpu.efficiency.clear();
  held = fitAndHoldOut(gpu, samples);
  return gpu;
}

TEST(Fit, predictsKernelsOfCores) {
  DeviceProfile profile = fittedCores();
  EXPECT_EQ(profile.kernels.size(), 60u);
}

/// Profiles that were measured once are fitted as they were: to the last bit.
TEST(Fit, coefficientsAreThoseThatTheyWere) {
#ifndef __x86_64__
  GTEST_SKIP() << "other processors round products and sums at once";
#endif
  auto expect = [](const Efficiency &e, Efficiency expected) {
    EXPECT_EQ(e.compute, expected.compute);
    EXPECT_EQ(e.memory, expected.memory);
    EXPECT_EQ(e.overhead, expected.overhead);
  };
  auto expectGpu = [](const GpuEfficiency &e, GpuEfficiency expected) {
    EXPECT_EQ(e.start, expected.start);
    EXPECT_EQ(e.latency, expected.latency);
    EXPECT_EQ(e.group, expected.group);
    EXPECT_EQ(e.step, expected.step);
    EXPECT_EQ(e.memory, expected.memory);
    EXPECT_EQ(e.latencyFromMemory, expected.latencyFromMemory);
    EXPECT_EQ(e.work, expected.work);
  };
  HeldOut held;
  DeviceProfile cores = fittedCores();
  GpuProfile discrete = fittedGpu(GpuKind::Discrete, held),
             software = fittedGpu(GpuKind::Software, held);
  expect(cores.efficiency.at("conv.direct"),
         {0x1.752aae4113988p-2, 0x1.104b7ef43f2cap-1, 0x1.46a41ed1d0058p+2});
  expect(cores.efficiency.at("matmul"),
         {0x1.3a80f6800c363p-2, 0x1.dd89a9ac7f40bp-1, 0x1p+2});
  expectGpu(discrete.efficiency.at(""),
            {0x1.fd3c22p+1f, 0x1.29610cp-3f, 0x1.4f8b58p-18f, 0x1.586e62p-2f,
             0x1.c67f12p-1f, 0x1.b019a4p+5f, 0x0p+0f});
  expectGpu(discrete.efficiency.at("gpu.conv.gemm.16x4"),
            {0x1.d2f87p+1f, 0x1.b27248p-1f, 0x1.81e9e8p-2f, 0x1.52e182p-2f,
             0x1.3dea64p-1f, 0x1.333334p+0f, 0x0p+0f});
  expectGpu(discrete.efficiency.at("gpu.map"),
            {0x1.5e76f2p+0f, 0x1.bbf5a6p-5f, 0x1.61e26ap-3f, 0x1.3f48bcp-6f,
             0x1.d2f87p-1f, 0x1.4f0106p-3f, 0x0p+0f});
  expectGpu(software.efficiency.at(""),
            {0x1.0b5586p+2f, 0x0p+0f, 0x1.4f8b58p-18f, 0x1.06aef6p-20f,
             0x1.c40ab6p-1f, 0x0p+0f, 0x1.9d2248p+5f});
  expectGpu(software.efficiency.at("gpu.conv.gemm.16x4"),
            {0x1.dfc974p+1f, 0x0p+0f, 0x1.61e26ap-2f, 0x1.0c7c2p-2f,
             0x1.3c32dcp-1f, 0x0p+0f, 0x1.25b74ep+5f});
  expectGpu(software.efficiency.at("gpu.map"),
            {0x1.551a4cp+0f, 0x0p+0f, 0x1.5c2e8ap-3f, 0x1.abbc0cp-6f,
             0x1.d2f87p-1f, 0x0p+0f, 0x1.2c25c8p+1f});
}
