//===- FrameTimes.cpp - The time of a frame that changed a little ---------===//
#include "compiler/search/FrameTimes.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

using namespace nnv12::search;

/// Shares that are predicted, in thousandths.
static constexpr uint32_t shares[] = {5,   10,  20,  50,  100, 150, 200, 300,
                                      400, 500, 600, 700, 800, 900, 1000};
/// Frames of each, at most. Networks of many pixels have fewer, so that a
/// compile does not notice.
static constexpr uint64_t mostFrames = 8;
static constexpr uint64_t mostPixels = uint64_t(1) << 27;

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

namespace {
/// Positions [begin, end).
struct Span {
  int64_t begin, end;
};

/// How many changed pixels lie above and left of each.
class Sums {
public:
  Sums(const FrameSet &set, const std::vector<uint8_t> &pixels)
      : stride(set.columns + 1), sums((set.rows + 1) * stride, 0) {
    for (size_t y = 0; y < set.rows; ++y) {
      uint32_t row = 0;
      for (size_t x = 0; x < set.columns; ++x) {
        row += pixels[y * set.columns + x];
        sums[(y + 1) * stride + x + 1] = sums[y * stride + x + 1] + row;
      }
    }
  }
  bool hasAny(const Span &rows, const Span &columns) const {
    auto at = [&](int64_t y, int64_t x) {
      return sums[size_t(y) * stride + x];
    };
    return at(rows.end, columns.end) + at(rows.begin, columns.begin) !=
           at(rows.begin, columns.end) + at(rows.end, columns.begin);
  }

private:
  size_t stride;
  std::vector<uint32_t> sums;
};
} // namespace

static int64_t floorOf(int64_t num, int64_t den) {
  return num / den - (num % den < 0);
}

/// The positions, of `size` ones, that each position of a result reads.
static std::vector<Span> spansOf(const FrameWindow &window, uint32_t count,
                                 uint32_t size) {
  std::vector<Span> spans(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = floorOf(i * window.num + window.low, window.den),
            end = floorOf(i * window.num + window.high, window.den) + 1;
    begin = std::clamp<int64_t>(begin, 0, size);
    spans[i] = {begin, std::clamp<int64_t>(end, begin, size)};
  }
  return spans;
}

static bool hasAny(const std::vector<uint8_t> &pixels) {
  return std::find(pixels.begin(), pixels.end(), 1) != pixels.end();
}

static void addThrough(const FrameSet &from,
                       const std::vector<uint8_t> &changed,
                       const FrameSet::Read &read, const FrameSet &to,
                       std::vector<uint8_t> &pixels) {
  Sums sums(from, changed);
  std::vector<Span> rows = spansOf(read.rows, to.rows, from.rows),
                    columns = spansOf(read.columns, to.columns, from.columns);
  for (size_t y = 0; y < to.rows; ++y) {
    if (!sums.hasAny(rows[y], {0, from.columns}))
      continue;
    for (size_t x = 0; x < to.columns; ++x)
      pixels[y * to.columns + x] |= sums.hasAny(rows[y], columns[x]);
  }
}

