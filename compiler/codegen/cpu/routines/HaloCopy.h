//===- HaloCopy.h - Input rows with their padding ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

/// Copies rows [firstRow, firstRow + rows) and columns [-left, -left +
/// copyWidth) of planes of `vector` elements a pixel into scratch, dense.
/// Pixels outside of the height × width of the input become zero.
struct HaloCopy {
  int64_t planes;        ///< channel blocks
  int64_t height, width; ///< of the input
  int64_t pixel;         ///< elements of a pixel: 16 or 1
  int64_t left;          ///< columns of zeros before the input
  int64_t rows, copyWidth;

  int64_t rowSize() const { return copyWidth * pixel; }
  int64_t planeSize() const { return rows * rowSize(); }
  int64_t size() const { return planes * planeSize(); }

  void emit(KernelBuilder &k, mlir::Value in, Index inOffset, Index firstRow,
            mlir::Value scratch) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
