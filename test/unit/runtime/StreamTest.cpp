//===- StreamTest.cpp - Streams through the C and C++ API -----------------===//
//
// test/unit/sample/VideoSample.h says how executes compute parts.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/Fault.h"
#include "artifact/Header.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/VideoSample.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
/// Called before a thread computes tiles that it has taken.
extern void (*beforeTiles)();
} // namespace nnv12::runtime

namespace {

constexpr size_t numTiles = 4;

class StreamTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    write(sample.bundle);
  }
  void TearDown() override { runtime::beforeTiles = nullptr; }

  void write(const artifact::Bundle &bundle) {
    ASSERT_EQ(artifact::writeBundle(bundle, path), "");
  }

  static SessionOptions options(uint32_t threads = 1,
                                nnv12_mode mode = NNV12_MODE_COLD) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.mode = mode;
    result.gpu.mode = NNV12_GPU_OFF;
    result.stream.reuse = NNV12_REUSE_EXACT;
    return result;
  }

  /// Why there is no session.
  std::pair<nnv12_status, std::string>
  refusal(const Bundle &bundle, const nnv12_session_options &wanted) {
    nnv12_session *session = nullptr;
    nnv12_error error = {NNV12_OK, ""};
    EXPECT_EQ(nnv12_session_create(bundle.get(), &wanted, &session, &error),
              error.status);
    nnv12_session_close(session);
    EXPECT_EQ(strchr(error.message, '\n'), nullptr);
    return {error.status, error.message};
  }
  std::pair<nnv12_status, std::string> refusal(const Bundle &bundle) {
    SessionOptions wanted = options();
    return refusal(bundle, wanted.get());
  }

  /// Runs a frame. Whether the result is right.
  testing::AssertionResult gives(Session &session, const std::vector<float> &x,
                                 bool isLater = false) {
    std::vector<float> y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    for (size_t i = 0; i < y.size(); ++i)
      if (float expected = sample.expectedRun(i, x[i], isLater);
          y[i] != expected)
        return testing::AssertionFailure() << "element " << i << ": found "
                                           << y[i] << ", expected " << expected;
    return testing::AssertionSuccess();
  }

  /// The first run, one that keeps inputs and outputs, and a frame that
  /// computes all and keeps the values. Whether results are right.
  testing::AssertionResult begins(Session &session) {
    for (int i = 0; i < 3; ++i) {
      x[0] += float(i == 2);
      if (testing::AssertionResult good = gives(session, x); !good)
        return good;
    }
    return testing::AssertionSuccess();
  }

  VideoSample sample{numTiles};
  TemporaryFolder folder;
  std::string path = folder.file("a.nnv");
  std::vector<float> x = std::vector<float>(sample.elements(), 3);
};

} // namespace

TEST_F(StreamTest, NoStreamIsZeros) {
  Bundle bundle(path);
  SessionOptions off = options();
  off.stream.reuse = NNV12_REUSE_OFF;
  Session session(bundle, off);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(gives(session, x));
  session.reset();
  ASSERT_TRUE(gives(session, x));
  nnv12_stream_info info;
  memset(&info, 0xff, sizeof info);
  info.struct_size = sizeof info;
  nnv12_session_get_stream_info(session.get(), &info);
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_EQ(info.runs, 0u);
  EXPECT_EQ(info.frames, 0u);
  EXPECT_EQ(info.whole_frames, 0u);
  EXPECT_EQ(info.memory_size, 0u);
  EXPECT_EQ(info.changed, 0);
  EXPECT_EQ(info.computed, 0);
  // Nobody's.
  nnv12_session_get_stream_info(nullptr, &info);
  nnv12_session_get_stream_info(session.get(), nullptr);
  EXPECT_EQ(nnv12_session_reset(nullptr, nullptr), NNV12_INVALID_ARGUMENT);
}

#if NNV12_VIDEO

namespace {

/// The session that runs, for functions that are called meanwhile.
nnv12_session *running = nullptr;
std::atomic<uint32_t> numBusy{0};
void resetMeanwhile() {
  nnv12_error error;
  numBusy += nnv12_session_reset(running, &error) == NNV12_BUSY &&
             strcmp(error.message, "the session runs already") == 0;
}
void delayTiles() { usleep(3000); }

} // namespace

