//===- BlockMotionTest.cpp - Blocks of a frame that the last one has ------===//
#include "tools/common/BlockMotion.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace nnv12::tools;

namespace {

/// A picture with its bytes.
struct Owned {
  int width, height, channels;
  std::vector<uint8_t> bytes;

  Owned(int width, int height, int channels)
      : width(width), height(height), channels(channels),
        bytes(size_t(width * height * channels)) {}
  Picture picture() const { return {bytes.data(), width, height, channels}; }
  uint8_t &at(int x, int y, int c) {
    return bytes[size_t((y * width + x) * channels + c)];
  }
  int at(int x, int y, int c) const {
    return bytes[size_t((y * width + x) * channels + c)];
  }
};

/// Waves with noise: nearer places are more alike.
Owned makeWaves(std::mt19937 &random, int width, int height, int channels) {
  Owned result(width, height, channels);
  double a = 0.1 + double(random() % 100) / 300, phase = double(random() % 7);
  double b = 0.1 + double(random() % 100) / 300;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        result.at(x, y, c) =
            uint8_t(120 + 60 * std::sin(a * x + phase) +
                    50 * std::sin(b * y + c) + double(random() % 9));
  return result;
}

/// `from` moved: the pixel (x, y) was at (x + dx, y + dy). Pixels from outside
/// are random.
Owned moved(std::mt19937 &random, const Owned &from, int dx, int dy) {
  Owned result(from.width, from.height, from.channels);
  for (int y = 0; y < from.height; ++y)
    for (int x = 0; x < from.width; ++x)
      for (int c = 0; c < from.channels; ++c) {
        bool isInside = x + dx >= 0 && x + dx < from.width && y + dy >= 0 &&
                        y + dy < from.height;
        result.at(x, y, c) =
            uint8_t(isInside ? uint32_t(from.at(x + dx, y + dy, c)) : random());
      }
  return result;
}

/// Mean squared difference of a block; negative: it is not all inside.
double meanError(const Owned &before, const Owned &now, int x0, int y0,
                 int size, int dx, int dy) {
  double sum = 0, count = 0;
  for (int y = y0; y < std::min(y0 + size, now.height); ++y)
    for (int x = x0; x < std::min(x0 + size, now.width); ++x)
      for (int c = 0; c < now.channels; ++c) {
        if (x + dx < 0 || x + dx >= now.width || y + dy < 0 ||
            y + dy >= now.height)
          return -1;
        double difference = now.at(x, y, c) - before.at(x + dx, y + dy, c);
        sum += difference * difference;
        ++count;
      }
  return sum / count;
}

double decibels(double meanError) {
  return meanError == 0 ? 1e9 : 10 * std::log10(255.0 * 255.0 / meanError);
}

const MotionSearch searches[] = {MotionSearch::None, MotionSearch::Exhaustive,
                                 MotionSearch::ThreeStep,
                                 MotionSearch::Diamond};

/// Random pictures and options.
struct Trial {
  std::mt19937 random;
  MotionOptions options;
  Owned before, now;

  explicit Trial(unsigned seed) : random(seed), before(1, 1, 1), now(1, 1, 1) {
    int width = int(1 + random() % 50), height = int(1 + random() % 50);
    before = makeWaves(random, width, height, random() % 2 ? 3 : 1);
    now = moved(random, before, int(random() % 9) - 4, int(random() % 9) - 4);
    for (size_t i = random() % 500; i > 0; --i)
      now.bytes[random() % now.bytes.size()] = uint8_t(random());
    bool isNoise = random() % 3 == 0;
    if (isNoise) // vectors of all kinds, and errors near the threshold
      for (Owned *picture : {&before, &now})
        for (uint8_t &byte : picture->bytes)
          byte = uint8_t(random());
    options.search = searches[random() % 4];
    options.block = int(1 + random() % 16);
    options.threshold = isNoise ? 6 + double(random() % 40) / 10
                                : 10 + double(random() % 200) / 10;
    options.reach = int(random() % 9);
    options.skip = int(1 + random() % 3);
  }
};

std::vector<uint8_t> painted(const std::vector<PixelRectangle> &rectangles,
                             int rows, int columns) {
  std::vector<uint8_t> result(size_t(rows * columns));
  for (const PixelRectangle &r : rectangles)
    for (int y = r.y; y < r.y + r.height; ++y)
      for (int x = r.x; x < r.x + r.width; ++x)
        ++result.at(size_t(y * columns + x));
  return result;
}

} // namespace

