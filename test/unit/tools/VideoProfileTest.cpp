//===- VideoProfileTest.cpp - Profiles of made up frames ------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/VideoSample.h"
#include "tools/nnv12-prof/Profile.h"

#include <gtest/gtest.h>
#include <random>

using namespace nnv12;
using namespace nnv12::prof;
using namespace nnv12::test;

namespace {

nnv12_record makeRecord(nnv12_record_kind kind, uint32_t index,
                        uint64_t duration, uint8_t flags = 0,
                        uint16_t count = 0) {
  nnv12_record record = {};
  record.kind = uint8_t(kind);
  record.index = index;
  record.duration_ns = duration;
  record.flags = flags;
  record.count = count;
  return record;
}

/// Two layers, and frames that are made up.
class VideoProfileTest : public testing::Test {
protected:
  void add(FrameKind kind, std::vector<nnv12_record> stream,
           std::vector<nnv12_record> plain = {}) {
    addFrame(profile, {kind, std::move(stream), std::move(plain)});
  }

  static VideoProfile withLayers() {
    VideoProfile result;
    result.layers.resize(2);
    return result;
  }

  VideoProfile profile = withLayers();
};

} // namespace

TEST_F(VideoProfileTest, SumsAreOfFramesThatReuse) {
  auto execute = NNV12_RECORD_EXECUTE;
  std::vector<nnv12_record> plain = {
      makeRecord(execute, 0, 100), makeRecord(execute, 1, 300),
      makeRecord(NNV12_RECORD_WHOLE_RUN, 0, 500)};
  add(FrameKind::Plain, {makeRecord(execute, 0, 9000)}, plain);
  add(FrameKind::Whole,
      {makeRecord(execute, 0, 9000), makeRecord(execute, 1, 9000)}, plain);
  add(FrameKind::Reused,
      {makeRecord(NNV12_RECORD_MATCH, 0, 20, 0, 6554),
       makeRecord(execute, 0, 40, NNV12_RECORD_PARTIAL, 16384),
       makeRecord(NNV12_RECORD_MERGE, 0, 6, 0, 5),
       makeRecord(execute, 1, 0, NNV12_RECORD_SKIPPED),
       makeRecord(NNV12_RECORD_WHOLE_RUN, 0, 80)},
      plain);
  plain[0].duration_ns = 104;
  add(FrameKind::Reused,
      {makeRecord(NNV12_RECORD_MATCH, 0, 30, 0, 65535),
       makeRecord(execute, 0, 60), makeRecord(execute, 1, 100),
       // Foreign ones.
       makeRecord(execute, 2, 100), makeRecord(NNV12_RECORD_MERGE, 9, 100),
       makeRecord(NNV12_RECORD_TILES, 0, 100),
       makeRecord(NNV12_RECORD_WHOLE_RUN, 0, 200)},
      plain);
  closeProfile(profile);
  EXPECT_EQ(profile.count(FrameKind::Plain), 1u);
  EXPECT_EQ(profile.count(FrameKind::Whole), 1u);
  EXPECT_EQ(profile.count(FrameKind::Reused), 2u);
  const VideoLayer &first = profile.layers[0], &second = profile.layers[1];
  EXPECT_EQ(first.plain, 102);
  EXPECT_EQ(first.time, 50);
  EXPECT_EQ(first.merging, 3);
  EXPECT_NEAR(first.tiles, (0.25 + 1) / 2, 1e-4);
  EXPECT_EQ(first.skipped, 0u);
  EXPECT_EQ(first.partial, 1u);
  EXPECT_EQ(first.whole, 1u);
  EXPECT_EQ(first.frames, (std::vector<uint8_t>{255, 255, 64, 255}));
  EXPECT_EQ(second.plain, 300);
  EXPECT_EQ(second.time, 50);
  EXPECT_EQ(second.tiles, 0.5);
  EXPECT_EQ(second.skipped, 1u);
  EXPECT_EQ(second.whole, 1u);
  EXPECT_EQ(second.frames, (std::vector<uint8_t>{0, 255, 0, 255}));
  EXPECT_EQ(profile.mean(&VideoFrame::matching), 25);
  EXPECT_EQ(profile.mean(&VideoFrame::merging), 3);
  EXPECT_EQ(profile.mean(&VideoFrame::operations), 100);
  EXPECT_EQ(profile.median(&VideoFrame::time), 140);
  EXPECT_EQ(profile.median(&VideoFrame::plain), 500);
  EXPECT_NEAR(profile.mean(&VideoFrame::changed), 0.55, 1e-4);
}

