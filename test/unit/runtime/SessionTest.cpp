//===- SessionTest.cpp - The runtime through its C and C++ API ------------===//
#include "artifact/CpuFeatures.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/SampleBundle.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace {

/// A sample bundle in a file, and buffers for it.
class SessionTest : public testing::Test {
protected:
  void make(size_t tiles) {
    sample = std::make_unique<Sample>(tiles);
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  }
  void SetUp() override { make(3); }

  /// Runs once with inputs that depend on `seed` and checks every element.
  testing::AssertionResult runs(Session &session, int seed) {
    size_t n = sample->elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float((i * 31 + seed) % 97);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    for (size_t i = 0; i < n; ++i)
      if (y[i] != sample->expected(i, x[i]))
        return testing::AssertionFailure()
               << "element " << i << ": found " << y[i] << ", expected "
               << sample->expected(i, x[i]);
    return testing::AssertionSuccess();
  }

  std::string openError(const nnv12_open_options *options,
                        nnv12_status expected) {
    nnv12_bundle *bundle = reinterpret_cast<nnv12_bundle *>(1);
    nnv12_error error = {};
    EXPECT_EQ(nnv12_bundle_open(path.c_str(), options, &bundle, &error),
              expected);
    EXPECT_EQ(error.status, expected);
    EXPECT_EQ(bundle, nullptr);
    return error.message;
  }

  TemporaryFolder folder;
  std::unique_ptr<Sample> sample;
  std::string path;
};

SessionOptions threads(uint32_t n) {
  SessionOptions options;
  options.threads = n;
  options.oversubscribe = true;
  return options;
}

} // namespace

TEST_F(SessionTest, Describes) {
  Bundle bundle(path);
  EXPECT_EQ(bundle.numInputs(), 1u);
  EXPECT_STREQ(bundle.input(0).name, "x");
  EXPECT_EQ(bundle.input(0).type, NNV12_F32);
  EXPECT_EQ(bundle.input(0).rank, 2u);
  EXPECT_EQ(bundle.input(0).shape[0], 3);
  EXPECT_EQ(bundle.output(0).byte_size, 3 * tileSize * 4);
  EXPECT_EQ(nnv12_bundle_input(bundle.get(), 1), nullptr);
  EXPECT_EQ(nnv12_bundle_output(bundle.get(), 1), nullptr);
  nnv12_bundle_info info = bundle.info();
  EXPECT_STREQ(info.model, "sample");
  EXPECT_STREQ(info.target, artifact::hostArchitecture());
  EXPECT_EQ(info.num_operations, 3u);
  EXPECT_EQ(info.scratch_size, 64u);
  EXPECT_FALSE(info.is_signed);
  EXPECT_STREQ(bundle.operation(1).layer, "layer1");
  EXPECT_STREQ(bundle.operation(1).kernel, "mul");
  nnv12_operation_info operation = bundle.operation(1);
  EXPECT_EQ(operation.tiles, 3u);
  EXPECT_STREQ(operation.routine, "sample.mul");
  EXPECT_EQ(operation.multiply_adds, 3 * tileSize);
  EXPECT_EQ(operation.bytes, 3 * 3 * tileSize * 4);
  unsigned own = artifact::hostArchitecture()[0] == 'x' ? 1 : 2;
  const artifact::Kernel &kernel = sample->bundle.programs[own].kernels[1];
  EXPECT_EQ(operation.key, kernel.key);
  ASSERT_NE(operation.fingerprint, nullptr);
  EXPECT_EQ(memcmp(operation.fingerprint, kernel.fingerprint.data(), 32), 0);
  EXPECT_EQ(info.kind, NNV12_BUNDLE_MODEL);
  EXPECT_STREQ(info.revision, "sample 1");
  EXPECT_EQ(nnv12_bundle_get_operation(bundle.get(), 3, &operation),
            NNV12_INVALID_ARGUMENT);
}

