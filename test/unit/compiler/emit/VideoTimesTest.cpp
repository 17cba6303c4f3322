//===- VideoTimesTest.cpp - Costs of the frames of a program --------------===//

#include "compiler/emit/VideoTimes.h"

#include <gtest/gtest.h>

using namespace nnv12;
using artifact::VideoTiles;

/// A kernel whose tiles cut axis 0 and axis 1 so.
static artifact::Kernel kernelOf(uint64_t rows, uint64_t columns) {
  artifact::Kernel kernel = {"kernel", 0, 2, 1, 0};
  artifact::TilePart part;
  part.cuts = {{0, 32 / rows, rows}, {1, 32 / columns, columns}};
  kernel.maps = {{{{32, 32}, {32, 1}}, {part}}};
  return kernel;
}

/// Three layers of 32x32 pixels: in cells, in runs of 64 pixels once its
/// routine has changed, and as a whole.
static artifact::Program sampleProgram() {
  artifact::Program program;
  program.kernels = {kernelOf(4, 32), kernelOf(1, 32)};
  program.kernels[1].maps[0] = {{{1024, 1}}, {{{}, {}, {{0, 16, 64}}}}};
  program.operations.resize(3);
  for (artifact::Operation &operation : program.operations)
    operation.operands = {{artifact::Space::Arena, 0, 0, 12288},
                          {artifact::Space::Arena, 0, 12288, 12288},
                          {artifact::Space::Weights, 0, 0, 1 << 30}};
  artifact::Switch change = {1, {}};
  change.replacement.kernel = 1;
  program.switches = {change};
  artifact::ProgramVideo video;
  video.kernels = {kernelOf(8, 16)};
  video.sets = {{32, 32},
                {32, 32, {{0, false, {1, 1, -1, 1}, {1, 1, -1, 1}}}},
                {32, 32, {{1, false}}},
                {1, 1, {{2, true}}}};
  artifact::PixelLayout pixels = {128, 4, 3, 4096, 4};
  video.inputs = {{0, 0, pixels}};
  video.executes.resize(3);
  video.executes[0] = {
      {}, 1, {VideoTiles::Cells, 0, 1, 0}, artifact::VideoCheck{0, pixels}};
  video.executes[1] = {{}, 2, {VideoTiles::Rows, 0}};
  video.executes[2] = {{}, 3, {}};
  video.switches = {{VideoTiles::Runs, 0}};
  program.video = video;
  return program;
}

TEST(VideoTimes, HaveTheTilesOfMostFrames) {
  search::FrameProblem problem =
      frameProblemOf(sampleProgram(), {3, 2, 1}, /*memoryGBps=*/12);
  ASSERT_EQ(problem.sets.size(), 4u);
  EXPECT_EQ(problem.sets[1].reads[0].rows.low, -1);
  EXPECT_EQ(problem.sets[1].reads[0].columns.high, 1);
  EXPECT_TRUE(problem.sets[3].reads[0].all);
  EXPECT_EQ(problem.plain, 6);
  // Tensors of 12 KiB: two are read.
  ASSERT_EQ(problem.inputs.size(), 1u);
  EXPECT_DOUBLE_EQ(problem.inputs[0].match, 2 * 12288 / 12e6);
  ASSERT_EQ(problem.executes.size(), 3u);
  const search::FrameExecute &cells = problem.executes[0],
                             &runs = problem.executes[1],
                             &whole = problem.executes[2];
  EXPECT_EQ(cells.tileRows, 8u);
  EXPECT_EQ(cells.tileColumns, 16u);
  EXPECT_FALSE(cells.isFlat);
  EXPECT_DOUBLE_EQ(cells.merge, 3.5 * 12288 / 12e6);
  EXPECT_GT(cells.tiles, cells.whole) << "cells take longer";
  EXPECT_GE(cells.whole, 3) << "values lie apart";
  EXPECT_TRUE(runs.isFlat);
  EXPECT_EQ(runs.tileRows, 1u);
  EXPECT_EQ(runs.tileColumns, 64u);
  EXPECT_EQ(runs.tiles, runs.whole);
  EXPECT_EQ(runs.merge, 0);
  EXPECT_EQ(whole.tileRows, 0u);
}

