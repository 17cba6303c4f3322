//===- ConvMatrix.cpp - Convolutions on a matrix unit ---------------------===//

#include "compiler/codegen/cpu/routines/ConvMatrix.h"
#include "compiler/codegen/cpu/MatrixUnit.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/MatrixKernel.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

/// Bytes of a position's window.
static int64_t windowBytes(const ConvPanels &c) {
  return c.inBlocks * c.taps() * panelWidth;
}

bool codegen::suitsMatrixUnit(const ConvPanels &c) {
  return c.block == panelWidth && !c.hasDepth() &&
         suitsMatrixUnit(c.w.outHeight * c.w.outWidth, windowBytes(c),
                         c.outChannels);
}

bool codegen::readsRowsInPlace(const ConvPanels &c) {
  const WindowShape &w = c.w;
  // Three or four pixels of 16 bytes are a step. Tiles are cut from a row of
  // the result. A copy has all of a step's 64 bytes, which pays for many
  // outputs.
  int64_t most = 2 * MatrixUnit::mostRows, group = std::min(most, w.outWidth);
  int64_t computed = llvm::divideCeil(w.outWidth, group) *
                     llvm::alignTo(group, MatrixUnit::mostRows);
  return (w.kernelCols == 3 || w.kernelCols == 4) && w.dilationCols == 1 &&
         4 * computed <= 5 * w.outWidth && c.outChannels <= 64;
}

void codegen::describeRowsInPlace(PanelShape &shape) {
  shape.channelBlock *= shape.kernelCols;
  shape.channelTail = 0; // its last channels are zeros
  shape.kernelCols = 1;
}

namespace {

/// Writes the windows of consecutive positions as rows in scratch.
struct WindowRows {
  const ConvPanels &c;
  MatrixRow row;
  int64_t rowSize;        ///< distance of the rows
  int64_t inRow, inPlane; ///< distances of the input's rows and planes

  /// Writes those of positions [first, first + count) from `to` on. `from` is
  /// the start of the first window in the image row of position `first`.
  void emit(KernelBuilder &k, Value in, Index from, Index first, Index count,
            Value scratch, Index to) const;

private:
  void window(KernelBuilder &k, Value in, Index from, Value scratch, Index to,
              int64_t blocks, bool hasZeros) const;
};

} // namespace

/// `blocks` blocks of a position's window, and the row's zeros.
void WindowRows::window(KernelBuilder &k, Value in, Index from, Value scratch,
                        Index to, int64_t blocks, bool hasZeros) const {
  const WindowShape &w = c.w;
  int64_t done = 0;
  auto store = [&](Value x, int64_t bytes) {
    k.store(x, scratch, to);
    to = k.add(to, bytes);
  };
  // Neighbouring columns lie side by side, as in the row.
  int64_t most = w.dilationCols == 1 ? 4 : 1;
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t y = 0; y < w.kernelRows; ++y)
      for (int64_t x = 0, count; x < w.kernelCols; x += count) {
        int64_t left = w.kernelCols - x;
        if (hasZeros && done < row.rest)
          left = std::min(left, (row.rest - done) / panelWidth);
        count = std::min(most, int64_t(llvm::bit_floor(uint64_t(left))));
        int64_t bytes = count * panelWidth;
        Index at = k.add(from, block * inPlane + y * w.dilationRows * inRow +
                                   x * w.dilationCols * panelWidth);
        store(k.load(in, at, bytes), bytes);
        done += bytes;
        if (!hasZeros || done != row.rest)
          continue;
        Value zero = k.number(0, k.vec(panelWidth, k.b.getI8Type()));
        for (int64_t i = 0; i < row.zeros; i += panelWidth)
          store(zero, panelWidth);
      }
}

