//===- Report.h - How the tools report faults -------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_REPORT_H
#define NNV12_TOOLS_COMMON_REPORT_H

#include <string>

namespace nnv12::tools {

/// Sets the beginning of messages. From now on a process that gets no more
/// memory says so in one line and ends with 1.
void setToolName(const char *name);
const char *toolName();

/// Prints "TOOL: MESSAGE" as one line on standard error and exits with 1.
[[noreturn]] void fail(const std::string &message);
/// The same for the message of a function that returns "" where all is well.
inline void failIf(const std::string &error) {
  if (!error.empty())
    fail(error);
}

/// From now on, a kernel that was compiled with --check-bounds and touches
/// memory outside of its operands ends the process with status 1. A line on
/// standard error names kernel, layer, operand and offset. Other undefined
/// instructions end the process as before.
void reportBoundsFaults();

/// Flushes standard output; a failure to write it (full disk, closed pipe) is
/// an error of the tool. For the end of main().
void finishOutput();

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_REPORT_H