TEST_F(StreamTest, CountsFramesAndWork) {
  Bundle bundle(path);
  for (uint32_t threads : {1, 2, 4}) {
    Session session(bundle, options(threads));
    EXPECT_EQ(session.streamInfo().frames, 0u);
    // x, five results and a place for check points, of 256 bytes. A set has 2
    // rows of a word, and room; hints have one.
    EXPECT_EQ(session.streamInfo().memory_size, 7 * 256u + 7 * 64u);
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().frames, 0u) << "the first run is none";
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().frames, 0u) << "it keeps the answer alone";
    // Nothing changes.
    ASSERT_TRUE(gives(session, x));
    nnv12_stream_info info = session.streamInfo();
    EXPECT_EQ(info.frames, 1u);
    EXPECT_EQ(info.whole_frames, 0u);
    EXPECT_EQ(info.changed, 0);
    EXPECT_EQ(info.computed, 0);
    // Now values are worth keeping.
    x[50] += 1;
    ASSERT_TRUE(gives(session, x));
    info = session.streamInfo();
    EXPECT_EQ(info.frames, 2u);
    EXPECT_EQ(info.whole_frames, 1u);
    EXPECT_EQ(info.computed, 0);
    // One pixel of 64, in the second row. Computed are a run of 16, a row, a
    // cell, and all twice, of four times 64 and a copy, which counts as 1.
    x[50] += 1;
    ASSERT_TRUE(gives(session, x));
    info = session.streamInfo();
    EXPECT_EQ(info.whole_frames, 1u);
    EXPECT_EQ(info.changed, 1. / (2 * 64));
    EXPECT_EQ(info.computed, (16. + 32 + 16 + 64 + 1) / (2 * 257));
    EXPECT_EQ(info.runs, 4u);
    // Nothing changes.
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().frames, 4u);
    EXPECT_EQ(session.streamInfo().whole_frames, 1u);
    EXPECT_EQ(session.streamInfo().changed, 1. / (3 * 64));
  }
}

/// Each pixel alone, and any of them.
TEST_F(StreamTest, ResultsAreThoseOfRunsWithout) {
  for (size_t tiles : {1, 3, 4, 40}) {
    VideoSample other(tiles);
    write(other.bundle);
    Bundle bundle(path);
    for (uint32_t threads : {1, 2, 4}) {
      Session session(bundle, options(threads));
      std::vector<float> in(other.elements(), 1), out(in.size());
      auto expectRight = [&](size_t frame) {
        session.run({{in.data(), in.size() * 4}},
                    {{out.data(), out.size() * 4}});
        for (size_t i = 0; i < in.size(); ++i)
          ASSERT_EQ(out[i], other.expectedRun(i, in[i], false))
              << "element " << i << " of frame " << frame;
      };
      for (size_t i = 0; i < in.size(); ++i) {
        in[i] = float(i * 7 % 31);
        expectRight(i);
      }
      for (size_t frame = 0; frame < 100; ++frame) {
        for (size_t i = frame * frame % in.size(); i < in.size();
             i += 1 + frame * 5 % 23)
          in[i] = float((i + frame) % 19);
        expectRight(frame);
      }
      EXPECT_EQ(session.streamInfo().runs, in.size() + 99);
    }
  }
}

/// Where all is computed, most runs are without a stream: 8 behind the second
/// frame of that kind in a row, then 16 behind the next one, and so on.
TEST_F(StreamTest, FramesWithLittleToReuse) {
  Bundle bundle(path);
  Session session(bundle, options());
  auto run = [&](int runs) {
    for (int i = 0; i < runs; ++i) {
      // A pixel of each tile.
      for (size_t k = 0; k < x.size(); k += 16)
        x[k] += 1;
      ASSERT_TRUE(gives(session, x));
    }
  };
  run(2 + 3 + 8);
  EXPECT_EQ(session.streamInfo().runs, 12u);
  EXPECT_EQ(session.streamInfo().frames, 3u) << "one keeps, two reuse nothing";
  EXPECT_EQ(session.streamInfo().computed, 1);
  // One keeps the input.
  run(1 + 2 + 16);
  EXPECT_EQ(session.streamInfo().frames, 5u);
  EXPECT_EQ(session.streamInfo().whole_frames, 2u);
  run(1);
  EXPECT_EQ(session.streamInfo().frames, 5u);
  run(1);
  EXPECT_EQ(session.streamInfo().frames, 6u);
  // A reset tries at once, and begins at 8.
  run(5);
  session.reset();
  run(4 + 8);
  EXPECT_EQ(session.streamInfo().frames, 10u);
  run(2);
  EXPECT_EQ(session.streamInfo().frames, 11u);
  // One new picture between copies is no reason.
  session.reset();
  run(1);
  for (int i = 0; i < 20; ++i) {
    run(1);
    ASSERT_TRUE(gives(session, x));
  }
  EXPECT_EQ(session.streamInfo().frames, 11u + 40);
}

