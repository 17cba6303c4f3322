//===- VideoTensor.h - Tensors of any layout for tests of video -*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_RUNTIME_VIDEOTENSOR_H
#define NNV12_TEST_UNIT_RUNTIME_VIDEOTENSOR_H

#include "artifact/Bundle.h"
#include "runtime/video/DirtySet.h"
#include "runtime/video/PixelLayout.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace nnv12::test {

using runtime::DirtySet;
using runtime::PixelLayout;
using runtime::VideoPlane;

/// Random numbers of a seed.
class Draws {
public:
  explicit Draws(uint32_t seed) : random_(seed) {}

  /// One of `low` to `high`.
  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % uint64_t(high - low + 1));
  }
  bool oneOf(uint32_t count) { return random_() % count == 0; }
  uint8_t byte() { return static_cast<uint8_t>(random_()); }

private:
  std::mt19937_64 random_;
};

/// A dirty set with memory of its own: poisoned, between words that must stay.
class OwnedSet {
public:
  explicit OwnedSet(const VideoPlane &plane)
      : words_(DirtySet::sizeOf(plane) / sizeof(uint64_t) + 2, poison) {
    set.create(plane, words_.data() + 1);
    set.clear();
  }
  ~OwnedSet() {
    EXPECT_EQ(words_.front(), poison);
    EXPECT_EQ(words_.back(), poison);
  }

  bool has(uint64_t row, uint32_t col) const {
    return set.row(row)[col / 64] >> col % 64 & 1;
  }
  /// By row and column, rows numbered over all images. Finds bits that are no
  /// pixels.
  std::vector<bool> pixels() const {
    const VideoPlane &plane = set.plane();
    std::vector<bool> result;
    uint64_t count = 0;
    for (uint64_t row = 0; row < plane.numRows(); ++row)
      for (uint32_t col = 0; col < plane.cols; ++col) {
        result.push_back(has(row, col));
        count += result.back();
      }
    EXPECT_EQ(set.count(), count);
    EXPECT_EQ(set.isEmpty(), count == 0);
    return result;
  }
  /// Each pixel is dirty with a chance of one in `rarity`; 0: none is.
  void fill(Draws &draws, uint32_t rarity) {
    const VideoPlane &plane = set.plane();
    for (uint64_t row = 0; rarity && row < plane.numRows(); ++row)
      for (uint32_t col = 0; col < plane.cols; ++col)
        if (draws.oneOf(rarity))
          set.set(static_cast<uint32_t>(row / plane.rows),
                  static_cast<uint32_t>(row % plane.rows), col);
  }

  DirtySet set;

private:
  static constexpr uint64_t poison = 0xa5a5a5a5a5a5a5a5;

  std::vector<uint64_t> words_;
};

/// A random layout, dense or with gaps.
inline PixelLayout drawLayout(Draws &draws, const VideoPlane &plane,
                              uint32_t channels, uint32_t inner,
                              uint32_t valueSize) {
  const uint64_t gap = draws.oneOf(2) ? valueSize : 0;
  PixelLayout layout = {plane, channels, inner, valueSize, 0, 0, 0, 0};
  auto space = [&](uint64_t size) {
    return size + gap * static_cast<uint64_t>(draws.from(0, 2));
  };
  layout.colStride =
      draws.oneOf(4) ? space(layout.blockSize()) : uint64_t(layout.blockSize());
  layout.rowStride = space(layout.colStride * plane.cols);
  layout.blockStride = space(layout.rowStride * plane.rows);
  layout.imageStride = space(layout.blockStride * layout.numBlocks());
  return layout;
}

inline size_t bytesOf(const PixelLayout &layout) {
  return layout.imageStride * layout.plane.images;
}

/// Where a channel of a pixel lies; those that fill up a block, too.
inline size_t offsetOf(const PixelLayout &layout, uint64_t row, uint32_t col,
                       uint32_t channel) {
  return row / layout.plane.rows * layout.imageStride +
         row % layout.plane.rows * layout.rowStride + col * layout.colStride +
         channel / layout.inner * layout.blockStride +
         size_t(channel % layout.inner) * layout.valueSize;
}

using Bytes = std::vector<uint8_t>;

template <typename T> T valueAt(const Bytes &bytes, size_t at) {
  T result;
  memcpy(&result, &bytes[at], sizeof result);
  return result;
}

template <typename T> void putAt(Bytes &bytes, size_t at, T value) {
  memcpy(&bytes[at], &value, sizeof value);
}

/// Runs a kernel over tiles [0, count) in two threads, each of which computes
/// pieces from its end on.
inline void runInPieces(Draws &draws, artifact::KernelFn kernel, void *job,
                        uint64_t count) {
  std::vector<int64_t> ends = {0, static_cast<int64_t>(count)};
  for (int64_t i = draws.from(0, 5); i > 0; --i)
    ends.push_back(draws.from(0, static_cast<int64_t>(count)));
  std::sort(ends.begin(), ends.end());
  void *const operands[] = {job};
  auto compute = [&](size_t first) {
    for (size_t i = first; i + 1 < ends.size(); i += 2)
      kernel(operands, ends[ends.size() - 2 - i], ends[ends.size() - 1 - i],
             nullptr);
  };
  std::thread other(compute, 1);
  compute(0);
  other.join();
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_RUNTIME_VIDEOTENSOR_H
