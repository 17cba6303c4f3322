//===- BlockMotion.cpp - Blocks of a frame that the last one has ----------===//
#include "tools/common/BlockMotion.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

namespace nnv12::tools {

namespace {

constexpr int mostBlock = 64; // the sums of a block fit 32 bits

struct Block {
  int x, y, width, height;
};

/// Compares blocks of two pictures.
class Comparison {
public:
  Comparison(const Picture &before, const Picture &now,
             const MotionOptions &options)
      : before_(before), now_(now), options_(options),
        limit_(255.0 * 255.0 / std::pow(10.0, options.threshold / 10)) {}

  /// All of the block lies in the picture before, and within reach.
  bool isInside(const Block &block, Motion m) const {
    return std::abs(m.dx) <= options_.reach &&
           std::abs(m.dy) <= options_.reach && block.x + m.dx >= 0 &&
           block.y + m.dy >= 0 &&
           block.x + m.dx + block.width <= before_.width &&
           block.y + m.dy + block.height <= before_.height;
  }

  /// The sum of squared differences.
  uint32_t error(const Block &block, Motion m) const {
    int channels = now_.channels, length = block.width * channels;
    size_t stride = size_t(now_.width) * size_t(channels);
    const uint8_t *a = now_.bytes + size_t(block.y) * stride +
                       size_t(block.x) * size_t(channels);
    const uint8_t *b = before_.bytes + size_t(block.y + m.dy) * stride +
                       size_t(block.x + m.dx) * size_t(channels);
    uint32_t sum = 0;
    for (int row = 0; row < block.height; ++row, a += stride, b += stride)
      for (int i = 0; i < length; ++i) {
        int difference = int(a[i]) - int(b[i]);
        sum += uint32_t(difference * difference);
      }
    return sum;
  }

  bool isMatch(const Block &block, uint64_t error) const {
    return double(error) < limit_ * block.width * block.height * now_.channels;
  }

  const MotionOptions &options() const { return options_; }

private:
  const Picture &before_, &now_;
  const MotionOptions &options_;
  double limit_; // of the mean squared difference
};

/// The search for one block: the best place so far.
class Search {
public:
  Search(const Comparison &comparison, const Block &block)
      : comparison_(comparison), block_(block),
        error_(comparison.error(block, {})), atPlace_(error_) {}

  void run() {
    switch (comparison_.options().search) {
    case MotionSearch::None:
      return;
    case MotionSearch::Exhaustive:
      return exhaustive();
    case MotionSearch::ThreeStep:
      return threeStep();
    case MotionSearch::Diamond:
      return diamond();
    }
  }

  Motion best() const { return best_; }
  uint64_t error() const { return error_; }
  /// The error of the block without motion.
  uint64_t errorAtPlace() const { return atPlace_; }

private:
  /// The first of equal ones stays: no motion before others.
  void tryAt(Motion m) {
    if (!comparison_.isInside(block_, m))
      return;
    uint64_t error = comparison_.error(block_, m);
    if (error < error_) {
      error_ = error;
      best_ = m;
    }
  }

  void exhaustive() {
    int reach = comparison_.options().reach;
    for (int dy = -reach; dy <= reach; ++dy)
      for (int dx = -reach; dx <= reach; ++dx)
        if (dx || dy)
          tryAt({dx, dy});
  }

  void threeStep() {
    int step = 1;
    while (4 * step - 1 <= comparison_.options().reach)
      step *= 2;
    for (; step; step /= 2) {
      Motion middle = best_;
      for (int dy = -step; dy <= step; dy += step)
        for (int dx = -step; dx <= step; dx += step)
          if (dx || dy)
            tryAt({middle.dx + dx, middle.dy + dy});
    }
  }

  void diamond() {
    static constexpr Motion large[] = {{0, -2}, {1, -1}, {2, 0},  {1, 1},
                                       {0, 2},  {-1, 1}, {-2, 0}, {-1, -1}};
    static constexpr Motion small[] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
    auto isTried = [](Motion around, Motion at) {
      int away = std::abs(at.dx - around.dx) + std::abs(at.dy - around.dy);
      return away == 0 || away == 2;
    };
    Motion middle, last;
    for (bool isFirst = true;; isFirst = false) {
      for (Motion m : large) {
        Motion at = {middle.dx + m.dx, middle.dy + m.dy};
        if (isFirst || !isTried(last, at))
          tryAt(at);
      }
      if (best_ == middle)
        break;
      last = middle;
      middle = best_;
    }
    for (Motion m : small)
      tryAt({middle.dx + m.dx, middle.dy + m.dy});
  }

