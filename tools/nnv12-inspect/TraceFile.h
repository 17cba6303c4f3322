//===- TraceFile.h - Reads a trace of nnv12-run -----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_TRACEFILE_H
#define NNV12_TOOLS_NNV12_INSPECT_TRACEFILE_H

#include "tools/page/PlanPage.h"

#include <string>
#include <vector>

namespace nnv12::tools {

/// Reads the Chrome trace `path` (an object with `traceEvents`, or their array
/// alone) and finds each event's operation in the plan: by `args.index` (of the
/// program's executes for an execute, else of its preparations); without it
/// by layer and stage, the first event of a pair to the plan's first, and so
/// on. An operation may have several events, as when threads share it. Events
/// of other phases than "X" are passed over. Ends the process with one line
/// where the file cannot be read, is damaged, or shares no operation with the
/// plan.
std::vector<TraceEvent> readTrace(const std::string &path, const Plan &plan,
                                  const std::string &bundlePath);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_TRACEFILE_H
