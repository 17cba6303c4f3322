//===- GpuPreparing.cpp - How long preparing a GPU took -------------------===//
#include "tools/nnv12-prof/GpuPreparing.h"

namespace nnv12::prof {

size_t GpuPreparing::placeOf(uint32_t index) const {
  size_t place = 0;
  while (place < all.size() && all[place].index != index)
    ++place;
  return place;
}

/// Each preparation is done once. Skips records that the plan does not have: a
/// recording is foreign.
static void takeRecords(const tools::Recorded &recorded,
                        GpuPreparing &preparing) {
  for (const nnv12_record &record : recorded.records) {
    if (!tools::isGpuPreparation(record))
      continue;
    size_t place = preparing.placeOf(record.index);
    if (place == preparing.all.size())
      continue;
    GpuPreparation &found = preparing.all[place];
    found.isRecorded = true;
    found.thread = tools::lineName(recorded.info, tools::lineOf(record));
    // A foreign file may have times before the session's beginning.
    found.begin =
        double(static_cast<int64_t>(record.start_ns - recorded.info.start_ns));
    found.took = double(record.duration_ns);
  }
}

GpuPreparing findGpuPreparing(const StoredProgram &stored,
                              const tools::Recorded &recorded) {
  GpuPreparing result;
  if (!recorded.info.has_gpu_threads ||
      recorded.info.level < NNV12_RECORD_OPERATION)
    return result;
  for (tools::PlannedGpuPreparation &planned :
       tools::plannedGpuPreparations(stored.overlays, stored.program))
    static_cast<tools::PlannedGpuPreparation &>(result.all.emplace_back()) =
        std::move(planned);
  takeRecords(recorded, result);
  for (size_t i = 0; i < result.all.size(); ++i) {
    const GpuPreparation &preparation = result.all[i];
    if (!preparation.isRecorded) {
      result.notRecorded.push_back(i);
      continue;
    }
    GpuPreparing::Sum &sum = result.sums[preparation.stage];
    if (sum.preparations == 0 ||
        preparation.took > result.all[sum.longest].took)
      sum.longest = i;
    ++sum.preparations;
    sum.pipelines += preparation.pipelines;
    sum.bytes += preparation.bytes;
    sum.took += preparation.took;
    result.ready = std::max(result.ready, preparation.finished());
  }
  return result;
}

} // namespace nnv12::prof
