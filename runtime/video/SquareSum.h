//===- SquareSum.h - The size of a tensor's values --------------*- C++ -*-===//
//
// Limits of differences are parts of the root mean square of a tensor's values,
// which full frames measure.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_SQUARESUM_H
#define NNV12_RUNTIME_VIDEO_SQUARESUM_H

#include "runtime/video/PixelLayout.h"

namespace nnv12::runtime {

struct SquareSumJob {
  PixelLayout layout;
  const float *values;
  double *rows; ///< a sum for each row of all images
};

/// Sums the squares of each row. A kernel (artifact::KernelFn) whose tiles are
/// the rows of all images, and whose operand is a SquareSumJob.
void sumSquares(void *const *operands, int64_t begin, int64_t end,
                void *scratch);

/// The mean of the squares, once all rows are summed. It does not depend on who
/// summed which row.
double meanSquareOf(const SquareSumJob &job);

/// The mean of the squared distances of values from their mean. NaN where a
/// value is no finite number.
double varianceOf(const float *values, size_t count);
double varianceOf(const uint8_t *values, size_t count);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_SQUARESUM_H
