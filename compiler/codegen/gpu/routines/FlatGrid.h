//===- FlatGrid.h - An invocation for each of many --------------*- C++ -*-===//
//
// Work groups numbered in one row, which is folded where it is longer than a
// grid may be in a dimension.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H

#include "compiler/codegen/gpu/FrontMemory.h"
#include "compiler/codegen/gpu/GpuBuilder.h"
#include "compiler/codegen/gpu/GpuStep.h"

namespace nnv12::codegen {

/// Elements of the vectors that kernels load and store.
constexpr int64_t lanes = 4;

struct FlatGrid {
  static constexpr int64_t invocations = 64; ///< of a group
  static constexpr std::array<int32_t, 3> localSize = {invocations, 1, 1};

  /// Groups that take so many positions each of `axes` of the operand that is
  /// written. Positions are numbered together; `axes` are outermost first.
  static GpuDispatch over(TileMap memory, ArrayRef<unsigned> axes,
                          int64_t positions = invocations);
  /// Groups that write so many elements each of a front. The elements of all
  /// pieces are numbered together.
  static GpuDispatch over(const FrontMemory &front, int64_t positions);
  /// Groups that write so many elements each, which follow each other.
  static GpuDispatch over(int64_t elements, int64_t positions = invocations) {
    return over(TileMap::grid({{elements, 1}}), {0}, positions);
  }

  // In the body of a kernel.
  static Value group(GpuBuilder &k);
  static Value invocation(GpuBuilder &k);
  /// Emits `body` for the invocations below `count`, which get their number.
  static void forEach(GpuBuilder &k, Value count,
                      function_ref<void(Value)> body);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_FLATGRID_H
