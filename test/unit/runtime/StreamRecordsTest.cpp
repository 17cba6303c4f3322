//===- StreamRecordsTest.cpp - Records and pixels of a stream's frames ----===//
//
// test/unit/sample/VideoSample.h says how executes compute parts.
//
//===----------------------------------------------------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "runtime/recorder/Recorder.h"
#include "test/unit/sample/VideoSample.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <optional>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
/// Called before a thread computes tiles that it has taken.
extern void (*beforeTiles)();
} // namespace nnv12::runtime

TEST(RecordedPart, IsRoundedUp) {
  EXPECT_EQ(runtime::partOfAll(0, 7), 0);
  EXPECT_EQ(runtime::partOfAll(7, 7), 65535);
  EXPECT_EQ(runtime::partOfAll(0, 0), 0);
  // How many they are is known again.
  for (uint64_t all : {1, 3, 64, 1000, 65535})
    for (uint64_t some = 0; some <= all; ++some)
      ASSERT_EQ(runtime::partOfAll(some, all) * all / 65535, some) << all;
  EXPECT_EQ(runtime::partOfAll(1, 1 << 26), 1);
  EXPECT_EQ(runtime::partOfAll(1 << 26, 1 << 26), 65535);
}

#if NNV12_VIDEO

namespace {

constexpr uint32_t numExecutes = 5;
/// In two rows.
constexpr uint32_t numPixels = 64, numColumns = 32;

class StreamRecordsTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    bundle.emplace(path);
  }
  void TearDown() override { runtime::beforeTiles = nullptr; }

  static SessionOptions options(uint32_t threads = 1) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.mode = NNV12_MODE_COLD;
    result.gpu.mode = NNV12_GPU_OFF;
    result.stream.reuse = NNV12_REUSE_EXACT;
    return result;
  }

  /// Runs a frame, whose result must be right.
  void run(Session &session) {
    std::vector<float> y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], sample.expectedRun(i, x[i], false)) << "element " << i;
  }

  /// The records of a run by kind, which are new.
  using Records = std::map<int, std::vector<nnv12_record>>;
  static Records recordsOf(Recording &recording, uint32_t run) {
    Records found;
    uint64_t lost = 0;
    for (const nnv12_record &record : recording.readAll(lost))
      if (record.run == run)
        found[record.kind].push_back(record);
    EXPECT_EQ(lost, 0u);
    return found;
  }

  /// Whether each execute has one record, in order, with those flags and parts.
  static void expectExecutes(Records &records,
                             const std::vector<uint8_t> &flags,
                             const std::vector<uint16_t> &counts) {
    const std::vector<nnv12_record> &all = records[NNV12_RECORD_EXECUTE];
    ASSERT_EQ(all.size(), numExecutes);
    ASSERT_EQ(records[NNV12_RECORD_WHOLE_RUN].size(), 1u);
    nnv12_record run = records[NNV12_RECORD_WHOLE_RUN][0];
    uint64_t end = run.start_ns;
    for (const nnv12_record &match : records[NNV12_RECORD_MATCH]) {
      EXPECT_GE(match.start_ns, end);
      end = match.start_ns + match.duration_ns;
    }
    // Clocks round to nanoseconds.
    constexpr uint64_t rounding = 2;
    for (uint32_t i = 0; i < numExecutes; ++i) {
      EXPECT_EQ(all[i].index, i);
      EXPECT_EQ(all[i].flags, flags[i]) << i;
      EXPECT_EQ(all[i].count, counts[i]) << i;
      if (flags[i] & NNV12_RECORD_SKIPPED) {
        EXPECT_EQ(all[i].duration_ns, 0u);
      }
      EXPECT_GE(all[i].start_ns + rounding, end) << i;
      end = all[i].start_ns + all[i].duration_ns;
    }
    EXPECT_LE(end, run.start_ns + run.duration_ns + rounding);
  }

  /// The pixels of a row by a number each.
  using Pixels = std::vector<uint8_t>;
  static Pixels pixels(uint32_t begin, uint32_t end) {
    Pixels result(numPixels);
    std::fill(result.begin() + begin, result.begin() + end, uint8_t(1));
    return result;
  }
  static Pixels all() { return pixels(0, numPixels); }

  static Pixels computed(Session &session, uint32_t operation) {
    uint32_t rows = 0, columns = 0;
    Pixels result = session.computed(operation, rows, columns);
    EXPECT_EQ(rows, numPixels / numColumns);
    EXPECT_EQ(columns, numColumns);
    return result;
  }
  static Pixels changed(Session &session) {
    uint32_t rows = 0, columns = 0;
    Pixels result = session.changed(0, rows, columns);
    EXPECT_EQ(rows, numPixels / numColumns);
    EXPECT_EQ(columns, numColumns);
    return result;
  }

  VideoSample sample{4};
  TemporaryFolder folder;
  std::string path = folder.file("a.nnv");
  std::optional<Bundle> bundle;
  std::vector<float> x = std::vector<float>(sample.elements(), 3);
};

