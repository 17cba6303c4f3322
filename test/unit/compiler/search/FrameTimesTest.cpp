//===- FrameTimesTest.cpp - Times of frames against single pixels ---------===//

#include "compiler/search/FrameTimes.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace nnv12::search;

static int64_t slowFloor(int64_t num, int64_t den) {
  return int64_t(std::floor(double(num) / double(den)));
}

/// Whether a pixel of a set reads a changed one, by looking at all of them.
static bool readsChange(const FrameProblem &problem, const FramePixels &pixels,
                        const FrameSet &set, int64_t y, int64_t x) {
  auto isIn = [](const FrameWindow &w, int64_t i, int64_t k) {
    return slowFloor(i * w.num + w.low, w.den) <= k &&
           k <= slowFloor(i * w.num + w.high, w.den);
  };
  for (const FrameSet::Read &read : set.reads) {
    const FrameSet &from = problem.sets[read.set];
    for (int64_t r = 0; r < from.rows; ++r)
      for (int64_t c = 0; c < from.columns; ++c)
        if (pixels[read.set][size_t(r * from.columns + c)] &&
            (read.all || (isIn(read.rows, y, r) && isIn(read.columns, x, c))))
          return true;
  }
  return false;
}

/// The time of a frame: each tile asks each pixel whether it lies in it.
static double slowTime(const FrameProblem &problem, const FramePixels &pixels) {
  double time = 0;
  uint64_t changes = 0;
  for (const FrameInput &input : problem.inputs) {
    time += input.match;
    for (uint8_t pixel : pixels[input.set])
      changes += pixel;
  }
  if (!changes)
    return time;
  time += problem.bookkeeping;
  for (const FrameExecute &execute : problem.executes) {
    const FrameSet &set = problem.sets[execute.set];
    auto tileOf = [&](uint64_t pixel) -> std::pair<uint64_t, uint64_t> {
      if (!execute.tileRows)
        return {0, 0};
      if (execute.isFlat)
        return {0, pixel / execute.tileColumns};
      return {pixel / set.columns / execute.tileRows,
              pixel % set.columns / execute.tileColumns};
    };
    std::vector<std::pair<uint64_t, uint64_t>> all, dirty;
    uint64_t count = 0;
    for (uint64_t p = 0; p < set.numPixels(); ++p) {
      all.push_back(tileOf(p));
      if (pixels[execute.set][p]) {
        dirty.push_back(tileOf(p));
        ++count;
      }
    }
    auto different = [](auto &tiles) {
      std::sort(tiles.begin(), tiles.end());
      return double(std::unique(tiles.begin(), tiles.end()) - tiles.begin());
    };
    double part = different(dirty) / different(all);
    time += part >= problem.wholeFrom ? execute.whole : part * execute.tiles;
    time += execute.merge * double(count) / double(set.numPixels());
  }
  return time;
}

/// Layers whose windows slide, grow, shrink, or see all.
static FrameProblem randomFrames(Random &random) {
  FrameProblem problem;
  unsigned numInputs = random.below(3);
  for (unsigned i = 0; i < 2 + random.below(9); ++i) {
    FrameSet set = {random.below(20) + 1, random.below(20) + 1};
    if (random.below(9) == 0)
      set.rows = set.columns = 1;
    for (unsigned k = 0; i > numInputs && k <= random.below(3); ++k) {
      auto window = [&] {
        int64_t low = int64_t(random.below(9)) - 4;
        return FrameWindow{random.below(4), 1 + random.below(4), low,
                           low + random.below(7)};
      };
      set.reads.push_back(
          {random.below(i), random.below(7) == 0, window(), window()});
    }
    if (i <= numInputs) {
      problem.inputs.push_back({i, random.between(0, 1)});
    } else {
      FrameExecute execute = {i, random.between(1, 4)};
      execute.tileRows = random.below(9);
      execute.tileColumns = 1 + random.below(8);
      execute.isFlat = random.below(4) == 0;
      if (execute.isFlat)
        execute.tileRows = 1;
      execute.tiles = execute.whole * random.between(0.5, 3);
      execute.merge = random.below(2) * random.between(0, 1);
      problem.executes.push_back(execute);
      problem.plain += execute.whole;
    }
    problem.sets.push_back(set);
  }
  problem.plain = std::max(problem.plain, 1.0);
  problem.bookkeeping = random.between(0, 1);
  return problem;
}

TEST(FrameTimes, AreThoseOfSinglePixels) {
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    FrameProblem problem = randomFrames(random);
    FramePixels pixels(problem.sets.size());
    for (const FrameInput &input : problem.inputs) {
      pixels[input.set].resize(problem.sets[input.set].numPixels());
      unsigned rare = random.below(41);
      for (uint8_t &pixel : pixels[input.set])
        pixel = random.below(rare + 1) == 0 && rare > 0;
    }
    FramePixels found = pixels;
    followChange(problem, found);
    for (size_t i = 0; i < problem.sets.size(); ++i) {
      const FrameSet &set = problem.sets[i];
      pixels[i].resize(set.numPixels(), 0);
      for (uint32_t y = 0; y < set.rows; ++y)
        for (uint32_t x = 0; x < set.columns; ++x)
          pixels[i][size_t(y) * set.columns + x] |=
              readsChange(problem, pixels, set, y, x);
      ASSERT_EQ(found[i], pixels[i]) << "seed " << seed << ", set " << i;
    }
    ASSERT_NEAR(frameTime(problem, found), slowTime(problem, pixels), 1e-9)
        << "seed " << seed;
  }
}

