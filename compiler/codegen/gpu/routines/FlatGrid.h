//===- FlatGrid.h - An invocation for each of many --------------*- C++ -*-===//
//
// Work groups numbered in one row, which is folded where it is longer than a
// grid may be in a dimension.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H

#include "compiler/codegen/gpu/GpuBuilder.h"

namespace nnv12::codegen {

/// Elements of the vectors that kernels load and store.
constexpr int64_t lanes = 4;

struct FlatGrid {
  static constexpr int64_t invocations = 64; ///< of a group
  static constexpr std::array<int32_t, 3> localSize = {invocations, 1, 1};

  /// So many groups. The elements of buffers are few enough.
  static std::array<uint32_t, 3> ofGroups(int64_t groups);
  /// So many invocations, and some more to fill the last group.
  static std::array<uint32_t, 3> of(int64_t count) {
    return ofGroups((count + invocations - 1) / invocations);
  }

  // In the body of a kernel.
  static mlir::Value group(GpuBuilder &k);
  static mlir::Value invocation(GpuBuilder &k);
  /// Emits `body` for the invocations below `count`, which get their number.
  static void forEach(GpuBuilder &k, mlir::Value count,
                      llvm::function_ref<void(mlir::Value)> body);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H
