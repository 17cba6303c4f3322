//===- Recorded.cpp - A session's records ---------------------------------===//
#include "tools/common/Recorded.h"

#include <map>

namespace nnv12::tools {

void Recorded::read(Recording &recording) {
  records = recording.readAll(lost);
  // After the records, which it counts.
  info = recording.info();
  std::stable_sort(records.begin(), records.end(),
                   [](const nnv12_record &a, const nnv12_record &b) {
                     return nestsBefore(a.start_ns, a.duration_ns, b.start_ns,
                                        b.duration_ns);
                   });
}

const char *kindName(const nnv12_record &record) {
  static constexpr const char *names[] = {
      "execute",      "read",         "decode",     "transform",
      "thread start", "run",          "tiles",      "wait",
      "join",         "counter",      "gpu submit", "gpu kernel",
      "gpu device",   "gpu pipeline", "gpu upload", "gpu commands",
      "match",        "merge"};
  return record.kind < std::size(names) ? names[record.kind] : "other";
}

static std::string layerOf(const Bundle &bundle, uint32_t operation) {
  nnv12_bundle_info info = bundle.info();
  if (operation < info.num_operations)
    return bundle.operation(operation).layer;
  operation -= info.num_operations;
  return operation < info.num_preparations ? bundle.preparation(operation).layer
                                           : "?";
}

std::string nameOf(const Bundle &bundle, const nnv12_record &record) {
  if (isPreparation(record))
    return record.index < bundle.info().num_preparations
               ? bundle.preparation(record.index).layer
               : "?";
  switch (record.kind) {
  case NNV12_RECORD_EXECUTE:
  case NNV12_RECORD_TILES:
  case NNV12_RECORD_JOIN:
  case NNV12_RECORD_GPU_KERNEL:
  case NNV12_RECORD_MERGE:
    return record.index < bundle.info().num_operations
               ? layerOf(bundle, record.index)
               : "?";
  case NNV12_RECORD_MATCH:
    return record.index < bundle.numInputs() ? bundle.input(record.index).name
                                             : "?";
  case NNV12_RECORD_WAIT:
    return "wait for " + layerOf(bundle, record.index);
  case NNV12_RECORD_GPU_SUBMIT:
    return "GPU from " + layerOf(bundle, record.index) + " on";
  case NNV12_RECORD_GPU_DEVICE:
  case NNV12_RECORD_GPU_PIPELINE:
  case NNV12_RECORD_GPU_UPLOAD:
  case NNV12_RECORD_GPU_COMMANDS:
    return std::string(kindName(record)) + ", g" + std::to_string(record.index);
  case NNV12_RECORD_WHOLE_RUN:
    return "run " + std::to_string(record.run);
  default:
    return kindName(record);
  }
}

const char *kernelOf(const Bundle &bundle, const nnv12_record &record) {
  nnv12_bundle_info info = bundle.info();
  if (isPreparation(record))
    return record.index < info.num_preparations
               ? bundle.preparation(record.index).kernel
               : "";
  if (record.kind != NNV12_RECORD_EXECUTE ||
      record.index >= info.num_operations)
    return "";
  if (record.flags & NNV12_RECORD_SWITCHED)
    for (uint32_t i = 0; i < info.num_switches; ++i)
      if (bundle.kernelSwitch(i).operation == record.index)
        return bundle.kernelSwitch(i).kernel;
  return bundle.operation(record.index).kernel;
}

uint32_t numLines(const Recorded &recorded) {
  uint32_t count = recorded.info.num_threads;
  for (const nnv12_record &record : recorded.records)
    if (isGpuPreparation(record))
      count = std::max(count, lineOf(record) + 1);
  return count;
}

std::string lineName(const nnv12_recording_info &info, uint32_t line) {
  if (line == 0)
    return "execute lane";
  if (line <= info.num_preparing)
    return "preparation " + std::to_string(line);
  return line < info.num_threads
             ? "compute " + std::to_string(line - info.num_preparing + 1)
             : "GPU preparation " + std::to_string(line - info.num_threads + 1);
}

namespace {
/// The recorded times of a run's operations.
struct RunTimes {
  std::vector<uint64_t> times;
  std::vector<bool> isKnown;
  uint32_t numKnown = 0;

  void know(uint32_t operation) {
    numKnown += !isKnown[operation];
    isKnown[operation] = true;
  }
};
} // namespace

std::vector<std::vector<uint64_t>>
operationTimes(const std::vector<nnv12_record> &records,
               uint32_t numOperations) {
  std::map<uint32_t, RunTimes> runs;
  for (const nnv12_record &record : records) {
    if (record.kind == NNV12_RECORD_WHOLE_RUN && numOperations == 0)
      runs[record.run];
    bool isKernel = record.kind == NNV12_RECORD_GPU_KERNEL,
         isSubmit = record.kind == NNV12_RECORD_GPU_SUBMIT;
    if (record.index >= numOperations ||
        (record.kind != NNV12_RECORD_EXECUTE && !isKernel && !isSubmit))
      continue;
    RunTimes &of = runs[record.run];
    of.times.resize(numOperations);
    of.isKnown.resize(numOperations);
    if (!isSubmit)
      of.times[record.index] += record.duration_ns;
    uint32_t end =
        isSubmit ? endOfSubmission(record, numOperations) : record.index + 1;
    for (uint32_t i = record.index; i < end; ++i)
      of.know(i);
  }
  std::vector<std::vector<uint64_t>> result;
  for (auto &[run, of] : runs)
    if (of.numKnown == numOperations)
      result.push_back(std::move(of.times));
  return result;
}

std::vector<bool> operationsOnGpu(const std::vector<nnv12_record> &records,
                                  uint32_t numOperations) {
  std::vector<bool> result(numOperations);
  for (const nnv12_record &record : records)
    if (record.kind == NNV12_RECORD_GPU_SUBMIT)
      for (uint32_t i = record.index;
           i < endOfSubmission(record, numOperations); ++i)
        result[i] = true;
  return result;
}

} // namespace nnv12::tools
