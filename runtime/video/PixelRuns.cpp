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

/// Finds those of up to 64 pixels that differ, of three bytes each. All but the
/// first are read with the byte before them.
uint64_t findInThrees(const uint8_t *a, const uint8_t *b, size_t stride,
                      uint32_t count) {
  uint64_t result = 0;
  for (size_t at = count * stride; at > stride;) {
    at -= stride;
    uint32_t differ =
        (load<uint32_t>(a + at - 1) ^ load<uint32_t>(b + at - 1)) >> 8;
    result = result << 1 | (differ != 0);
  }
  return result << 1 | (memcmp(a, b, 3) != 0);
}

/// Finds those of eight pixels that differ in a block, of four bytes each, side
/// by side.
uint64_t findInEight(const uint8_t *a, const uint8_t *b, size_t blockStride,
                     uint32_t numBlocks) {
  const FourWords low = {1, 2, 4, 8}, high = {16, 32, 64, 128};
  FourWords bits = {};
  for (; numBlocks; --numBlocks, a += blockStride, b += blockStride) {
    bits |= (load<FourWords>(a) != load<FourWords>(b)) & low;
    bits |= (load<FourWords>(a + 16) != load<FourWords>(b + 16)) & high;
  }
  TwoWords pairs = reinterpret_cast<TwoWords>(bits);
  uint64_t pair = pairs[0] | pairs[1];
  return (pair | pair >> 32) & 0xff;
}

/// Finds those of up to 64 pixels that differ, of any size.
uint64_t findInRun(const uint8_t *a, const uint8_t *b, size_t stride,
                   size_t size, uint32_t count) {
  if (stride == size && areEqual(a, b, size * count))
    return 0;
  if (size == 3)
    return findInThrees(a, b, stride, count);
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
  uint64_t looked = stride <= 8 && pixels ? spanOf(pixels) : pixels;
  uint64_t result = 0;
  // Most inputs: f32 by planes, and four bytes a pixel.
  if (stride == 4 && layout.blockSize() == 4 &&
      layout.channels % layout.inner == 0)
    for (Runs runs(looked); runs.next();)
      for (; runs.count >= 8; runs.count -= 8, runs.first += 8) {
        const size_t at = runs.first * stride;
        uint64_t found =
            findInEight(a + at, b + at, layout.blockStride, layout.numBlocks());
        result |= found << runs.first;
        looked ^= uint64_t(0xff) << runs.first;
      }
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

typedef int32_t FourInts __attribute__((vector_size(16)));

static inline SquareLanes::Floats squaresOf(const float *a, const float *b) {
  typedef SquareLanes::Floats Floats;
  FourInts differ = load<FourInts>(a) != load<FourInts>(b);
  FourInts bits = reinterpret_cast<FourInts>(load<Floats>(a) - load<Floats>(b));
  Floats difference = reinterpret_cast<Floats>(bits & differ);
  return difference * difference;
}

static inline void addEight(SquareLanes &sum, const float *a, const float *b) {
  sum.lanes[0] += squaresOf(a, b);
  sum.lanes[1] += squaresOf(a + 4, b + 4);
}

/// Even bytes go to the low lanes, odd ones to the high lanes.
static inline void addEight(SquareLanes &sum, const uint8_t *a,
                            const uint8_t *b) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  typedef uint16_t Shorts __attribute__((vector_size(16)));
  auto widened = [](const uint8_t *from) {
    TwoWords eight = {load<uint64_t>(from), 0};
    return reinterpret_cast<Shorts>(__builtin_shufflevector(
        reinterpret_cast<Bytes>(eight), Bytes{}, 0, 16, 1, 17, 2, 18, 3, 19, 4,
        20, 5, 21, 6, 22, 7, 23));
  };
  Shorts difference = widened(a) - widened(b);
  FourInts pairs = reinterpret_cast<FourInts>(difference * difference);
  FourInts even = pairs & 0xffff, odd = pairs >> 16 & 0xffff;
  sum.lanes[0] += __builtin_convertvector(even, SquareLanes::Floats);
  sum.lanes[1] += __builtin_convertvector(odd, SquareLanes::Floats);
}

template <typename Value>
static inline void addSquaresOf(SquareLanes *sums, const Value *a,
                                const Value *b, size_t perSum, size_t count,
                                size_t ahead) {
  for (; count; ++sums) {
    SquareLanes sum = *sums;
    size_t left = std::min(perSum, count);
    count -= left;
    for (; left >= 8; left -= 8, a += 8, b += 8) {
      __builtin_prefetch(reinterpret_cast<const uint8_t *>(a) + ahead);
      __builtin_prefetch(reinterpret_cast<const uint8_t *>(b) + ahead);
      addEight(sum, a, b);
    }
    if (left) {
      Value rest[2][8] = {};
      memcpy(rest[0], a, left * sizeof *a);
      memcpy(rest[1], b, left * sizeof *b);
      addEight(sum, rest[0], rest[1]);
      a += left;
      b += left;
    }
    *sums = sum;
  }
}

void addSquares(SquareLanes *sums, const float *a, const float *b,
                size_t perSum, size_t count, size_t ahead) {
  addSquaresOf(sums, a, b, perSum, count, ahead);
}

void addSquares(SquareLanes *sums, const uint8_t *a, const uint8_t *b,
                size_t perSum, size_t count, size_t ahead) {
  addSquaresOf(sums, a, b, perSum, count, ahead);
}

void addSquaresOfRows(SquareLanes *sums, const uint8_t *a, const uint8_t *b,
                      size_t rowStride, uint32_t rows, uint32_t numSums) {
  const size_t below = rows * rowStride;
  for (; numSums; --numSums, ++sums, a += 32, b += 32) {
    SquareLanes sum = *sums;
    const uint8_t *x = a, *y = b;
    for (uint32_t row = 0; row < rows; ++row, x += rowStride, y += rowStride) {
      __builtin_prefetch(x + below, /*write=*/0, /*locality=*/2);
      __builtin_prefetch(y + below, /*write=*/0, /*locality=*/2);
      addEight(sum, reinterpret_cast<const float *>(x),
               reinterpret_cast<const float *>(y));
    }
    *sums = sum;
  }
}

} // namespace nnv12::runtime
