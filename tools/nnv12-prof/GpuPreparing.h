//===- GpuPreparing.h - How long preparing a GPU took -----------*- C++ -*-===//
//
// The preparations that a plan has for a GPU, with their records. Times are
// nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_GPUPREPARING_H
#define NNV12_TOOLS_NNV12_PROF_GPUPREPARING_H

#include "tools/common/Recorded.h"
#include "tools/nnv12-prof/StoredProgram.h"
#include "tools/page/GpuPlanJson.h"

#include <array>

namespace nnv12::prof {

struct GpuPreparation : tools::PlannedGpuPreparation {
  bool isRecorded = false;
  // The record, if there is one.
  std::string thread;         ///< the line of a picture that it is on
  double begin = 0, took = 0; ///< since the session's beginning; and how long

  double finished() const { return begin + took; }
};

struct GpuPreparing {
  /// The recorded preparations of one stage, all threads together.
  struct Sum {
    uint32_t preparations = 0, pipelines = 0;
    uint64_t bytes = 0;
    double took = 0;
    size_t longest = 0; ///< the place of the one that took longest

    /// Bytes a nanosecond.
    double rate() const { return took > 0 ? double(bytes) / took : 0; }
  };

  /// All that are planned, in the plan's order. None: no threads prepare for a
  /// GPU, or a recording of runs alone knows nothing of them.
  std::vector<GpuPreparation> all;
  std::array<Sum, bundle::GpuStage_MAX + 1> sums = {}; ///< by stage
  /// Since the session's beginning, until the last one that was recorded had
  /// finished.
  double ready = 0;
  std::vector<size_t> notRecorded; ///< places

  const Sum &of(bundle::GpuStage stage) const { return sums[stage]; }
  /// The place of that of records with the index; all.size(): there is none.
  size_t placeOf(uint32_t index) const;
};

GpuPreparing findGpuPreparing(const StoredProgram &stored,
                              const tools::Recorded &recorded);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_GPUPREPARING_H
