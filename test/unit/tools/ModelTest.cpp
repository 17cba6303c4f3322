//===- ModelTest.cpp - Profiles of made up recordings ---------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/GpuSample.h"
#include "tools/nnv12-prof/Profile.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::prof;
using namespace nnv12::test;

namespace {

/// A bundle of five operations, and recordings of it that are made up.
class ModelTest : public testing::Test {
protected:
  static constexpr uint32_t numOperations = 5;

  void SetUp() override {
    std::string path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    bundle = std::make_unique<Bundle>(path);
    ASSERT_EQ(bundle->info().num_operations, numOperations);
    recorded.info.level = NNV12_RECORD_PIECE;
    recorded.info.num_threads = 3;
    recorded.info.num_preparing = 1;
  }

  nnv12_record &add(nnv12_record_kind kind, uint32_t run, uint32_t index,
                    uint64_t start, uint64_t duration, uint8_t thread = 0) {
    nnv12_record record = {};
    record.kind = uint8_t(kind);
    record.run = run;
    record.index = index;
    record.start_ns = start;
    record.duration_ns = duration;
    record.thread = thread;
    recorded.records.push_back(record);
    return recorded.records.back();
  }

  /// A run whose operations take that long, of which `slow` takes `more`.
  void addRun(uint32_t run, uint32_t slow = 0, uint64_t more = 0,
              uint64_t gap = 10) {
    uint64_t start = 1'000'000 + run * 10'000, time = start + gap;
    size_t whole = recorded.records.size();
    add(NNV12_RECORD_WHOLE_RUN, run, 0, start, 0);
    for (uint32_t i = 0; i < numOperations; ++i) {
      uint64_t duration = 100 * (i + 1) + (i == slow ? more : 0);
      add(NNV12_RECORD_EXECUTE, run, i, time, duration);
      time += duration;
    }
    recorded.records[whole].duration_ns = time - start;
  }

  Profile profile() { return makeProfile(*bundle, recorded); }

  TemporaryFolder folder;
  PlannedSample sample{64, 3, 2};
  std::unique_ptr<Bundle> bundle;
  tools::Recorded recorded;
};

} // namespace

TEST_F(ModelTest, MediansOfWarmRuns) {
  addRun(0, 2, 7000);
  for (uint32_t run = 1; run <= 20; ++run)
    addRun(run, 1, run == 20 ? 900 : 0);
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 20u);
  EXPECT_EQ(result.runs[0].number, 1u);
  EXPECT_EQ(result.time.median, 1510);
  EXPECT_EQ(result.time.max, 2410);
  for (uint32_t i = 0; i < numOperations; ++i) {
    EXPECT_EQ(result.operations[i].time.median, 100 * (i + 1));
    EXPECT_NEAR(result.operations[i].share, (i + 1) / 15., 1e-9);
  }
  EXPECT_NEAR(result.gaps, 200. / (20 * 1510 + 900), 1e-9);
  // All that the slowest run lost it lost in one operation.
  EXPECT_NEAR(result.operations[1].slowShare, 1, 1e-9);
  EXPECT_NEAR(result.operations[4].slowShare, 0, 1e-9);
}

/// A run of which something is missing, or that failed, does not count.
TEST_F(ModelTest, RunsThatAreNotWhole) {
  for (uint32_t run = 0; run < 6; ++run)
    addRun(run);
  // Its own record; an operation; its status.
  recorded.records[1 * 6].kind = 99;
  recorded.records[2 * 6 + 3].kind = 99;
  recorded.records[3 * 6].index = NNV12_BAD_BUNDLE;
  // Records that the bundle does not have.
  add(NNV12_RECORD_EXECUTE, 4, 5000, 0, 100);
  add(NNV12_RECORD_TILES, 4, 5000, 0, 100, 200);
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 2u);
  EXPECT_EQ(result.runs[0].number, 4u);
  EXPECT_EQ(result.runs[1].number, 5u);
}

