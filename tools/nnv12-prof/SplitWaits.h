//===- SplitWaits.h - Waiting in splits -------------------------*- C++ -*-===//
//
// CPU and GPU compute a split at once. A run goes on when the slower one has
// finished. Times are nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_SPLITWAITS_H
#define NNV12_TOOLS_NNV12_PROF_SPLITWAITS_H

#include "tools/common/Recorded.h"

namespace nnv12::prof {

/// One split; medians of its runs.
struct SplitWait {
  uint32_t operation = 0; ///< its first one
  uint32_t count = 0;     ///< of operations
  uint32_t runs = 0;
  double time = 0;  ///< from handing it over until its end is seen
  double parts = 0; ///< the CPU's, from the first one's start to their end
  /// From the end of the parts on, the CPU waited for the GPU.
  double waited = 0;
  double kernels = 0; ///< the GPU's, together; 0: not known
};

/// The splits of runs from `firstRun` on, by their first operation.
std::vector<SplitWait> findSplitWaits(const tools::Recorded &recorded,
                                      uint32_t firstRun);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_SPLITWAITS_H
