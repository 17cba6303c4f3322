//===- GpuRecordTest.cpp - Records of a GPU's work ------------------------===//
#include "test/unit/gpu/GpuTest.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace {

class GpuRecordTest : public GpuTest {
protected:
  GpuRecordTest() { open(); }

  struct Free {
    void operator()(void *memory) const { free(memory); }
  };

  /// The records of the thread of that number in so many runs of a session, all
  /// of which must be right; none: the records of threads that prepare for the
  /// GPU.
  std::vector<nnv12_record> record(nnv12_record_level level, int runs,
                                   std::optional<uint32_t> thread = 0,
                                   uint32_t gpuPerMille = 0) {
    SessionOptions wish = options(NNV12_GPU_WAIT);
    nnv12_session_options c = wish.get();
    size_t size = nnv12_recorder_size(bundle.get(), &c, level, uint32_t(runs));
    memory.reset(aligned_alloc(64, size));
    memset(memory.get(), 0, size);
    nnv12_recorder recorder = NNV12_RECORDER_INIT(memory.get(), size);
    recorder.level = level;
    recorder.gpu_per_mille = gpuPerMille;
    wish.recorder = &recorder;
    {
      SessionPointer session = create(wish);
      for (int i = 0; i < runs; ++i)
        EXPECT_EQ(run(session, i), expected(i)) << i;
      EXPECT_EQ(info(session).gpu_stretches_taken, 2u);
    }
    nnv12_recording *recording = nullptr;
    EXPECT_EQ(nnv12_recording_open(memory.get(), size, &recording, &error),
              NNV12_OK)
        << error.message;
    std::vector<nnv12_record> records(4096);
    uint64_t lost = 0;
    nnv12_recording_info about = {};
    about.struct_size = sizeof about;
    nnv12_recording_get_info(recording, &about);
    EXPECT_EQ(about.has_gpu_threads, 1u);
    records.resize(nnv12_recording_read(recording,
                                        thread.value_or(about.num_threads),
                                        records.data(), records.size(), &lost));
    EXPECT_EQ(lost, 0u);
    nnv12_recording_close(recording);
    // They come in the order in which they ended.
    std::stable_sort(records.begin(), records.end(),
                     [](const nnv12_record &a, const nnv12_record &b) {
                       return a.start_ns != b.start_ns
                                  ? a.start_ns < b.start_ns
                                  : a.duration_ns > b.duration_ns;
                     });
    return records;
  }

  std::unique_ptr<void, Free> memory;
};

uint64_t endOf(const nnv12_record &record) {
  return record.start_ns + record.duration_ns;
}

} // namespace

/// Each stretch is a submission with its kernels inside, in their order, which
/// is inside its run; nothing else computes its layers.
TEST_F(GpuRecordTest, KernelsLieInsideTheirSubmission) {
  std::vector<nnv12_record> records = record(NNV12_RECORD_OPERATION, 20);
  std::map<uint32_t, nnv12_record> runs;
  for (const nnv12_record &record : records)
    if (record.kind == NNV12_RECORD_WHOLE_RUN)
      runs[record.run] = record;
  ASSERT_EQ(runs.size(), 20u);
  std::map<uint32_t, std::vector<uint32_t>> submits, kernels;
  const nnv12_record *submit = nullptr;
  uint64_t last = 0;
  for (const nnv12_record &record : records) {
    EXPECT_NE(record.kind, NNV12_RECORD_EXECUTE);
    if (record.kind == NNV12_RECORD_GPU_SUBMIT) {
      submit = &record;
      last = record.start_ns;
      submits[record.run].push_back(record.index);
      EXPECT_GE(record.start_ns, runs[record.run].start_ns);
      EXPECT_LE(endOf(record), endOf(runs[record.run]));
    }
    if (record.kind != NNV12_RECORD_GPU_KERNEL)
      continue;
    ASSERT_NE(submit, nullptr);
    EXPECT_EQ(record.run, submit->run);
    EXPECT_GE(record.start_ns, last);
    EXPECT_LE(endOf(record), endOf(*submit) + 1);
    last = endOf(record);
    kernels[record.run].push_back(record.index);
    EXPECT_GE(record.index, submit->index);
    EXPECT_LT(record.index, submit->index + submit->count);
  }
  for (const auto &[number, run] : runs) {
    EXPECT_EQ(submits[number], (std::vector<uint32_t>{0, 2})) << number;
    EXPECT_EQ(kernels[number], (std::vector<uint32_t>{0, 1, 2, 3, 4}))
        << number;
  }
  expectClean();
}