/// Kernels of a GPU take the place of executes; a hand-over without time stamps
/// says that they were computed, and no more.
TEST_F(ModelTest, WhatAGpuComputes) {
  for (uint32_t run = 0; run < 8; ++run) {
    addRun(run);
    recorded.records[run * 7 + 3].kind = NNV12_RECORD_GPU_KERNEL;
    recorded.records[run * 7 + 4].kind =
        run == 7 ? 99 : NNV12_RECORD_GPU_KERNEL;
    nnv12_record &submit = add(NNV12_RECORD_GPU_SUBMIT, run, 2,
                               recorded.records[run * 7 + 3].start_ns, 700);
    submit.count = 2;
  }
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 7u);
  EXPECT_EQ(result.operations[2].time.median, 300);
  EXPECT_EQ(result.operations[3].time.median, 400);
  EXPECT_EQ(result.operations[3].time.min, 0);
  EXPECT_TRUE(result.operations[3].isOnGpu);
  EXPECT_STREQ(result.operations[3].shownRoutine(), "gpu");
  EXPECT_FALSE(result.operations[1].isOnGpu);
  EXPECT_STREQ(result.operations[1].shownKernel(), bundle->operation(1).kernel);
  // One of seven runs lacks a kernel's 400 of the 700 that were handed over.
  EXPECT_EQ(result.operations[3].explanation.cause, Cause::Gpu);
  EXPECT_NEAR(result.explanation.part(Cause::Gpu), 700 - 400 / 7., 1e-6);
  EXPECT_NEAR(result.explanation.part(Cause::HandOver), 400 / 7., 1e-6);
  // No thread does it, nor is idle meanwhile.
  EXPECT_NEAR(result.threads[0].busy, 800 / 1510., 1e-9);
  EXPECT_EQ(result.operations[3].idle, 0);
  std::string table = kernelTable("a", *bundle, result, /*withHead=*/false);
  EXPECT_NE(table.find("\"gpu\",\"gpu\",,"), std::string::npos) << table;
}

/// Warm is how it stays: a GPU that is ready late takes over for good.
TEST_F(ModelTest, RunsBeforeAGpuTookOverAreNotWarm) {
  for (uint32_t run = 0; run < 9; ++run) {
    addRun(run);
    if (run < 5)
      continue;
    nnv12_record &execute = *(recorded.records.end() - 3);
    ASSERT_EQ(execute.index, 2u);
    execute.kind = NNV12_RECORD_GPU_KERNEL;
    add(NNV12_RECORD_GPU_SUBMIT, run, 2, execute.start_ns, 300).count = 1;
  }
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 4u);
  EXPECT_EQ(result.runs[0].number, 5u);
  // The first run had it on the CPU: warm runs say nothing of that.
  EXPECT_EQ(result.cold.work.unlike, 300);
  EXPECT_EQ(result.cold.work.onGpu, 0);
  EXPECT_EQ(result.cold.explanation.part(Cause::Gpu), 0);
}

/// The first run can wait until a GPU is ready.
TEST_F(ModelTest, AFirstRunThatWaitsForAGpu) {
  addRun(0, 0, 0, /*gap=*/5000);
  nnv12_record &execute = recorded.records[1];
  execute.kind = NNV12_RECORD_GPU_KERNEL;
  uint64_t start = 1'000'000;
  add(NNV12_RECORD_GPU_SUBMIT, 0, 0, start + 5000, 100).count = 1;
  add(NNV12_RECORD_GPU_DEVICE, 0, 0, start - 1000, 4000, 3);
  add(NNV12_RECORD_GPU_PIPELINE, 0, 1, start + 2000, 2500, 3).lane = 1;
  add(NNV12_RECORD_TRANSFORM, 0, 2, start + 2500, 300, 0);
  addRun(1);
  Cold cold = profile().cold;
  EXPECT_EQ(cold.work.gpuWait, 4500 - 300);
  EXPECT_EQ(cold.work.onGpu, 100);
  EXPECT_EQ(cold.work.executes, 1400);
}

/// A recorder has time stamps in a part of the runs: the others say nothing of
/// kernels, and would be shorter.
TEST_F(ModelTest, RunsWithoutTimeStampsDoNotCountBesideThoseWithThem) {
  auto addGpuRun = [&](uint32_t run, uint8_t kind) {
    addRun(run);
    nnv12_record &execute = recorded.records[run * 7 + 3];
    execute.kind = kind;
    add(NNV12_RECORD_GPU_SUBMIT, run, 2, execute.start_ns, 300).count = 1;
  };
  for (uint32_t run = 0; run < 6; ++run)
    addGpuRun(run, 99);
  EXPECT_EQ(profile().runs.size(), 5u);
  addGpuRun(6, NNV12_RECORD_GPU_KERNEL);
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_EQ(result.runs[0].number, 6u);
  EXPECT_EQ(result.operations[2].time.median, 300);
}