constexpr uint8_t whole = 0, part = NNV12_RECORD_PARTIAL,
                  kept = NNV12_RECORD_SKIPPED;

nnv12_session *runningSession = nullptr;
std::atomic<uint32_t> numRefused{0};
void askMeanwhile() {
  uint32_t rows = 7, columns = 7;
  uint8_t pixel = 9;
  nnv12_error error;
  numRefused += nnv12_session_get_computed(runningSession, 0, &rows, &columns,
                                           &pixel, 1, &error) == NNV12_BUSY &&
                strcmp(error.message, "the session runs already") == 0 &&
                pixel == 9;
}

} // namespace

TEST_F(StreamRecordsTest, WhatFramesDo) {
  for (uint32_t threads : {1, 2, 4})
    for (nnv12_record_level level :
         {NNV12_RECORD_OPERATION, NNV12_RECORD_PIECE}) {
      x.assign(x.size(), 3);
      SessionOptions wanted = options(threads);
      Recorder recorder(*bundle, wanted, level, 8);
      wanted.recorder = recorder.get();
      Session session(*bundle, wanted);
      Recording recording = recorder.recording();
      // A run without a stream, one that keeps the answer, and a frame that
      // compares the input and computes all.
      for (uint32_t i = 0; i < 3; ++i) {
        x[0] += float(i == 2);
        run(session);
        Records records = recordsOf(recording, i);
        expectExecutes(records, std::vector<uint8_t>(numExecutes, whole),
                       std::vector<uint16_t>(numExecutes));
        EXPECT_EQ(records[NNV12_RECORD_MATCH].size(), i / 2);
      }
      // Nothing changes.
      run(session);
      Records records = recordsOf(recording, 3);
      ASSERT_EQ(records[NNV12_RECORD_MATCH].size(), 1u);
      EXPECT_EQ(records[NNV12_RECORD_MATCH][0].index, 0u);
      EXPECT_EQ(records[NNV12_RECORD_MATCH][0].count, 0);
      EXPECT_EQ(records[NNV12_RECORD_MATCH][0].flags, 0);
      expectExecutes(records, std::vector<uint8_t>(numExecutes, kept),
                     std::vector<uint16_t>(numExecutes));
      EXPECT_EQ(records.count(NNV12_RECORD_TILES), 0u);
      // One pixel: a run of four, a row of two, a cell of four; then all.
      x[50] += 1;
      run(session);
      records = recordsOf(recording, 4);
      ASSERT_EQ(records[NNV12_RECORD_MATCH].size(), 1u);
      EXPECT_EQ(records[NNV12_RECORD_MATCH][0].count, 1024);
      expectExecutes(records, {part, part, part, whole, whole},
                     {16384, 32768, 16384, 0, 0});
      EXPECT_EQ(records.count(NNV12_RECORD_MERGE), 0u);
    }
}

TEST_F(StreamRecordsTest, LevelsAndSampling) {
  SessionOptions wanted = options();
  Recorder runs(*bundle, wanted, NNV12_RECORD_RUN, 8);
  nnv12_recorder sampling = NNV12_RECORDER_INIT(nullptr, 0);
  Recorder some(*bundle, wanted, NNV12_RECORD_OPERATION, 8);
  sampling = *some.get();
  sampling.sample_every = 2;
  for (bool isSampled : {false, true}) {
    wanted.recorder = isSampled ? &sampling : runs.get();
    Session session(*bundle, wanted);
    for (int i = 0; i < 6; ++i) {
      x[i] += 1;
      run(session);
    }
    uint64_t lost = 0;
    Recording recording = isSampled ? some.recording() : runs.recording();
    size_t matches = 0;
    for (const nnv12_record &record : recording.readAll(lost)) {
      // A thread that prepares starts whenever it comes to run.
      if (isSampled)
        EXPECT_TRUE(record.run % 2 == 0 ||
                    record.kind == NNV12_RECORD_THREAD_START)
            << "kind " << int(record.kind);
      else
        EXPECT_EQ(record.kind, NNV12_RECORD_WHOLE_RUN);
      matches += record.kind == NNV12_RECORD_MATCH;
    }
    EXPECT_EQ(matches, isSampled ? 2u : 0u) << "of runs 2 and 4";
  }
}