TEST(BlockMotion, EveryResultIsThatOfItsDefinition) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Trial t(seed);
    BlockMotion found =
        matchBlocks(t.before.picture(), t.now.picture(), t.options);
    int size = t.options.block;
    int columns = (t.now.width + size - 1) / size;
    int rows = (t.now.height + size - 1) / size;
    ASSERT_EQ(found.numBlocks, size_t(rows * columns));

    // Vectors: of each block that is searched, inside, with its error.
    double dx = 0, dy = 0, matched = 0;
    size_t next = 0;
    for (int row = 0; row < rows; row += t.options.skip)
      for (int column = 0; column < columns; column += t.options.skip) {
        ASSERT_LT(next, found.vectors.size());
        const BlockVector &v = found.vectors[next++];
        ASSERT_EQ(v.x, column * size);
        ASSERT_EQ(v.y, row * size);
        ASSERT_LE(std::abs(v.motion.dx), t.options.reach);
        ASSERT_LE(std::abs(v.motion.dy), t.options.reach);
        double error = meanError(t.before, t.now, v.x, v.y, size, v.motion.dx,
                                 v.motion.dy);
        ASSERT_GE(error, 0) << "outside";
        double count = t.now.channels * std::min(size, t.now.width - v.x) *
                       std::min(size, t.now.height - v.y);
        ASSERT_DOUBLE_EQ(double(v.error), std::round(error * count));
        ASSERT_EQ(v.isMatched, decibels(error) > t.options.threshold);
        if (v.isMatched) {
          dx += v.motion.dx;
          dy += v.motion.dy;
          ++matched;
        }
      }
    EXPECT_EQ(next, found.vectors.size());
    if (matched > 0) {
      EXPECT_LE(std::abs(found.global.dx - dx / matched), 0.5);
      EXPECT_LE(std::abs(found.global.dy - dy / matched), 0.5);
    } else {
      EXPECT_EQ(found.global, Motion());
    }

    // Clean: each pixel of the blocks that match at the global motion, once.
    std::vector<uint8_t> isClean(size_t(t.now.width * t.now.height));
    size_t clean = 0;
    for (int y = 0; y < t.now.height; y += size)
      for (int x = 0; x < t.now.width; x += size) {
        double error = meanError(t.before, t.now, x, y, size, found.global.dx,
                                 found.global.dy);
        if (error < 0 || decibels(error) <= t.options.threshold)
          continue;
        ++clean;
        for (int i = y; i < std::min(y + size, t.now.height); ++i)
          for (int k = x; k < std::min(x + size, t.now.width); ++k)
            isClean[size_t(i * t.now.width + k)] = 1;
      }
    EXPECT_EQ(found.numClean, clean);
    EXPECT_EQ(painted(found.clean, t.now.height, t.now.width), isClean);
  }
}

TEST(BlockMotion, TheExhaustiveSearchFindsTheLeastError) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Trial t(seed);
    t.options.search = MotionSearch::Exhaustive;
    BlockMotion found =
        matchBlocks(t.before.picture(), t.now.picture(), t.options);
    for (const BlockVector &v : found.vectors) {
      double least = 1e300;
      int reach = t.options.reach;
      for (int dy = -reach; dy <= reach; ++dy)
        for (int dx = -reach; dx <= reach; ++dx) {
          double error =
              meanError(t.before, t.now, v.x, v.y, t.options.block, dx, dy);
          if (error >= 0)
            least = std::min(least, error);
        }
      EXPECT_DOUBLE_EQ(meanError(t.before, t.now, v.x, v.y, t.options.block,
                                 v.motion.dx, v.motion.dy),
                       least);
    }
  }
}

TEST(BlockMotion, ADiamondEndsWhereNoNeighbourIsNearer) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Trial t(seed);
    t.options.search = MotionSearch::Diamond;
    BlockMotion found =
        matchBlocks(t.before.picture(), t.now.picture(), t.options);
    for (const BlockVector &v : found.vectors) {
      // The last step goes to a neighbour of the middle of the last diamond, or
      // to none.
      bool isLowest = false;
      auto errorAt = [&](int dx, int dy) {
        bool isNear =
            std::abs(dx) <= t.options.reach && std::abs(dy) <= t.options.reach;
        return isNear ? meanError(t.before, t.now, v.x, v.y, t.options.block,
                                  dx, dy)
                      : -1;
      };
      double best = errorAt(v.motion.dx, v.motion.dy);
      for (auto [mx, my] :
           {std::pair{0, 0}, {0, 1}, {1, 0}, {0, -1}, {-1, 0}}) {
        Motion middle = {v.motion.dx + mx, v.motion.dy + my};
        double least = errorAt(middle.dx, middle.dy);
        if (least < 0)
          continue;
        bool isIt = true;
        for (int dy = -2; dy <= 2; ++dy)
          for (int dx = -2; dx <= 2; ++dx) {
            int away = std::abs(dx) + std::abs(dy);
            double error = errorAt(middle.dx + dx, middle.dy + dy);
            if (error < 0)
              continue;
            isIt = isIt && (away != 2 || error >= least);
            isIt = isIt && (away != 1 || error >= best);
          }
        isLowest = isLowest || isIt;
      }
      EXPECT_TRUE(isLowest) << v.x << ", " << v.y;
    }
  }
}

