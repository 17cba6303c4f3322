//===- PanelPack.h - A matrix as panels of 16 columns -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELPACK_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELPACK_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

/// Copies columns of a dense row-major matrix into panels [column /
/// 16][row][16] at the beginning of scratch; columns that do not exist become
/// zero.
struct PanelPack {
  int64_t rows, columns;
  bool isTransposed; ///< memory holds the matrix with columns outermost

  int64_t panelSize() const { return rows * 16; }
  /// Panels [first, first + count).
  void emit(KernelBuilder &k, mlir::Value in, Index inOffset,
            mlir::Value scratch, Index firstPanel, Index count) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELPACK_H
