//===- GpuJobs.h - A run with a GPU as jobs of the simulator ----*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_GPUJOBS_H
#define NNV12_COMPILER_SEARCH_GPUJOBS_H

#include "compiler/search/Gpu.h"
#include "compiler/search/Simulator.h"

namespace nnv12::search {

/// Lanes as simulateGpu() numbers them.
struct GpuJobs {
  std::vector<std::vector<Job>> lanes;
  std::vector<std::vector<Operation>> operations; ///< of each job
  size_t counters = 0;                            ///< layers among them
  double start = 0;                               ///< before the first job
};

/// The schedules must be valid. A stretch needs the operations that bring its
/// layers' pipelines and weights, of which those that an earlier stretch needs
/// as well are done by then.
GpuJobs gpuJobs(const Problem &problem, const Choice &choice,
                const Schedule &schedule, const GpuSchedule &gpu, bool cached);

/// Whether a candidate's weights need anything before the GPU can read them.
bool hasUpload(const GpuCandidate &candidate);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_GPUJOBS_H
