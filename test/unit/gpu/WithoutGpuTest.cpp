//===- WithoutGpuTest.cpp - A runtime that was built without GPUs ---------===//
#include "artifact/Writer.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/GpuSample.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::test;

TEST(WithoutGpu, BundlesWithAnOverlayRun) {
  // Weights of the sample are compressed.
  if (!dlopen("libzstd.so.1", RTLD_NOW))
    GTEST_SKIP() << "install libzstd1";
  GpuSample sample;
  TemporaryFolder folder;
  std::string path = folder.file("sample.nnv");
  ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  Bundle bundle(path);
  SessionOptions options;
  options.gpu.mode = NNV12_GPU_WAIT;
  options.mode = NNV12_MODE_COLD;
  Session session(bundle, options);
  std::vector<float> x(sample.elements(), 2), y(x.size());
  for (int i = 0; i < 2; ++i) {
    session.run({{x.data(), x.size() * sizeof(float)}},
                {{y.data(), y.size() * sizeof(float)}});
    for (size_t k = 0; k < y.size(); ++k)
      ASSERT_EQ(y[k], sample.expectedRun(k, x[k], /*switched=*/false));
  }
  EXPECT_EQ(session.info().gpu_state, NNV12_GPU_NONE);
  EXPECT_STREQ(session.info().gpu_reason,
               "this library was built without GPUs");
  EXPECT_STREQ(session.info().gpu_device_name, "");
}

TEST(WithoutGpu, FunctionsSayThatThereIsNone) {
  nnv12_error error = {};
  EXPECT_EQ(nnv12_gpu_start(nullptr, &error), NNV12_UNSUPPORTED);
  EXPECT_STREQ(error.message, "this library was built without GPUs");
  EXPECT_EQ(nnv12_gpu_use(nullptr, nullptr), NNV12_UNSUPPORTED);
  nnv12_gpu_release();
}
