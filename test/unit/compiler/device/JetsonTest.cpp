//===- JetsonTest.cpp - Plans with a GPU as the paper has them ------------===//

#include "GpuTables.h"
#include "PhoneTables.h"
#include "compiler/search/Search.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace nnv12;
using namespace nnv12::device;

/// NNV12's ResNet-50 on a Jetson TX2, Table 1 and Figure 13, with planners that
/// can do as much as the paper's. Given are 43 ms of reading and 137 ms of warm
/// inference (Table 1), the ratio of the transforms (Table 2), the GPU's peaks
/// (data sheet). Fitted are the transforms' scale, the times of a pipeline,
/// uncached and cached, and Winograd's by others; so `none`, K and K+C are met
/// as far as the two tables agree, which they do not: Figure 13 has 8272 ms
/// where Table 1 has 5467, and the fit lies between. Predicted are the kernels
/// and forms that the planners take, and K+C+P.
TEST(Jetson, asInThePaper) {
  const GpuAblation &a = gpuAblation();
  auto near = [](double simulated, double paper, double part) {
    return std::abs(simulated / paper - 1) <= part;
  };
  EXPECT_TRUE(near(a.none, 8272, 0.25)) << a.none;
  EXPECT_TRUE(near(a.k, 2300, 0.25)) << a.k;
  EXPECT_TRUE(near(a.kc, 555, 0.25)) << a.kc;
  EXPECT_TRUE(near(a.kcp, 240, 0.25)) << a.kcp;
  EXPECT_TRUE(near(a.read, 43.03, 0.2)) << a.read;
  EXPECT_TRUE(near(a.transform, 1616.84, 0.2)) << a.transform;
  // Its execution is 803 ms at first and 137 later: the rest is done once.
  EXPECT_TRUE(near(a.prepare, 3004.01 + 802.77 - 137.02, 0.2)) << a.prepare;
  EXPECT_TRUE(near(a.execute, 137.02, 0.2)) << a.execute;
  EXPECT_NEAR(a.none, a.read + a.transform + a.prepare + a.execute,
              0.02 * a.none)
      << "one after another";
}

/// On phones "CPUs perform much better than GPUs for cold inference" (NNV12,
/// section 4.1); with hand-over the better of both is the least that is had.
TEST(Phone, gpuServesLaterRuns) {
  DeviceProfile profile = shippedProfile("meizu-16t");
  ASSERT_TRUE(profile.gpu && !profile.gpu->measured);
  search::Problem p = ncnnGpuProblem(resnet50(), profile, profile.big.count);
  search::Options few;
  few.steps = 300000;
  search::Plan cpu = search::plan(p, few);
  search::Overlay gpu = search::planOverlay(p, cpu);
  EXPECT_EQ(gpu.start, search::OverlayStart::AfterFirst);
  EXPECT_EQ(gpu.finishCached, cpu.finish);
  EXPECT_GT(gpu.stretchesOnly, cpu.finish);
  EXPECT_LT(gpu.warm.time, gpu.warm.cpuOnly);
}
