//===- SplitWaitsTest.cpp - Waiting in splits -----------------------------===//
#include "tools/nnv12-prof/SplitWaits.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::prof;

namespace {

class SplitWaitsTest : public testing::Test {
protected:
  void add(nnv12_record_kind kind, uint32_t run, uint32_t index, uint64_t start,
           uint64_t duration, uint32_t count = 0, uint8_t flags = 0) {
    nnv12_record record = {};
    record.kind = uint8_t(kind);
    record.run = run;
    record.index = index;
    record.start_ns = start;
    record.duration_ns = duration;
    record.count = uint16_t(count);
    record.flags = flags;
    recorded.records.push_back(record);
  }
  /// Operations 2 to 4: parts take 20 ns from 5 ns behind the submission on.
  void addSplit(uint32_t run, uint64_t duration, bool hasKernels) {
    uint64_t start = 1000 * (run + 1);
    add(NNV12_RECORD_GPU_SUBMIT, run, 2, start, duration, 3);
    add(NNV12_RECORD_EXECUTE, run, 2, start + 5, 8, 100, NNV12_RECORD_PARTIAL);
    add(NNV12_RECORD_EXECUTE, run, 4, start + 13, 12, 9, NNV12_RECORD_PARTIAL);
    if (hasKernels)
      for (uint32_t i = 2; i < 5; ++i)
        add(NNV12_RECORD_GPU_KERNEL, run, i, start + i, 7);
  }

  tools::Recorded recorded;
};

TEST_F(SplitWaitsTest, WaitsFromTheEndOfPartsOn) {
  addSplit(0, 500, false); // before the first warm run
  addSplit(1, 60, true);
  addSplit(2, 70, false);
  addSplit(3, 80, true);
  std::vector<SplitWait> found = findSplitWaits(recorded, 1);
  ASSERT_EQ(found.size(), 1U);
  const SplitWait &split = found[0];
  EXPECT_EQ(split.operation, 2U);
  EXPECT_EQ(split.count, 3U);
  EXPECT_EQ(split.runs, 3U);
  EXPECT_EQ(split.time, 70);
  EXPECT_EQ(split.parts, 20);
  EXPECT_EQ(split.waited, 70 - 25);
  EXPECT_EQ(split.kernels, 21) << "of the runs that have time stamps";
}

TEST_F(SplitWaitsTest, PassesOverWholeStretches) {
  add(NNV12_RECORD_GPU_SUBMIT, 1, 0, 100, 50, 2);
  // A part of another time: frames of a stream have such.
  add(NNV12_RECORD_EXECUTE, 1, 3, 400, 10, 5, NNV12_RECORD_PARTIAL);
  add(NNV12_RECORD_EXECUTE, 1, 4, 120, 10);
  EXPECT_TRUE(findSplitWaits(recorded, 1).empty());
}

TEST_F(SplitWaitsTest, ThePartsMayBeTheSlowerSide) {
  add(NNV12_RECORD_GPU_SUBMIT, 1, 0, 100, 50, 1);
  add(NNV12_RECORD_EXECUTE, 1, 0, 105, 60, 5, NNV12_RECORD_PARTIAL);
  std::vector<SplitWait> found = findSplitWaits(recorded, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].waited, 0);
  EXPECT_EQ(found[0].kernels, 0);
}

} // namespace