/// A frame that is computed twice has the records of one.
TEST_F(StreamRecordsTest, Audits) {
  SessionOptions wanted = options();
  wanted.stream.reuse = NNV12_REUSE_BOUNDED;
  wanted.stream.refresh = 1;
  wanted.stream.audit = 1;
  Recorder recorder(*bundle, wanted, NNV12_RECORD_OPERATION, 8);
  wanted.recorder = recorder.get();
  Session session(*bundle, wanted);
  Recording recording = recorder.recording();
  for (uint32_t i = 0; i < 7; ++i) {
    x[0] += i % 2 ? 0 : 1; // every other one has no changes
    run(session);
    Records records = recordsOf(recording, i);
    EXPECT_EQ(records[NNV12_RECORD_EXECUTE].size(), numExecutes) << i;
    EXPECT_EQ(records.count(NNV12_RECORD_MATCH), 0u) << i;
  }
  EXPECT_EQ(session.streamInfo().audits, 4u);
}

TEST_F(StreamRecordsTest, MemoryHoldsTheRunsThatItIsFor) {
  SessionOptions wanted = options();
  nnv12_session_options stream = wanted.get();
  nnv12_session_options without = stream;
  without.stream = nullptr;
  // Comparing and merging beside each operation.
  EXPECT_GT(
      nnv12_recorder_size(bundle->get(), &stream, NNV12_RECORD_OPERATION, 1000),
      nnv12_recorder_size(bundle->get(), &without, NNV12_RECORD_OPERATION,
                          1000));
  EXPECT_EQ(
      nnv12_recorder_size(bundle->get(), &stream, NNV12_RECORD_RUN, 1000),
      nnv12_recorder_size(bundle->get(), &without, NNV12_RECORD_RUN, 1000));
  Recorder recorder(*bundle, wanted, NNV12_RECORD_PIECE, 20);
  wanted.recorder = recorder.get();
  Session session(*bundle, wanted);
  for (uint32_t i = 0; i < 200; ++i) {
    x[i % 5] += float(i % 3);
    run(session);
  }
  Recording recording = recorder.recording();
  uint64_t lost = 0;
  std::map<uint32_t, uint32_t> executes, matches;
  for (const nnv12_record &record : recording.readAll(lost)) {
    executes[record.run] += record.kind == NNV12_RECORD_EXECUTE;
    matches[record.run] += record.kind == NNV12_RECORD_MATCH;
  }
  EXPECT_GT(lost, 0u);
  for (uint32_t i = 180; i < 200; ++i) {
    EXPECT_EQ(executes[i], numExecutes) << i;
    EXPECT_EQ(matches[i], 1u) << i;
  }
}

/// The newest records take the place of the oldest, and results are right.
TEST_F(StreamRecordsTest, TooLittleMemory) {
  SessionOptions wanted = options(2);
  Recorder large(*bundle, wanted, NNV12_RECORD_PIECE, 1);
  nnv12_recorder small = *large.get();
  nnv12_session_options c = wanted.get();
  small.size = nnv12_recorder_size(bundle->get(), &c, NNV12_RECORD_RUN, 1);
  wanted.recorder = &small;
  Session session(*bundle, wanted);
  Recording recording(small.memory, small.size);
  for (int i = 0; i < 20; ++i) {
    x[i] += 1;
    run(session);
  }
  uint64_t lost = 0;
  recording.readAll(lost);
  EXPECT_GT(lost, 0u);
}

