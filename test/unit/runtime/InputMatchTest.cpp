//===- InputMatchTest.cpp -------------------------------------------------===//
#include "runtime/video/InputMatch.h"
#include "test/unit/runtime/VideoTensor.h"

#include <cmath>
#include <limits>

using namespace nnv12;
using namespace nnv12::test;
using runtime::MatchJob;

namespace {

using MatchMode = MatchJob::Mode;

const artifact::KernelFn matchKernel = runtime::matchBands;

/// Values whose squared differences and their sums are exact in f32.
float drawFloat(Draws &draws) {
  return static_cast<float>(draws.from(-16, 16)) / 4;
}

float drawSpecial(Draws &draws) {
  uint32_t bits[] = {0x7fc00000, 0x7fc00001, 0xffc00000, 0x80000000,
                     0,          0x7f800000, 0xff800000, 1};
  float result;
  memcpy(&result, &bits[draws.from(0, 7)], sizeof result);
  return result;
}

struct MatchCase {
  MatchCase(Draws &draws, MatchMode mode, uint32_t valueSize)
      : mode(mode), layout(drawLayoutOf(draws, valueSize)),
        input(bytesOf(layout)), reference(bytesOf(layout)),
        limit(static_cast<float>(draws.from(0, 40)) / 16) {
    for (size_t i = 0; i < input.size(); ++i) {
      input[i] = draws.byte(); // gaps differ
      reference[i] = draws.byte();
    }
    // How many of the pixels differ, and by how much.
    static constexpr uint32_t rarities[] = {1, 2, 20, 500};
    uint32_t rarity = rarities[draws.from(0, 3)];
    bool isSpecial = draws.oneOf(4), isNear = draws.oneOf(2);
    forEach([&](uint64_t row, uint32_t col) {
      bool differs = draws.oneOf(rarity);
      for (uint32_t channel = 0; channel < layout.channels; ++channel) {
        size_t at = offsetOf(layout, row, col, channel);
        if (mode == MatchMode::BoundedF32) {
          putAt(reference, at, drawFloat(draws));
          if (isSpecial && draws.oneOf(50))
            putAt(reference, at, drawSpecial(draws));
        }
        memcpy(&input[at], &reference[at], valueSize);
        if (!differs || draws.oneOf(3))
          continue;
        if (mode == MatchMode::BoundedF32)
          putAt(input, at,
                isSpecial && draws.oneOf(50)
                    ? drawSpecial(draws)
                    : valueAt<float>(input, at) + drawFloat(draws) / 4);
        else if (mode == MatchMode::BoundedUint8 && isNear)
          input[at] = static_cast<uint8_t>(input[at] ^ 1);
        else
          input[at + static_cast<size_t>(draws.from(0, valueSize - 1))] ^=
              static_cast<uint8_t>(draws.from(1, 255));
      }
    });
  }

  static PixelLayout drawLayoutOf(Draws &draws, uint32_t valueSize) {
    VideoPlane plane = {static_cast<uint32_t>(draws.from(1, 2)),
                        static_cast<uint32_t>(draws.from(1, 20)),
                        static_cast<uint32_t>(draws.from(1, 150))};
    if (draws.oneOf(20)) // more than are matched at once
      plane.cols += static_cast<uint32_t>(draws.from(400, 1000));
    auto channels = static_cast<uint32_t>(draws.from(1, 5));
    bool isLast = draws.oneOf(2);
    PixelLayout drawn =
        drawLayout(draws, plane, channels, isLast ? channels : 1, valueSize);
    PixelLayout layout =
        PixelLayout::ofStrides(plane, channels, valueSize, drawn.imageStride,
                               isLast ? valueSize : drawn.blockStride,
                               drawn.rowStride, drawn.colStride);
    for (uint32_t channel = 0; channel < channels; ++channel)
      EXPECT_EQ(offsetOf(layout, plane.numRows() - 1, plane.cols - 1, channel),
                offsetOf(drawn, plane.numRows() - 1, plane.cols - 1, channel));
    return layout;
  }

  template <typename Visit> void forEach(Visit visit) const {
    for (uint64_t row = 0; row < layout.plane.numRows(); ++row)
      for (uint32_t col = 0; col < layout.plane.cols; ++col)
        visit(row, col);
  }
  bool differs(uint64_t row, uint32_t col) const {
    for (uint32_t channel = 0; channel < layout.channels; ++channel) {
      size_t at = offsetOf(layout, row, col, channel);
      if (memcmp(&input[at], &reference[at], layout.valueSize) != 0)
        return true;
    }
    return false;
  }
  /// Whether the cell of a pixel changed.
  bool isInChanged(uint64_t row, uint32_t col) const {
    if (mode == MatchMode::Exact)
      return true;
    const uint32_t rows = layout.plane.rows;
    uint64_t image = row / rows, row0 = row % rows / 8 * 8, col0 = col / 8 * 8;
    double sum = 0, count = 0;
    for (uint64_t y = row0; y < std::min<uint64_t>(row0 + 8, rows); ++y)
      for (uint64_t x = col0;
           x < std::min<uint64_t>(col0 + 8, layout.plane.cols); ++x)
        for (uint32_t channel = 0; channel < layout.channels; ++channel) {
          size_t at = offsetOf(layout, image * rows + y,
                               static_cast<uint32_t>(x), channel);
          ++count;
          if (memcmp(&input[at], &reference[at], layout.valueSize) == 0)
            continue;
          double difference = mode == MatchMode::BoundedF32
                                  ? double(valueAt<float>(input, at)) -
                                        double(valueAt<float>(reference, at))
                                  : double(input[at]) - double(reference[at]);
          sum += difference * difference;
        }
    double most = std::isfinite(limit) ? double(limit) * count : 0;
    return !(sum <= most);
  }