TEST(BlockMotion, ThreeStepsReachEachCorner) {
  // A block of one bright pixel in a slope towards it.
  for (int dx : {-7, 7})
    for (int dy : {-7, 7}) {
      std::mt19937 random(1);
      Owned before(60, 60, 1);
      for (int y = 0; y < 60; ++y)
        for (int x = 0; x < 60; ++x)
          before.at(x, y, 0) = uint8_t(2 * x + 2 * y * (dx == dy ? 1 : 0) +
                                       (dx == dy ? 0 : 2 * (59 - y)));
      Owned now = moved(random, before, dx, dy);
      MotionOptions options;
      options.search = MotionSearch::ThreeStep;
      for (const BlockVector &v :
           matchBlocks(before.picture(), now.picture(), options).vectors)
        if (v.x >= 10 && v.y >= 10 && v.x < 40 && v.y < 40) {
          EXPECT_EQ(v.error, 0u) << v.x << ", " << v.y;
        }
    }
}

TEST(BlockMotion, FindsTheMotionOfACamera) {
  for (MotionSearch search : {MotionSearch::Exhaustive, MotionSearch::ThreeStep,
                              MotionSearch::Diamond})
    for (int skip : {1, 2}) {
      std::mt19937 random(3);
      Owned before(120, 100, 3);
      for (int y = 0; y < 100; ++y)
        for (int x = 0; x < 120; ++x)
          for (int c = 0; c < 3; ++c)
            before.at(x, y, c) = uint8_t(128 + 60 * std::sin(0.15 * x) +
                                         60 * std::sin(0.13 * y + c));
      Owned now = moved(random, before, 3, -2);
      MotionOptions options;
      options.search = search;
      options.skip = skip;
      options.threshold = 30;
      BlockMotion found = matchBlocks(before.picture(), now.picture(), options);
      EXPECT_EQ(found.global, (Motion{3, -2}));
      // All but the first row and the last column, which lie outside.
      EXPECT_EQ(found.numClean, 9u * 11);
      ASSERT_EQ(found.clean.size(), 1u);
      EXPECT_EQ(found.clean[0].x, 0);
      EXPECT_EQ(found.clean[0].y, 10);
      EXPECT_EQ(found.clean[0].width, 110);
      EXPECT_EQ(found.clean[0].height, 90);
    }
}

TEST(BlockMotion, KeptErrorsChangeNothing) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Trial t(seed);
    BlockMotion plain =
        matchBlocks(t.before.picture(), t.now.picture(), t.options);
    t.options.keepErrors = true;
    BlockMotion kept =
        matchBlocks(t.before.picture(), t.now.picture(), t.options);
    EXPECT_EQ(plain.global, kept.global);
    EXPECT_EQ(plain.numClean, kept.numClean);
    EXPECT_EQ(painted(plain.clean, t.now.height, t.now.width),
              painted(kept.clean, t.now.height, t.now.width));
  }
}

TEST(BlockMotion, MergesAllCellsToLargeRectangles) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    int rows = int(1 + random() % 9), columns = int(1 + random() % 9);
    std::vector<uint8_t> cells(size_t(rows * columns));
    unsigned share = random() % 5;
    for (uint8_t &cell : cells)
      cell = random() % 4 < share;
    std::vector<PixelRectangle> merged = mergeCells(cells, rows, columns);
    EXPECT_EQ(painted(merged, rows, columns), cells);
    for (const PixelRectangle &a : merged)
      for (const PixelRectangle &b : merged) {
        EXPECT_FALSE(a.x == b.x && a.width == b.width && a.y + a.height == b.y)
            << "two rectangles below each other are one";
        EXPECT_FALSE(a.y == b.y && a.height == b.height && a.x + a.width == b.x)
            << "two rectangles beside each other are one";
      }
  }
}

TEST(BlockMotion, BlocksThatAreAlikeEverywhereDoNotMove) {
  Owned flat(50, 40, 3);
  for (MotionSearch search : searches) {
    MotionOptions options;
    options.search = search;
    for (const BlockVector &v :
         matchBlocks(flat.picture(), flat.picture(), options).vectors)
      EXPECT_EQ(v.motion, Motion());
  }
}
