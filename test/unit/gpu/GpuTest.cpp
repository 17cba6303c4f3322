//===- GpuTest.cpp - Sessions on a mock device ----------------------------===//
#include "test/unit/gpu/GpuTest.h"

#include "artifact/Writer.h"
#include "runtime/Workers.h"

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <thread>

namespace nnv12::runtime {
/// Called while the overlay's executor computes.
extern void (*betweenSubmitAndWait)(Workers &);
} // namespace nnv12::runtime

namespace nnv12::test {

static unsigned timesBeside = 0;

/// Tile i is element i: its double.
static void doubleElements(void *const *operands, int64_t begin, int64_t end,
                           void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(operands[0])[i] =
        2 * static_cast<const float *>(operands[1])[i];
}

static void workBeside(runtime::Workers &workers) {
  std::vector<float> x(1000), y(1000, -1);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i + timesBeside);
  void *operands[] = {y.data(), x.data()};
  runtime::Step step = {&workers,       0,        1,    0, x.size(),
                        doubleElements, operands, false};
  artifact::Fault fault;
  using Result = runtime::Executor::Result;
  EXPECT_EQ(workers.submit(step, fault), Result::Done);
  EXPECT_EQ(workers.wait(step, fault), Result::Done);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], 2 * x[i]);
  ++timesBeside;
}

WorkBeside::WorkBeside() {
  timesBeside = 0;
  runtime::betweenSubmitAndWait = workBeside;
}

WorkBeside::~WorkBeside() { runtime::betweenSubmitAndWait = nullptr; }

unsigned WorkBeside::times() { return timesBeside; }

MockVulkan &loadMockVulkan(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  auto get = reinterpret_cast<MockVulkan *(*)()>(dlsym(library, "mockVulkan"));
  return *get();
}

GpuTest::GpuTest() : mock(loadMockVulkan(NNV12_MOCK_VULKAN)) { mock.reset(); }

GpuTest::~GpuTest() { nnv12_gpu_release(); }

void GpuTest::open(Sample &sample) {
  path = folder.file("sample.nnv");
  ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  nnv12_bundle *raw = nullptr;
  ASSERT_EQ(nnv12_bundle_open(path.c_str(), nullptr, &raw, &error), NNV12_OK)
      << error.message;
  bundle.reset(raw);
  known.clear();
}

SessionOptions GpuTest::options(nnv12_gpu_mode mode) {
  SessionOptions result;
  result.gpu.mode = mode;
  result.mode = NNV12_MODE_COLD; // switches of samples change results
  result.threads = 2;
  result.oversubscribe = true;
  result.gpu.vulkan_library = NNV12_MOCK_VULKAN;
  result.gpu.cache_dir = "";
  return result;
}

SessionPointer GpuTest::create(const SessionOptions &options) {
  nnv12_session_options c = options.get();
  nnv12_session *raw = nullptr;
  EXPECT_EQ(nnv12_session_create(bundle.get(), &c, &raw, &error), NNV12_OK)
      << error.message;
  return SessionPointer(raw);
}

Bytes GpuTest::run(const SessionPointer &session, int seed) {
  const nnv12_tensor_info &in = *nnv12_bundle_input(bundle.get(), 0);
  const nnv12_tensor_info &out = *nnv12_bundle_output(bundle.get(), 0);
  std::vector<float> x(in.byte_size / sizeof(float));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float((i * 31 + size_t(seed)) % 97) / 7;
  Bytes y(out.byte_size, 0xee);
  nnv12_input input = NNV12_INPUT(x.data(), in.byte_size);
  nnv12_output output = NNV12_OUTPUT(y.data(), out.byte_size);
  if (nnv12_session_run(session.get(), &input, 1, &output, 1, &error))
    return {};
  return y;
}

const Bytes &GpuTest::expected(int seed) {
  while (known.size() <= size_t(seed)) {
    SessionPointer session = create(NNV12_GPU_OFF);
    known.push_back(run(session, int(known.size())));
    EXPECT_FALSE(known.back().empty());
  }
  return known[size_t(seed)];
}

nnv12_session_info GpuTest::info(const SessionPointer &session) {
  nnv12_session_info info = {};
  info.struct_size = sizeof info;
  nnv12_session_get_info(session.get(), &info);
  return info;
}

nnv12_session_info GpuTest::settle(const SessionPointer &session) {
  for (int i = 0; i < 10000; ++i) {
    nnv12_session_info now = info(session);
    if (now.gpu_state >= NNV12_GPU_READY)
      return now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ADD_FAILURE() << "the GPU does not get ready";
  return info(session);
}

void GpuTest::expectClean() {
  nnv12_gpu_release();
  EXPECT_EQ(mock.objectsLeft(), "");
  EXPECT_EQ(mock.mistakes(), std::vector<std::string>());
}

} // namespace nnv12::test
