//===- BoundedStreamTest.cpp - Streams whose values may differ a little ---===//
//
// test/unit/sample/VideoSample.h says how executes compute parts, and which of
// them have check points. Each bound that a stream promises is tested in the
// memory of kept values, after each frame.
//
//===----------------------------------------------------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/VideoSample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace nnv12;
using namespace nnv12::test;

#if NNV12_VIDEO

namespace nnv12::runtime {
extern void (*atEndOfFrame)(const uint8_t *values, bool isWhole);
} // namespace nnv12::runtime

namespace {

struct Sums : VideoSample {
  using PlannedSample::a;
  using PlannedSample::b;
  /// The result of execute `k` for an element.
  float layer(size_t k, size_t i, float value) const {
    return k == 4 ? value : k % 2 ? value * b[i] : value + a[i];
  }
};

using Values = std::vector<float>;

/// Looks at kept values after each frame.
class Inspection {
public:
  Inspection(const Sums &sample, const nnv12_stream_options &options)
      : sample(sample), video(*sample.bundle.programs[0].video),
        tolerance(options.tolerance > 0 ? options.tolerance : video.tolerance),
        inputTolerance(options.input_tolerance > 0 ? options.input_tolerance
                                                   : video.inputTolerance) {
    current = this;
    runtime::atEndOfFrame = [](const uint8_t *values, bool isWhole) {
      current->look(values, isWhole);
    };
  }
  ~Inspection() { runtime::atEndOfFrame = nullptr; }

  Values input;         ///< of the frame
  unsigned numKept = 0; ///< values that differ from those of their layers
  float mostInput = 0;  ///< the largest difference of a pixel of the input
  bool isLast = false;  ///< whether the last frame was whole

private:
  Values at(const uint8_t *values, uint64_t place) const {
    Values result(sample.elements());
    memcpy(result.data(), values + place, result.size() * sizeof(float));
    return result;
  }

  static double meanSquareOf(const Values &values) {
    double sum = 0;
    for (float value : values)
      sum += double(value) * value;
    return sum / double(values.size());
  }

  void look(const uint8_t *values, bool isWhole) {
    isLast = isWhole;
    bool measures = isWhole && numWhole++ % 16 == 0;
    Values x = at(values, video.inputs[0].place);
    if (measures) {
      double mean = 0;
      for (float value : input)
        mean += value / double(input.size());
      Values distances = input;
      for (float &value : distances)
        value -= float(mean);
      variance = meanSquareOf(distances);
    }
    lookAtInput(x, isWhole);
    for (size_t k = 0; k < video.executes.size(); ++k) {
      const artifact::VideoExecute &execute = video.executes[k];
      Values y = at(values, execute.places[0]),
             in = at(values, execute.places[1]);
      if (measures)
        meanSquares[k] = meanSquareOf(y);
      double most = execute.check && !isWhole && std::isfinite(meanSquares[k])
                        ? tolerance * std::sqrt(meanSquares[k]) * 1.00001
                        : 0;
      for (size_t i = 0; i < y.size(); ++i) {
        volatile float expected = sample.layer(k, i, in[i]);
        if (memcmp(&y[i], const_cast<float *>(&expected), 4) == 0 ||
            (std::isnan(y[i]) && std::isnan(expected)))
          continue;
        ++numKept;
        // Values of earlier frames were compared by the measures of those.
        ASSERT_LE(std::fabs(double(y[i]) - expected),
                  std::max(most, mostBefore[k]))
            << "execute " << k << ", element " << i;
      }
      mostBefore[k] = isWhole ? 0 : std::max(most, mostBefore[k]);
    }
  }

