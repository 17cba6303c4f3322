//===- PerfettoTrace.h - Recordings for Perfetto ----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_PERFETTOTRACE_H
#define NNV12_TOOLS_COMMON_PERFETTOTRACE_H

#include "tools/common/Recorded.h"

#include <string>

namespace nnv12::tools {

/// A recording of the bundle in Perfetto's own format: protocol buffers, as
/// protos/perfetto/trace/trace.proto of its sources defines them (TrackEvent).
/// Each thread is a track, on which runs, operations and their tiles nest;
/// flows lead from the preparations of a layer's weights to its operations.
/// Times are nanoseconds of CLOCK_MONOTONIC.
std::string perfettoTrace(const Bundle &bundle, const Recorded &recorded);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_PERFETTOTRACE_H