  void expectMatch(Draws &draws) {
    OwnedSet dirty(layout.plane), clean(layout.plane);
    dirty.fill(draws, draws.oneOf(2) ? 0 : 100);                // stay dirty
    clean.fill(draws, static_cast<uint32_t>(draws.from(0, 3))); // 1: all
    if (draws.oneOf(2)) // all of some words
      clean.set.set({0, 0, layout.plane.rows, layout.plane.cols / 4,
                     layout.plane.cols / 4 * 3 + 1});
    const std::vector<bool> skipped = clean.pixels();
    std::vector<bool> expected = dirty.pixels();
    Bytes after = reference, before = input;
    forEach([&](uint64_t row, uint32_t col) {
      if (skipped[row * layout.plane.cols + col] || !differs(row, col) ||
          !isInChanged(row, col))
        return;
      expected[row * layout.plane.cols + col] = true;
      for (uint32_t channel = 0; channel < layout.channels; ++channel) {
        size_t at = offsetOf(layout, row, col, channel);
        memcpy(&after[at], &input[at], layout.valueSize);
      }
    });
    MatchJob job = {layout,           mode,      limit, input.data(),
                    reference.data(), &dirty.set};
    if (!clean.set.isEmpty() || draws.oneOf(2))
      job.clean = &clean.set;
    runInPieces(draws, matchKernel, &job, job.numBands());
    ASSERT_EQ(dirty.pixels(), expected);
    ASSERT_TRUE(reference == after);
    ASSERT_TRUE(input == before);
  }

  MatchMode mode;
  PixelLayout layout;
  Bytes input, reference;
  float limit;
};

TEST(InputMatchTest, FindsAllThatDiffer) {
  Draws draws(1);
  for (int i = 0; i < 150; ++i)
    for (uint32_t valueSize : {1, 2, 4, 8}) {
      MatchCase one(draws, MatchMode::Exact, valueSize);
      ASSERT_NO_FATAL_FAILURE(one.expectMatch(draws));
    }
}

TEST(InputMatchTest, FindsCellsOfFloats) {
  Draws draws(2);
  for (int i = 0; i < 400; ++i) {
    MatchCase one(draws, MatchMode::BoundedF32, 4);
    if (draws.oneOf(20))
      one.limit = drawSpecial(draws);
    ASSERT_NO_FATAL_FAILURE(one.expectMatch(draws)) << one.limit;
  }
}

TEST(InputMatchTest, FindsCellsOfBytes) {
  Draws draws(3);
  for (int i = 0; i < 400; ++i) {
    MatchCase one(draws, MatchMode::BoundedUint8, 1);
    if (draws.oneOf(2))
      one.limit *= 2000;
    ASSERT_NO_FATAL_FAILURE(one.expectMatch(draws)) << one.limit;
  }
}

/// One value of an input.
class OneValueTest : public testing::Test {
protected:
  /// Whether the pixel is dirty.
  bool match(MatchMode mode, float before, float now, float limit = 0) {
    OwnedSet dirty({1, 1, 1});
    MatchJob job = {PixelLayout::ofStrides({1, 1, 1}, 1, 4, 4, 4, 4, 4),
                    mode,
                    limit,
                    &now,
                    &before,
                    &dirty.set};
    void *const operands[] = {&job};
    matchKernel(operands, 0, 1, nullptr);
    bool isDirty = !dirty.set.isEmpty();
    if (isDirty) {
      EXPECT_EQ(memcmp(&now, &before, sizeof now), 0);
    }
    return isDirty;
  }
  static float ofBits(uint32_t bits) {
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
  }
  const float nan = ofBits(0x7fc00000), otherNan = ofBits(0x7fc00001);
  const float infinity = std::numeric_limits<float>::infinity();
};

TEST_F(OneValueTest, ExactIsByBytes) {
  EXPECT_TRUE(match(MatchMode::Exact, 0.0f, -0.0f));
  EXPECT_TRUE(match(MatchMode::Exact, nan, otherNan));
  EXPECT_FALSE(match(MatchMode::Exact, nan, nan));
  EXPECT_TRUE(match(MatchMode::Exact, 0.0f, ofBits(1)));
}

TEST_F(OneValueTest, BoundedTakesNanAsChanged) {
  EXPECT_FALSE(match(MatchMode::BoundedF32, 0.0f, -0.0f));
  EXPECT_FALSE(match(MatchMode::BoundedF32, 1.0f, 1.5f, 0.25f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, 1.0f, 1.625f, 0.25f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, 1.0f, nan, 1e9f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, nan, 1.0f, 1e9f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, nan, otherNan, 1e9f));
  EXPECT_FALSE(match(MatchMode::BoundedF32, nan, nan, 1e9f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, infinity, -infinity, 1e9f));
  EXPECT_FALSE(match(MatchMode::BoundedF32, infinity, infinity, 1e9f));
  EXPECT_TRUE(match(MatchMode::BoundedF32, 1.0f, 2.0f, nan));
  EXPECT_TRUE(match(MatchMode::BoundedF32, 1.0f, 2.0f, infinity));
  EXPECT_FALSE(match(MatchMode::BoundedF32, 1.0f, 1.0f, nan));
}

} // namespace