  /// Each cell of 8x8 pixels is near the frame's.
  void lookAtInput(const Values &x, bool isWhole) {
    size_t columns = 2 * tileSize, rows = x.size() / columns;
    for (size_t column = 0; column < columns; column += 8) {
      double sum = 0;
      bool isEqual = true;
      for (size_t i = 0; i < rows * 8; ++i) {
        size_t at = i / 8 * columns + column + i % 8;
        bool differs = memcmp(&x[at], &input[at], sizeof(float)) != 0;
        isEqual &= !differs;
        if (!differs)
          continue;
        double difference = double(x[at]) - input[at];
        sum += difference * difference;
        mostInput = std::max(mostInput, std::fabs(x[at] - input[at]));
      }
      if (isEqual)
        continue;
      ASSERT_FALSE(isWhole);
      ASSERT_LE(sum / double(rows * 8),
                double(inputTolerance) * inputTolerance * variance * 1.0001)
          << "column " << column;
    }
  }

  static Inspection *current;
  const Sums &sample;
  const artifact::ProgramVideo &video;
  const float tolerance, inputTolerance;
  unsigned numWhole = 0;
  double variance = 0, meanSquares[5] = {}, mostBefore[5] = {};
};
Inspection *Inspection::current = nullptr;

class BoundedStreamTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 7) * 20 - 50;
  }

  static SessionOptions options(uint32_t threads = 1) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.mode = NNV12_MODE_COLD;
    result.gpu.mode = NNV12_GPU_OFF;
    result.stream = NNV12_STREAM_OPTIONS_INIT;
    result.stream.reuse = NNV12_REUSE_BOUNDED;
    result.stream.refresh = NNV12_NO_REFRESH;
    return result;
  }

  std::pair<nnv12_status, std::string> refusal(const Bundle &bundle,
                                               const SessionOptions &wanted) {
    nnv12_session *session = nullptr;
    nnv12_error error = {NNV12_OK, ""};
    nnv12_session_options c = wanted.get();
    EXPECT_EQ(nnv12_session_create(bundle.get(), &c, &session, &error),
              error.status);
    nnv12_session_close(session);
    return {error.status, error.message};
  }

  static Values run(Session &session, const Values &in) {
    Values y(in.size(), -1);
    session.run({{in.data(), in.size() * 4}}, {{y.data(), y.size() * 4}});
    return y;
  }
  Values plain(const Values &in) const {
    Values y(in.size());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = sample.expectedRun(i, in[i], false);
    return y;
  }

  Sums sample;
  TemporaryFolder folder;
  std::string path = folder.file("a.nnv");
  Values x = Values(sample.elements());
};

/// Makes the next frame of the one before.
void change(Values &x, std::mt19937 &random) {
  auto some = [&] { return random() % x.size(); };
  switch (random() % 20) {
  case 0: // all new
    for (float &value : x)
      value = float(random() % 200) - 100;
    break;
  case 1: // black
    x.assign(x.size(), 0);
    break;
  case 2: // a faulty one, now and then
    x[some()] = random() % 4 ? 1 : std::numeric_limits<float>::quiet_NaN();
    break;
  case 3: // brighter
    for (float &value : x)
      value += 1;
    break;
  case 4:
    break;
  default: // a small change here, a large one there
    for (float &value : x)
      value += float(random() % 100) / 100;
    x[some()] += 40;
  }
}

