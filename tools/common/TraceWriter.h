//===- TraceWriter.h - Traces for Perfetto and Chrome -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_TRACEWRITER_H
#define NNV12_TOOLS_COMMON_TRACEWRITER_H

#include "runtime/include/nnv12.hpp"

#include <string>
#include <vector>

namespace nnv12::tools {

/// Memory for the events of a session, and what the tool itself did.
class TraceRecorder {
public:
  /// For a session of `bundle` that runs `runs` times.
  TraceRecorder(const Bundle &bundle, unsigned runs);

  /// For SessionOptions.
  nnv12_trace *trace() { return &header; }
  /// Something that the main thread did; nanoseconds of CLOCK_MONOTONIC.
  void addStage(const char *name, uint64_t start, uint64_t end) {
    stages.push_back({name, start, end});
  }

  /// The trace as JSON (Trace Event Format: an object with `traceEvents`), of
  /// complete events whose thread is the lane. Times are microseconds since the
  /// first event. After the session was closed.
  std::string json(const Bundle &bundle) const;
  /// Nanoseconds of each of so many operations, by run, the first one first.
  /// After the session was closed, or between runs where all is prepared.
  std::vector<std::vector<uint64_t>> runs(uint32_t numOperations) const;
  /// Forgets events. When runs() may be called.
  void clear() { header.count = header.dropped = 0; }
  uint32_t dropped() const { return header.dropped; }

private:
  struct Stage {
    const char *name;
    uint64_t start, end;
  };

  std::vector<nnv12_trace_event> events;
  nnv12_trace header;
  std::vector<Stage> stages;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_TRACEWRITER_H