/// As bundles of other writers may be.
TEST_F(SessionTest, DescribesWithoutFacts) {
  sample->bundle.kind = artifact::BundleKind::Tuning;
  for (artifact::Program &program : sample->bundle.programs)
    for (artifact::Kernel &kernel : program.kernels) {
      kernel.routine = kernel.key = "";
      kernel.fingerprint.clear();
      kernel.maps.clear();
      kernel.tiles = 0;
    }
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  EXPECT_EQ(openError(nullptr, NNV12_UNSUPPORTED),
            path + ": kind: found a tuning bundle, expected the bundle of a "
                   "model");
  OpenOptions any;
  any.takeTuning = true;
  Bundle bundle(path, any);
  EXPECT_EQ(bundle.info().kind, NNV12_BUNDLE_TUNING);
  nnv12_operation_info operation = bundle.operation(0);
  EXPECT_STREQ(operation.routine, "");
  EXPECT_STREQ(operation.key, "");
  EXPECT_EQ(operation.fingerprint, nullptr);
  EXPECT_EQ(operation.tiles, 3u);
  Session session(bundle, threads(2));
  EXPECT_TRUE(runs(session, 1));
}

/// A session of a tuning bundle computes the operations that were selected.
TEST_F(SessionTest, SelectsOperations) {
  {
    Bundle model(path);
    Session session(model, threads(1));
    nnv12_error error;
    uint32_t first = 0;
    EXPECT_EQ(nnv12_tuning_select(session.get(), &first, 1, &error),
              NNV12_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, "session: found one of a model's bundle, "
                                "expected kernels to be measured");
  }
  sample->bundle.kind = artifact::BundleKind::Tuning;
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  OpenOptions any;
  any.takeTuning = true;
  Bundle bundle(path, any);
  uint32_t last = bundle.info().num_operations - 1;
  for (uint32_t n : {1, 2}) {
    Session session(bundle, threads(n));
    EXPECT_TRUE(runs(session, 1));
    // The last operation writes the result.
    session.selectTuning({last, last});
    EXPECT_FALSE(last > 0 && runs(session, 2));
    session.selectTuning({0});
    std::vector<float> x(sample->elements()), y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    EXPECT_EQ(y, std::vector<float>(x.size(), -1)) << "nothing wrote it";
    session.selectTuning({});
    EXPECT_TRUE(runs(session, 3));

    nnv12_error error;
    uint32_t numbers[] = {0, last + 1};
    EXPECT_EQ(nnv12_tuning_select(session.get(), numbers, 2, &error),
              NNV12_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(error.message),
              "operations: found " + std::to_string(last + 1) +
                  ", expected at most " + std::to_string(last));
    EXPECT_TRUE(runs(session, 4)) << "nothing has changed";
    EXPECT_EQ(nnv12_tuning_select(session.get(), nullptr, 1, &error),
              NNV12_INVALID_ARGUMENT);
    EXPECT_EQ(nnv12_tuning_select(nullptr, nullptr, 0, &error),
              NNV12_INVALID_ARGUMENT);
  }
}

TEST_F(SessionTest, RunsAtAnyThreadCount) {
  for (size_t tiles : {1, 2, 3, 100, 1000}) {
    make(tiles);
    Bundle bundle(path);
    for (uint32_t n : {1, 2, 3, 8}) {
      Session session(bundle, threads(n));
      EXPECT_EQ(session.threads(), n);
      for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(runs(session, i)) << tiles << " tiles, " << n << " threads";
    }
  }
}

TEST_F(SessionTest, WorkersWakeUp) {
  make(64);
  Bundle bundle(path);
  SessionOptions options = threads(3);
  options.pinThreads = true;
  Session session(bundle, options);
  for (int i = 0; i < 5; ++i) {
    // Longer than workers spin.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_TRUE(runs(session, i));
  }
}

