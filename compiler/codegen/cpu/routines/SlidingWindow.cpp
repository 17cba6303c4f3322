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
                             const std::optional<Cells> &cells,
                             int64_t countedRight)
    : w(shape), blocks(divideCeil(w.channels, block)),
      countedRight(countedRight), isInCells(cells.has_value()),
      colBlock(w.outWidth) {
  assert(w.kernelCols <= mostKernelCols && "the routine has looked");
  if (cells) {
    rowBlock = std::min(cells->rows, w.outHeight);
    rowBlocks = divideCeil(w.outHeight, rowBlock);
    colBlock = std::min(cells->cols, w.outWidth);
    colBlocks = divideCeil(w.outWidth, colBlock);
    assert(cells->channels % block == 0 && "channels of a tile are blocks");
    blockChunk = std::min(cells->channels / block, blocks);
  }
  int64_t most = target.vectorRegisters == 32 ? 14 : 7;
  tileCols = divideCeil(colBlock, divideCeil(colBlock, most));
}

ColumnTile SlidingWindow::columnTile(int64_t first, int64_t end) const {
  assert(first >= 0 && first < end && end <= w.outWidth &&
         "it begins in the row");
  ColumnTile tile;
  tile.first = first;
  tile.count = std::min(tileCols, end - first);
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

/// The tiles of columns [first, end), or of as many alike ones from `from` on.
void SlidingWindow::tilesBetween(
    KernelBuilder &k, int64_t first, int64_t end, Index from,
    llvm::function_ref<void(const ColumnTile &, Index)> body) const {
  for (int64_t col = first; col < end;) {
    ColumnTile tile = columnTile(col, end);
    int64_t alike = 1;
    while (col + alike * tileCols < end &&
           columnTile(col + alike * tileCols, end).name == tile.name)
      ++alike;
    Index at = k.add(from, col - first);
    k.repeat(alike,
             [&](Index i) { body(tile, k.add(at, k.mul(i, tileCols))); });
    col += alike * tileCols;
  }
}

/// Names the facts that the code for this cell depends on.
std::string SlidingWindow::cellName(int64_t cell) const {
  std::string name;
  for (int64_t col = cell * colBlock; col < endOf(cell); col += tileCols)
    name += columnTile(col, endOf(cell)).name + " ";
  return name;
}

void SlidingWindow::forEachTile(
    KernelBuilder &k, const OutputRow &at,
    llvm::function_ref<void(const ColumnTile &, Index)> body) const {
  tilesBetween(k, at.alike * colBlock, endOf(at.alike),
               k.mul(at.cell, colBlock), body);
}

void SlidingWindow::forEachCell(
    KernelBuilder &k, Index cell,
    llvm::function_ref<void(int64_t alike)> body) const {
  for (int64_t first = 0, end; first < colBlocks; first = end) {
    std::string name = cellName(first);
    for (end = first + 1; end < colBlocks && cellName(end) == name;)
      ++end;
    if (end - first == colBlocks)
      body(first);
    else
      k.ifThen(k.within(k.sub(cell, first), end - first), [&] { body(first); });
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

KernelInfo SlidingWindow::planCells(double workPerPlane) {
  double cell = workPerPlane * block / double(w.outHeight * w.outWidth) *
                double(rowBlock * colBlock);
  if (blockChunk == 0) {
    auto most =
        std::clamp<int64_t>(int64_t(cellMultiplyAdds / cell), 1, blocks);
    blockChunk = divideCeil(blocks, divideCeil(blocks, most));
  }
  blockChunks = divideCeil(blocks, blockChunk);
  int64_t row = w.outWidth * block, plane = w.outHeight * row;
  return {w.batch * rowBlocks * colBlocks * blockChunks,
          0,
          {TileMap::grid({{w.batch, blocks * plane},
                          {blocks, plane},
                          {w.outHeight, row},
                          {w.outWidth, block},
                          {block, 1}},
                         {{0, w.batch, 1},
                          {2, rowBlocks, rowBlock},
                          {3, colBlocks, colBlock},
                          {1, blockChunks, blockChunk}})}};
}

KernelInfo SlidingWindow::plan(double workPerPlane) {
  if (isInCells)
    return planCells(workPerPlane);
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

void SlidingWindow::prefetchRow(KernelBuilder &k, Value out,
                                const OutputRow &at) const {
  Index row = k.add(k.mul(at.plane, w.outHeight), at.row),
        first = k.add(k.mul(row, w.outWidth), k.mul(at.cell, colBlock));
  k.repeat(endOf(at.alike) - at.alike * colBlock, [&](Index pixel) {
    k.prefetchForStore(out, k.mul(k.add(first, pixel), block));
  });
}

void SlidingWindow::forEachRow(KernelBuilder &k, Value out, Value begin,
                               Value end,
                               llvm::function_ref<void(const OutputRow &)> body,
                               llvm::function_ref<void(Index)> prologue) const {
  assert(rowBlock * rowBlocks >= w.outHeight && "plan() has been here");
  auto rows = [&](OutputRow at, Index first) {
    Index last = k.min(k.add(first, rowBlock), w.outHeight);
    if (prologue)
      prologue(at.plane);
    k.loop(first, last, 1, [&](Value row) {
      at.row = row;
      // All layers keep their results. So old ones are in no cache of the core
      // by the time that a cell writes over some of them.
      if (isInCells)
        prefetchRow(k, out, at);
      body(at);
    });
  };
  k.loop(begin, end, 1, [&](Value t) {
    if (!isInCells) {
      Index first = k.mul(k.rem(t, rowBlocks), rowBlock);
      OutputRow at;
      at.plane = k.div(t, rowBlocks);
      return rows(at, first);
    }
    Index chunk = k.mul(k.rem(t, blockChunks), blockChunk);
    Index position = k.div(t, blockChunks);
    OutputRow at;
    at.cell = k.rem(position, colBlocks);
    position = k.div(position, colBlocks);
    Index first = k.mul(k.rem(position, rowBlocks), rowBlock);
    Index image = k.mul(k.div(position, rowBlocks), blocks);
    forEachCell(k, at.cell, [&](int64_t alike) {
      at.alike = alike;
      k.loop(chunk, k.min(k.add(chunk, blockChunk), blocks), 1,
             [&](Value number) {
               at.plane = k.add(image, number);
               rows(at, first);
             });
    });
  });
}
