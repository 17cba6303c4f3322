//===- BoundsFault.h - How a checked kernel reports an access ---*- C++ -*-===//
//
// A kernel that nnv12c --check-bounds has changed stops at an access outside of
// its operands: at an instruction that is undefined on purpose, known by its
// bytes, with the facts in the first five argument registers of the C calling
// convention. Tools report it (tools/common/BoundsReport.h); any other process
// ends with SIGILL.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_BOUNDSFAULT_H
#define NNV12_ARTIFACT_BOUNDSFAULT_H

#include <cstdint>

namespace nnv12::artifact {

/// In the order of the registers.
struct BoundsFault {
  const char *title; ///< kernel and layer, in the code
  int64_t operand;   ///< in the kernel's table, scratch behind the last; -1: a
                     ///< table of constants
  int64_t offset;    ///< of the access, in bytes
  int64_t bytes;     ///< that it reads or writes
  int64_t size;      ///< of the operand
};

/// Follows ud2 on x86-64: "nnvb".
constexpr uint32_t boundsFaultMarker = 0x62766e6e;
/// The udf instruction on aarch64.
constexpr uint32_t boundsFaultInstruction = 0x0000b0d5;

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_BOUNDSFAULT_H