  const Comparison &comparison_;
  const Block &block_;
  Motion best_;
  uint64_t error_, atPlace_;
};

} // namespace

/// The blocks of a frame, row by row.
static std::vector<Block> makeBlocks(const Picture &frame, int size) {
  std::vector<Block> blocks;
  for (int y = 0; y < frame.height; y += size)
    for (int x = 0; x < frame.width; x += size)
      blocks.push_back({x, y, std::min(size, frame.width - x),
                        std::min(size, frame.height - y)});
  return blocks;
}

/// The mean of matched vectors, to whole pixels.
static Motion meanMotion(const std::vector<BlockVector> &vectors) {
  double dx = 0, dy = 0, count = 0;
  for (const BlockVector &v : vectors)
    if (v.isMatched) {
      dx += v.motion.dx;
      dy += v.motion.dy;
      ++count;
    }
  if (count == 0)
    return {};
  return {int(std::lrint(dx / count)), int(std::lrint(dy / count))};
}

BlockMotion matchBlocks(const Picture &before, const Picture &now,
                        const MotionOptions &options) {
  assert(before.width == now.width && before.height == now.height &&
         before.channels == now.channels && "the pictures are alike");
  assert(options.block >= 1 && options.block <= mostBlock &&
         options.reach >= 0 && options.skip >= 1 && "the options are sound");
  Comparison comparison(before, now, options);
  std::vector<Block> blocks = makeBlocks(now, options.block);
  int columns = (now.width + options.block - 1) / options.block;
  int rows = int(blocks.size()) / columns;

  BlockMotion result;
  result.numBlocks = blocks.size();
  std::vector<uint64_t> atPlace; // without motion, of the vectors
  auto isSearched = [&](size_t i) {
    return int(i) / columns % options.skip == 0 &&
           int(i) % columns % options.skip == 0;
  };
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!isSearched(i))
      continue;
    const Block &block = blocks[i];
    Search search(comparison, block);
    search.run();
    result.vectors.push_back({block.x, block.y, search.best(), search.error(),
                              comparison.isMatch(block, search.error())});
    atPlace.push_back(search.errorAtPlace());
  }
  result.global = meanMotion(result.vectors);

  std::vector<uint8_t> isClean(blocks.size());
  size_t vector = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block &block = blocks[i];
    size_t mine = isSearched(i) ? vector++ : result.vectors.size();
    if (!comparison.isInside(block, result.global))
      continue;
    bool hasErrors = options.keepErrors && mine < result.vectors.size();
    uint64_t error;
    if (hasErrors && result.vectors[mine].motion == result.global)
      error = result.vectors[mine].error;
    else if (hasErrors && result.global == Motion())
      error = atPlace[mine];
    else
      error = comparison.error(block, result.global);
    isClean[i] = comparison.isMatch(block, error);
    result.numClean += isClean[i];
  }
  for (PixelRectangle r : mergeCells(isClean, rows, columns)) {
    int x = r.x * options.block, y = r.y * options.block;
    result.clean.push_back(
        {x, y, std::min(r.width * options.block, now.width - x),
         std::min(r.height * options.block, now.height - y)});
  }
  return result;
}

std::vector<PixelRectangle> mergeCells(const std::vector<uint8_t> &cells,
                                       int rows, int columns) {
  assert(cells.size() == size_t(rows) * size_t(columns) && "a whole grid");
  std::vector<PixelRectangle> result;
  std::vector<size_t> above; // rectangles that end in the row before
  for (int y = 0; y < rows; ++y) {
    std::vector<size_t> here;
    auto next = above.begin();
    for (int x = 0; x < columns;) {
      const uint8_t *row = cells.data() + size_t(y) * size_t(columns);
      if (!row[x]) {
        ++x;
        continue;
      }
      int end = x;
      while (end < columns && row[end])
        ++end;
      while (next != above.end() && result[*next].x < x)
        ++next;
      if (next != above.end() && result[*next].x == x &&
          result[*next].width == end - x) {
        ++result[*next].height;
        here.push_back(*next);
      } else {
        here.push_back(result.size());
        result.push_back({x, y, end - x, 1});
      }
      x = end;
    }
    above = std::move(here);
  }
  return result;
}

} // namespace nnv12::tools