/// Where more than a quarter of the input changes nothing is looked for.
TEST_F(StreamTest, FramesThatChangeEverywhere) {
  Bundle bundle(path);
  for (uint32_t threads : {1, 3}) {
    Session session(bundle, options(threads));
    auto run = [&](size_t numPixels) {
      for (size_t i = 0; i < numPixels; ++i)
        x[i * 7 % x.size()] += 1;
      ASSERT_TRUE(gives(session, x));
    };
    auto expectFrames = [&](uint64_t frames, uint64_t whole) {
      EXPECT_EQ(session.streamInfo().frames, frames);
      EXPECT_EQ(session.streamInfo().whole_frames, whole);
    };
    auto runAll = [&](int runs) {
      for (int i = 0; i < runs; ++i)
        run(64);
    };
    run(64);
    run(64);
    expectFrames(0, 0);
    run(16);
    expectFrames(1, 1);
    run(0);
    expectFrames(2, 1);
    // The answer to a new picture is that to its copies.
    run(17);
    expectFrames(2, 1);
    run(0);
    expectFrames(3, 1);
    // Two new ones, and 8 runs without. Then one keeps the answer, one finds
    // another new one, and 16 are without.
    runAll(2 + 8);
    expectFrames(3, 1);
    EXPECT_EQ(session.streamInfo().changed, (17. + 2 * 64) / (5 * 64));
    runAll(2 + 16);
    expectFrames(3, 1);
    EXPECT_EQ(session.streamInfo().changed, (17. + 3 * 64) / (6 * 64));
    run(0);
    expectFrames(3, 1);
    run(0);
    expectFrames(4, 1);
    run(1);
    expectFrames(5, 2);
    run(1);
    expectFrames(6, 2);
  }
}

/// Layers behind some one are computed whole, or not at all, in memory that
/// plain runs write as well.
TEST_F(StreamTest, Tails) {
  for (uint32_t first = 1; first < 5; ++first) {
    VideoSample other(numTiles);
    joinTail(other.bundle, first);
    write(other.bundle);
    Bundle bundle(path);
    for (uint32_t threads : {1, 3}) {
      Session session(bundle, options(threads));
      ASSERT_TRUE(begins(session));
      x[50] += 1;
      ASSERT_TRUE(gives(session, x));
      const double work[] = {16, 32, 16, 64, 1};
      double expected = 0;
      for (uint32_t i = 0; i < 5; ++i)
        expected += i < first ? work[i] : i == 4 ? 1 : 64;
      EXPECT_EQ(session.streamInfo().computed, expected / 257) << first;
      // Frames without a change, with some, and plain runs between.
      for (size_t frame = 0; frame < 300; ++frame) {
        size_t changes = frame % 3 == 0 ? 0 : frame % 50 < 3 ? x.size() : 2;
        for (size_t i = 0; i < changes; ++i)
          x[(frame * 5 + i) % x.size()] = float((frame + i) % 23);
        ASSERT_TRUE(gives(session, x))
            << "first " << first << ", frame " << frame;
      }
      EXPECT_GT(session.streamInfo().runs, session.streamInfo().frames);
    }
    // Later routines take over.
    Session session(bundle, options(2, NNV12_MODE_PLAN));
    ASSERT_TRUE(session.prepare(std::chrono::seconds(60)));
    for (size_t frame = 0; frame < 50; ++frame) {
      x[frame % x.size()] += 1;
      ASSERT_TRUE(gives(session, x, /*isLater=*/true)) << frame;
    }
  }
}

TEST_F(StreamTest, ResetForgetsTheLastFrame) {
  Bundle bundle(path);
  Session session(bundle, options());
  session.reset(); // nothing to forget
  ASSERT_TRUE(begins(session));
  EXPECT_EQ(session.streamInfo().frames, 1u);
  EXPECT_EQ(session.streamInfo().whole_frames, 1u);
  for (uint64_t resets = 1; resets < 4; ++resets) {
    session.reset();
    session.reset(); // the same as once
    for (uint64_t i = 0; i < 3; ++i) {
      x[7] += 1;
      ASSERT_TRUE(gives(session, x));
      EXPECT_EQ(session.streamInfo().whole_frames, resets + (i > 0));
    }
  }
}