/// Each preparation once, by one of the threads for it, the device first and
/// commands when their pipelines are made; nothing overlaps on a thread.
TEST_F(GpuRecordTest, PreparationsAreOfTheirThreads) {
  std::vector<nnv12_record> records =
      record(NNV12_RECORD_OPERATION, 2, std::nullopt);
  std::map<uint8_t, unsigned> kinds;
  std::map<uint8_t, uint64_t> lastOf;
  std::set<uint32_t> indices;
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.front().kind, NNV12_RECORD_GPU_DEVICE);
  for (const nnv12_record &record : records) {
    ++kinds[record.kind];
    EXPECT_TRUE(indices.insert(record.index).second) << record.index;
    EXPECT_GE(record.start_ns, lastOf[record.lane]);
    lastOf[record.lane] = endOf(record);
  }
  EXPECT_EQ(*indices.rbegin() + 1, indices.size());
  EXPECT_EQ(kinds[NNV12_RECORD_GPU_DEVICE], 1u);
  EXPECT_GE(kinds[NNV12_RECORD_GPU_PIPELINE], 1u);
  EXPECT_GE(kinds[NNV12_RECORD_GPU_UPLOAD], 1u);
  EXPECT_EQ(kinds[NNV12_RECORD_GPU_COMMANDS], 3u);
  EXPECT_EQ(kinds.size(), 4u);
  expectClean();
}

TEST_F(GpuRecordTest, LevelRunHasNoneOfIt) {
  for (const nnv12_record &record : record(NNV12_RECORD_RUN, 4))
    EXPECT_EQ(record.kind, NNV12_RECORD_WHOLE_RUN);
  EXPECT_TRUE(record(NNV12_RECORD_RUN, 4, std::nullopt).empty());
  EXPECT_EQ(mock.calls("vkCreateQueryPool"), 0u);
}

/// By default time stamps are for as many runs as take little: the first one
/// has them, the second shows what they cost, and each later one waits until
/// those before it are a small part of the time.
TEST_F(GpuRecordTest, TimeStampsAreForAPartOfTheRuns) {
  using Clock = std::chrono::steady_clock;
  nnv12_recorder usual = NNV12_RECORDER_INIT(nullptr, 0);
  EXPECT_EQ(usual.gpu_per_mille, 10u);
  // Reading takes a millisecond, the most of which may be a tenth here: with
  // each stretch's first come free, as long as a machine takes besides.
  constexpr unsigned perMille = 100;
  constexpr auto reading = std::chrono::milliseconds(1);
  Clock::time_point start = Clock::now();
  unsigned read = 0;
  mock.before = [&](const char *function) {
    if (strcmp(function, "vkGetQueryPoolResults") != 0)
      return;
    if (read >= 2) {
      EXPECT_GE(Clock::now() - start, read * reading * (1000 / perMille))
          << read;
    }
    ++read;
    std::this_thread::sleep_for(reading);
  };
  std::vector<unsigned> submits(200), kernels(200);
  for (const nnv12_record &record :
       record(NNV12_RECORD_OPERATION, 200, 0, perMille)) {
    submits[record.run] += record.kind == NNV12_RECORD_GPU_SUBMIT;
    kernels[record.run] += record.kind == NNV12_RECORD_GPU_KERNEL;
  }
  mock.before = nullptr;
  EXPECT_EQ(submits, std::vector<unsigned>(200, 2));
  EXPECT_EQ(kernels[0], 5u);
  EXPECT_EQ(kernels[1], 0u);
  expectClean();
}

/// All the time there is, is enough for all runs but the second.
TEST_F(GpuRecordTest, TimeStampsComeAgain) {
  std::vector<unsigned> kernels(10);
  for (const nnv12_record &record :
       record(NNV12_RECORD_OPERATION, 10, 0, /*gpuPerMille=*/1000))
    kernels[record.run] += record.kind == NNV12_RECORD_GPU_KERNEL;
  std::vector<unsigned> wanted(10, 5);
  wanted[1] = 0;
  EXPECT_EQ(kernels, wanted);
  expectClean();
}

/// Without time stamps, or where the driver refuses them, hand-overs are known.
TEST_F(GpuRecordTest, DoesWithoutTimeStamps) {
  for (const char *refused :
       {"", "vkCreateQueryPool", "vkGetQueryPoolResults"}) {
    mock.reset();
    mock.devices[0].timestampBits = *refused ? 36 : 0;
    mock.fault = {refused, 1, VK_ERROR_OUT_OF_HOST_MEMORY};
    unsigned submits = 0, kernels = 0;
    for (const nnv12_record &record : record(NNV12_RECORD_OPERATION, 4)) {
      submits += record.kind == NNV12_RECORD_GPU_SUBMIT;
      kernels += record.kind == NNV12_RECORD_GPU_KERNEL;
    }
    EXPECT_EQ(submits, 8u) << refused;
    // One reading that fails is one stretch without kernels.
    EXPECT_EQ(kernels, *refused && refused[2] == 'G' ? 4 * 5 - 2 : 0)
        << refused;
    nnv12_gpu_release();
  }
}
