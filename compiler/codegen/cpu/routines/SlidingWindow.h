//===- SlidingWindow.h - Windows over blocked rows --------------*- C++ -*-===//
//
// The base of depthwise convolution and pooling: they go over output rows in
// tiles of neighbouring pixels. Borders cost no copy. Column tiles at the left
// and right leave out the taps that fall outside, since the compiler knows
// them; rows at the top and bottom run a shorter loop over kernel rows.
//
// In cells, a runtime tile has some rows of a cell's columns in a chunk of
// planes, so that the tiles of a cell follow each other.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_SLIDINGWINDOW_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_SLIDINGWINDOW_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/routines/Cells.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include <optional>

namespace nnv12::codegen {

/// A tile of neighbouring output pixels of a row.
struct ColumnTile {
  int64_t first, count;
  struct Tap {
    int64_t pixel, kernelCol;
  };
  /// The taps that lie inside the input, by their input column relative to that
  /// of (pixel 0, kernel column 0).
  SmallVector<std::pair<int64_t, SmallVector<Tap>>> columns;
  /// By pixel: how many taps are inside, and how many are in input and padding.
  SmallVector<int64_t> inside, counted;
  /// Names the facts that the code for this tile depends on.
  std::string name;
};

/// The kernel rows of one output row.
struct KernelRows {
  Index top;       ///< input row of kernel row 0, may be negative
  Index low, high; ///< those inside the input
};

/// An output row of a plane, or a cell's part of it.
struct OutputRow {
  Index plane, row;
  Index cell;        ///< its number in the row of cells
  int64_t alike = 0; ///< a cell that has the same code
};

class SlidingWindow {
public:
  /// A kernel row is straight-line code: it should not be longer.
  static constexpr int64_t mostKernelCols = 64;
  /// Columns of a cell: one micro-kernel of AVX-512 or Arm's, two of AVX2.
  static constexpr int64_t cellCols = 10;

  /// `countedRight`: columns of padding at the right that count as window
  /// elements (averages). `cells`: the size of cells, if there are any.
  SlidingWindow(const Target &target, const WindowShape &shape,
                const std::optional<Cells> &cells, int64_t countedRight = 0);

  const WindowShape w;
  const int64_t blocks; ///< of an image's channels: each is a plane
  int64_t tileCols;

  /// Whether small code counts more than the last percents of its speed:
  /// layers share micro-kernels then, which have short loops and get the
  /// distance of rows as an argument.
  bool isCompact() const { return isInCells; }
  /// Input distance of neighbouring kernel rows.
  int64_t rowStep() const { return w.dilationRows * w.width * block; }
  /// Whether the last block has channels that do not exist.
  bool hasPadding() const { return w.channels % block; }

  /// Calls body(tile, first column) for the tiles of the row; neighbours that
  /// are alike share one body in a loop.
  void forEachTile(KernelBuilder &k, const OutputRow &at,
                   function_ref<void(const ColumnTile &, Index)> body) const;
  KernelRows kernelRows(KernelBuilder &k, Index outputRow) const;
  /// The runtime tiles: (plane, row block), or (image, row block, column block,
  /// chunk of blocks); body(row) for each row, behind prologue(plane), which
  /// may be absent. `out` is the result's memory.
  void forEachRow(KernelBuilder &k, Value out, Value begin, Value end,
                  function_ref<void(const OutputRow &)> body,
                  function_ref<void(Index plane)> prologue = nullptr) const;
  /// Chooses the row block and says what the tiles are; work is multiply-adds
  /// or the like.
  KernelInfo plan(double workPerPlane);

private:
  ColumnTile columnTile(int64_t first, int64_t end) const;
  void tilesBetween(KernelBuilder &k, int64_t first, int64_t end, Index from,
                    function_ref<void(const ColumnTile &, Index)> body) const;
  std::string cellName(int64_t cell) const;
  /// Calls body(alike) in code that runs for the cells like that one.
  void forEachCell(KernelBuilder &k, Index cell,
                   function_ref<void(int64_t alike)> body) const;
  int64_t endOf(int64_t cell) const {
    return std::min((cell + 1) * colBlock, w.outWidth);
  }
  KernelInfo planCells(double workPerPlane);
  /// Fetches a cell's part of a row, which will be written.
  void prefetchRow(KernelBuilder &k, Value out, const OutputRow &at) const;

  int64_t countedRight, rowBlock = 1, rowBlocks = 1;
  bool isInCells;
  int64_t colBlock, colBlocks = 1; ///< all columns where there are no cells
  /// 0 until plan(), unless cells have a number of channels.
  int64_t blockChunk = 0, blockChunks = 1;
};

/// The misfit of a routine that unrolls the columns of a window; empty where
/// they are few enough.
inline std::string misfitOfColumns(int64_t kernelCols) {
  return kernelCols <= SlidingWindow::mostKernelCols
             ? ""
             : "its window has more columns than are unrolled";
}

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_SLIDINGWINDOW_H
