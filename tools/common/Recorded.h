//===- Recorded.h - A session's records -------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_RECORDED_H
#define NNV12_TOOLS_COMMON_RECORDED_H

#include "runtime/include/nnv12.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace nnv12::tools {

/// Something that a tool did, on the thread that runs the session; nanoseconds
/// of CLOCK_MONOTONIC.
struct ToolStage {
  const char *name;
  uint64_t start, end;
};

/// A recording, read.
struct Recorded {
  nnv12_recording_info info = {};
  std::vector<nnv12_record> records; ///< as they nest
  uint64_t lost = 0; ///< records that newer ones took the place of
  std::vector<ToolStage> stages;
  /// Counters that were wanted and are not there, and why; "" : none.
  std::string countersState;
  /// Nanoseconds of CPUs that other programs used meanwhile; negative: not
  /// known.
  double othersCpu = -1;

  /// Reads all that is new. Records that were there before are forgotten.
  void read(Recording &recording);
};

/// The order in which stretches of time nest: by start, longer ones first. A
/// record that took no time ends those before it.
inline bool nestsBefore(uint64_t start, uint64_t duration, uint64_t otherStart,
                        uint64_t otherDuration) {
  if (start != otherStart)
    return start < otherStart;
  if (!duration || !otherDuration)
    return !duration && otherDuration;
  return duration > otherDuration;
}

inline uint64_t endOf(const nnv12_record &record) {
  return record.start_ns + record.duration_ns;
}

/// Whether `index` is a preparation's.
inline bool isPreparation(const nnv12_record &record) {
  return record.kind >= NNV12_RECORD_READ &&
         record.kind <= NNV12_RECORD_TRANSFORM;
}

/// Whether it says that a frame of a stream kept the result of an operation,
/// which took no time.
inline bool isSkipped(const nnv12_record &record) {
  return record.kind == NNV12_RECORD_EXECUTE &&
         (record.flags & NNV12_RECORD_SKIPPED);
}

/// "execute", "read"..., "other" for kinds of newer runtimes.
const char *kindName(const nnv12_record &record);

/// The layer that a record is about, or a name for a record that is about none.
/// Records are foreign: numbers that the bundle does not have give "?".
std::string nameOf(const Bundle &bundle, const nnv12_record &record);
/// The kernel that ran, or "".
const char *kernelOf(const Bundle &bundle, const nnv12_record &record);

/// Whether it is of a thread that prepares for a GPU.
inline bool isGpuPreparation(const nnv12_record &record) {
  return record.kind >= NNV12_RECORD_GPU_DEVICE &&
         record.kind <= NNV12_RECORD_GPU_COMMANDS;
}

/// The line of a picture that a record stands on: a line a thread, those that
/// prepare for a GPU below.
inline uint32_t lineOf(const nnv12_record &record) {
  return record.thread + (isGpuPreparation(record) ? record.lane : 0);
}
/// How many there are.
uint32_t numLines(const Recorded &recorded);
/// "execute lane", "preparation 1", "compute 2", "GPU preparation 1"...
std::string lineName(const nnv12_recording_info &info, uint32_t line);

/// Behind the last of so many operations that a submission to a GPU computes,
/// the first of which is its index.
inline uint32_t endOfSubmission(const nnv12_record &submit,
                                uint32_t numOperations) {
  return uint32_t(
      std::min<uint64_t>(uint64_t(submit.index) + submit.count, numOperations));
}

/// Nanoseconds of each of so many operations, run by run, of those runs of
/// which all operations are there. An operation on a GPU takes the time of its
/// kernels, 0 where there were no time stamps.
std::vector<std::vector<uint64_t>>
operationTimes(const std::vector<nnv12_record> &records,
               uint32_t numOperations);
/// Which of so many a GPU computed in any of the runs.
std::vector<bool> operationsOnGpu(const std::vector<nnv12_record> &records,
                                  uint32_t numOperations);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_RECORDED_H
