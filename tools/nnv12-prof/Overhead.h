//===- Overhead.h - The cost of recording -----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_OVERHEAD_H
#define NNV12_TOOLS_NNV12_PROF_OVERHEAD_H

#include "runtime/include/nnv12.hpp"

#include <string>
#include <vector>

namespace nnv12::prof {

/// Nanoseconds.
struct Overhead {
  double run = 0; ///< the median of runs that are not recorded
  /// the median of the time that recorded ones take more
  double difference = 0;
  double low = 0, high = 0; ///< where that median is with 95 %
};

/// Measures runs that are recorded and runs that are not, in turns, in one
/// session: the places of two sessions' memory make a larger difference than
/// recording. Ends the process when a run fails.
Overhead measureOverhead(const std::string &path, const Bundle &bundle,
                         SessionOptions options, nnv12_record_level level,
                         unsigned pairs, const nnv12_counter_source *counters,
                         const std::vector<Input> &in,
                         const std::vector<Output> &out);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_OVERHEAD_H
