//===- DirtySetTest.cpp ---------------------------------------------------===//
#include "runtime/video/DirtySet.h"
#include "test/unit/runtime/VideoTensor.h"

#include <cmath>

using namespace nnv12;
using namespace nnv12::test;
using runtime::VideoWindow;

namespace {

/// Often near the ends of words, or a point.
VideoPlane drawPlane(Draws &draws, uint32_t images) {
  static constexpr uint32_t usual[] = {1, 2, 7, 14, 55, 56, 57, 63, 64, 65};
  auto cols = static_cast<uint32_t>(draws.oneOf(2) ? usual[draws.from(0, 9)]
                                                   : draws.from(1, 200));
  if (draws.oneOf(16))
    return {images, 1, 1};
  return {images, static_cast<uint32_t>(draws.from(1, 20)), cols};
}

struct Range {
  int64_t begin, end;
};

/// The rows or columns of a source, `size` of them, that are in window `i`.
Range rangeOf(const VideoWindow &window, int64_t i, uint32_t size) {
  auto bound = [&](int32_t offset) {
    return static_cast<int64_t>(
        std::floor((double(i) * window.num + offset) / window.den));
  };
  return {std::max<int64_t>(bound(window.low), 0),
          std::min<int64_t>(bound(window.high) + 1, size)};
}

bool dependsOnDirty(const OwnedSet &source, uint32_t image, uint32_t row,
                    uint32_t col, const VideoWindow &rows,
                    const VideoWindow &cols) {
  const VideoPlane &plane = source.set.plane();
  Range y = rangeOf(rows, row, plane.rows), x = rangeOf(cols, col, plane.cols);
  for (; y.begin < y.end; ++y.begin)
    for (int64_t k = x.begin; k < x.end; ++k)
      if (source.has(uint64_t(image) * plane.rows + uint64_t(y.begin),
                     static_cast<uint32_t>(k)))
        return true;
  return false;
}

void expectThrough(Draws &draws, const VideoPlane &from, const VideoPlane &to,
                   uint32_t rarity, const VideoWindow &rows,
                   const VideoWindow &cols) {
  OwnedSet source(from), result(to);
  source.fill(draws, rarity);
  result.fill(draws, 50);
  std::vector<bool> expected = result.pixels();
  for (uint64_t row = 0; row < to.numRows(); ++row)
    for (uint32_t col = 0; col < to.cols; ++col) {
      auto image = static_cast<uint32_t>(row / to.rows);
      bool isDirty;
      if (from.images != to.images && from.images != 1)
        isDirty = !source.set.isEmpty();
      else if (from.isPoint())
        isDirty = source.has(from.images == 1 ? 0 : image, 0);
      else
        isDirty = dependsOnDirty(source, from.images == 1 ? 0 : image,
                                 static_cast<uint32_t>(row % to.rows), col,
                                 rows, cols);
      if (isDirty)
        expected[row * to.cols + col] = true;
    }
  std::vector<bool> before = source.pixels();
  result.set.addThrough(source.set, rows, cols);
  ASSERT_EQ(result.pixels(), expected)
      << from.images << "x" << from.rows << "x" << from.cols << " to "
      << to.images << "x" << to.rows << "x" << to.cols << ", rows " << rows.num
      << "/" << rows.den << " " << rows.low << " to " << rows.high
      << ", columns " << cols.num << "/" << cols.den << " " << cols.low
      << " to " << cols.high;
  ASSERT_EQ(source.pixels(), before);
}

TEST(DirtySetTest, SetsAndFindsRectangles) {
  Draws draws(1);
  for (int i = 0; i < 300; ++i) {
    OwnedSet owned(drawPlane(draws, static_cast<uint32_t>(draws.from(1, 3))));
    DirtySet &set = owned.set;
    const VideoPlane &plane = set.plane();
    std::vector<bool> expected(plane.numPixels());
    EXPECT_TRUE(set.isEmpty());
    for (int k = 0; k < 6; ++k) {
      auto draw = [&](uint32_t end) {
        return static_cast<uint32_t>(draws.from(0, end));
      };
      DirtySet::Rectangle r = {draw(plane.images - 1), draw(plane.rows),
                               draw(plane.rows), draw(plane.cols),
                               draw(plane.cols)};
      if (r.row0 > r.row1)
        std::swap(r.row0, r.row1);
      if (k % 2 && r.col0 > r.col1) // else it may be empty
        std::swap(r.col0, r.col1);
      bool any = false;
      for (uint32_t y = r.row0; y < r.row1; ++y)
        for (uint32_t x = r.col0; x < r.col1; ++x) {
          size_t at = (size_t(r.image) * plane.rows + y) * plane.cols + x;
          any = any || expected[at];
          if (k % 2)
            expected[at] = true;
        }
      EXPECT_EQ(set.hasAny(r), any);
      if (k % 2)
        set.set(r);
      ASSERT_EQ(owned.pixels(), expected);
    }
    set.setAll();
    EXPECT_EQ(owned.pixels(), std::vector<bool>(plane.numPixels(), true));
    set.clear();
    EXPECT_EQ(owned.pixels(), std::vector<bool>(plane.numPixels()));
    set.set(plane.images - 1, plane.rows - 1, plane.cols - 1);
    EXPECT_EQ(set.count(), 1u);
    EXPECT_TRUE(owned.has(plane.numRows() - 1, plane.cols - 1));
  }
}

/// Convolutions and pooling of any size, strides and padding.
TEST(DirtySetTest, GrowsThroughWindows) {
  Draws draws(2);
  for (int i = 0; i < 400; ++i) {
    auto images = static_cast<uint32_t>(draws.from(1, 2));
    VideoPlane from = drawPlane(draws, images), to = from;
    auto window = [&](uint32_t size, uint32_t &result) {
      auto stride = static_cast<int32_t>(draws.from(1, 4));
      auto width = static_cast<int32_t>(draws.oneOf(2) ? draws.from(0, 2) * 2
                                                       : draws.from(0, 20));
      auto pad = static_cast<int32_t>(draws.oneOf(2) ? width / 2
                                                     : draws.from(0, width));
      if (draws.oneOf(2))
        stride = 1;
      result = static_cast<uint32_t>(std::max<int64_t>(
          1, (int64_t(size) + draws.from(0, 2) * pad - width) / stride));
      return VideoWindow{stride, 1, -pad, width - pad};
    };
    VideoWindow rows = window(from.rows, to.rows);
    VideoWindow cols = window(from.cols, to.cols);
    expectThrough(draws, from, to, draws.oneOf(2) ? 100 : 10, rows, cols);
  }
}

/// The planes have one size, as in most layers.
TEST(DirtySetTest, GrowsThroughSquares) {
  Draws draws(3);
  for (int i = 0; i < 200; ++i) {
    VideoPlane plane =
        drawPlane(draws, static_cast<uint32_t>(draws.from(1, 2)));
    auto half = static_cast<int32_t>(draws.from(0, 9));
    VideoWindow window = {1, 1, -half, half};
    expectThrough(draws, plane, plane, 30, window, window);
  }
}

/// Enlarged images, transposed convolutions, anything.
TEST(DirtySetTest, GrowsThroughAnyWindows) {
  Draws draws(4);
  for (int i = 0; i < 600; ++i) {
    auto images = static_cast<uint32_t>(draws.from(1, 2));
    VideoPlane from = drawPlane(draws, images), to = drawPlane(draws, images);
    auto window = [&] {
      VideoWindow result;
      result.num = static_cast<int32_t>(draws.oneOf(2) ? 1 : draws.from(-2, 4));
      result.den = static_cast<int32_t>(draws.oneOf(2) ? 2 : draws.from(1, 4));
      result.low = static_cast<int32_t>(draws.from(-9, 9));
      // Some have no pixel.
      result.high = result.low + static_cast<int32_t>(draws.from(-3, 9));
      if (draws.oneOf(8))
        result.low -= 150;
      if (draws.oneOf(8))
        result.high += 150;
      return result;
    };
    expectThrough(draws, from, to, draws.oneOf(4) ? 200 : 20, window(),
                  window());
  }
}

/// Rows that follow each other are far enough apart for windows that are looked
/// at across them.
TEST(DirtySetTest, KeepsRowsApart) {
  for (uint32_t cols : {55u, 56u, 57u, 63u, 64u, 119u, 120u, 121u, 128u})
    for (int32_t low = -12; low <= 0; ++low)
      for (int32_t high = 0; high <= 12; ++high) {
        VideoPlane plane = {1, 8, cols};
        OwnedSet source(plane), result(plane), expected(plane);
        source.set.set({0, 2, 3, 0, 1});
        source.set.set({0, 2, 3, cols - 1, cols});
        result.set.addThrough(source.set, {1, 1, -1, 1}, {1, 1, low, high});
        auto first = static_cast<uint32_t>(1 - low);
        auto last = static_cast<uint32_t>(1 + high);
        expected.set.set({0, 1, 4, 0, first});
        expected.set.set({0, 1, 4, cols - last, cols});
        ASSERT_EQ(result.pixels(), expected.pixels())
            << cols << ": " << low << " to " << high;
      }
}

TEST(DirtySetTest, IgnoresWindowsOutside) {
  Draws draws(5);
  for (int32_t low : {-(1 << 20), -300, 300, (1 << 20) - 9})
    for (int32_t num : {1, 2, 3})
      for (int32_t den : {1, 2, 3}) {
        VideoWindow outside = {num, den, low, low + 8}, inside = {1, 1, 0, 0};
        VideoPlane from = {1, 12, 70}, to = {1, 12, 70};
        OwnedSet source(from), result(to);
        source.set.setAll();
        result.set.addThrough(source.set, outside, inside);
        result.set.addThrough(source.set, inside, outside);
        EXPECT_TRUE(result.set.isEmpty()) << low << " " << num << "/" << den;
        // All of it.
        VideoWindow whole = {num, den, -(1 << 20), 1 << 20};
        source.set.clear();
        source.set.set(0, 11, 69);
        result.set.addThrough(source.set, whole, whole);
        EXPECT_EQ(result.set.count(), to.numPixels());
      }
}

/// Columns of which the joined rows are looked at in parts.
TEST(DirtySetTest, GrowsThroughWideRows) {
  Draws draws(6);
  const VideoPlane wide = {1, 1, 8192 * 2 + 77};
  auto planeOf = [](uint32_t cols) { return VideoPlane{1, 1, cols}; };
  VideoWindow row = {1, 1, 0, 0};
  struct Case {
    VideoWindow cols;
    uint32_t to;
  } cases[] = {{{1, 1, -1, 1}, wide.cols},     {{1, 1, -40, 20}, wide.cols},
               {{2, 1, -1, 1}, wide.cols / 2}, {{1, 2, -1, 1}, wide.cols * 2},
               {{3, 1, -1, 1}, wide.cols / 3}, {{1, 1, -100, 100}, wide.cols}};
  for (const Case &c : cases) {
    OwnedSet source(wide), result(planeOf(c.to));
    source.fill(draws, 1000);
    for (uint32_t x : {8190u, 8191u, 8192u, 8193u, 16383u, 16384u})
      if (draws.oneOf(2))
        source.set.set(0, 0, x);
    result.set.addThrough(source.set, row, c.cols);
    std::vector<bool> expected(c.to);
    for (uint32_t x = 0; x < c.to; ++x)
      expected[x] = dependsOnDirty(source, 0, 0, x, row, c.cols);
    EXPECT_EQ(result.pixels(), expected) << c.cols.num << "/" << c.cols.den;
  }
}

TEST(DirtySetTest, PointsAndOtherImagesReachAll) {
  Draws draws(7);
  for (int i = 0; i < 100; ++i) {
    VideoWindow window = {1, 1, -1, 1};
    VideoPlane to = drawPlane(draws, 3);
    expectThrough(draws, {3, 1, 1}, to, 2, window, window);
    expectThrough(draws, {1, 1, 1}, to, 2, window, window);
    expectThrough(draws, {1, 4, 60}, to, 40, window, window);
    expectThrough(draws, {2, 4, 60}, to, 400, window, window);
    OwnedSet source(drawPlane(draws, 2)), result(to);
    source.fill(draws, 60);
    result.set.addAll(source.set);
    EXPECT_EQ(result.set.count(), source.set.isEmpty() ? 0 : to.numPixels());
  }
}

TEST(DirtySetTest, ListsTiles) {
  Draws draws(8);
  for (int i = 0; i < 400; ++i) {
    OwnedSet owned(drawPlane(draws, static_cast<uint32_t>(draws.from(1, 3))));
    const VideoPlane &plane = owned.set.plane();
    static constexpr uint32_t rarities[] = {0, 1, 3, 30, 300};
    owned.fill(draws, rarities[draws.from(0, 4)]);
    auto tileRows = static_cast<uint32_t>(draws.from(1, 9));
    auto tileCols =
        static_cast<uint32_t>(draws.oneOf(4) ? draws.from(1, 250) : 8);
    uint32_t across = (plane.cols - 1) / tileCols + 1,
             down = (plane.rows - 1) / tileRows + 1;
    std::vector<uint32_t> expected;
    for (uint32_t tile = 0; tile < plane.images * down * across; ++tile) {
      uint32_t image = tile / across / down, row0 = tile / across % down,
               col0 = tile % across;
      if (owned.set.hasAny({image, row0 * tileRows,
                            std::min((row0 + 1) * tileRows, plane.rows),
                            col0 * tileCols,
                            std::min((col0 + 1) * tileCols, plane.cols)}))
        expected.push_back(tile);
    }
    // Room for all of them, and no more.
    std::vector<uint32_t> tiles(plane.images * down * across);
    tiles.resize(owned.set.listTiles(tileRows, tileCols, tiles.data()));
    ASSERT_EQ(tiles, expected) << tileRows << "x" << tileCols;

    auto tilePixels = static_cast<uint32_t>(draws.from(1, 300));
    uint32_t pixels = plane.rows * plane.cols,
             perImage = (pixels - 1) / tilePixels + 1;
    expected.clear();
    for (uint32_t tile = 0; tile < plane.images * perImage; ++tile) {
      bool any = false;
      for (uint32_t k = tile % perImage * tilePixels;
           k < std::min((tile % perImage + 1) * tilePixels, pixels); ++k)
        any = any ||
              owned.has(uint64_t(tile / perImage) * plane.rows + k / plane.cols,
                        k % plane.cols);
      if (any)
        expected.push_back(tile);
    }
    tiles.assign(plane.images * perImage, 0);
    tiles.resize(owned.set.listFlatTiles(tilePixels, tiles.data()));
    ASSERT_EQ(tiles, expected) << tilePixels;
  }
}

} // namespace
