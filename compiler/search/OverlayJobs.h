//===- OverlayJobs.h - A run with an overlay as jobs ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_OVERLAYJOBS_H
#define NNV12_COMPILER_SEARCH_OVERLAYJOBS_H

#include "compiler/search/Overlay.h"
#include "compiler/search/Simulator.h"

namespace nnv12::search {

/// Lanes as simulateOverlay() numbers them.
struct OverlayJobs {
  std::vector<std::vector<Job>> lanes;
  std::vector<std::vector<Operation>> operations; ///< of each job
  size_t counters = 0;                            ///< layers among them
  double start = 0;                               ///< before the first job
};

/// The schedules must be valid. A stretch needs the operations that bring its
/// layers' pipelines and weights, of which those that an earlier stretch needs
/// as well are done by then.
OverlayJobs overlayJobs(const Problem &problem, const Choice &choice,
                        const Schedule &schedule,
                        const OverlaySchedule &overlay, bool cached);

/// Whether a candidate's weights need anything before a coprocessor reads them.
bool hasUpload(const Candidate &candidate);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_OVERLAYJOBS_H
