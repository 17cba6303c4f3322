//===- ChromeTrace.h - Recordings for chrome://tracing ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_CHROMETRACE_H
#define NNV12_TOOLS_COMMON_CHROMETRACE_H

#include "tools/common/Recorded.h"

#include <string>

namespace nnv12::tools {

/// A recording of the bundle as JSON (Trace Event Format: an object with
/// `traceEvents`), of complete events, each of its thread's. Times are
/// microseconds since the first event.
std::string chromeTrace(const Bundle &bundle, const Recorded &recorded);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_CHROMETRACE_H