TEST_F(VideoProfileTest, NothingReused) {
  add(FrameKind::Whole, {makeRecord(NNV12_RECORD_EXECUTE, 0, 100)});
  closeProfile(profile);
  EXPECT_EQ(profile.mean(&VideoFrame::time), 0);
  EXPECT_EQ(profile.median(&VideoFrame::time), 0);
  EXPECT_EQ(profile.layers[0].time, 0);
  EXPECT_EQ(profile.layers[0].tiles, 0);
  EXPECT_EQ(profile.layers[0].plain, 0);
  EXPECT_EQ(profile.input.rows(), 0u);
}

/// Each cell against the mean of its pixels.
TEST(PixelHeatTest, CellsAreMeansOfTheirPixels) {
  std::mt19937 random(1);
  for (auto [rows, columns] : std::vector<std::pair<uint32_t, uint32_t>>{
           {1, 1}, {3, 50}, {40, 40}, {41, 79}, {100, 7}, {240, 320}}) {
    PixelHeat heat;
    EXPECT_EQ(heat.rows(), 0u);
    uint32_t cellRows = std::min(rows, PixelHeat::most),
             cellColumns = std::min(columns, PixelHeat::most);
    std::vector<double> sums(cellRows * cellColumns), counts(sums.size());
    for (int frame = 0; frame < 3; ++frame) {
      std::vector<uint8_t> pixels(size_t(rows) * columns);
      for (size_t i = 0; i < pixels.size(); ++i) {
        pixels[i] = random() % 2;
        size_t cell = i / columns * cellRows / rows * cellColumns +
                      i % columns * cellColumns / columns;
        sums[cell] += pixels[i];
        ++counts[cell];
      }
      heat.add(pixels, rows, columns);
    }
    ASSERT_EQ(heat.rows(), cellRows);
    ASSERT_EQ(heat.columns(), cellColumns);
    for (uint32_t y = 0; y < cellRows; ++y)
      for (uint32_t x = 0; x < cellColumns; ++x) {
        size_t cell = y * cellColumns + x;
        EXPECT_NEAR(heat.at(y, x), sums[cell] / counts[cell], 1e-12);
      }
  }
}

TEST_F(VideoProfileTest, JsonAndText) {
  VideoSample sample(4);
  TemporaryFolder folder;
  std::string path = folder.file("a.nnv");
  ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
  Bundle bundle(path);
  for (uint32_t i = 0; i < 2; ++i) {
    profile.layers[i].info = bundle.operation(i);
    profile.layers[i].parts = i ? "whole" : "cells";
  }
  add(FrameKind::Reused,
      {makeRecord(NNV12_RECORD_EXECUTE, 0, 40000, NNV12_RECORD_PARTIAL, 655),
       makeRecord(NNV12_RECORD_EXECUTE, 1, 10000),
       makeRecord(NNV12_RECORD_WHOLE_RUN, 0, 100000)});
  closeProfile(profile);
  profile.clip = "</script>";
  profile.input.add({1, 0}, 1, 2);
  profile.picture = {1, 2, 3, 255, 0, 16};
  profile.rows = 1;
  profile.columns = 2;
  std::string json = videoJson(path, bundle, profile);
  for (const char *part :
       {"\"reused\": 1", "\"kind\": \"reused\"", "\"parts\": \"cells\"",
        "\"computed\": \"03\"", "\"bytes\": \"ff00\"",
        "\"bytes\": \"010203ff0010\"", "\"us\": 40"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  // Gray stands for all colors; more pixels than a page wants are left out.
  profile.picture.assign(200 * 300, 7);
  profile.rows = 200;
  profile.columns = 300;
  json = videoJson(path, bundle, profile);
  EXPECT_NE(json.find("\"rows\": 160"), std::string::npos);
  EXPECT_NE(json.find("070707"), std::string::npos);
  testing::internal::CaptureStdout();
  printVideo(path, bundle, profile, 1);
  std::string text = testing::internal::GetCapturedStdout();
  for (const char *part :
       {"1 reused values, 0 computed all, 0 were plain runs",
        "operations 50.0 us (50.0 %), the rest 50.0 us (50.0 %)",
        "as a whole or not at all: 1 of 2 layers, 10.0 us",
        "and 1 more operations"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}