TEST_F(SessionTest, BundleMayBeClosedFirst) {
  auto bundle = std::make_unique<Bundle>(path);
  Session one(*bundle, threads(2)), two(*bundle, threads(1));
  bundle.reset();
  EXPECT_TRUE(runs(one, 1));
  EXPECT_TRUE(runs(two, 2));
}

TEST_F(SessionTest, FileMayBeReplaced) {
  Bundle bundle(path);
  Session session(bundle, threads(1));
  ASSERT_EQ(artifact::writeBundle(Sample(7).bundle, path), "");
  EXPECT_TRUE(runs(session, 1));
  unlink(path.c_str());
  EXPECT_TRUE(runs(session, 2));
}

TEST_F(SessionTest, FromMemory) {
  AlignedCopy image(readFile(path));
  Bundle bundle(image.data, image.size);
  EXPECT_FALSE(bundle.info().code_is_mapped);
  Session session(bundle, threads(2));
  EXPECT_TRUE(runs(session, 5));
  EXPECT_THROW(Bundle(image.data + 1, image.size - 1), Error);
  EXPECT_THROW(Bundle(nullptr, 0), Error);
}

TEST_F(SessionTest, SessionsOfOneBundleInManyThreads) {
  make(40);
  Bundle bundle(path);
  std::vector<std::thread> users;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    users.emplace_back([&, t] {
      Session session(bundle, threads(1 + t % 3));
      for (int i = 0; i < 50; ++i)
        good += bool(runs(session, i * 4 + t));
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(good, 200);
}

TEST_F(SessionTest, OneSessionRunsOneAtATime) {
  make(2000);
  Bundle bundle(path);
  Session session(bundle, threads(2));
  std::atomic<int> busy{0}, ok{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t)
    users.emplace_back([&] {
      std::vector<float> x(sample->elements()), y(x.size());
      nnv12_input in = NNV12_INPUT(x.data(), x.size() * 4);
      nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
      for (int i = 0; i < 100; ++i) {
        nnv12_status status =
            nnv12_session_run(session.get(), &in, 1, &out, 1, nullptr);
        (status == NNV12_OK ? ok : busy)++;
        EXPECT_TRUE(status == NNV12_OK || status == NNV12_BUSY);
      }
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(ok + busy, 300);
  EXPECT_GT(ok, 0);
}

/// Level by level, while the session goes on.
TEST_F(SessionTest, Recorded) {
  make(100);
  Bundle bundle(path);
  for (nnv12_record_level level :
       {NNV12_RECORD_RUN, NNV12_RECORD_OPERATION, NNV12_RECORD_PIECE}) {
    SessionOptions options = threads(2);
    options.oversubscribe = true;
    Recorder recorder(bundle, options, level, 1);
    options.recorder = recorder.get();
    Session session(bundle, options);
    Recording recording = recorder.recording();
    EXPECT_EQ(recording.info().level, level);
    EXPECT_EQ(recording.info().num_threads, 2u);
    EXPECT_EQ(recording.info().num_preparing, 0u);
    for (uint32_t run = 0; run < 5; ++run) {
      ASSERT_TRUE(runs(session, int(run)));
      EXPECT_EQ(recording.info().runs, run + 1);
      EXPECT_FALSE(recording.info().is_closed);
      uint64_t lost = 0, sum = 0, whole = 0, wholeStart = 0, first = 0;
      uint32_t executes = 0, joins = 0, parts[3] = {};
      for (const nnv12_record &record : recording.readAll(lost)) {
        if (record.kind == NNV12_RECORD_THREAD_START)
          continue;
        EXPECT_EQ(record.run, run);
        if (record.kind == NNV12_RECORD_EXECUTE) {
          EXPECT_EQ(record.index, executes++);
          if (!first)
            first = record.start_ns;
          // No gaps.
          EXPECT_NEAR(double(record.start_ns), double(first + sum), 5.);
          sum += record.duration_ns;
        } else if (record.kind == NNV12_RECORD_WHOLE_RUN) {
          whole = record.duration_ns;
          wholeStart = record.start_ns;
        } else if (record.kind == NNV12_RECORD_TILES) {
          ASSERT_LT(record.index, 3u);
          EXPECT_LE(record.first + record.count, 65535);
          parts[record.index] += record.count;
        } else {
          EXPECT_EQ(record.kind, NNV12_RECORD_JOIN);
          ++joins;
        }
      }
      EXPECT_EQ(lost, 0u);
      EXPECT_NE(whole, 0u);
      EXPECT_EQ(executes, level >= NNV12_RECORD_OPERATION ? 3u : 0u);
      EXPECT_LE(sum, whole + 5);
      if (executes) {
        EXPECT_GE(first + 5, wholeStart);
      }
      EXPECT_EQ(joins, level == NNV12_RECORD_PIECE ? 3u : 0u);
      for (uint32_t part : parts)
        EXPECT_NEAR(part, joins ? 65535 : 0, 8);
    }
  }
}

/// One run of four.
TEST_F(SessionTest, Sampled) {
  Bundle bundle(path);
  SessionOptions options = threads(1);
  Recorder recorder(bundle, options, NNV12_RECORD_OPERATION, 10);
  nnv12_recorder sampling = *recorder.get();
  sampling.sample_every = 4;
  options.recorder = &sampling;
  Session session(bundle, options);
  for (int run = 0; run < 9; ++run)
    ASSERT_TRUE(runs(session, run));
  Recording recording = recorder.recording();
  EXPECT_EQ(recording.info().runs, 9u);
  EXPECT_EQ(recording.info().sample_every, 4u);
  uint64_t lost = 0;
  std::vector<nnv12_record> records = recording.readAll(lost);
  ASSERT_EQ(records.size(), 12u);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(records[i].run, i / 4 * 4);
}

/// A newer header's buffers have more fields behind the known ones.
TEST_F(SessionTest, NewerCallersKnowMoreOfABuffer) {
  struct NewerInput {
    nnv12_input known;
    uint64_t added;
  };
  Bundle bundle(path);
  Session session(bundle, threads(1));
  size_t n = sample->elements();
  std::vector<float> x(n, 2), y(n);
  NewerInput in = {NNV12_INPUT(x.data(), n * 4), ~0ull};
  in.known.struct_size = sizeof in;
  nnv12_output out = NNV12_OUTPUT(y.data(), n * 4);
  EXPECT_EQ(nnv12_session_run(session.get(), &in.known, 1, &out, 1, nullptr),
            NNV12_OK);
  for (size_t i = 0; i < n; ++i)
    EXPECT_EQ(y[i], sample->expected(i, 2));
  nnv12_error error;
  in.known.struct_size = 0;
  EXPECT_EQ(nnv12_session_run(session.get(), &in.known, 1, &out, 1, &error),
            NNV12_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "inputs: struct_size: found 0, expected 24");
  in.known.struct_size = sizeof in;
  out.struct_size = 25;
  EXPECT_EQ(nnv12_session_run(session.get(), &in.known, 1, &out, 1, &error),
            NNV12_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "outputs: struct_size: found 25, expected 24");
}

#if defined(__x86_64__)
TEST_F(SessionTest, FlushesDenormalsAndRestoresTheMode) {
  make(1);
  Bundle bundle(path);
  Session session(bundle, threads(1));
  std::vector<float> x(tileSize, 1e-40f), y(tileSize);
  unsigned before = __builtin_ia32_stmxcsr();
  session.run({{x.data(), 64}}, {{y.data(), 64}});
  EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3fu, before & ~0x3fu);
  // Element 0 adds 0 and multiplies by 0.5.
  EXPECT_EQ(y[0], 0.0f);
}
#endif

TEST_F(SessionTest, WrongBuffers) {
  Bundle bundle(path);
  Session session(bundle, threads(1));
  std::vector<float> x(sample->elements() + 1), y(sample->elements());
  size_t size = sample->elements() * 4;
  auto message = [&](Input in, uint32_t numIn, Output out, uint32_t numOut) {
    nnv12_error error = {};
    EXPECT_EQ(
        nnv12_session_run(session.get(), &in, numIn, &out, numOut, &error),
        NNV12_INVALID_ARGUMENT);
    return std::string(error.message);
  };
  EXPECT_EQ(message({x.data(), size}, 0, {y.data(), size}, 1),
            "inputs: found 0, expected 1");
  EXPECT_EQ(message({x.data(), size}, 1, {y.data(), size}, 2),
            "outputs: found 2, expected 1");
  EXPECT_EQ(message({x.data(), size - 4}, 1, {y.data(), size}, 1),
            "input 'x': size: found 188 bytes, expected 192");
  EXPECT_EQ(message({x.data(), size}, 1, {nullptr, size}, 1),
            "output 'y': data: found NULL, expected 192 bytes");
  auto *odd = reinterpret_cast<char *>(x.data()) + 1;
  EXPECT_NE(message({odd, size}, 1, {y.data(), size}, 1).find("multiple of 4"),
            std::string::npos);
}

TEST_F(SessionTest, WrongOptions) {
  Bundle bundle(path);
  EXPECT_THROW(Session(bundle, threads(65)), Error);
  nnv12_session_options unset = NNV12_SESSION_OPTIONS_INIT;
  unset.struct_size = 0;
  nnv12_session *session;
  EXPECT_EQ(nnv12_session_create(bundle.get(), &unset, &session, nullptr),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_session_create(nullptr, nullptr, &session, nullptr),
            NNV12_INVALID_ARGUMENT);
  nnv12_bundle *none;
  EXPECT_EQ(nnv12_bundle_open(nullptr, nullptr, &none, nullptr),
            NNV12_INVALID_ARGUMENT);
  nnv12_bundle_close(nullptr);
  nnv12_session_close(nullptr);
}

/// The session's options point to them.
TEST_F(SessionTest, WrongOptionsOfProcessorsAndStreams) {
  Bundle bundle(path);
  auto refusal = [&](const nnv12_session_options &options) {
    nnv12_session *session = nullptr;
    nnv12_error error = {NNV12_OK, ""};
    nnv12_session_create(bundle.get(), &options, &session, &error);
    nnv12_session_close(session);
    return std::pair(error.status, std::string(error.message));
  };
  auto recorderSize = [&](const nnv12_session_options &options) {
    return nnv12_recorder_size(bundle.get(), &options, NNV12_RECORD_RUN, 1);
  };
  SessionOptions options;
  EXPECT_EQ(refusal(options.get()), std::pair(NNV12_OK, std::string()));
  EXPECT_NE(recorderSize(options.get()), 0u);
  int none = 7;
  memcpy(&options.gpu.mode, &none, sizeof none);
  EXPECT_EQ(refusal(options.get()),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("gpu: mode: found 7, expected at most 3")));
  options.gpu.struct_size = 0;
  EXPECT_EQ(refusal(options.get()),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("gpu: struct_size: found 0, expected "
                                  "what NNV12_GPU_OPTIONS_INIT sets")));
  EXPECT_EQ(recorderSize(options.get()), 0u);
  nnv12_session_options defaults = NNV12_SESSION_OPTIONS_INIT;
  EXPECT_EQ(defaults.gpu, nullptr);
  EXPECT_EQ(refusal(defaults), std::pair(NNV12_OK, std::string()));
  nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;
  defaults.stream = &stream;
  // Whether the library or the bundle is without: StreamTest.cpp.
  EXPECT_EQ(refusal(defaults).first, NNV12_UNSUPPORTED);
  EXPECT_EQ(refusal(defaults).second.find("stream: "), 0u);
  memcpy(&stream.reuse, &none, sizeof none);
  EXPECT_EQ(refusal(defaults),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("stream: reuse: found 7, expected at most "
                                  "2")));
  EXPECT_EQ(recorderSize(defaults), 0u);
  nnv12_gpu_options gpu = NNV12_GPU_OPTIONS_INIT;
  gpu.mode = NNV12_GPU_WAIT;
  defaults.gpu = &gpu;
  stream.reuse = NNV12_REUSE_EXACT;
  EXPECT_EQ(refusal(defaults),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("stream: found a GPU that is waited for "
                                  "(NNV12_GPU_WAIT), expected none: CPUs "
                                  "compute frames")));
  stream.reuse = NNV12_REUSE_OFF;
  EXPECT_EQ(refusal(defaults), std::pair(NNV12_OK, std::string()));
  stream.struct_size = 0;
  EXPECT_EQ(refusal(defaults),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("stream: struct_size: found 0, expected what "
                                  "NNV12_STREAM_OPTIONS_INIT sets")));
}

