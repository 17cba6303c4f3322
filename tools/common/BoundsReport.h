//===- BoundsReport.h - Reports accesses outside of operands ----*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_BOUNDSREPORT_H
#define NNV12_TOOLS_COMMON_BOUNDSREPORT_H

namespace nnv12::tools {

/// From now on, a kernel that was compiled with --check-bounds and touches
/// memory outside of its operands ends the process with status 1. A line on
/// standard error names kernel, layer, operand and offset. Other undefined
/// instructions end the process as before.
void reportBoundsFaults();

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_BOUNDSREPORT_H