TEST_F(StreamTest, ResetOfASessionThatRuns) {
  Bundle bundle(path);
  // One thread alone takes its tiles without asking.
  Session session(bundle, options(2));
  running = session.get();
  for (int i = 0; i < 3; ++i) {
    numBusy = 0;
    runtime::beforeTiles = resetMeanwhile;
    x[0] += 1;
    ASSERT_TRUE(gives(session, x));
    runtime::beforeTiles = nullptr;
    EXPECT_GT(numBusy, 0u);
  }
  EXPECT_EQ(session.streamInfo().whole_frames, 1u) << "nothing was forgotten";
}

/// The values of a frame that ends early are not those of one frame.
TEST_F(StreamTest, FramesThatEndEarly) {
  Bundle bundle(path);
  Session session(bundle, options(2));
  ASSERT_TRUE(begins(session));
  nnv12_stream_info before = session.streamInfo();
  std::vector<float> other = x, y(x.size());
  std::fill_n(other.begin(), 10, 8);
  nnv12_input in = NNV12_INPUT(other.data(), other.size() * 4);
  nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
  auto soon = std::chrono::steady_clock::now().time_since_epoch() +
              std::chrono::milliseconds(2);
  runtime::beforeTiles = delayTiles;
  EXPECT_EQ(
      nnv12_session_run_until(
          session.get(), &in, 1, &out, 1,
          uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(soon)
                       .count()),
          nullptr),
      NNV12_TIMED_OUT);
  runtime::beforeTiles = nullptr;
  // Nothing of it is left.
  ASSERT_TRUE(gives(session, x));
  EXPECT_EQ(session.streamInfo().whole_frames, before.whole_frames);
  for (int i = 0; i < 2; ++i) {
    x[9] += 1;
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().whole_frames, before.whole_frames + 1);
  }
}

TEST_F(StreamTest, OlderCallersKnowLess) {
  Bundle bundle(path);
  // Fields of a stream's options that are not there have their defaults.
  SessionOptions wanted = options();
  wanted.stream.struct_size = offsetof(nnv12_stream_options, reuse);
  wanted.stream.reuse = NNV12_REUSE_OFF;
  {
    Session session(bundle, wanted);
    EXPECT_GT(session.streamInfo().memory_size, 0u);
    ASSERT_TRUE(begins(session));
    // Fields of the info that are not there are left alone.
    nnv12_stream_info info;
    memset(&info, 0xff, sizeof info);
    info.struct_size = offsetof(nnv12_stream_info, frames);
    nnv12_session_get_stream_info(session.get(), &info);
    EXPECT_EQ(info.runs, 2u);
    EXPECT_EQ(info.frames, ~uint64_t(0));
    EXPECT_EQ(info.memory_size, ~uint64_t(0));
    info.struct_size = sizeof(size_t);
    info.runs = 77;
    nnv12_session_get_stream_info(session.get(), &info);
    EXPECT_EQ(info.runs, 77u);
    // A newer caller's is larger.
    struct {
      nnv12_stream_info known;
      uint64_t added;
    } newer = {{}, 99};
    newer.known.struct_size = sizeof newer;
    nnv12_session_get_stream_info(session.get(), &newer.known);
    EXPECT_EQ(newer.known.whole_frames, 1u);
    EXPECT_EQ(newer.added, 99u);
  }
  // Session options of before there were streams ask for none.
  wanted = options();
  nnv12_session_options older = wanted.get();
  older.struct_size = offsetof(nnv12_session_options, stream);
  nnv12_session *session = nullptr;
  ASSERT_EQ(nnv12_session_create(bundle.get(), &older, &session, nullptr),
            NNV12_OK);
  nnv12_stream_info info = {};
  info.struct_size = sizeof info;
  nnv12_session_get_stream_info(session, &info);
  EXPECT_EQ(info.memory_size, 0u);
  nnv12_session_close(session);
}

