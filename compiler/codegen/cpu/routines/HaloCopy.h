//===- HaloCopy.h - Input rows with their padding ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/routines/WindowShape.h"

namespace nnv12::codegen {

/// The input of a runtime tile. It is read in place or, where windows reach
/// outside, `rows` rows and `columns` columns of all planes are copied to
/// scratch, dense. Pixels outside of the height × width of the input become
/// zero.
struct HaloCopy {
  const int64_t planes;        ///< channel blocks
  const int64_t height, width; ///< of the input
  const int64_t pixel;         ///< elements of a pixel: 16 or 1
  bool copies = false;
  int64_t firstColumn = 0; ///< negative in front of the input
  int64_t columns;
  int64_t rows = 0; ///< of a copy

  /// Reads in place.
  HaloCopy(const WindowShape &w, int64_t planes, int64_t pixel)
      : planes(planes), height(w.height), width(w.width), pixel(pixel),
        columns(width) {}
  /// Copies these columns.
  void copyColumns(int64_t first, int64_t count) {
    copies = true;
    firstColumn = first;
    columns = count;
  }

  int64_t rowSize() const { return columns * pixel; }
  int64_t planeSize() const { return (copies ? rows : height) * rowSize(); }
  int64_t scratchBytes() const { return copies ? planes * planeSize() * 4 : 0; }

  /// Copies from row `firstRow` on.
  void emit(KernelBuilder &k, Value in, Index inOffset, Index firstRow,
            Value scratch) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