bool isEqual(const Values &a, const Values &b) {
  return memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

TEST_F(BoundedStreamTest, OptionsOutOfBounds) {
  Bundle bundle(path);
  EXPECT_EQ(bundle.info().reuse, NNV12_REUSE_BOUNDED);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (auto [value, text] :
       {std::pair{-1.0f, "-1"}, {nan, "nan"}, {1.5f, "1.5"}})
    for (bool isInput : {false, true})
      for (nnv12_reuse reuse : {NNV12_REUSE_EXACT, NNV12_REUSE_BOUNDED}) {
        SessionOptions wanted = options();
        wanted.stream.reuse = reuse;
        (isInput ? wanted.stream.input_tolerance : wanted.stream.tolerance) =
            value;
        EXPECT_EQ(refusal(bundle, wanted),
                  std::pair(NNV12_INVALID_ARGUMENT,
                            std::string("stream: ") +
                                (isInput ? "input_tolerance" : "tolerance") +
                                ": found " + text +
                                ", expected a number from 0 to 1"));
      }
  SessionOptions largest = options();
  largest.stream.tolerance = largest.stream.input_tolerance = 1;
  EXPECT_EQ(refusal(bundle, largest).first, NNV12_OK);
}

TEST_F(BoundedStreamTest, BundlesForExactReuse) {
  for (artifact::Program &program : sample.bundle.programs)
    program.video->reuse = artifact::VideoReuse::Exact;
  ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  Bundle bundle(path);
  EXPECT_EQ(refusal(bundle, options()),
            std::pair(NNV12_UNSUPPORTED,
                      std::string("stream: reuse: found bounded, expected "
                                  "exact, as the bundle was compiled (nnv12c "
                                  "--video)")));
}

/// Random frames; each value is within its bound of its layer's result.
TEST_F(BoundedStreamTest, KeptValuesAreWithinTheirBounds) {
  Bundle bundle(path);
  std::mt19937 random(1);
  for (float tolerance : {0.0f, 0.001f, 0.1f, 1.0f})
    for (uint32_t refresh : {2u, 7u, NNV12_NO_REFRESH}) {
      SessionOptions wanted = options();
      wanted.stream.tolerance = tolerance;
      wanted.stream.input_tolerance = tolerance / 2;
      wanted.stream.refresh = refresh;
      Session session(bundle, wanted);
      Inspection inspection(sample, wanted.stream);
      for (int i = 0; i < 300; ++i) {
        change(x, random);
        inspection.input = x;
        run(session, x);
        ASSERT_FALSE(HasFatalFailure()) << "frame " << i;
      }
      if (tolerance == 0.1f) {
        EXPECT_GT(inspection.numKept, 0u);
      }
      for (float &value : x)
        value = float(random() % 200) - 100;
    }
}

/// The same where most pixels change after some have stayed.
TEST_F(BoundedStreamTest, MostChangeAfterSomeStayed) {
  Bundle bundle(path);
  std::mt19937 random(1);
  SessionOptions wanted = options();
  wanted.stream.tolerance = 0.1f;
  wanted.stream.input_tolerance = 1e-6f;
  Session session(bundle, wanted);
  Inspection inspection(sample, wanted.stream);
  auto runNext = [&] {
    inspection.input = x;
    run(session, x);
  };
  for (int i = 0; i < 500; ++i) {
    for (int k = 0; k < 4; ++k) {
      x[random() % x.size()] += float(random() % 100) / 10 - 5;
      runNext();
    }
    for (float &value : x)
      if (random() % 8)
        value = float(random() % 200) - 100;
    runNext();
    ASSERT_FALSE(HasFatalFailure()) << "round " << i;
  }
  EXPECT_GT(inspection.numKept, 0u);
}

/// A change that is too small from frame to frame is seen in the end.
TEST_F(BoundedStreamTest, SlowChangesDoNotDrift) {
  Bundle bundle(path);
  SessionOptions wanted = options();
  wanted.stream.tolerance = 0.02f;
  wanted.stream.input_tolerance = 0.1f;
  Session session(bundle, wanted);
  Inspection inspection(sample, wanted.stream);
  std::vector<float> errors;
  for (int i = 0; i < 1000; ++i) {
    // A cell grows brighter and darker.
    for (size_t k = 0; k < x.size(); ++k)
      x[k] += k % 32 >= 8 ? 0 : i / 100 % 2 ? -0.5f : 0.5f;
    inspection.input = x;
    Values y = run(session, x), expected = plain(x);
    ASSERT_FALSE(HasFatalFailure()) << "frame " << i;
    float most = 0;
    for (size_t k = 0; k < y.size(); ++k)
      most = std::max(most, std::fabs(y[k] - expected[k]));
    errors.push_back(most);
  }
  EXPECT_GT(inspection.mostInput, 0.5f) << "nothing stayed";
  auto mostOf = [&](size_t begin, size_t end) {
    return *std::max_element(errors.begin() + long(begin),
                             errors.begin() + long(end));
  };
  EXPECT_GT(mostOf(0, 100), 0);
  EXPECT_LE(mostOf(900, 1000), 2 * mostOf(0, 100));
}

/// Two pictures in turns are seen at once.
TEST_F(BoundedStreamTest, CutsAndTurns) {
  Bundle bundle(path);
  SessionOptions wanted = options();
  wanted.stream.tolerance = 1e-6f;
  Session session(bundle, wanted);
  Values other = x;
  for (size_t i = 0; i < 8; ++i)
    other[i] += 500;
  for (int i = 0; i < 20; ++i) {
    const Values &in = i % 2 ? other : x;
    Values result = run(session, in);
    EXPECT_TRUE(isEqual(result, plain(in))) << i;
  }
  // A constant picture has no deviation: no change of it is small.
  Values black(x.size(), 0);
  session.reset();
  run(session, black);
  EXPECT_TRUE(isEqual(run(session, black), plain(black)));
  EXPECT_EQ(session.streamInfo().whole_frames, 1u);
  black[3] = 1e-15f;
  run(session, black);
  EXPECT_EQ(session.streamInfo().whole_frames, 2u);
}

/// An answer is for pictures that are near to its own, not to the one before.
TEST_F(BoundedStreamTest, AnswersAreForTheirPictures) {
  Bundle bundle(path);
  SessionOptions wanted = options();
  wanted.stream.input_tolerance = 0.1f;
  Session session(bundle, wanted);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * 37 % 100); // a deviation of about 29
  Values other = x, back = x;
  for (size_t i = 0; i < x.size(); ++i)
    if (i % 32 >= 16)
      other[i] = x[i ^ 8]; // two of four cells swapped
    else if (i % 32 < 8)
      other[i] += 2; // a little in another one
  back = other;
  for (size_t i = 0; i < x.size(); ++i)
    if (i % 32 < 8)
      back[i] = x[i] - 2;
  run(session, x);
  run(session, x);
  EXPECT_TRUE(isEqual(run(session, other), plain(other)));
  // Near enough to it.
  Values near = other;
  near[0] += 1;
  EXPECT_TRUE(isEqual(run(session, near), plain(other)));
  EXPECT_EQ(session.streamInfo().frames, 1u);
  EXPECT_TRUE(isEqual(run(session, back), plain(back)));
  EXPECT_EQ(session.streamInfo().whole_frames, 1u);
}

