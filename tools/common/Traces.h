//===- Traces.h - Recordings for other programs -----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_TRACES_H
#define NNV12_TOOLS_COMMON_TRACES_H

#include "tools/common/Recorded.h"

#include <string>

namespace nnv12::tools {

/// A recording of the bundle as JSON (Trace Event Format: an object with
/// `traceEvents`), of complete events, each of its thread's. Times are
/// microseconds since the first event.
std::string chromeTrace(const Bundle &bundle, const Recorded &recorded);

/// A recording of the bundle in Perfetto's own format: protocol buffers, as
/// protos/perfetto/trace/trace.proto of its sources defines them (TrackEvent).
/// Each thread is a track, on which runs, operations and their tiles nest;
/// flows lead from the preparations of a layer's weights to its operations.
/// Times are nanoseconds of CLOCK_MONOTONIC.
std::string perfettoTrace(const Bundle &bundle, const Recorded &recorded);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_TRACES_H
