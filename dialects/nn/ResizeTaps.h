//===- ResizeTaps.h - Terms that a resize adds up ---------------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_RESIZETAPS_H
#define NNV12_DIALECTS_NN_RESIZETAPS_H

#include "dialects/nn/NNDialect.h"

#include <utility>
#include <vector>

namespace nnv12::nn {

/// Along one dimension: output position o is the sum over taps t of
/// weight[t * size + o] * input[source[t * size + o]].
struct ResizeTaps {
  int64_t count = 0;
  int64_t size = 0;
  std::vector<double> source, weight;
  std::vector<double> inside; ///< 1 where not extrapolated; empty if all are

  /// The taps of dimension `d`, from `in` elements to `out`.
  static ResizeTaps of(ResizeOp op, unsigned d, int64_t in, int64_t out);
  /// The elements [first, second) of the input that hold all that positions
  /// [begin, end) of the output read.
  static std::pair<int64_t, int64_t> sourcesOf(ResizeOp op, unsigned d,
                                               int64_t in, int64_t out,
                                               int64_t begin, int64_t end);
};

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_RESIZETAPS_H