TEST(VideoTimes, RowsAreAsLongAsThePlane) {
  artifact::Program program = sampleProgram();
  program.switches.clear();
  search::FrameProblem problem = frameProblemOf(program, {3, 2, 1}, 12);
  EXPECT_EQ(problem.executes[1].tileRows, 4u);
  EXPECT_EQ(problem.executes[1].tileColumns, 32u);
  EXPECT_FALSE(problem.executes[1].isFlat);
}

/// Layers with little work wait for values in memory, and in cells for more.
TEST(VideoTimes, OfLittleWork) {
  artifact::Program program = sampleProgram();
  auto timesOf = [&](uint64_t bytes, double time) {
    for (artifact::Operation &operation : program.operations)
      operation.operands[0].size = operation.operands[1].size = bytes;
    search::FrameProblem problem = frameProblemOf(program, {time, 2, 1}, 10);
    return std::pair(problem.executes[0].whole, problem.executes[0].tiles);
  };
  // Two tensors of 10 MB: 2 ms of memory.
  EXPECT_EQ(timesOf(10000000, 0.1), std::pair(0.7 * 2, 2.0));
  EXPECT_EQ(timesOf(10000000, 10), std::pair(1.1 * 10, 1.25 * 10));
  // Three results that caches of a core have room for.
  EXPECT_EQ(timesOf((1 << 20) / 3, 0.01), std::pair(1.1 * 0.01, 1.25 * 0.01));
}

/// Layers of the tail take the time of a plain run, and the others more.
TEST(VideoTimes, OfTails) {
  artifact::Program program = sampleProgram();
  program.switches.clear();
  program.video->switches.clear();
  for (artifact::VideoExecute &execute : program.video->executes)
    execute.places = {0, 4096};
  program.video->executes[2].places[0] = artifact::VideoExecute::asInProgram;
  search::FrameProblem problem = frameProblemOf(program, {3, 2, 1}, 12);
  EXPECT_GT(problem.executes[1].whole, 2);
  EXPECT_EQ(problem.executes[1].plain, 2);
  EXPECT_EQ(problem.executes[2].whole, 1);
  EXPECT_EQ(problem.executes[2].plain, 1);
  EXPECT_EQ(problem.executes[2].tileRows, 0u);
  // The last layer depends on any pixel, and the others on a few.
  EXPECT_EQ(chooseVideoTail(program, *program.video, {3, 2, 1}, 12), 3u)
      << "it is one";
  program.video->executes[2].places[0] = 0;
  EXPECT_EQ(chooseVideoTail(program, *program.video, {3, 2, 1}, 12), 2u);
}

static std::string textOf(std::vector<search::FrameTimes::Point> points,
                          std::optional<double> gpu = std::nullopt) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printVideoTimes({std::move(points)}, /*plain=*/4, gpu, os);
  return llvm::StringRef(text).trim().str();
}

TEST(VideoTimes, AreSaid) {
  EXPECT_EQ(textOf({{0, 0.1}, {0.5, 0.6}, {1, 1.6}}),
            "pays below 70 % changed input; predicted for 0, 2 and 10 %: 0.10, "
            "0.12 and 0.20 of a run");
  EXPECT_EQ(textOf({{0, 0.5}, {0.005, 1.2}, {1, 1.2}}),
            "does not pay where anything changes; predicted for 0, 2 and 10 %: "
            "0.50, 1.20 and 1.20 of a run");
  EXPECT_EQ(textOf({{0, 0.1}, {1, 0.9}}).substr(0, 21),
            "pays for any change; ");
  std::string better = textOf({{0, 0.2}, {1, 1.2}}, 1);
  EXPECT_TRUE(llvm::StringRef(better).ends_with(
      "with 10 % changed, predicted: 1.20 ms with reuse, 1.00 ms of plain runs "
      "with the GPU, which are better"))
      << better;
  std::string worse = textOf({{0, 0.2}, {1, 1.2}}, 1.5);
  EXPECT_TRUE(llvm::StringRef(worse).ends_with(
      "1.50 ms of plain runs with the GPU, which are worse"))
      << worse;
}
