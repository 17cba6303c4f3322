//===- GpuTest.h - Sessions on a mock device --------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_GPU_GPUTEST_H
#define NNV12_TEST_UNIT_GPU_GPUTEST_H

#include "runtime/include/nnv12.hpp"
#include "test/unit/gpu/MockVulkan.h"
#include "test/unit/sample/GpuSample.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace nnv12::test {

struct CloseBundle {
  void operator()(nnv12_bundle *bundle) const { nnv12_bundle_close(bundle); }
};
struct CloseSession {
  void operator()(nnv12_session *session) const {
    nnv12_session_close(session);
  }
};
using BundlePointer = std::unique_ptr<nnv12_bundle, CloseBundle>;
using SessionPointer = std::unique_ptr<nnv12_session, CloseSession>;
using Bytes = std::vector<unsigned char>;

/// A bundle with an overlay, a session's options that have it find the mock,
/// and the CPU's own results.
class GpuTest : public testing::Test {
protected:
  GpuTest();
  ~GpuTest() override;
  /// Weights of the sample are compressed.
  void SetUp() override {
    if (!dlopen("libzstd.so.1", RTLD_NOW))
      GTEST_SKIP() << "install libzstd1";
  }

  /// Writes `sample` and opens it.
  void open(Sample &sample);
  void open() {
    GpuSample sample;
    open(sample);
  }
  /// The options; `mode` is their GPU's.
  SessionOptions options(nnv12_gpu_mode mode);
  SessionPointer create(const SessionOptions &options);
  SessionPointer create(nnv12_gpu_mode mode) { return create(options(mode)); }
  /// The outputs of run number `seed`; empty, with `error`, where it fails.
  Bytes run(const SessionPointer &session, int seed = 0);
  /// The same on the CPU.
  const Bytes &expected(int seed = 0);
  static nnv12_session_info info(const SessionPointer &session);
  /// Until the session's GPU is ready, or has failed.
  static nnv12_session_info settle(const SessionPointer &session);
  /// That nothing is left of Vulkan, and nothing was done wrong.
  void expectClean();

  TemporaryFolder folder;
  std::string path;
  BundlePointer bundle;
  MockVulkan &mock;
  nnv12_error error = {};

private:
  std::vector<Bytes> known;
};

/// While it lives, the threads of sessions compute tiles for the CPU each time
/// that a stretch has been handed over, before the session waits for it.
class WorkBeside {
public:
  WorkBeside();
  ~WorkBeside();
  /// How often they did so; all tiles were right.
  static unsigned times();
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_GPU_GPUTEST_H