void WindowRows::emit(KernelBuilder &k, Value in, Index from, Index first,
                      Index count, Value scratch, Index to) const {
  const WindowShape &w = c.w;
  Index y0 = k.div(first, w.outWidth), last = k.add(first, count),
        y1 = k.div(k.sub(last, 1), w.outWidth);
  // Few planes at a time: their distance may be one that falls into few sets of
  // the cache. A row of the image at a time: its windows stay in the caches
  // until they are whole.
  int64_t atOnce = std::max<int64_t>(1, 4 / c.taps());
  int64_t whole = c.inBlocks / atOnce * atOnce;
  int64_t blockSize = c.taps() * panelWidth;
  k.loop(y0, k.add(y1, 1), 1, [&](Value y) {
    Index begin = k.mul(y, w.outWidth); // the row's first position
    Index lo = k.max(0, k.sub(first, begin)),
          hi = k.min(w.outWidth, k.sub(last, begin));
    Index input = k.add(from, k.mul(k.sub(y, y0), w.strideRows * inRow));
    Index rows = k.add(to, k.mul(k.sub(begin, first), rowSize));
    auto blocks = [&](Index block, int64_t count, bool hasZeros) {
      Index plane = k.add(input, k.mul(block, inPlane));
      k.loop(lo, hi, 1, [&](Value x) {
        window(k, in, k.add(plane, k.mul(x, w.strideCols * panelWidth)),
               scratch,
               k.add(k.add(rows, k.mul(x, rowSize)), k.mul(block, blockSize)),
               count, hasZeros);
      });
    };
    int64_t next = 0;
    if (row.rest) { // which is in front of the second group of blocks
      blocks(0, atOnce, /*hasZeros=*/true);
      next = atOnce;
      rows = k.add(rows, row.zeros);
    }
    k.loop(next, whole, atOnce,
           [&](Value block) { blocks(block, atOnce, false); });
    if (whole < c.inBlocks)
      blocks(whole, c.inBlocks - whole, false);
  });
}

KernelInfo codegen::emitConvMatrix(KernelBuilder &k, Operation *layer,
                                   StringRef symbol, const ConvPanels &conv,
                                   const PanelTuning &tuning) {
  assert(conv.quantized && conv.block == panelWidth && "bytes in blocks");
  ConvPanels c = conv;
  WindowShape &w = c.w;
  if (c.isFlat()) { // one long row
    w.width *= w.height, w.outWidth *= w.outHeight;
    w.height = w.outHeight = 1;
  }
  MatrixRow row(windowBytes(c));
  PanelGrid grid = c.grid(w.outHeight * w.outWidth, 1);
  grid.hasMatrixUnit = true;
  PanelGrid::Costs costs = c.costs();
  costs.inputRowBytes = row.bytes;
  costs.copiesInput = true;
  grid.plan(k.target, costs, tuning);

  HaloCopy copy(w, c.inBlocks, panelWidth, /*elementSize=*/1);
  if (w.isPadded())
    copy.copyColumns(-w.left, w.inputCols(w.outWidth));
  // A block may begin and end inside of a row.
  int64_t mostRows = llvm::divideCeil(grid.rowBlock - 1, w.outWidth) + 1;
  copy.rows = w.inputRows(std::min(mostRows, w.outHeight));
  // An odd number of lines of the cache, so that rows fall into all sets.
  int64_t rowSize = row.bytes | 64;
  WindowRows windows{c, row, rowSize, copy.rowSize(), copy.planeSize()};
  int64_t rowsAt = int64_t(llvm::alignTo(copy.scratchBytes(), 64));

  PanelShape shape = c.shape();
  row.describe(shape);
  shape.inRow = rowSize;
  shape.outRow = panelWidth;
  shape.termRow = 1;
  auto body = [&](PanelBlock b, Value scratch) {
    b.at = c.call(k, b.batch);
    row.describe(b.at);
    k.ifThen(b.isNew, [&] {
      Index image = k.mul(b.batch, c.inSize()),
            inputRow = k.mul(k.div(b.row, w.outWidth), w.strideRows);
      Value in = b.memory.in;
      Index from = k.add(image, k.mul(inputRow, copy.rowSize()));
      if (copy.copies) {
        Value fill = b.memory.padding ? k.load(b.memory.padding, 0) : Value();
        copy.emit(k, in, image, k.sub(inputRow, w.top), scratch, fill);
        in = scratch;
        from = 0;
      }
      windows.emit(k, in, from, b.row, b.rows, scratch, rowsAt);
    });
    b.memory.in = scratch;
    b.at.in = rowsAt;
    b.at.out = k.add(b.at.out, k.mul(b.row, shape.outRow));
    if (c.quantized->rows)
      b.at.terms = k.add(b.at.terms, b.row);
    emitPanelBlock(k, shape, grid, b);
  };
  KernelInfo info = emitPanelTiles(k, layer, symbol, grid, *c.quantized,
                                   rowsAt + grid.rowBlock * rowSize, body);
  info.maps = {grid.blockedMap(c.outPanel(), shape.outRow)};
  return info;
}
