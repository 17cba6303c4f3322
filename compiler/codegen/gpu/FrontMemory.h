//===- FrontMemory.h - Where fronts of tensors lie --------------*- C++ -*-===//
//
// Steps may compute the front of a layer's result (Cut.h). They touch the front
// of each tensor along one of its dimensions. A tensor's front lies where the
// whole tensor has it, so it may be several runs of memory.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_FRONTMEMORY_H
#define NNV12_COMPILER_CODEGEN_GPU_FRONTMEMORY_H

#include "compiler/codegen/gpu/GpuStep.h"
#include "compiler/routines/Cut.h"
#include "compiler/routines/Routine.h"
#include "dialects/nn/Layout.h"

namespace nnv12::codegen {

/// The front of a tensor, in elements: `pieces` runs of `size`, `distance`
/// apart, from the first element on.
struct FrontMemory {
  int64_t pieces = 1, size = 0, distance = 0;
  int64_t all = 0; ///< elements of the whole tensor, padding included

  /// Positions [0, end) of a dimension. A block that is cut belongs to it.
  static FrontMemory of(mlir::RankedTensorType type, unsigned dim, int64_t end);
  bool isWhole() const { return elements() == all; }
  int64_t elements() const { return pieces * size; }
  /// The tensor's memory, with the front as the box. The axes are pieces, if
  /// there are several, and their elements.
  TileMap map() const;
};

/// A front along the dimension ends at a multiple of so many positions: a block
/// has 16, a dimension without blocks one.
int64_t positionsTogether(mlir::RankedTensorType type, unsigned dim);

/// The extent of the dimension along which the layer's result is cut.
int64_t cutExtent(mlir::Operation *layer, unsigned dim);
/// The cut that has all of the result in front.
Cut wholeCut(mlir::Operation *layer);
bool isWholeCut(mlir::Operation *layer, Cut cut);

/// The front of the layer's result.
FrontMemory frontOfResult(mlir::Operation *layer, Cut cut);
/// The front's part of the result's memory: 1 for all of it.
double shareOfFront(mlir::Operation *layer, Cut cut);
/// The front's part of `work`, which is the whole layer's.
Work workOfFront(Work work, mlir::Operation *layer, Cut cut);

/// Sets the parts of tensors that `steps` touch, which compute the front. A
/// part that the routine has set stays. A needed part may be no front of the
/// operand along one dimension: then the smallest front around it is set.
void setTouchedParts(GpuSteps &steps, mlir::Operation *layer,
                     const Routine &routine, Cut cut);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_FRONTMEMORY_H