TEST_F(SessionTest, OlderCallersKnowLessOfAStruct) {
  Bundle bundle(path);
  nnv12_bundle_info info = {};
  info.struct_size = offsetof(nnv12_bundle_info, producer);
  nnv12_bundle_get_info(bundle.get(), &info);
  EXPECT_STREQ(info.model, "sample");
  EXPECT_EQ(info.producer, nullptr);
}

TEST_F(SessionTest, ChoosesByTarget) {
  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.target = "z80";
  EXPECT_EQ(openError(&options, NNV12_UNSUPPORTED),
            path + ": target: found no z80, expected one of future, x86-64, "
                   "aarch64");
  options.target = artifact::hostArchitecture();
  OpenOptions good;
  good.target = options.target;
  EXPECT_STREQ(Bundle(path, good).info().target, good.target);
}

TEST_F(SessionTest, NamesTheMissingFeature) {
  for (artifact::Program &program : sample->bundle.programs)
    program.features = {"quantum"};
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  EXPECT_NE(openError(nullptr, NNV12_UNSUPPORTED)
                .find(std::string("; ") + artifact::hostArchitecture() +
                      " needs quantum"),
            std::string::npos);
}

#if defined(__x86_64__)
TEST_F(SessionTest, NeedsTilesThatTheCpuLacks) {
  if (artifact::CpuFeatures().has("amx-int8", 8))
    GTEST_SKIP() << "the CPU has AMX";
  artifact::Program &amx = sample->bundle.programs[1];
  amx.target = "x86-64-v4+amx";
  amx.features = {"sse2", "amx-int8"};
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  std::string error = openError(nullptr, NNV12_UNSUPPORTED);
  EXPECT_NE(error.find("; x86-64-v4+amx needs amx-int8;"), std::string::npos)
      << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}