/// Warm runs come after the last preparation and the last change.
TEST_F(ModelTest, WarmIsAfterAllChanges) {
  for (uint32_t run = 0; run < 8; ++run)
    addRun(run);
  add(NNV12_RECORD_TRANSFORM, 3, 2, 1'030'000, 50, 1);
  for (nnv12_record &record : recorded.records)
    if (record.kind == NNV12_RECORD_EXECUTE && record.run >= 6 &&
        record.index == 1)
      record.flags = NNV12_RECORD_SWITCHED;
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 2u);
  EXPECT_EQ(result.runs[0].number, 6u);
}

/// An operation that a frame of a stream skipped took no time, and compared
/// inputs are no operations.
TEST_F(ModelTest, FramesOfAStream) {
  addRun(0);
  addRun(1);
  for (nnv12_record &record : recorded.records)
    if (record.run == 1 && record.kind == NNV12_RECORD_EXECUTE &&
        record.index < 2) {
      record.duration_ns = 0;
      record.flags = NNV12_RECORD_SKIPPED;
    }
  add(NNV12_RECORD_MATCH, 1, 0, 1'010'000, 5);
  add(NNV12_RECORD_MERGE, 1, 1, 1'010'600, 5);
  Profile result = profile();
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_EQ(result.runs[0].operations, 300 + 400 + 500);
  EXPECT_EQ(result.operations[0].time.median, 0);
  EXPECT_EQ(result.operations[2].time.median, 300);
  EXPECT_EQ(tools::nameOf(*bundle, recorded.records.back()),
            bundle->operation(1).layer);
}

TEST_F(ModelTest, Threads) {
  for (uint32_t run = 0; run < 3; ++run) {
    addRun(run);
    // Operation 3 takes 400: the leader 300 and then waits, the other 380.
    add(NNV12_RECORD_TILES, run, 3, 0, 300, 0);
    add(NNV12_RECORD_TILES, run, 3, 0, 200, 2);
    add(NNV12_RECORD_TILES, run, 3, 0, 180, 2);
    add(NNV12_RECORD_JOIN, run, 3, 0, 80, 0);
  }
  Profile result = profile();
  EXPECT_EQ(result.operations[3].busy, 680);
  EXPECT_EQ(result.operations[3].join, 80);
  EXPECT_NEAR(result.operations[3].idle, 1 - 680 / 800., 1e-9);
  // Alone on the execute lane.
  EXPECT_NEAR(result.operations[4].idle, 0.5, 1e-9);
  ASSERT_EQ(result.threads.size(), 3u);
  EXPECT_EQ(result.threads[0].name, "execute lane");
  EXPECT_EQ(result.threads[1].name, "preparation 1");
  EXPECT_EQ(result.threads[2].name, "compute 2");
  EXPECT_NEAR(result.threads[0].busy, 1400 / 1510., 1e-9);
  EXPECT_NEAR(result.threads[0].waiting, 80 / 1510., 1e-9);
  EXPECT_NEAR(result.threads[2].busy, 380 / 1510., 1e-9);
}