/// The same frames give the same bytes, for any number of threads, and again
/// after a reset.
TEST_F(BoundedStreamTest, ThreadsAndSessionsDoNotMatter) {
  Bundle bundle(path);
  SessionOptions wanted = options();
  wanted.stream.refresh = 6;
  SessionOptions two = options(2), four = options(4);
  two.stream = four.stream = wanted.stream;
  four.stream.audit = 1;
  Session sessions[] = {Session(bundle, wanted), Session(bundle, two),
                        Session(bundle, four)};
  // The first run of a session is no frame.
  for (Session &session : sessions)
    run(session, x);
  const Values begin = x;
  std::vector<Values> results;
  for (int round = 0; round < 2; ++round) {
    std::mt19937 random(7);
    x = begin;
    for (size_t i = 0; i < 400; ++i) {
      change(x, random);
      for (Session &session : sessions) {
        if (i == 0)
          session.reset();
        Values y = run(session, x);
        if (results.size() == i)
          results.push_back(y);
        ASSERT_TRUE(isEqual(y, results[i])) << "frame " << i;
      }
    }
  }
  EXPECT_GT(sessions[2].streamInfo().audits, 10u);
  EXPECT_EQ(sessions[0].streamInfo().computed,
            sessions[2].streamInfo().computed);
}

