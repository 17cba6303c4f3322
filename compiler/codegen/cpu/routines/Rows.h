//===- Rows.h - The base of routines along one axis -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/cpu/UnitGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

namespace nnv12::codegen {

/// A dense tensor seen around one axis: [outer, size, inner].
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis);
  int64_t elements() const { return outer * size * inner; }
  /// Where tiles of a grid over (outer, groups of `lanes` inner elements)
  /// write, all along the axis.
  TileMap tileMap(const UnitGrid &grid, int64_t lanes) const;
};

/// Elements of one tensor, read and written in the compute type.
struct Elements {
  KernelBuilder *k;
  mlir::Value memory;
  mlir::Type element; ///< the tensor's
  Elements(KernelBuilder &k, mlir::Value memory, mlir::Value tensor);

  mlir::Type compute() const { return computeType(element); }
  mlir::Value load(Index offset) const;
  /// The first `active` of `lanes`; the others are zero.
  mlir::Value load(Index offset, int64_t lanes, int64_t active) const;
  void store(mlir::Value x, Index offset) const;
  void store(mlir::Value x, Index offset, int64_t active) const;
};

/// The tensor's element type.
mlir::Type elementTypeOf(mlir::Value tensor);

/// body(offset, active) for every vector of `n` consecutive elements.
void forVectors(KernelBuilder &k, int64_t n, int64_t lanes,
                llvm::function_ref<void(Index, int64_t)> body);
/// Folds term(offset, active) over the vectors of `n` elements, then the lanes.
/// The lanes that are not active take the value `identity` (a scalar).
mlir::Value
foldRow(KernelBuilder &k, int64_t n, mlir::Value identity,
        llvm::function_ref<mlir::Value(Index, int64_t)> term,
        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// body(unit) for the units of tiles [begin, end).
void forUnits(KernelBuilder &k, const UnitGrid &grid, mlir::Value begin,
              mlir::Value end, llvm::function_ref<void(Index)> body);

/// Storage types of the layer's results, then its operands.
llvm::SmallVector<mlir::Type> memoriesOf(mlir::Operation *layer);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H
