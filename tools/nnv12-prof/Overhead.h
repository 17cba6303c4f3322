//===- Overhead.h - What recording costs ------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_OVERHEAD_H
#define NNV12_TOOLS_NNV12_PROF_OVERHEAD_H

#include "runtime/include/nnv12.hpp"

#include <string>
#include <vector>

namespace nnv12::prof {

/// Nanoseconds.
struct Overhead {
  double run = 0;           ///< the median of runs that are not recorded
  double difference = 0;    ///< the median of what recorded ones take more
  double low = 0, high = 0; ///< where that median is with 95 %
};

/// Of runs that are recorded and runs that are not, in turns, in one session:
/// two sessions differ by where their memory lies more than by what is looked
/// for. Ends the process when a run fails.
Overhead measureOverhead(const std::string &path, const Bundle &bundle,
                         SessionOptions options, nnv12_record_level level,
                         unsigned pairs, const nnv12_counter_source *counters,
                         const std::vector<Input> &in,
                         const std::vector<Output> &out);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_OVERHEAD_H