#endif

TEST_F(SessionTest, BadFiles) {
  path = folder.file("none.nnv");
  EXPECT_EQ(openError(nullptr, NNV12_IO),
            path + ": cannot open: No such file or directory");
  path = folder.path;
  EXPECT_EQ(openError(nullptr, NNV12_IO),
            path + ": found a folder, expected a regular file");
  path = folder.file("empty.nnv");
  writeFile(path, "", 0);
  EXPECT_EQ(openError(nullptr, NNV12_BAD_BUNDLE),
            path + ": file: empty, expected a bundle");
}

TEST_F(SessionTest, DamagedCodeNeverRuns) {
  std::vector<unsigned char> image = readFile(path);
  // The x86-64 code is the first segment, the aarch64 code the second.
  artifact::Fault fault;
  AlignedCopy copy(image);
  const auto *found = artifact::verifyBundle(copy.data, copy.size, fault);
  ASSERT_NE(found, nullptr) << fault.text;
  unsigned index = artifact::hostArchitecture()[0] == 'x' ? 0 : 1;
  size_t offset = found->segments()->Get(index)->offset();
  image[offset + 5] ^= 1;
  writeFile(path, image.data(), image.size());
  EXPECT_NE(openError(nullptr, NNV12_UNTRUSTED).find("(Code): digest"),
            std::string::npos);
}

