//===- SplitTablesTest.cpp - Splits as CoDL has them ----------------------===//

#include "SplitTables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace nnv12::device;
using namespace nnv12::search;

/// Two rates are fitted to YOLOv2 on each processor alone, and two constants of
/// sharing are assumed. All else is predicted, the other four networks too.
TEST(Codl, tablesOfSnapdragon855) {
  struct {
    const char *network;
    double least, most; ///< published
    double within, ofBound;
  } rows[] = {{"YOLOv2", 132, 140, 0.20, 0.80},
              {"VGG-16", 137, 137, 0.15, 0.85},
              {"PoseNet", 244, 244, 0.15, 0.85},
              {"Fast Style Transfer", 267, 267, 0.15, 0.85},
              {"RetinaFace", 680, 680, 0.15, 0.85}};
  for (const auto &row : rows) {
    SplitTimes t = splitTimes(codlNetworks().at(row.network), snapdragon855());
    EXPECT_GE(t.apart, row.least * (1 - row.within)) << row.network;
    EXPECT_LE(t.apart, row.most * (1 + row.within)) << row.network;
    EXPECT_GE(t.chained, row.least * 0.8) << row.network;
    EXPECT_LT(t.chained, t.apart) << row.network;
    EXPECT_LT(t.planned, t.chained) << row.network;
    EXPECT_GE(t.bound / t.planned, row.ofBound) << row.network;
    EXPECT_LT(t.planned, std::min(t.cpu, t.gpu)) << row.network;
  }
  SplitTimes yolo = splitTimes(codlNetworks().at("YOLOv2"), snapdragon855());
  EXPECT_NEAR(yolo.cpu, 213, 1e-6);
  EXPECT_NEAR(yolo.gpu, 169, 1e-6);
  size_t sizes[] = {14, 34, 87, 21, 27}, i = 0;
  for (const auto &[name, windows] : codlNetworks())
    EXPECT_EQ(windows.size(), sizes[i++]) << name;
}

/// The best split of one layer along a dimension, by processors that are
/// equally fast.
static double bestAlong(const Window &window, uint32_t dim) {
  SplitRates rates = snapdragon855();
  rates.gpu = rates.cpu;
  Problem p = splitProblem({window}, rates, 0);
  SplitWalk walk(p, {0}, dim);
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t at : walk.placesOf(0)) {
    walk.begin(0, at);
    EXPECT_TRUE(walk.grow());
    best = std::min(best, walk.time().sum());
  }
  return best;
}

/// CoDL, Figure 10.
TEST(Codl, rowsOrChannels) {
  constexpr uint32_t channels = 1, rows = 2;
  Window large = {106, 106, 64, 128, 3, 1}, small = {15, 15, 1024, 1024, 3, 1};
  EXPECT_LT(bestAlong(large, rows), bestAlong(large, channels))
      << "half of the input is shared";
  EXPECT_LT(bestAlong(small, channels), bestAlong(small, rows))
      << "13 rows have no half";
}

/// CoDL, Figure 4: both at once take 599 us where one takes 1126, but sharing
/// takes 1074.
TEST(Codl, sharingMayCostMoreThanIsGained) {
  Window window = {52, 52, 256, 128, 1, 1};
  auto isSplit = [&](double sharing) {
    double rate = window.multiplyAdds() / (2 * 0.599);
    Problem p = splitProblem({window}, {rate, rate, sharing, 0}, 0);
    p.layers[0].candidates[0].execute = 1.126;
    Options options;
    options.splits = Splits::WherePays;
    auto plan = planWarmStretches(p, {0}, {0}, options);
    return !plan.stretches.empty() && plan.stretches[0].split;
  };
  EXPECT_FALSE(isSplit(1.074));
  EXPECT_TRUE(isSplit(0.1));
}

/// CoDL, Figure 13: 9 layers of YOLOv2 as a chain.
TEST(Codl, chainsShareLess) {
  const Windows &yolo = codlNetworks().at("YOLOv2");
  EXPECT_LE(sharingOfChain({yolo.begin(), yolo.begin() + 9}, snapdragon855()),
            0.12);
}

TEST(Codl, otherDevices) {
  // A table with a line for each network of each device, and the board's.
  std::string table = otherSplitsTable();
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 3 * 5 + 1);
}