/// All layers change between two frames; nothing is kept over that.
TEST_F(StreamTest, LaterRoutines) {
  Bundle bundle(path);
  for (uint32_t threads : {1, 2}) {
    Session session(bundle, options(threads, NNV12_MODE_PLAN));
    ASSERT_TRUE(session.prepare(std::chrono::seconds(60)));
    EXPECT_EQ(session.info().steady_run, 0u);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(gives(session, x, /*isLater=*/true));
      x[size_t(i)] += 1;
    }
    EXPECT_EQ(session.streamInfo().whole_frames, 1u);
  }
  for (uint32_t threads : {1, 2}) {
    SessionOptions way = options(threads, NNV12_MODE_PLAN);
    way.preparationThreads = noPreparation;
    Session session(bundle, way);
    // Without a preparation thread runs prepare, some of it each.
    bool isLater = false;
    uint64_t run = 0;
    for (; !isLater && run < 1000; ++run) {
      std::vector<float> y(x.size());
      x[run % x.size()] += 1;
      session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
      isLater = session.info().steady_run == run;
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i], sample.expectedRun(i, x[i], isLater)) << "run " << run;
    }
    ASSERT_TRUE(isLater);
    ASSERT_GT(run, 1u);
    // The run of the change keeps the input alone, as did the second run.
    x[9] += 1;
    ASSERT_TRUE(gives(session, x, true));
    nnv12_stream_info changed = session.streamInfo();
    EXPECT_EQ(changed.whole_frames, run > 3 ? 2u : 1u);
    x[9] += 1;
    ASSERT_TRUE(gives(session, x, true));
    EXPECT_EQ(session.streamInfo().whole_frames, changed.whole_frames);
    EXPECT_LT(session.streamInfo().computed, 1);
  }
}

TEST_F(StreamTest, ColdSessionsNeverChange) {
  Bundle bundle(path);
  Session session(bundle, options(2, NNV12_MODE_COLD));
  for (int i = 0; i < 50; ++i) {
    x[size_t(i)] += 1;
    ASSERT_TRUE(gives(session, x));
  }
  EXPECT_EQ(session.streamInfo().whole_frames, 1u);
  EXPECT_EQ(session.streamInfo().frames, 48u);
}

/// Each remembers the frames of its own stream.
TEST_F(StreamTest, SessionsOfOneBundle) {
  Bundle bundle(path);
  SessionOptions off = options();
  off.stream.reuse = NNV12_REUSE_OFF;
  Session one(bundle, options()), two(bundle, options(2)), none(bundle, off);
  std::vector<float> other(x.size(), -5);
  for (int i = 0; i < 30; ++i) {
    x[size_t(i)] += 1;
    ASSERT_TRUE(gives(one, x));
    other[0] += float(i == 2); // or there were no values to be kept
    ASSERT_TRUE(gives(two, other));
    ASSERT_TRUE(gives(none, x));
  }
  EXPECT_GT(one.streamInfo().changed, 0);
  EXPECT_EQ(two.streamInfo().changed, 0);
  two.reset();
  ASSERT_TRUE(gives(one, x));
  ASSERT_TRUE(gives(two, x));
  x[0] += 1;
  ASSERT_TRUE(gives(two, x));
  EXPECT_EQ(one.streamInfo().whole_frames, 1u);
  EXPECT_EQ(two.streamInfo().whole_frames, 2u);
  // And at the same time.
  std::vector<std::thread> users;
  for (Session *session : {&one, &two})
    users.emplace_back([&, session] {
      std::vector<float> mine = x;
      for (size_t i = 0; i < 200; ++i) {
        mine[i % mine.size()] += 1;
        EXPECT_TRUE(gives(*session, mine));
      }
    });
  for (std::thread &user : users)
    user.join();
}

/// One pixel each: any change is a change of all.
TEST_F(StreamTest, InputsWithoutRowsAndColumns) {
  for (artifact::Program &program : sample.bundle.programs) {
    program.video->sets[0] = {1, 1};
    program.video->inputs[0].pixels = {0, 0, 1, 0, x.size() * 4};
  }
  write(sample.bundle);
  Bundle bundle(path);
  for (uint32_t threads : {1, 3}) {
    Session session(bundle, options(threads));
    ASSERT_TRUE(begins(session));
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().changed, 0);
    EXPECT_EQ(session.streamInfo().computed, 0);
    x[63] += 1;
    ASSERT_TRUE(gives(session, x));
    EXPECT_EQ(session.streamInfo().changed, 0.5);
    EXPECT_EQ(session.streamInfo().computed, 0.5);
  }
}

/// A GPU is not used then, and needs no library.
TEST_F(StreamTest, BesideAnOverlayForAGpu) {
  GpuSample both;
  addVideo(both.bundle);
  write(both.bundle);
  Bundle bundle(path);
  SessionOptions wanted = options();
  wanted.gpu.mode = NNV12_GPU_AFTER_FIRST;
  Session session(bundle, wanted);
  for (int i = 0; i < 5; ++i) {
    x[size_t(i)] += 1;
    ASSERT_TRUE(gives(session, x));
  }
  EXPECT_EQ(session.streamInfo().frames, 3u);
  EXPECT_EQ(session.info().gpu_stretches_taken, 0u);
}