TEST_F(SessionTest, WeightsAreVerifiedWhenAsked) {
  std::vector<unsigned char> image = readFile(path);
  image.back() ^= 1;
  writeFile(path, image.data(), image.size());
  EXPECT_NO_THROW(Bundle{path});
  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.verify_weights = 1;
  EXPECT_NE(openError(&options, NNV12_UNTRUSTED).find("(Weights): digest"),
            std::string::npos);
}

TEST_F(SessionTest, PublicKeyRefusesUnsigned) {
  uint8_t key[32] = {};
  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.public_key = key;
  EXPECT_NE(openError(&options, NNV12_UNTRUSTED).find("signature: found none"),
            std::string::npos);
}

TEST_F(SessionTest, MessagesAreOneLine) {
  path = folder.file("a\nb.nnv");
  EXPECT_EQ(openError(nullptr, NNV12_IO).find('\n'), std::string::npos);
}

/// By name, in any order; one line says what does not fit.
TEST_F(SessionTest, NamedBuffers) {
  artifact::Tensor other = sample->bundle.inputs[0];
  other.name = "unused";
  sample->bundle.inputs.push_back(other);
  path = folder.file("named.nnv");
  ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
  Bundle bundle(path);
  Session session(bundle, threads(1));
  size_t n = sample->elements();
  std::vector<float> x(n, 3), w(n, 100), y(n, -1);
  session.run({{"unused", w.data(), n * 4}, {"x", x.data(), n * 4}},
              {{"y", y.data(), n * 4}});
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(y[i], sample->expected(i, 3));
  // The session keeps the names.
  Session kept(Bundle(path), threads(1));
  kept.run({{"x", x.data(), n * 4}, {"unused", w.data(), n * 4}},
           {{"y", y.data(), n * 4}});

  using In = std::initializer_list<NamedInput>;
  using Out = std::initializer_list<NamedOutput>;
  auto refusal = [&](In in, Out out) -> std::string {
    y.assign(n, -1);
    try {
      session.run(in, out);
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), NNV12_INVALID_ARGUMENT);
      EXPECT_EQ(y, std::vector<float>(n, -1)) << "untouched";
      return error.what();
    }
    return "";
  };
  NamedInput good = {"x", x.data(), n * 4},
             unused = {"unused", w.data(), n * 4};
  NamedOutput result = {"y", y.data(), n * 4};
  EXPECT_EQ(refusal({good, unused}, {result}), "");
  EXPECT_EQ(refusal({good, unused, {"z", w.data(), n * 4}}, {result}),
            "input 'z': found no such name, expected 'x', 'unused'");
  EXPECT_EQ(refusal({good, unused, {nullptr, w.data(), n * 4}}, {result}),
            "input '': found no such name, expected 'x', 'unused'");
  EXPECT_EQ(refusal({good}, {result}),
            "input 'unused': found 0 buffers, expected 1");
  EXPECT_EQ(refusal({good, unused, good}, {result}),
            "input 'x': found 2 buffers, expected 1");
  EXPECT_EQ(refusal({good, {"unused", w.data(), n}}, {result}),
            "input 'unused': size: found 48 bytes, expected 192");
  EXPECT_EQ(refusal({good, unused}, {}),
            "output 'y': found 0 buffers, expected 1");
  EXPECT_EQ(refusal({good, unused}, {result, result}),
            "output 'y': found 2 buffers, expected 1");
  EXPECT_EQ(refusal({good, unused}, {{"x", y.data(), n * 4}}),
            "output 'x': found no such name, expected 'y'");
}
