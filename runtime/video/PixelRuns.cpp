//===- PixelRuns.cpp - Compares and copies pixels of a row ----------------===//
#include "runtime/video/PixelRuns.h"

#include "runtime/video/WordBits.h"

namespace nnv12::runtime {
namespace {

typedef uint32_t FourWords __attribute__((vector_size(16)));

template <typename T> T load(const void *from) {
  T result;
  memcpy(&result, from, sizeof result);
  return result;
}

bool isZero(TwoWords words) { return (words[0] | words[1]) == 0; }
template <typename Word> bool isZero(Word word) { return word == 0; }

/// Finds those of up to 64 pixels that differ, of `size` bytes each, and at
/// least sizeof(Unit). The last unit of a pixel may share bytes with the one
/// before.
template <typename Unit>
uint64_t findInUnits(const uint8_t *a, const uint8_t *b, size_t stride,
                     size_t size, uint32_t count) {
  uint64_t result = 0;
  const size_t last = size - sizeof(Unit);
  for (uint32_t i = 0; i < count; ++i, a += stride, b += stride) {
    Unit differ = load<Unit>(a + last) ^ load<Unit>(b + last);
    for (size_t at = 0; at < last; at += sizeof(Unit))
      differ |= load<Unit>(a + at) ^ load<Unit>(b + at);
    result |= uint64_t(!isZero(differ)) << i;
  }
  return result;
}

/// Finds those of 16 pixels that differ, of four bytes each, side by side.
uint32_t findInSixteen(const uint8_t *a, const uint8_t *b) {
  FourWords bits = {1, 2, 4, 8}, result = {};
  for (uint32_t i = 0; i < 4; ++i, a += 16, b += 16, bits <<= 4)
    result |=
        static_cast<FourWords>(load<FourWords>(a) != load<FourWords>(b)) & bits;
  return result[0] | result[1] | result[2] | result[3];
}

/// Finds those of up to 64 pixels that differ, of any size.
uint64_t findInRun(const uint8_t *a, const uint8_t *b, size_t stride,
                   size_t size, uint32_t count) {
  if (stride == size && areEqual(a, b, size * count))
    return 0;
  if (stride == 4 && size == 4) {
    uint64_t result = 0;
    uint32_t i = 0;
    for (; i + 16 <= count; i += 16)
      result |= uint64_t(findInSixteen(a + i * 4, b + i * 4)) << i;
    if (i < count)
      result |= findInUnits<uint32_t>(a + i * 4, b + i * 4, 4, 4, count - i)
                << i;
    return result;
  }
  auto find = size >= 16  ? findInUnits<TwoWords>
              : size >= 8 ? findInUnits<uint64_t>
              : size >= 4 ? findInUnits<uint32_t>
                          : findInUnits<uint8_t>;
  return find(a, b, stride, size, count);
}

} // namespace

uint64_t findDifferent(const PixelLayout &layout, const uint8_t *a,
                       const uint8_t *b, uint64_t pixels) {
  const size_t stride = layout.colStride;
  // Looking at small pixels between runs takes less time than finding runs.
  const uint64_t looked = stride <= 8 && pixels ? spanOf(pixels) : pixels;
  uint64_t result = 0;
  for (uint32_t block = 0, end = layout.numBlocks(); block < end; ++block) {
    const size_t offset = block * layout.blockStride;
    const size_t size = layout.channelsOf(block) * size_t(layout.valueSize);
    for (Runs runs(looked); runs.next();) {
      const size_t at = offset + runs.first * stride;
      result |= findInRun(a + at, b + at, stride, size, runs.count)
                << runs.first;
    }
    if ((result & pixels) == pixels)
      break;
  }
  return result & pixels;
}

void copyPixels(const PixelLayout &layout, const uint8_t *from, uint8_t *to,
                uint64_t pixels) {
  const size_t stride = layout.colStride, size = layout.blockSize();
  for (uint32_t block = 0, end = layout.numBlocks(); block < end; ++block)
    for (Runs runs(pixels); runs.next();) {
      size_t at = block * layout.blockStride + runs.first * stride;
      if (layout.hasDenseRows())
        memcpy(to + at, from + at, runs.count * size);
      else
        for (uint32_t i = 0; i < runs.count; ++i, at += stride)
          memcpy(to + at, from + at, size);
    }
}

static inline SquareLanes::Floats squaresOf(const float *a, const float *b) {
  typedef int32_t Masks __attribute__((vector_size(16)));
  using Floats = SquareLanes::Floats;
  Masks differ = load<Masks>(a) != load<Masks>(b);
  Masks bits = reinterpret_cast<Masks>(load<Floats>(a) - load<Floats>(b));
  Floats difference = reinterpret_cast<Floats>(bits & differ);
  return difference * difference;
}

void addSquares(SquareLanes *sums, const float *a, const float *b,
                size_t perSum, size_t count) {
  for (; count; ++sums) {
    SquareLanes::Floats low = sums->lanes[0], high = sums->lanes[1];
    size_t left = std::min(perSum, count);
    count -= left;
    for (; left >= 8; left -= 8, a += 8, b += 8) {
      low += squaresOf(a, b);
      high += squaresOf(a + 4, b + 4);
    }
    if (left) {
      float rest[2][8] = {};
      memcpy(rest[0], a, left * sizeof *a);
      memcpy(rest[1], b, left * sizeof *b);
      low += squaresOf(rest[0], rest[1]);
      high += squaresOf(rest[0] + 4, rest[1] + 4);
      a += left;
      b += left;
    }
    sums->lanes[0] = low;
    sums->lanes[1] = high;
  }
}

void addSquaresOfRows(SquareLanes &sum, const uint8_t *a, const uint8_t *b,
                      size_t rowStride, uint32_t rows) {
  SquareLanes::Floats low = sum.lanes[0], high = sum.lanes[1];
  for (; rows; --rows, a += rowStride, b += rowStride) {
    auto *x = reinterpret_cast<const float *>(a),
         *y = reinterpret_cast<const float *>(b);
    low += squaresOf(x, y);
    high += squaresOf(x + 4, y + 4);
  }
  sum.lanes[0] = low;
  sum.lanes[1] = high;
}

void addSquares(SquareLanes *sums, const uint8_t *a, const uint8_t *b,
                size_t perSum, size_t count) {
  while (count) {
    size_t left = std::min(perSum, count);
    count -= left;
    uint64_t sum = 0;
    for (; left; --left) {
      int32_t difference = *a++ - *b++;
      sum += static_cast<uint32_t>(difference * difference);
    }
    sums->lanes[0][0] += static_cast<float>(sum);
    ++sums;
  }
}

} // namespace nnv12::runtime
