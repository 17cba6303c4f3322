//===- SlidingWindow.cpp - Windows over blocked rows without copies -------===//

#include "compiler/codegen/cpu/routines/SlidingWindow.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

SlidingWindow::SlidingWindow(const Target &target, const WindowShape &shape,
                             int64_t countedRight)
    : w(shape), blocks(divideCeil(w.channels, block)),
      countedRight(countedRight) {
  assert(w.kernelCols <= mostKernelCols && "the routine has looked");
  int64_t most = target.vectorRegisters == 32 ? 14 : 7;
  tileCols = divideCeil(w.outWidth, divideCeil(w.outWidth, most));
}

ColumnTile SlidingWindow::columnTile(int64_t first) const {
  assert(first >= 0 && first < w.outWidth && "it begins in the row");
  ColumnTile tile;
  tile.first = first;
  tile.count = std::min(tileCols, w.outWidth - first);
  std::map<int64_t, SmallVector<ColumnTile::Tap>> columns;
  llvm::raw_string_ostream name(tile.name);
  name << tile.count;
  for (int64_t p = 0; p < tile.count; ++p) {
    int64_t inside = 0, counted = 0;
    for (int64_t kx = 0; kx < w.kernelCols; ++kx) {
      int64_t column = p * w.strideCols + kx * w.dilationCols;
      int64_t x = first * w.strideCols - w.left + column;
      counted += x < w.width + countedRight;
      if (x < 0 || x >= w.width) {
        name << '_' << p << 'n' << kx;
        continue;
      }
      ++inside;
      columns[column].push_back({p, kx});
    }
    if (counted != w.kernelCols)
      name << '_' << p << 'c' << counted;
    tile.inside.push_back(inside);
    tile.counted.push_back(counted);
  }
  tile.columns.assign(columns.begin(), columns.end());
  return tile;
}

void SlidingWindow::forEachTile(
    KernelBuilder &k,
    llvm::function_ref<void(const ColumnTile &, Index)> body) const {
  for (int64_t first = 0; first < w.outWidth;) {
    ColumnTile tile = columnTile(first);
    int64_t alike = 1;
    while (first + alike * tileCols < w.outWidth &&
           columnTile(first + alike * tileCols).name == tile.name)
      ++alike;
    k.repeat(alike,
             [&](Index i) { body(tile, k.add(first, k.mul(i, tileCols))); });
    first += alike * tileCols;
  }
}

KernelRows SlidingWindow::kernelRows(KernelBuilder &k, Index outputRow) const {
  KernelRows rows;
  rows.top = k.sub(k.mul(outputRow, w.strideRows), w.top);
  auto firstAtOrAfter = [&](int64_t inputRow) {
    Index distance = k.max(0, k.sub(inputRow, rows.top));
    Index row = k.div(k.add(distance, w.dilationRows - 1), w.dilationRows);
    return k.min(row, w.kernelRows);
  };
  rows.low = firstAtOrAfter(0);
  rows.high = firstAtOrAfter(w.height);
  return rows;
}

KernelInfo SlidingWindow::plan(double workPerPlane) {
  int64_t planes = w.batch * blocks;
  double worth = std::clamp(double(planes) * workPerPlane / 4000, 1.0, 16.0);
  rowBlocks = 1;
  while (double(planes * rowBlocks) < worth && rowBlocks * 2 <= w.outHeight)
    rowBlocks *= 2;
  rowBlock = divideCeil(w.outHeight, rowBlocks);
  rowBlocks = divideCeil(w.outHeight, rowBlock);
  int64_t row = w.outWidth * block, plane = w.outHeight * row;
  return {planes * rowBlocks,
          0,
          {TileMap::grid({{planes, plane}, {w.outHeight, row}, {row, 1}},
                         {{0, planes, 1}, {1, rowBlocks, rowBlock}})}};
}

void SlidingWindow::forEachRow(KernelBuilder &k, Value begin, Value end,
                               llvm::function_ref<void(Index, Index)> body,
                               llvm::function_ref<void(Index)> prologue) const {
  assert(rowBlock * rowBlocks >= w.outHeight && "plan() has been here");
  k.loop(begin, end, 1, [&](Value t) {
    Index first = k.mul(k.rem(t, rowBlocks), rowBlock);
    Index plane = k.div(t, rowBlocks);
    Index last = k.min(k.add(first, rowBlock), w.outHeight);
    if (prologue)
      prologue(plane);
    k.loop(first, last, 1, [&](Value row) { body(plane, row); });
  });
}
