//===- SquareSum.cpp - The size of a tensor's values ----------------------===//
#include "runtime/video/SquareSum.h"

#include <cstring>

namespace nnv12::runtime {

typedef float TwoFloats __attribute__((vector_size(8)));
typedef double TwoDoubles __attribute__((vector_size(16)));

static TwoDoubles wideSquaresOf(const float *values) {
  TwoFloats narrow;
  memcpy(&narrow, values, sizeof narrow);
  TwoDoubles wide = __builtin_convertvector(narrow, TwoDoubles);
  return wide * wide;
}

/// Adds the squares of values that follow each other: value i to lane i % 4.
[[gnu::noinline]] static void addWideSquares(const float *values, size_t count,
                                             TwoDoubles (&lanes)[2]) {
  TwoDoubles low = lanes[0], high = lanes[1];
  for (; count >= 4; count -= 4, values += 4) {
    low += wideSquaresOf(values);
    high += wideSquaresOf(values + 2);
  }
  float rest[4] = {};
  for (size_t i = 0; i < count; ++i)
    rest[i] = values[i];
  lanes[0] = low + wideSquaresOf(rest);
  lanes[1] = high + wideSquaresOf(rest + 2);
}

void sumSquares(void *const *operands, int64_t begin, int64_t end,
                void * /*scratch*/) {
  const SquareSumJob &job = *static_cast<const SquareSumJob *>(operands[0]);
  const PixelLayout &layout = job.layout;
  const uint32_t cols = layout.plane.cols;
  for (int64_t row = begin; row < end; ++row) {
    TwoDoubles lanes[2] = {};
    auto *values =
        reinterpret_cast<const uint8_t *>(job.values) + layout.offsetOf(row);
    for (uint32_t block = 0; block < layout.numBlocks(); ++block) {
      const uint8_t *first = values + block * layout.blockStride;
      const uint32_t channels = layout.channelsOf(block);
      // As many values as follow each other.
      const bool isDense = layout.hasDenseRows() && channels == layout.inner;
      const uint32_t step = isDense ? cols : 1;
      for (uint32_t col = 0; col < cols; col += step)
        addWideSquares(
            reinterpret_cast<const float *>(first + col * layout.colStride),
            size_t(step) * channels, lanes);
    }
    TwoDoubles sum = lanes[0] + lanes[1];
    job.rows[row] = sum[0] + sum[1];
  }
}

double meanSquareOf(const SquareSumJob &job) {
  double sum = 0;
  const uint64_t numRows = job.layout.plane.numRows();
  for (uint64_t row = 0; row < numRows; ++row)
    sum += job.rows[row];
  return sum / (double(job.layout.plane.numPixels()) * job.layout.channels);
}

/// Sums distances from the first value: where all are equal, nothing is left.
/// Value i goes to lane i % 4.
template <typename Value>
static double varianceOfValues(const Value *values, size_t count) {
  if (count == 0)
    return 0;
  double sums[4] = {}, squares[4] = {};
  for (size_t i = 0; i < count; ++i) {
    double distance = double(values[i]) - double(values[0]);
    sums[i % 4] += distance;
    squares[i % 4] += distance * distance;
  }
  double mean = ((sums[0] + sums[2]) + (sums[1] + sums[3])) / double(count);
  double meanSquare =
      ((squares[0] + squares[2]) + (squares[1] + squares[3])) / double(count);
  double variance = meanSquare - mean * mean;
  return variance < 0 ? 0 : variance;
}

double varianceOf(const float *values, size_t count) {
  return varianceOfValues(values, count);
}

double varianceOf(const uint8_t *values, size_t count) {
  return varianceOfValues(values, count);
}

} // namespace nnv12::runtime