TEST_F(StreamTest, BundlesWithoutAPart) {
  for (artifact::Program &program : sample.bundle.programs)
    program.video.reset();
  write(sample.bundle);
  Bundle bundle(path);
  EXPECT_EQ(refusal(bundle),
            std::pair(NNV12_UNSUPPORTED,
                      std::string("stream: found a bundle without a part for "
                                  "video, expected one (nnv12c --video)")));
}

/// Opening a bundle does not look at its overlay, and its runs need none.
TEST_F(StreamTest, DamagedOverlays) {
  AlignedCopy image(readFile(path));
  artifact::Header header;
  memcpy(&header, image.data, sizeof header);
  auto *metadata = const_cast<bundle::Bundle *>(
      bundle::GetBundle(image.data + header.metadataOffset));
  const bundle::Overlay *overlay = artifact::videoOverlayIn(metadata);
  const bundle::Segment *segment =
      metadata->segments()->Get(overlay->segment());
  auto *videos = flatbuffers::GetMutableRoot<bundle::VideoOverlays>(
      image.data + segment->offset());
  uint32_t own = artifact::hostArchitecture()[0] == 'x' ? 1 : 2;
  auto set = [](const auto *table, flatbuffers::voffset_t field, auto value) {
    auto *generic = const_cast<flatbuffers::Table *>(
        reinterpret_cast<const flatbuffers::Table *>(table));
    ASSERT_TRUE(generic->SetField(field, value, decltype(value)()));
  };
  const bundle::ProgramVideo *video = videos->programs()->Get(own);
  std::string program = "program " + std::to_string(own);

  struct Damage {
    std::function<void()> make;
    bool hasGoodDigests;
    nnv12_status status;
    std::string message;
  };
  const Damage damages[] = {
      {[&] { image.data[segment->offset() + segment->size() - 1] ^= 1; }, false,
       NNV12_UNTRUSTED,
       "segment 3 (Overlays): digest does not match (damaged)"},
      {[&] { set(video->sets()->Get(2), bundle::VideoSet::VT_ROWS, 0u); }, true,
       NNV12_BAD_BUNDLE,
       program + ": video: set 2: found 0 rows of 32, expected at least one "
                 "pixel, and at most 2^26 of all sets"},
      {[&] { memset(image.data + segment->offset(), 0xff, 16); }, true,
       NNV12_BAD_BUNDLE,
       "overlays: not a well-formed FlatBuffer of bundle.fbs"},
      {[&] {
         set(video->executes()->Get(0)->part(), bundle::VideoPart::VT_TILES,
             uint8_t(4));
       },
       true, NNV12_UNSUPPORTED,
       program + ": video: execute 0: tiles: found 4, expected at most 3 (the "
                 "program is for newer readers)"},
      {[&] { set(segment, bundle::Segment::VT_SEAL, uint8_t(1)); }, true,
       NNV12_UNSUPPORTED,
       "stream: found a part for video that is sealed, expected one that needs "
       "no key"},
  };
  std::vector<unsigned char> good(image.data, image.data + image.size);
  for (const Damage &damage : damages) {
    SCOPED_TRACE(damage.message);
    memcpy(image.data, good.data(), good.size());
    damage.make();
    if (damage.hasGoodDigests)
      fitDigests(image.data);
    for (nnv12_copying copying : {NNV12_COPY_NEVER, NNV12_COPY_ALWAYS}) {
      OpenOptions opening;
      opening.copying = copying;
      Bundle bundle(image.data, image.size, opening);
      EXPECT_EQ(refusal(bundle), std::pair(damage.status, damage.message));
      SessionOptions off = options();
      off.stream.reuse = NNV12_REUSE_OFF;
      Session session(bundle, off);
      EXPECT_TRUE(gives(session, x));
      EXPECT_TRUE(gives(session, x));
    }
  }
}

#else

TEST_F(StreamTest, ThisLibraryHasNone) {
  Bundle bundle(path);
  EXPECT_EQ(refusal(bundle),
            std::pair(NNV12_UNSUPPORTED,
                      std::string("stream: this library is built without reuse "
                                  "between frames")));
}

#endif