void nnv12::search::followChange(const FrameProblem &problem,
                                 FramePixels &pixels) {
  assert(pixels.size() == problem.sets.size());
  for (size_t i = 0; i < problem.sets.size(); ++i) {
    const FrameSet &set = problem.sets[i];
    pixels[i].resize(set.numPixels(), 0);
    for (const FrameSet::Read &read : set.reads) {
      assert(read.set < i && "sets come behind those that they read");
      if (!hasAny(pixels[read.set]))
        continue;
      if (read.all)
        std::fill(pixels[i].begin(), pixels[i].end(), 1);
      else
        addThrough(problem.sets[read.set], pixels[read.set], read, set,
                   pixels[i]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The part of the tiles with a changed pixel; 0 where there is no such pixel.
static double changedTiles(const FrameExecute &execute, const FrameSet &set,
                           const std::vector<uint8_t> &pixels) {
  if (!execute.tileRows)
    return hasAny(pixels);
  uint32_t height = execute.isFlat ? 1 : set.rows,
           width = execute.isFlat ? uint32_t(set.numPixels()) : set.columns,
           across = (width - 1) / execute.tileColumns + 1,
           down = (height - 1) / execute.tileRows + 1;
  std::vector<uint8_t> tiles(size_t(across) * down, 0);
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      tiles[y / execute.tileRows * across + x / execute.tileColumns] |=
          pixels[y * width + x];
  return double(std::count(tiles.begin(), tiles.end(), 1)) /
         double(tiles.size());
}

static double executeTime(const FrameProblem &problem,
                          const FrameExecute &execute,
                          const std::vector<uint8_t> &changed) {
  double part = changedTiles(execute, problem.sets[execute.set], changed);
  double time =
      part >= problem.wholeFrom ? execute.whole : part * execute.tiles;
  if (execute.merge > 0)
    time += execute.merge *
            double(std::count(changed.begin(), changed.end(), 1)) /
            double(changed.size());
  return time;
}

double nnv12::search::frameTime(const FrameProblem &problem,
                                const FramePixels &pixels) {
  double time = 0;
  bool isChanged = false;
  for (const FrameInput &input : problem.inputs) {
    time += input.match;
    isChanged |= hasAny(pixels[input.set]);
  }
  if (!isChanged)
    return time;
  time += problem.bookkeeping;
  for (const FrameExecute &execute : problem.executes)
    time += executeTime(problem, execute, pixels[execute.set]);
  return time;
}

//===----------------------------------------------------------------------===//
// Random changes
//===----------------------------------------------------------------------===//

/// 0 to `most`, both included. The same on each machine, which a distribution
/// of the library is not.
static uint32_t draw(std::mt19937 &random, uint32_t most) {
  return uint32_t(random() % (uint64_t(most) + 1));
}

/// Pixels in rectangles, so many thousandths of the plane at least.
static std::vector<uint8_t> drawChange(const FrameSet &set, uint32_t share,
                                       std::mt19937 &random) {
  std::vector<uint8_t> pixels(set.numPixels(), 0);
  auto wanted = uint64_t(std::ceil(double(set.numPixels()) * share / 1000));
  double area = double(wanted) / (1 + draw(random, 3));
  uint64_t count = 0;
  auto add = [&](uint8_t &pixel) {
    count += pixel == 0;
    pixel = 1;
  };
  // Most of a plane is hardly filled by chance.
  for (unsigned tries = 0; count < wanted && tries < 32; ++tries) {
    // Up to twice as long as wide, or as wide as long.
    double form = std::exp2((double(draw(random, 200)) - 100) / 100);
    auto side = [](double length, uint32_t most) {
      return std::clamp<uint32_t>(uint32_t(std::lround(length)), 1, most);
    };
    uint32_t height = side(std::sqrt(area * form), set.rows),
             width = side(area / height, set.columns),
             top = draw(random, set.rows - height),
             left = draw(random, set.columns - width);
    for (uint32_t y = top; y < top + height && count < wanted; ++y)
      for (uint32_t x = left; x < left + width; ++x)
        add(pixels[size_t(y) * set.columns + x]);
  }
  for (size_t i = 0; i < pixels.size() && count < wanted; ++i)
    add(pixels[i]);
  return pixels;
}

/// Calls `visit(pixels of all sets)` for random frames of which so many
/// thousandths changed. Returns how many they were.
template <typename Visit>
static uint64_t forRandomFrames(const FrameProblem &problem, uint32_t share,
                                Visit visit) {
  uint64_t pixels = 1;
  for (const FrameSet &set : problem.sets)
    pixels += set.numPixels();
  uint64_t frames = std::clamp(mostPixels / pixels / std::size(shares),
                               uint64_t(1), mostFrames);
  std::mt19937 random(1);
  for (uint64_t i = 0; i < frames; ++i) {
    FramePixels changed(problem.sets.size());
    for (const FrameInput &input : problem.inputs)
      if (problem.sets[input.set].numPixels() > 1)
        changed[input.set] = drawChange(problem.sets[input.set], share, random);
    followChange(problem, changed);
    visit(changed);
  }
  return frames;
}

size_t nnv12::search::chooseTail(const FrameProblem &problem) {
  size_t count = problem.executes.size();
  std::vector<double> loss(count, 0); // of all frames, by execute
  for (uint32_t share : {20, 50})
    forRandomFrames(problem, share, [&](const FramePixels &changed) {
      for (size_t i = 0; i < count; ++i) {
        const FrameExecute &execute = problem.executes[i];
        loss[i] +=
            executeTime(problem, execute, changed[execute.set]) - execute.plain;
      }
    });
  size_t best = count;
  double most = 0, sum = 0;
  for (size_t i = count; i-- > 0;) {
    sum += loss[i];
    if (sum > most) {
      most = sum;
      best = i;
    }
  }
  return best;
}

FrameTimes nnv12::search::predictFrames(const FrameProblem &problem) {
  assert(problem.plain > 0 && "a run takes time");
  FrameTimes result;
  auto add = [&](double share, double time) {
    // A larger change takes no less. Chance may make it look so.
    if (!result.points.empty())
      time = std::max(time, result.points.back().time);
    result.points.push_back({share, time});
  };
  FramePixels none(problem.sets.size());
  followChange(problem, none);
  add(0, frameTime(problem, none) / problem.plain);
  for (uint32_t share : shares) {
    double sum = 0;
    uint64_t frames =
        forRandomFrames(problem, share, [&](const FramePixels &changed) {
          sum += frameTime(problem, changed);
        });
    add(share / 1000.0, sum / double(frames) / problem.plain);
  }
  return result;
}

double FrameTimes::at(double share) const {
  auto next = std::find_if(points.begin(), points.end(),
                           [&](const Point &p) { return p.share >= share; });
  if (next == points.end())
    return points.back().time;
  if (next == points.begin())
    return next->time;
  const Point &before = next[-1];
  double part = (share - before.share) / (next->share - before.share);
  return before.time + part * (next->time - before.time);
}

double FrameTimes::paysBelow() const {
  auto next = std::find_if(points.begin(), points.end(),
                           [](const Point &p) { return p.time >= 1; });
  if (next == points.end())
    return 1;
  if (next == points.begin())
    return 0;
  const Point &before = next[-1];
  return before.share + (1 - before.time) / (next->time - before.time) *
                            (next->share - before.share);
}