TEST_F(BoundedStreamTest, RefreshComputesAll) {
  Bundle bundle(path);
  for (uint32_t refresh : {0u, 4u}) {
    SessionOptions wanted = options();
    wanted.stream.refresh = refresh;
    wanted.stream.tolerance = 1e-6f; // so that work is done
    Session session(bundle, wanted);
    uint32_t expected = refresh ? refresh : 10;
    run(session, x);
    run(session, x);
    for (uint32_t i = 0; i < 5 * expected; ++i) {
      x[0] = float(i) * 1000; // seen, and half of the work
      Values y = run(session, x);
      EXPECT_EQ(session.streamInfo().whole_frames, 1 + i / expected);
      if (i % expected == 0) {
        EXPECT_TRUE(isEqual(y, plain(x)));
      }
    }
    // Nothing changes.
    uint64_t whole = session.streamInfo().whole_frames;
    for (int i = 0; i < 500; ++i)
      run(session, x);
    EXPECT_EQ(session.streamInfo().whole_frames, whole + 5);
  }
  // Exact streams have none that they are not told.
  SessionOptions exact = options();
  exact.stream.reuse = NNV12_REUSE_EXACT;
  exact.stream.refresh = 0;
  Session session(bundle, exact);
  for (int i = 0; i < 200; ++i) {
    x[5] += 1;
    EXPECT_TRUE(isEqual(run(session, x), plain(x)));
  }
  EXPECT_EQ(session.streamInfo().whole_frames, 1u);
}

TEST_F(BoundedStreamTest, AuditsCompareBothWays) {
  Bundle bundle(path);
  for (nnv12_reuse reuse : {NNV12_REUSE_EXACT, NNV12_REUSE_BOUNDED}) {
    SessionOptions wanted = options();
    wanted.stream.reuse = reuse;
    wanted.stream.refresh = 3;
    Session without(bundle, wanted);
    wanted.stream.audit = 1;
    Session session(bundle, wanted);
    // The first frame of both is whole, and none that is refreshed.
    double most = 0;
    std::mt19937 random(3);
    for (int i = 0; i < 61; ++i) {
      x[random() % 8] += float(random() % 100) / 10;
      ASSERT_TRUE(isEqual(run(session, x), run(without, x)));
      EXPECT_GE(session.streamInfo().audit_error, most);
      most = session.streamInfo().audit_error;
    }
    EXPECT_EQ(session.streamInfo().audits,
              session.streamInfo().whole_frames - 1);
    EXPECT_EQ(session.streamInfo().frames, without.streamInfo().frames);
    EXPECT_EQ(session.streamInfo().whole_frames,
              without.streamInfo().whole_frames);
    EXPECT_EQ(without.streamInfo().audits, 0u);
    if (reuse == NNV12_REUSE_EXACT) {
      EXPECT_EQ(most, 0);
    } else {
      EXPECT_GT(most, 0);
      EXPECT_LT(most, 1);
    }
  }
}

namespace {

class StreamHintTest : public BoundedStreamTest {
protected:
  static nnv12_stream_hint hintOf(const std::vector<nnv12_rectangle> &clean) {
    nnv12_stream_hint hint = NNV12_STREAM_HINT_INIT;
    hint.num_clean = clean.size();
    hint.clean = clean.data();
    return hint;
  }
  static std::string refusal(const Session &session,
                             const nnv12_stream_hint &hint) {
    nnv12_error error = {NNV12_OK, ""};
    EXPECT_EQ(nnv12_session_hint(session.get(), &hint, &error), error.status);
    EXPECT_EQ(strchr(error.message, '\n'), nullptr);
    return error.status == NNV12_OK ? "" : error.message;
  }
};

} // namespace

/// The plane is 2 rows of 32 columns.
TEST_F(StreamHintTest, CleanPixelsKeepTheReference) {
  Bundle bundle(path);
  for (nnv12_reuse reuse : {NNV12_REUSE_EXACT, NNV12_REUSE_BOUNDED})
    for (uint32_t threads : {1, 3}) {
      SessionOptions wanted = options(threads);
      wanted.stream.reuse = reuse;
      wanted.stream.tolerance = wanted.stream.input_tolerance = 1e-6f;
      Session session(bundle, wanted);
      for (int i = 0; i < 3; ++i) {
        x[0] += float(i == 2); // or there were no values to be kept
        run(session, x);
      }
      Values known = x, next = x;
      for (float &value : next)
        value += 500;
      // Rows 0 and 1, columns 3 to 28 and 31.
      session.hint({{3, 0, 26, 2}});
      session.hint({{31, 1, 1, 1}});
      Values y = run(session, next), expected = plain(next);
      auto isClean = [](size_t i) {
        return (i % 32 >= 3 && i % 32 < 29) || i == 63;
      };
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_EQ(y[i], isClean(i) ? plain(known)[i] : expected[i]) << i;
      // All pixels.
      session.hint({{0, 0, 32, 2}});
      EXPECT_TRUE(isEqual(run(session, x), y));
      // Hints were about one run each.
      EXPECT_TRUE(isEqual(run(session, next), expected));
      // A frame that computes all takes all.
      session.hint({{0, 0, 32, 2}});
      session.reset();
      EXPECT_TRUE(isEqual(run(session, x), plain(x)));
    }
}

