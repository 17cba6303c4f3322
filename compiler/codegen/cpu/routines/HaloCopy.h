//===- HaloCopy.h - Input rows with their padding ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/routines/WindowShape.h"

namespace nnv12::codegen {

/// The input of a runtime tile. It is read in place or, where windows reach
/// outside, `rows` rows and `columns` columns of all planes are copied to
/// scratch, dense. Pixels outside of the height × width of the input become
/// zero, or the value of `fill`.
struct HaloCopy {
  const int64_t planes;        ///< channel blocks, times taps
  const int64_t height, width; ///< of the input
  const int64_t pixel;         ///< elements of a pixel: 16 or 1
  const int64_t elementSize;   ///< 4 for f32, 1 for bytes
  bool copies = false;
  /// Whether a copy of unsigned bytes has floats.
  bool makesFloats = false;
  /// Whether a copy has bytes less 128, as signed bytes.
  bool flips = false;
  int64_t firstColumn = 0; ///< negative in front of the input
  int64_t columns;
  int64_t rows = 0; ///< of a copy
  /// Planes of a channel block in the input, where windows have depth; else 0.
  /// The copy has the planes of all `taps` side by side.
  int64_t planesOfBlock = 0, taps = 1, tapDistance = 1;

  /// Reads in place.
  HaloCopy(const WindowShape &w, int64_t planes, int64_t pixel,
           int64_t elementSize = 4)
      : planes(planes), height(w.height), width(w.width), pixel(pixel),
        elementSize(elementSize), columns(width) {}
  /// Copies these columns.
  void copyColumns(int64_t first, int64_t count) {
    copies = true;
    firstColumn = first;
    columns = count;
  }

  int64_t rowSize() const { return columns * pixel; }
  int64_t planeSize() const { return (copies ? rows : height) * rowSize(); }
  int64_t scratchBytes() const {
    return copies ? planes * planeSize() * (makesFloats ? 4 : elementSize) : 0;
  }

  /// Copies from row `firstRow` on. `fill`: an element of the input; null for
  /// zero. `firstPlane`: that of the first tap, inside of the input or not.
  void emit(KernelBuilder &k, Value in, Index inOffset, Index firstRow,
            Value scratch, Value fill = {}, Index firstPlane = 0) const;
  /// Copies a cell, whose columns begin at `firstCol` in place of
  /// `firstColumn`. The input has no depth.
  void emitCell(KernelBuilder &k, Value in, Index inOffset, Index firstRow,
                Index firstCol, Value scratch, Value fill = {}) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_HALOCOPY_H