TEST_F(ModelTest, TheFirstRun) {
  addRun(0);
  addRun(1);
  add(NNV12_RECORD_READ, 0, 0, 999'000, 800, 1);
  add(NNV12_RECORD_READ, 0, 4, 999'900, 300, 1);
  add(NNV12_RECORD_THREAD_START, 0, 0, 998'500, 100, 1);
  add(NNV12_RECORD_WAIT, 0, 1, 1'000'010, 70);
  add(NNV12_RECORD_WAIT, 0, 3, 1'000'100, 90);
  // After the run: for later ones.
  add(NNV12_RECORD_TRANSFORM, 0, 2, 1'002'000, 50, 1);
  Cold cold = profile().cold;
  ASSERT_TRUE(cold.isKnown);
  EXPECT_EQ(cold.run, 1510);
  EXPECT_EQ(cold.work.time, 1510 + 1500);
  EXPECT_EQ(cold.stages["read"], 1100);
  EXPECT_EQ(cold.stages["execute"], 1500);
  EXPECT_EQ(cold.stages.count("transform"), 0u);
  EXPECT_EQ(cold.waits, 160);
  EXPECT_EQ(cold.longestWaits[0].first, 3u);
  // The waits, and the reads meanwhile.
  EXPECT_EQ(cold.work.weights, 160);
  EXPECT_EQ(cold.work.reading, 160);
  // A recording that lost records does not know how it began.
  recorded.lost = 1;
  EXPECT_FALSE(profile().cold.isKnown);
}

/// Counters of threads that compute; threads that prepare count for themselves.
TEST_F(ModelTest, Counters) {
  auto count = [&](uint32_t run, uint8_t thread, nnv12_counter counter,
                   uint64_t value) {
    add(NNV12_RECORD_COUNTER, run, counter, 1'000'000 + run * 10'000, value)
        .lane = thread;
  };
  for (uint32_t run = 0; run < 5; ++run) {
    addRun(run, 2, run == 4 ? 2000 : 0);
    if (run == 2) // was not counted
      continue;
    count(run, 0, NNV12_COUNTER_CPU_TIME, 1000 + run);
    count(run, 1, NNV12_COUNTER_CPU_TIME, 77);
    count(run, 2, NNV12_COUNTER_CPU_TIME, 500);
    count(run, 2, NNV12_COUNTER_CPU_WAIT, run == 4 ? 2700 : 0);
    count(run, 200, NNV12_COUNTER_CPU_TIME, 1'000'000); // there is no such
  }
  recorded.info.level = NNV12_RECORD_OPERATION;
  recorded.countersState = "few";
  Profile result = profile();
  EXPECT_EQ(result.countersState, "few");
  ASSERT_EQ(result.counters.size(), 2u);
  EXPECT_EQ(result.counters[0].counter, uint32_t(NNV12_COUNTER_CPU_TIME));
  EXPECT_NEAR(result.counters[0].perRun, (1001 + 1003 + 1004) / 3. + 500, 1e-6);
  EXPECT_EQ(result.counters[0].ofThread,
            (std::vector<double>{1002 + 2 / 3., 77, 500}));
  EXPECT_NEAR(result.counters[1].perRun, 900, 1e-6);
  EXPECT_EQ(result.explanation.cause, Cause::Preemption);
  EXPECT_NEAR(result.operations[2].explanation.part(Cause::Preemption), 500,
              1e-6);
  EXPECT_EQ(result.operations[2].explanation.cause, Cause::Preemption);
  EXPECT_EQ(result.operations[2].info.live_bytes,
            bundle->operation(2).live_bytes);
  EXPECT_GT(result.operations[2].info.live_bytes, 0u);
}

namespace {

/// A bundle whose plan prepares a GPU: the device is g0, pipelines g1 and g2,
/// uploads g3 and g4, commands g5 to g7.
class GpuPreparingTest : public ModelTest {
protected:
  void SetUp() override {
    path = folder.file("gpu.nnv");
    ASSERT_EQ(artifact::writeBundle(GpuSample().bundle, path), "");
    bundle = std::make_unique<Bundle>(path);
    recorded.info.level = NNV12_RECORD_OPERATION;
    recorded.info.num_threads = 3;
    recorded.info.num_preparing = 1;
    recorded.info.has_gpu_threads = 1;
    recorded.info.start_ns = 900'000;
    addRun(0);
    addRun(1);
    prepare(NNV12_RECORD_GPU_DEVICE, 0, 0, 910'000, 50'000);
    // It goes on after the first run.
    prepare(NNV12_RECORD_GPU_PIPELINE, 1, 0, 960'000, 20'000);
    prepare(NNV12_RECORD_GPU_PIPELINE, 2, 1, 970'000, 45'000).run = 1;
    prepare(NNV12_RECORD_GPU_UPLOAD, 3, 1, 962'000, 256);
    prepare(NNV12_RECORD_GPU_COMMANDS, 6, 0, 980'000, 1000);
    // A preparation that the plan does not have.
    prepare(NNV12_RECORD_GPU_UPLOAD, 4000, 1, 2'000'000, 1000);
  }

  nnv12_record &prepare(nnv12_record_kind kind, uint32_t index, uint8_t thread,
                        uint64_t start, uint64_t duration) {
    nnv12_record &record = add(kind, 0, index, start, duration, 3);
    record.lane = thread;
    return record;
  }

  GpuPreparing find() const {
    return findGpuPreparing(StoredProgram(path, *bundle), recorded);
  }

  /// All that is missing.
  void prepareRest() {
    prepare(NNV12_RECORD_GPU_UPLOAD, 4, 1, 963'000, 256);
    prepare(NNV12_RECORD_GPU_COMMANDS, 5, 1, 1'015'000, 2000).run = 1;
    prepare(NNV12_RECORD_GPU_COMMANDS, 7, 0, 1'015'000, 1500).run = 1;
  }

  std::string path;
};

} // namespace

TEST_F(GpuPreparingTest, WhatWasRecorded) {
  GpuPreparing found = find();
  ASSERT_EQ(found.all.size(), 8u);
  const GpuPreparation &device = found.all[found.placeOf(0)];
  EXPECT_EQ(device.id, "g0");
  EXPECT_EQ(device.thread, "GPU preparation 1");
  EXPECT_EQ(device.begin, 10'000);
  EXPECT_EQ(device.finished(), 60'000);
  EXPECT_EQ(device.end - device.start, 1000u);
  const GpuPreparing::Sum &pipelines = found.of(bundle::GpuStage_Pipeline);
  EXPECT_EQ(pipelines.pipelines, 3u);
  EXPECT_EQ(pipelines.took, 65'000);
  EXPECT_EQ(found.all[pipelines.longest].what, "sample_copy");
  EXPECT_EQ(found.all[pipelines.longest].thread, "GPU preparation 2");
  EXPECT_EQ(found.of(bundle::GpuStage_Upload).bytes, 512u);
  EXPECT_EQ(found.of(bundle::GpuStage_Upload).rate(), 2);
  EXPECT_EQ(found.of(bundle::GpuStage_Record).preparations, 1u);
  ASSERT_EQ(found.notRecorded.size(), 3u);
  for (size_t place : found.notRecorded)
    EXPECT_FALSE(found.all[place].isRecorded);
  EXPECT_EQ(found.placeOf(4000), found.all.size());
  prepareRest();
  found = find();
  EXPECT_TRUE(found.notRecorded.empty());
  EXPECT_EQ(found.ready, 117'000);
}

/// Nobody prepares, or nobody is asked to write it down.
TEST_F(GpuPreparingTest, WhereNothingIsKnown) {
  recorded.info.level = NNV12_RECORD_RUN;
  EXPECT_TRUE(find().all.empty());
  recorded.info.level = NNV12_RECORD_OPERATION;
  recorded.info.has_gpu_threads = 0;
  EXPECT_TRUE(find().all.empty());
}

TEST_F(GpuPreparingTest, Text) {
  Profile result = profile();
  result.gpu = find();
  auto print = [&] {
    testing::internal::CaptureStdout();
    printProfile("a", *bundle, result, 1);
    fflush(stdout);
    std::string text = testing::internal::GetCapturedStdout();
    size_t begin = text.find("for the GPU: ");
    return begin == std::string::npos
               ? "none"
               : text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(print(),
            "for the GPU: device opened in 0.050 ms; 3 pipelines 0.065 ms, "
            "longest 0.045: g2 sample_copy; uploads of 512 B 0.000 ms, 2.00 "
            "GB/s; commands of 1 stretch 0.001 ms; 3 of 8 not recorded, only "
            "planned: g5, g4, g7");
  prepareRest();
  result.gpu = find();
  EXPECT_NE(print().find("; all ready 0.117 ms after the session began"),
            std::string::npos)
      << print();
  result.gpu = {};
  EXPECT_EQ(print(), "none");
}

/// The page shows preparations on lines of their threads, at any time from the
/// session's beginning on. Preparations without a record are in the table of
/// the plan.
TEST_F(GpuPreparingTest, Page) {
  Profile result = profile();
  result.gpu = find();
  std::string page = profilePage(path, StoredProgram(path, *bundle), *bundle,
                                 recorded, result);
  auto has = [&](const std::string &text) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  };
  std::string shape;
  for (char c : page)
    if (c != ' ' && c != '\n')
      shape += c;
  std::swap(page, shape);
  has("\"lines\":[\"executelane\",\"preparation1\",\"compute2\","
      "\"GPUpreparation1\",\"GPUpreparation2\"]");
  has("{\"layer\":\"instanceanddevice\",\"stage\":\"device\",\"lane\":3,"
      "\"start\":10,\"duration\":50,\"id\":\"g0\"}");
  has("{\"layer\":\"sample_copy\",\"stage\":\"pipeline\",\"lane\":4,"
      "\"start\":70,\"duration\":45,\"id\":\"g2\"}");
  has("\"id\":\"g2\",\"stage\":\"pipeline\",\"what\":\"sample_copy\","
      "\"planned_start_us\":2,\"planned_us\":1,\"recorded\":true,\"thread\":"
      "\"GPUpreparation2\",\"start_us\":70,\"us\":45}");
  has("\"id\":\"g7\",\"stage\":\"record\",\"what\":\"stretch2\","
      "\"planned_start_us\":7,\"planned_us\":1,\"recorded\":false}");
  EXPECT_EQ(page.find("\"ready_us\":"), std::string::npos);
}

TEST_F(ModelTest, NothingRecorded) {
  Profile result = profile();
  EXPECT_TRUE(result.runs.empty());
  EXPECT_EQ(result.operations.size(), numOperations);
  EXPECT_FALSE(result.cold.isKnown);
  EXPECT_NE(profileJson("a", *bundle, result).find("\"runs\": 0"),
            std::string::npos);
}