/// Those whom a frame calls for other parts of its work.
TEST_F(StreamRecordsTest, RecordsThatAFrameBegins) {
  runtime::Recorder::Options wanted;
  wanted.level = runtime::RecordLevel::Operation;
  std::vector<uint64_t> memory(1024);
  wanted.memory = reinterpret_cast<void *>(
      (reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t(63));
  wanted.size = 6000;
  for (uint32_t sampleEvery : {1, 2}) {
    wanted.sampleEvery = sampleEvery;
    runtime::Recorder recorder;
    artifact::Fault fault;
    ASSERT_TRUE(recorder.create(wanted, {{}, 0, 1, 0}, fault)) << fault.text;
    for (int i = 0; i < 2; ++i) {
      recorder.beginRun();
      runtime::Record record = recorder.begin(runtime::RecordKind::Merge, 3);
      record.count = 77;
      recorder.end(record);
      recorder.endRun(0);
    }
    Recording recording(wanted.memory, wanted.size);
    uint64_t lost = 0;
    std::vector<nnv12_record> found;
    for (const nnv12_record &record : recording.readAll(lost))
      if (record.kind == NNV12_RECORD_MERGE)
        found.push_back(record);
    ASSERT_EQ(found.size(), 2 / sampleEvery);
    EXPECT_EQ(found[0].index, 3u);
    EXPECT_EQ(found[0].count, 77);
    EXPECT_EQ(found[0].thread, 0);
  }
}

TEST_F(StreamRecordsTest, ComputedPixels) {
  for (uint32_t threads : {1, 2}) {
    Session session(*bundle, options(threads));
    // Before a run, after the first one, after one that keeps the answer, and
    // after one that computes all.
    for (int i = 0; i < 4; ++i) {
      x[0] += float(i == 2);
      for (uint32_t k = 0; k < numExecutes; ++k)
        EXPECT_EQ(computed(session, k), all());
      EXPECT_EQ(changed(session), all());
      run(session);
    }
    // Then nothing changes.
    for (uint32_t k = 0; k < numExecutes; ++k)
      EXPECT_EQ(computed(session, k), pixels(0, 0)) << k;
    EXPECT_EQ(changed(session), pixels(0, 0));
    for (uint32_t i = 0; i < numPixels; ++i) {
      x[i] += 1;
      run(session);
      uint32_t cell = i / 16 * 16, row = i / numColumns * numColumns;
      // In any order, and again.
      for (uint32_t k : {4, 0, 3, 2, 1, 0})
        EXPECT_EQ(computed(session, k), k == 1   ? pixels(row, row + numColumns)
                                        : k >= 3 ? all()
                                                 : pixels(cell, cell + 16))
            << k << ", pixel " << i;
      EXPECT_EQ(changed(session), pixels(i, i + 1));
      // Asking changes nothing.
      if (i % 8 == 0) {
        run(session);
        EXPECT_EQ(computed(session, 2), pixels(0, 0));
      }
    }
    EXPECT_EQ(session.streamInfo().whole_frames, 1u);
    // All tiles of a kernel but one: all are computed.
    auto some = pixels(16, 17);
    for (size_t i = 16; i < numPixels; i += 16) {
      x[i] += 1;
      some[i] = 1;
    }
    run(session);
    EXPECT_EQ(computed(session, 0), all());
    EXPECT_EQ(changed(session), some);
    session.reset();
    EXPECT_EQ(computed(session, 0), all());
    EXPECT_EQ(changed(session), all());
  }
}

/// Runs that change everywhere are plain ones. Copies compute nothing.
TEST_F(StreamRecordsTest, PixelsOfPlainRuns) {
  Session session(*bundle, options());
  for (int i = 0; i < 3; ++i)
    run(session);
  EXPECT_EQ(computed(session, 0), pixels(0, 0));
  EXPECT_EQ(changed(session), pixels(0, 0));
  for (int i = 0; i < 3; ++i) {
    for (float &value : x)
      value += 1;
    run(session);
    ASSERT_EQ(session.streamInfo().frames, 1u);
    EXPECT_EQ(computed(session, 0), all());
    EXPECT_EQ(changed(session), all());
  }
}

TEST_F(StreamRecordsTest, RefusesPixels) {
  auto refusal = [](const Session &session, bool isInput, uint32_t number,
                    size_t capacity) {
    uint32_t rows = 7, columns = 7;
    std::vector<uint8_t> bytes(numPixels, 9);
    nnv12_error error = {NNV12_OK, ""};
    auto get = isInput ? nnv12_session_get_changed : nnv12_session_get_computed;
    EXPECT_NE(get(session.get(), number, &rows, &columns, bytes.data(),
                  capacity, &error),
              NNV12_OK);
    EXPECT_EQ(bytes, std::vector<uint8_t>(numPixels, 9)) << "untouched";
    return std::pair(error.status, std::string(error.message));
  };
  SessionOptions off = options();
  off.stream.reuse = NNV12_REUSE_OFF;
  Session without(*bundle, off);
  EXPECT_EQ(refusal(without, false, 0, numPixels),
            std::pair(NNV12_UNSUPPORTED,
                      std::string("session: found one without a stream, "
                                  "expected one with")));
  Session session(*bundle, options());
  run(session);
  EXPECT_EQ(refusal(session, false, numExecutes, numPixels),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("operation: found 5, expected below 5")));
  EXPECT_EQ(refusal(session, true, 1, numPixels),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("input: found 1, expected below 1")));
  EXPECT_EQ(refusal(session, false, 0, numPixels - 1),
            std::pair(NNV12_INVALID_ARGUMENT,
                      std::string("capacity: found 63, expected 64")));
  uint32_t rows, columns;
  EXPECT_EQ(nnv12_session_get_computed(nullptr, 0, &rows, &columns, nullptr, 0,
                                       nullptr),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_session_get_computed(session.get(), 0, nullptr, &columns,
                                       nullptr, 0, nullptr),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_session_get_changed(session.get(), 0, &rows, nullptr, nullptr,
                                      0, nullptr),
            NNV12_INVALID_ARGUMENT);
}

TEST_F(StreamRecordsTest, PixelsOfASessionThatRuns) {
  // One thread alone takes its tiles without asking.
  Session session(*bundle, options(2));
  run(session);
  runningSession = session.get();
  runtime::beforeTiles = askMeanwhile;
  numRefused = 0;
  run(session);
  runtime::beforeTiles = nullptr;
  EXPECT_GT(numRefused, 0u);
}

#endif // NNV12_VIDEO
