//===- VideoEmitterTest.cpp - Check points of bounded reuse ---------------===//
//
// VideoProofTest.cpp tells that all else is right.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/VideoEmitter.h"

#include "artifact/Limits.h"
#include "compiler/layers/LayerName.h"
#include "dialects/nn/Layout.h"
#include "test/unit/compiler/verify/PlannedModel.h"
#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using artifact::ProgramVideo;
using artifact::VideoExecute;
using artifact::VideoReuse;
using artifact::VideoSet;

namespace {

/// Convolutions that take much and little a value, one of a single pixel, and
/// other layers.
const char *layers = R"(
  func.func @main(%x: tensor<1x8x20x24xf32>) -> (tensor<1x16x20x24xf32>, tensor<1x16x1x1xf32>, tensor<1x8x20x24xi32>) {
    %w0 = nn.constant dense<0.5> : tensor<16x8x3x3xf32> -> tensor<16x8x3x3xf32>
    %w1 = nn.constant dense<0.25> : tensor<16x1x3x3xf32> -> tensor<16x1x3x3xf32>
    %w2 = nn.constant dense<0.125> : tensor<16x16x1x1xf32> -> tensor<16x16x1x1xf32>
    %w3 = nn.constant dense<0.75> : tensor<16x1x2x2xf32> -> tensor<16x1x2x2xf32>
    %0 = nn.conv %x, %w0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x8x20x24xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x20x24xf32> loc("conv")
    %1 = nn.pool max %0 kernel [5, 5] strides [1, 1] dilations [1, 1] pads [2, 2], [2, 2]
        : tensor<1x16x20x24xf32> -> tensor<1x16x20x24xf32> loc("pool")
    %2 = nn.conv %1, %w1 strides [2, 2] dilations [1, 1] pads [1, 1], [1, 1] {groups = 16 : i64}
        : tensor<1x16x20x24xf32>, tensor<16x1x3x3xf32> -> tensor<1x16x10x12xf32> loc("depthwise")
    %3 = nn.resize nearest %2 scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest round_prefer_floor
        : tensor<1x16x10x12xf32> -> tensor<1x16x20x24xf32> loc("double")
    %4 = nn.conv %3, %w2 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
        : tensor<1x16x20x24xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x20x24xf32> loc("point")
    %5 = nn.conv %4, %w3 strides [1, 1] dilations [1, 1] pads [0, 0], [1, 1] {groups = 16 : i64}
        : tensor<1x16x20x24xf32>, tensor<16x1x2x2xf32> -> tensor<1x16x20x24xf32> loc("little")
    %6 = nn.reduce mean %5 axes [2, 3] keep_dims true : tensor<1x16x20x24xf32> -> tensor<1x16x1x1xf32> loc("mean")
    %7 = nn.conv %6, %w2 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
        : tensor<1x16x1x1xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x1x1xf32> loc("single")
    %8 = nn.cast %x : tensor<1x8x20x24xf32> -> tensor<1x8x20x24xi32> loc("cast")
    return %5, %7, %8 : tensor<1x16x20x24xf32>, tensor<1x16x1x1xf32>, tensor<1x8x20x24xi32>
  })";

class VideoEmitter : public testing::Test {
protected:
  VideoEmitter() : context(MLIRContext::Threading::DISABLED) {
    PlanOptions options;
    options.threads = 1;
    options.mode = Mode::Continuous;
    model = std::make_unique<PlannedModel>(context, layers, options,
                                           /*alternatives=*/false, "x86-64-v3");
  }

  void SetUp() override { ASSERT_EQ(model->error, ""); }

  ProgramVideo add(VideoReuse reuse) {
    EXPECT_EQ(model->addVideo(reuse), "");
    return *model->program.video;
  }

  MLIRContext context;
  std::unique_ptr<PlannedModel> model;
};

TEST_F(VideoEmitter, CheckPointsWhereComparingTakesLittle) {
  ProgramVideo video = add(VideoReuse::Bounded);
  std::map<std::string, bool> found;
  for (auto [layer, execute] : llvm::zip(model->layers, video.executes))
    found[firstName(layer->getLoc())] |= execute.check.has_value();
  for (const char *name : {"conv", "depthwise", "point"})
    EXPECT_TRUE(found[name]) << name;
  for (const char *name :
       {"pool", "double", "little", "mean", "single", "cast"}) {
    EXPECT_TRUE(found.count(name)) << name;
    EXPECT_FALSE(found[name]) << name;
  }
}

/// The pixels hold all of the result, also where it is in blocks.
TEST_F(VideoEmitter, PixelsOfCheckPoints) {
  ProgramVideo video = add(VideoReuse::Bounded);
  for (auto [layer, execute] : llvm::zip(model->layers, video.executes)) {
    if (!execute.check)
      continue;
    const artifact::PixelLayout &pixels = execute.check->pixels;
    const VideoSet &set = video.sets[execute.set];
    EXPECT_EQ(pixels.pieces * pixels.piece * set.rows * set.columns,
              static_cast<uint64_t>(nn::storageSize(layer->getResult(0))));
  }
}

