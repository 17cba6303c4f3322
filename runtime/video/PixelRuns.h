//===- PixelRuns.h - Compares and copies pixels of a row --------*- C++ -*-===//
//
// Two tensors of one layout, and up to 64 pixels of a row, which are the bits
// of a word, the first one lowest. Addresses are those of the first pixel.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_PIXELRUNS_H
#define NNV12_RUNTIME_VIDEO_PIXELRUNS_H

#include "runtime/video/PixelLayout.h"

#include <cfloat>
#include <cstring>

namespace nnv12::runtime {

/// Finds those of the pixels that differ in any byte.
uint64_t findDifferent(const PixelLayout &layout, const uint8_t *a,
                       const uint8_t *b, uint64_t pixels);

/// Copies these pixels, with the channels that fill up blocks.
void copyPixels(const PixelLayout &layout, const uint8_t *from, uint8_t *to,
                uint64_t pixels);

/// Whether two pieces of memory are equal. Most that differ do so at their
/// beginning, which is seen without a call.
inline bool areEqual(const uint8_t *a, const uint8_t *b, size_t size) {
  uint64_t first[2];
  if (size >= sizeof *first) {
    memcpy(&first[0], a, sizeof *first);
    memcpy(&first[1], b, sizeof *first);
    if (first[0] != first[1])
      return false;
  }
  return memcmp(a, b, size) == 0;
}

/// Sums of squares, in lanes: their order does not depend on the length of the
/// processor's vectors.
struct SquareLanes {
  typedef float Floats __attribute__((vector_size(16)));
  Floats lanes[2];

  float total() const {
    Floats sum = lanes[0] + lanes[1];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
  }
};

/// Adds the squared differences of `count` values that follow each other: the
/// first `perSum` of them to the first sum, and so on. Float i of a sum goes to
/// lane i % 8, each byte to a lane that its number decides. Values of the same
/// bytes do not differ, be they NaN. A difference from a NaN is NaN. Memory is
/// prefetched from `ahead` bytes behind the values.
void addSquares(SquareLanes *sums, const float *a, const float *b,
                size_t perSum, size_t count, size_t ahead = 0);
void addSquares(SquareLanes *sums, const uint8_t *a, const uint8_t *b,
                size_t perSum, size_t count, size_t ahead = 0);

/// The same for floats of `rows` rows, `rowStride` bytes apart: eight values of
/// each row for each sum. As many rows below are prefetched: processors do not
/// do so themselves where rows are short and many.
void addSquaresOfRows(SquareLanes *sums, const uint8_t *a, const uint8_t *b,
                      size_t rowStride, uint32_t rows, uint32_t numSums);

/// The largest sum of `count` squares whose mean is within the limit; 0 where
/// the limit is no finite number.
inline float mostOf(float limit, uint64_t count) {
  float most = limit * static_cast<float>(count);
  return most <= FLT_MAX ? most : 0;
}

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_PIXELRUNS_H
