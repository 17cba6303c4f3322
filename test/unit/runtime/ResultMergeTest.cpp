//===- ResultMergeTest.cpp ------------------------------------------------===//
#include "runtime/video/ResultMerge.h"
#include "test/unit/runtime/VideoTensor.h"

#include <cmath>
#include <limits>

using namespace nnv12;
using namespace nnv12::test;
using runtime::MergeJob;

namespace {

using MergeMode = MergeJob::Mode;

const artifact::KernelFn mergeKernel = runtime::mergeRows;

/// Whether a recomputed pixel changed.
bool isChanged(const PixelLayout &layout, const MergeJob &job,
               const Bytes &computed, const Bytes &kept, uint64_t row,
               uint32_t col) {
  double sum = 0;
  bool differs = false;
  for (uint32_t channel = 0; channel < layout.channels; ++channel) {
    size_t at = offsetOf(layout, row, col, channel);
    if (memcmp(&computed[at], &kept[at], layout.valueSize) == 0)
      continue;
    differs = true;
    if (job.mode == MergeMode::Exact)
      continue;
    double difference =
        double(valueAt<float>(computed, at)) - double(valueAt<float>(kept, at));
    sum += difference * difference;
  }
  if (job.mode == MergeMode::Exact)
    return differs;
  double most =
      std::isfinite(job.limit) ? double(job.limit) * layout.channels : 0;
  return !(sum <= most);
}

float drawSpecialFloat(Draws &draws) {
  const float values[] = {std::nanf("1"), -std::nanf("2"), -0.0f,
                          std::numeric_limits<float>::infinity()};
  return values[draws.from(0, 3)];
}

void expectMerge(Draws &draws, MergeMode mode, const PixelLayout &layout) {
  static constexpr uint32_t rarities[] = {0, 1, 2, 30};
  const uint32_t changes = rarities[draws.from(0, 3)];
  const bool isSpecial = draws.oneOf(4);
  Bytes kept(bytesOf(layout)), computed(bytesOf(layout));
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i] = draws.byte(); // gaps, and channels that fill up, differ
    computed[i] = draws.byte();
  }
  OwnedSet dirty(layout.plane);
  dirty.fill(draws, rarities[draws.from(0, 3)]);
  std::vector<bool> before = dirty.pixels();
  auto forEach = [&](auto visit) {
    for (uint64_t row = 0; row < layout.plane.numRows(); ++row)
      for (uint32_t col = 0; col < layout.plane.cols; ++col)
        if (before[row * layout.plane.cols + col])
          visit(row, col);
  };
  // Other pixels stay poisoned.
  forEach([&](uint64_t row, uint32_t col) {
    bool differs = changes && draws.oneOf(changes);
    for (uint32_t channel = 0; channel < layout.channels; ++channel) {
      size_t at = offsetOf(layout, row, col, channel);
      if (mode == MergeMode::BoundedF32)
        putAt(kept, at, static_cast<float>(draws.from(-16, 16)) / 4);
      if (mode == MergeMode::BoundedF32 && isSpecial && draws.oneOf(20))
        putAt(kept, at, drawSpecialFloat(draws));
      memcpy(&computed[at], &kept[at], layout.valueSize);
      if (!differs || draws.oneOf(4))
        continue;
      if (mode == MergeMode::Exact)
        computed[at + static_cast<size_t>(
                          draws.from(0, layout.valueSize - 1))] ^= 0x40;
      else if (isSpecial && draws.oneOf(20))
        putAt(computed, at, drawSpecialFloat(draws));
      else // exact in f32
        putAt(computed, at,
              valueAt<float>(computed, at) +
                  static_cast<float>(draws.from(-3, 3)) / 4);
    }
  });
  MergeJob job = {
      layout,          mode,        static_cast<float>(draws.from(0, 12)) / 16,
      computed.data(), kept.data(), &dirty.set};
  if (draws.oneOf(20))
    job.limit = drawSpecialFloat(draws);
  std::vector<bool> expected(before.size());
  Bytes after = kept, poisoned = computed;
  forEach([&](uint64_t row, uint32_t col) {
    if (!isChanged(layout, job, computed, kept, row, col))
      return;
    expected[row * layout.plane.cols + col] = true;
    for (uint32_t channel = 0; channel < layout.numBlocks() * layout.inner;
         ++channel) {
      size_t at = offsetOf(layout, row, col, channel);
      memcpy(&after[at], &computed[at], layout.valueSize);
    }
  });
  runInPieces(draws, mergeKernel, &job, layout.plane.numRows());
  ASSERT_EQ(dirty.pixels(), expected);
  ASSERT_TRUE(kept == after);
  ASSERT_TRUE(computed == poisoned);
}

PixelLayout drawResultLayout(Draws &draws, uint32_t valueSize) {
  VideoPlane plane = {
      static_cast<uint32_t>(draws.from(1, 2)),
      static_cast<uint32_t>(draws.from(1, 9)),
      static_cast<uint32_t>(draws.oneOf(8) ? 1 : draws.from(1, 140))};
  auto channels = static_cast<uint32_t>(draws.from(1, 40));
  static constexpr uint32_t blocks[] = {1, 4, 8, 16};
  uint32_t inner = draws.oneOf(3) ? channels : blocks[draws.from(0, 3)];
  return drawLayout(draws, plane, channels, inner, valueSize);
}

TEST(ResultMergeTest, KeepsEqualPixels) {
  Draws draws(1);
  for (int i = 0; i < 100; ++i)
    for (uint32_t valueSize : {1, 2, 4, 8})
      ASSERT_NO_FATAL_FAILURE(expectMerge(draws, MergeMode::Exact,
                                          drawResultLayout(draws, valueSize)));
}

TEST(ResultMergeTest, KeepsPixelsWithinTheLimit) {
  Draws draws(2);
  for (int i = 0; i < 400; ++i)
    ASSERT_NO_FATAL_FAILURE(
        expectMerge(draws, MergeMode::BoundedF32, drawResultLayout(draws, 4)));
}

/// The largest float that is within the limit keeps the pixel, the next does
/// not; a sum that is none never does.
TEST(ResultMergeTest, LimitsAreSharp) {
  auto keeps = [](float difference, float limit) {
    float computed[4] = {difference, difference, difference, difference},
          kept[4] = {};
    OwnedSet dirty({1, 1, 1});
    dirty.set.setAll();
    MergeJob job = {{{1, 1, 1}, 4, 4, 4, 16, 16, 16, 16},
                    MergeMode::BoundedF32,
                    limit,
                    computed,
                    kept,
                    &dirty.set};
    void *const operands[] = {&job};
    mergeKernel(operands, 0, 1, nullptr);
    EXPECT_EQ(kept[3] == 0, dirty.set.isEmpty());
    return dirty.set.isEmpty();
  };
  EXPECT_TRUE(keeps(0.5f, 0.25f));
  EXPECT_FALSE(keeps(std::nextafter(0.5f, 1.0f), 0.25f));
  EXPECT_FALSE(keeps(0.5f, 0));
  const float largest = std::numeric_limits<float>::max();
  EXPECT_FALSE(keeps(1e20f, 1e37f));
  EXPECT_FALSE(keeps(1e20f, largest));
  EXPECT_FALSE(keeps(1.0f, std::nanf("")));
  EXPECT_FALSE(keeps(1.0f, std::numeric_limits<float>::infinity()));
}

} // namespace