/// A layer without windows whose tiles are single pixels.
static FrameProblem pixelwise(uint32_t side) {
  FrameProblem problem;
  problem.sets = {{side, side}, {side, side, {{0}}}};
  problem.inputs = {{0, 0.1}};
  problem.executes = {{1, 1.0, 1, 1, false, 1.25}};
  problem.plain = 1;
  return problem;
}

TEST(FrameTimes, FollowTheChangedShare) {
  FrameTimes times = predictFrames(pixelwise(50));
  EXPECT_DOUBLE_EQ(times.at(0), 0.1) << "no change is compared alone";
  for (double share : {0.02, 0.1, 0.5})
    EXPECT_NEAR(times.at(share), 0.1 + 1.25 * share, 0.02) << share;
  // From three quarters on all is computed at once.
  EXPECT_NEAR(times.at(0.8), 1.1, 1e-9);
  EXPECT_NEAR(times.at(1), 1.1, 1e-9);
  EXPECT_NEAR(times.paysBelow(), 0.72, 0.02);
}

TEST(FrameTimes, TellWhetherReusePays) {
  FrameProblem problem = pixelwise(20);
  problem.inputs[0].match = 2;
  EXPECT_EQ(predictFrames(problem).paysBelow(), 0);
  problem.inputs[0].match = 0;
  problem.executes[0].whole = problem.executes[0].tiles = 0.9;
  EXPECT_EQ(predictFrames(problem).paysBelow(), 1);
}

/// Three layers without windows, and three that change with any pixel.
static FrameProblem problemOfTail() {
  FrameProblem problem = pixelwise(20);
  problem.executes.clear();
  for (uint32_t i = 1; i <= 6; ++i) {
    if (i > 1)
      problem.sets.push_back({20, 20, {{i - 1, /*all=*/i == 4}}});
    FrameExecute execute = {i, 1.1, 1, 1, false, 1.5};
    execute.plain = 1;
    problem.executes.push_back(execute);
  }
  problem.plain = 6;
  return problem;
}

TEST(FrameTimes, ChooseATail) {
  FrameProblem problem = problemOfTail();
  EXPECT_EQ(chooseTail(problem), 3u);
  // The tail would lose as much by one layer as it gains by others.
  problem.sets[5].reads = {{1}};
  problem.sets[6].reads = {{1}};
  EXPECT_EQ(chooseTail(problem), 6u);
  // One that computes nearly all of its pixels does not.
  problem = problemOfTail();
  problem.sets[3].reads[0].rows = {1, 1, -19, 19};
  problem.sets[3].reads[0].columns = {1, 1, -17, 17};
  EXPECT_EQ(chooseTail(problem), 2u);
  // Comparing with kept values is a loss, too.
  problem = problemOfTail();
  problem.executes[2].merge = 100;
  EXPECT_EQ(chooseTail(problem), 2u);
  // Where values that stay cost nothing there is nothing to gain.
  problem = problemOfTail();
  for (FrameExecute &execute : problem.executes)
    execute.whole = execute.plain;
  EXPECT_EQ(chooseTail(problem), 6u);
}

/// No other tail takes less time.
TEST(FrameTimes, TailsAreTheBest) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    FrameProblem problem = randomFrames(random);
    for (FrameExecute &execute : problem.executes)
      execute.plain = execute.whole * random.between(0.3, 1);
    size_t count = problem.executes.size(), best = chooseTail(problem);
    ASSERT_LE(best, count);
    auto timeWith = [&](size_t tail) {
      FrameProblem other = problem;
      for (size_t i = tail; i < count; ++i) {
        FrameExecute &execute = other.executes[i];
        execute.whole = execute.tiles = execute.merge = 0;
        other.bookkeeping += execute.plain;
      }
      FrameTimes times = predictFrames(other);
      return times.at(0.02) + times.at(0.05);
    };
    // Predicted times never fall with the share. That moves some a little.
    for (size_t tail = 0; tail <= count; ++tail)
      ASSERT_LE(timeWith(best), timeWith(tail) + 0.05)
          << "seed " << seed << ", tail " << tail;
  }
}

TEST(FrameTimes, AreTheSameTwiceAndGrow) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    FrameProblem problem = randomFrames(random);
    FrameTimes once = predictFrames(problem), twice = predictFrames(problem);
    ASSERT_EQ(once.points.size(), twice.points.size());
    for (size_t i = 0; i < once.points.size(); ++i) {
      ASSERT_EQ(once.points[i].time, twice.points[i].time);
      if (i) {
        ASSERT_GE(once.points[i].time, once.points[i - 1].time);
      }
    }
  }
}
