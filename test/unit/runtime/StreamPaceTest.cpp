//===- StreamPaceTest.cpp -------------------------------------------------===//
#include "runtime/video/StreamPace.h"

#include <gtest/gtest.h>

using nnv12::runtime::StreamPace;

namespace {

/// Frames of a work, until one computes all because of refresh. How many they
/// are, with that one.
unsigned framesToRefresh(StreamPace &pace, uint64_t work, unsigned most) {
  for (unsigned i = 1; i <= most; ++i) {
    EXPECT_TRUE(pace.takesNext());
    if (pace.isRefreshDue()) {
      pace.addWhole();
      return i;
    }
    pace.add(work, 1000);
  }
  return 0;
}

} // namespace

TEST(StreamPaceTest, RefreshesFramesThatComputeSome) {
  for (uint32_t refresh : {1, 2, 10, 99, 100, 250}) {
    StreamPace pace;
    pace.setRefresh(refresh);
    pace.addWhole();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(framesToRefresh(pace, 60, 1000), refresh);
    // Less than a twentieth of the work.
    for (uint64_t work : {0, 50})
      EXPECT_EQ(framesToRefresh(pace, work, 1000),
                refresh == 1 ? 1u : std::max(refresh, 100u));
  }
  StreamPace never;
  never.setRefresh(0);
  never.addWhole();
  EXPECT_EQ(framesToRefresh(never, 60, 1000), 0u);
}

/// A still scene between others puts nothing off.
TEST(StreamPaceTest, StillFramesDoNotCount) {
  StreamPace pace;
  pace.setRefresh(10);
  pace.addWhole();
  for (int i = 0; i < 8; ++i)
    pace.add(500, 1000);
  for (int i = 0; i < 50; ++i)
    pace.add(0, 1000);
  EXPECT_FALSE(pace.isRefreshDue());
  pace.add(500, 1000);
  EXPECT_TRUE(pace.isRefreshDue());
}

/// Frames that compute all because of refresh say nothing of those between.
TEST(StreamPaceTest, RefreshLeavesRunsWithout) {
  for (uint32_t refresh : {0, 2, 3, 10}) {
    StreamPace pace;
    pace.setRefresh(refresh);
    unsigned frames = 0, whole = 0, runs = 2000;
    bool hasValues = false;
    for (unsigned i = 0; i < runs; ++i) {
      if (!pace.takesNext()) {
        hasValues = false;
        continue;
      }
      ++frames;
      if (!hasValues || pace.isRefreshDue()) {
        ++whole;
        pace.addWhole();
      } else {
        pace.add(900, 1000);
      }
      hasValues = true;
    }
    // Two frames come with 64 runs without, once there are many of these.
    EXPECT_LT(frames, runs / 20) << refresh;
    EXPECT_LE(whole, frames / 2 + 2) << refresh;
  }
}

/// Two frames in a row with more work than pays are followed by others without.
TEST(StreamPaceTest, GivesUpWhereMostIsComputed) {
  for (uint32_t most : {6, 5}) {
    for (uint64_t above : {0, 1}) {
      StreamPace pace;
      if (most != 6) // else the default
        pace.setMost(most);
      pace.addWhole();
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(pace.takesNext());
        pace.add(125 * most + above, 1000);
      }
      EXPECT_EQ(pace.takesNext(), !above) << most;
    }
  }
}

/// Work that each frame with a change does is compared with nothing. An eighth
/// of all must be saved.
TEST(StreamPaceTest, TailsCountOnBothSides) {
  auto pays = [](uint64_t work, uint64_t tail) {
    StreamPace pace;
    pace.setMost(5);
    pace.addWhole();
    for (int i = 0; i < 2; ++i)
      pace.add(work, 8000, tail);
    return pace.takesNext();
  };
  EXPECT_TRUE(pays(5000, 0));
  EXPECT_FALSE(pays(5001, 0));
  EXPECT_TRUE(pays(6500, 4000));
  EXPECT_FALSE(pays(6501, 4000));
  EXPECT_TRUE(pays(7000, 6400));
  EXPECT_FALSE(pays(7001, 6400));
  EXPECT_TRUE(pays(0, 8000)) << "a copy";
}

TEST(StreamPaceTest, MeasuresFirstAndEachSixteenthWholeFrame) {
  StreamPace pace;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(pace.measuresWhole(), i % 16 == 0);
    pace.addWhole();
    pace.add(1000, 1000);
  }
  pace.forget();
  EXPECT_TRUE(pace.measuresWhole());
  EXPECT_TRUE(pace.takesNext());
}
