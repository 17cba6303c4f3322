//===- SplitWaits.cpp - Waiting in splits ---------------------------------===//
#include "tools/nnv12-prof/SplitWaits.h"

#include "tools/common/Statistics.h"

#include <algorithm>
#include <map>

namespace nnv12::prof {

using tools::endOf;

namespace {

/// A split in one run.
struct SplitRun {
  const nnv12_record *submit = nullptr;
  uint64_t begin = UINT64_MAX, end = 0; ///< of the parts
  double kernels = 0;
};

/// The times of a split in several runs.
struct Samples {
  uint32_t count = 0;
  std::vector<double> time, parts, waited, kernels;
};

} // namespace

std::vector<SplitWait> findSplitWaits(const tools::Recorded &recorded,
                                      uint32_t firstRun) {
  std::map<uint32_t, std::vector<SplitRun>> submissions; ///< by run
  for (const nnv12_record &record : recorded.records)
    if (record.kind == NNV12_RECORD_GPU_SUBMIT && record.run >= firstRun) {
      SplitRun &split = submissions[record.run].emplace_back();
      split.submit = &record;
    }
  for (const nnv12_record &record : recorded.records) {
    bool isPart = record.kind == NNV12_RECORD_EXECUTE &&
                  (record.flags & NNV12_RECORD_PARTIAL);
    bool isKernel = record.kind == NNV12_RECORD_GPU_KERNEL;
    auto of = submissions.find(record.run);
    if ((!isPart && !isKernel) || of == submissions.end())
      continue;
    for (SplitRun &split : of->second) {
      const nnv12_record &submit = *split.submit;
      bool isInside =
          record.start_ns >= submit.start_ns && record.start_ns < endOf(submit);
      if (isKernel &&
          record.index - submit.index < std::max<uint32_t>(1, submit.count))
        split.kernels += double(record.duration_ns);
      if (isPart && isInside) {
        split.begin = std::min(split.begin, record.start_ns);
        split.end = std::max(split.end, endOf(record));
      }
    }
  }
  std::map<uint32_t, Samples> all;
  for (const auto &[run, splits] : submissions)
    for (const SplitRun &split : splits) {
      if (split.end == 0)
        continue; // the GPU computed all of it
      const nnv12_record &submit = *split.submit;
      Samples &of = all[submit.index];
      of.count = submit.count;
      of.time.push_back(double(submit.duration_ns));
      of.parts.push_back(double(split.end - split.begin));
      of.waited.push_back(
          std::max(0.0, double(endOf(submit)) - double(split.end)));
      if (split.kernels > 0)
        of.kernels.push_back(split.kernels);
    }
  std::vector<SplitWait> result;
  for (const auto &[operation, of] : all)
    result.push_back({operation, of.count, uint32_t(of.time.size()),
                      tools::median(of.time), tools::median(of.parts),
                      tools::median(of.waited),
                      of.kernels.empty() ? 0 : tools::median(of.kernels)});
  return result;
}

} // namespace nnv12::prof
