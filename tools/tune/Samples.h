//===- Samples.h - The middle of repeated measurements ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_TUNE_SAMPLES_H
#define NNV12_TOOLS_TUNE_SAMPLES_H

#include "tools/common/Statistics.h"

namespace nnv12::tune {

/// The median of those times, at least one, that nobody disturbed: what took half
/// as long again as the fastest was interrupted, by another program or by the system.
inline double undisturbedMedian(std::vector<double> times) {
  double limit = 1.5 * *std::min_element(times.begin(), times.end());
  times.erase(std::remove_if(times.begin(), times.end(),
                             [&](double time) { return time > limit; }),
              times.end());
  return tools::Statistics(std::move(times)).median;
}

} // namespace nnv12::tune

#endif // NNV12_TOOLS_TUNE_SAMPLES_H