/// A hint that is right makes no difference where no value may.
TEST_F(StreamHintTest, RightHints) {
  Bundle bundle(path);
  SessionOptions exact = options();
  exact.stream.reuse = NNV12_REUSE_EXACT;
  Session session(bundle, exact), without(bundle, exact);
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Values next = x;
    nnv12_rectangle changed = {uint32_t(random() % 32), uint32_t(random() % 2),
                               1, 1};
    next[changed.y * 32 + changed.x] += float(random() % 100);
    std::vector<nnv12_rectangle> clean = {{0, 1 - changed.y, 32, 1}};
    if (changed.x)
      clean.push_back({0, changed.y, changed.x, 1});
    if (changed.x < 31)
      clean.push_back({changed.x + 1, changed.y, 31 - changed.x, 1});
    x = next;
    session.hint(clean);
    ASSERT_TRUE(isEqual(run(session, x), run(without, x))) << "frame " << i;
  }
}

TEST_F(StreamHintTest, Refusals) {
  Bundle bundle(path);
  Session session(bundle, options());
  run(session, x);
  run(session, x);
  auto expectOutside = [&](nnv12_rectangle r) {
    std::vector<nnv12_rectangle> all = {{0, 0, 32, 2}, r};
    EXPECT_EQ(refusal(session, hintOf(all)),
              "hint: rectangle 1: found " + std::to_string(r.width) + "x" +
                  std::to_string(r.height) + " pixels at (" +
                  std::to_string(r.x) + ", " + std::to_string(r.y) +
                  "), expected some of the input's 32x2");
  };
  const uint32_t huge = ~0u;
  for (nnv12_rectangle r : {nnv12_rectangle{0, 0, 33, 1},
                            {0, 0, 1, 3},
                            {32, 0, 1, 1},
                            {0, 2, 1, 1},
                            {0, 0, 0, 1},
                            {0, 0, 1, 0},
                            {1, 0, huge, 1},
                            {huge, 0, 2, 1},
                            {0, huge, 1, 2},
                            {0, 1, 1, huge}})
    expectOutside(r);
  std::vector<nnv12_rectangle> all = {{0, 0, 32, 2}};
  nnv12_stream_hint hint = hintOf(all);
  hint.input = 1;
  EXPECT_EQ(refusal(session, hint),
            "hint: input: found 1, expected less than 1");
  hint = hintOf(all);
  hint.shift_y = -3;
  EXPECT_EQ(refusal(session, hint),
            "hint: shift: found (0, -3), expected (0, 0)");
  hint = hintOf(all);
  hint.clean = nullptr;
  EXPECT_EQ(refusal(session, hint),
            "hint: clean: found NULL, expected 1 rectangles");
  hint = hintOf(all);
  hint.struct_size = 0;
  EXPECT_EQ(refusal(session, hint), "hint: struct_size is not set");
  EXPECT_EQ(nnv12_session_hint(session.get(), nullptr, nullptr),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_session_hint(nullptr, &hint, nullptr),
            NNV12_INVALID_ARGUMENT);
  // None of them was taken.
  for (float &value : x)
    value += 500;
  EXPECT_TRUE(isEqual(run(session, x), plain(x)));
  // No rectangle is allowed, and needs no array.
  EXPECT_EQ(refusal(session, hintOf({})), "");
  SessionOptions off = options();
  off.stream.reuse = NNV12_REUSE_OFF;
  Session none(bundle, off);
  EXPECT_EQ(refusal(none, hintOf(all)),
            "hint: found a session without a stream, expected one");
}

#endif