/// All check points share one place, behind the values.
TEST_F(VideoEmitter, MemoryOfCheckPoints) {
  ProgramVideo exact = add(VideoReuse::Exact), video = add(VideoReuse::Bounded);
  uint64_t largest = 0;
  for (auto [execute, operation] :
       llvm::zip(video.executes, model->program.operations)) {
    if (!execute.check)
      continue;
    EXPECT_EQ(execute.check->place, exact.arenaSize);
    largest = std::max(largest, operation.operands[0].size);
  }
  EXPECT_EQ(largest, 16u * 20 * 24 * 4);
  EXPECT_EQ(video.arenaSize, exact.arenaSize + largest);
  EXPECT_EQ(video.arenaSize % artifact::memoryAlignment, 0u);
}

/// Layers of the tail share a set, and need no memory between frames.
TEST_F(VideoEmitter, Tails) {
  ProgramVideo none = add(VideoReuse::Bounded);
  size_t count = none.executes.size();
  ASSERT_GT(count, 8u);
  uint64_t size = none.arenaSize;
  for (size_t tail = count; tail-- > 0;) {
    ASSERT_EQ(model->addVideo(VideoReuse::Bounded, tail), "");
    ProgramVideo video = *model->program.video;
    ASSERT_EQ(video.executes.size(), count);
    EXPECT_LE(video.arenaSize, size);
    size = video.arenaSize;
    uint32_t shared = video.executes[tail].set;
    EXPECT_EQ(shared + 1, video.sets.size());
    EXPECT_EQ(video.sets[shared].rows * video.sets[shared].columns, 1u);
    for (size_t i = 0; i < count; ++i) {
      const VideoExecute &execute = video.executes[i];
      bool isInTail = i >= tail;
      EXPECT_EQ(execute.set == shared, isInTail) << i;
      EXPECT_EQ(execute.check.has_value(),
                !isInTail && none.executes[i].check.has_value());
      if (isInTail) {
        EXPECT_EQ(execute.part.tiles, artifact::VideoTiles::All);
      }
      // Outputs stay.
      Value result = model->layers[i]->getResult(0);
      bool isOutput = llvm::is_contained(
          model->main.getBody().front().getTerminator()->getOperands(), result);
      EXPECT_EQ(execute.places[0] == VideoExecute::asInProgram,
                isInTail && !isOutput)
          << i;
    }
    for (const artifact::VideoRead &read : video.sets[shared].reads)
      EXPECT_TRUE(read.all && read.set < shared);
  }
  EXPECT_LT(size, none.arenaSize / 2);
}

/// The tail is chosen by the sets of all layers.
TEST_F(VideoEmitter, ShowsAllSetsWhereATailIsChosen) {
  ProgramVideo none = add(VideoReuse::Bounded);
  ASSERT_EQ(model->addVideo(VideoReuse::Bounded, 1), "");
  const ProgramVideo &shown = model->withoutTail;
  ASSERT_EQ(shown.sets.size(), none.sets.size());
  ASSERT_EQ(shown.inputs.size(), none.inputs.size());
  ASSERT_EQ(shown.executes.size(), none.executes.size());
  for (auto [a, b] : llvm::zip(shown.sets, none.sets))
    EXPECT_EQ(a.reads.size(), b.reads.size());
  for (auto [a, b] : llvm::zip(shown.executes, none.executes)) {
    EXPECT_EQ(a.set, b.set);
    EXPECT_EQ(a.check.has_value(), b.check.has_value());
  }
  EXPECT_EQ(model->program.video->sets.size(), 3u);
}

/// Streams that are exact do as those of a bundle without check points.
TEST_F(VideoEmitter, AllElseIsThatOfExactReuse) {
  ProgramVideo exact = add(VideoReuse::Exact), video = add(VideoReuse::Bounded);
  EXPECT_EQ(exact.reuse, VideoReuse::Exact);
  EXPECT_EQ(video.reuse, VideoReuse::Bounded);
  EXPECT_EQ(video.outputs, exact.outputs);
  ASSERT_EQ(video.sets.size(), exact.sets.size());
  for (auto [a, b] : llvm::zip(video.sets, exact.sets)) {
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.columns, b.columns);
    ASSERT_EQ(a.reads.size(), b.reads.size());
    for (auto [read, other] : llvm::zip(a.reads, b.reads)) {
      EXPECT_EQ(read.set, other.set);
      EXPECT_EQ(read.all, other.all);
    }
  }
  ASSERT_EQ(video.executes.size(), exact.executes.size());
  for (auto [a, b] : llvm::zip(video.executes, exact.executes)) {
    EXPECT_FALSE(b.check);
    EXPECT_EQ(a.places, b.places);
    EXPECT_EQ(a.set, b.set);
    EXPECT_EQ(a.part.tiles, b.part.tiles);
    EXPECT_EQ(a.part.kernel, b.part.kernel);
    EXPECT_EQ(a.part.rowAxis, b.part.rowAxis);
    EXPECT_EQ(a.part.columnAxis, b.part.columnAxis);
  }
}

} // namespace
