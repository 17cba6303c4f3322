//===- ConvDirect.cpp - Convolution in channel blocks ---------------------===//
//
// conv.direct.nChw16c: input and result in blocks of 16 channels, weights in
// panels [O/16][I/16][kh][kw][16 i][16 o].
//
//   for tile = (image and group, row block, chunk of output panels)
//     if padded and the rows changed: copy them with a zero halo to scratch
//     for panel group, row group, column group: micro-kernel
//       for channel block, kernel row, kernel column, channel: multiply-add
//
// Channels past the real count are never multiplied; output channels past it
// come out of zero weights.
//
// A dilated window that is in the padding with much of its taps is computed by
// regions of outputs which have the same taps inside of the input: in place,
// those taps alone.
//
// conv.gemm.nChw16c: the same for a 1x1 convolution of stride 1, which sees all
// pixels as one column of rows: a product of matrices, of either in place.
//
// conv.first.nChw16c: the same for a few dense input channels: each is a block
// of one channel, weights [O/16][I][kh][kw][16 o].
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/ArmProducts.h"
#include "compiler/codegen/cpu/MatrixUnit.h"
#include "compiler/codegen/cpu/routines/ConvMatrix.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// The regions of outputs of a dilated window that are computed one by one:
/// rows by columns. None where that is not worth its code and its short rows,
/// or where an output has no tap.
struct Regions {
  SmallVector<TapRange> rows, cols;
  double share = 1; ///< of the window's taps that are computed

  Regions() = default;
  explicit Regions(const WindowShape &w) {
    constexpr size_t most = 5; // of a 3x3 window
    if (w.dilationRows == 1 && w.dilationCols == 1)
      return;
    SmallVector<TapRange> byRow = w.rowRanges(), byCol = w.colRanges();
    // Few neighbouring outputs take as long as some more.
    auto cost = [](ArrayRef<TapRange> ranges, int64_t least) {
      double sum = 0;
      for (const TapRange &range : ranges)
        sum += double(llvm::alignTo(range.count, least) * range.taps);
      return sum;
    };
    double all =
        double(w.outHeight * w.kernelRows) * double(w.outWidth * w.kernelCols);
    constexpr double worthwhile = 0.8;
    if (cost(byRow, 1) * cost(byCol, 4) > worthwhile * all)
      return;
    auto isFull = [](const TapRange &range) { return range.taps > 0; };
    auto fits = [&](ArrayRef<TapRange> ranges) {
      return ranges.size() <= most && llvm::all_of(ranges, isFull);
    };
    if (!fits(byRow) || !fits(byCol))
      return;
    share = cost(byRow, 1) * cost(byCol, 1) / all;
    rows = std::move(byRow), cols = std::move(byCol);
  }
  explicit operator bool() const { return !rows.empty(); }
};

/// An image by regions; `image` is where it begins. Panel groups are the outer
/// loop: the weights of one stay in the caches from region to region.
void emitRegions(KernelBuilder &k, const ConvPanels &c, const Regions &regions,
                 const PanelShape &shape, const PanelGrid &grid,
                 const PanelBlock &image) {
  const WindowShape &w = c.w;
  auto emitRegion = [&](PanelBlock b, const TapRange &r, const TapRange &col,
                        int64_t panels, Index panel, int64_t lastLanes) {
    PanelShape part = shape;
    part.kernelRows = r.taps;
    part.kernelCols = col.taps;
    int64_t inputRow =
                r.first * w.strideRows + r.firstTap * w.dilationRows - w.top,
            inputCol = col.first * w.strideCols +
                       col.firstTap * w.dilationCols - w.left;
    b.rows = r.count;
    b.at.in = k.add(b.at.in, (inputRow * w.width + inputCol) * c.block);
    b.at.weights = k.add(b.at.weights, r.firstTap * shape.weightRow +
                                           col.firstTap * shape.weightCol);
    b.at.out =
        k.add(b.at.out, r.first * shape.outRow + col.first * shape.outCol);
    PanelGrid region = grid.part(k.target, r.count, col.count);
    PanelTile tile = region.tile;
    tile.panels = panels;
    tile.lastLanes = lastLanes;
    emitPanelGroup(k, part, region, b, tile, panel);
  };
  emitPanelGroups(k, grid, image,
                  [&](const PanelBlock &b, const PanelTile &tile, Index panel) {
                    for (const TapRange &r : regions.rows)
                      for (const TapRange &col : regions.cols)
                        emitRegion(b, r, col, tile.panels, panel,
                                   tile.lastLanes);
                  });
}

/// The base of the three routines, which read blocks of `block` channels.
class WindowConv : public PanelConvRoutine {
public:
  WindowConv(StringRef name, StringRef summary, const PanelTuning &tuning,
             int64_t block = panelWidth)
      : PanelConvRoutine(name, summary, tuning), block(block) {}
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
  /// None where emit() leaves out taps in the padding: a product of it with a
  /// weight may change a sum (the sign of a zero; an infinite weight).
  std::optional<Cells> cells(Operation *layer) const override {
    if (Regions(WindowShape(cast<nn::ConvOp>(layer))))
      return std::nullopt;
    return isFine(layer) ? cellsOfPlane(layer, fineCols, CellGrain::Fine)
                         : PanelConvRoutine::cells(layer);
  }
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    return emitConvPanels(k, layer, symbol,
                          ConvPanels(cast<nn::ConvOp>(layer), block), tuning,
                          size);
  }
  Work work(Operation *layer) const override {
    Work work = PanelConvRoutine::work(layer);
    ConvPanels c(cast<nn::ConvOp>(layer), block);
    if (!c.hasDepth())
      work.multiplyAdds *= Regions(c.w).share;
    return work;
  }

private:
  /// Columns of a fine cell, in which a micro-kernel takes two rows.
  static constexpr int64_t fineCols = 6;
  /// A cell of few pixels that reads no border of them, and few weights.
  static bool isFine(Operation *layer) {
    auto conv = cast<nn::ConvOp>(layer);
    constexpr int64_t mostBytes = 512 << 10;
    return nn::storageSize(conv.getWeights()) <= mostBytes &&
           llvm::product_of(
               nn::typeOf(conv.getWeights()).getShape().drop_front(2)) == 1;
  }

  const int64_t block;
};

KernelInfo WindowConv::emit(KernelBuilder &k, Operation *layer,
                            StringRef symbol) const {
  return emitConvPanels(k, layer, symbol,
                        ConvPanels(cast<nn::ConvOp>(layer), block), tuning);
}

/// conv.direct, or conv.gemm for flat convolutions.
template <bool isFlat> class ConvBlocked : public WindowConv {
public:
  explicit ConvBlocked(const PanelTuning &tuning)
      : WindowConv(isFlat ? "conv.gemm.nChw16c" : "conv.direct.nChw16c",
                   isFlat
                       ? "1x1 of stride 1 as a product of matrices in place"
                       : "any window, read in place or copied with its padding",
                   tuning) {}
  std::string misfit(Operation *layer) const override {
    auto c = blockedConv(layer, /*volumes=*/true);
    if (!c)
      return noBlockedConv;
    return c->isFlat() == isFlat ? ""
           : isFlat              ? "its window has several taps, or a stride"
                                 : "its window has one tap, and no stride";
  }
};

class ConvFirst : public WindowConv {
public:
  explicit ConvFirst(const PanelTuning &tuning)
      : WindowConv("conv.first.nChw16c", "up to four dense input channels",
                   tuning,
                   /*block=*/1) {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvOp>(layer);
    if (!op || !(hasBlockableWindow(op) || isVolume(op)))
      return noBlockableWindow<nn::ConvOp>;
    return op.getGroups() == 1 && shapeOf(op.getInput())[1] <= 4 &&
                   tuning.fits(ConvPanels(op, 1).panels)
               ? ""
               : "it has several groups, more than four input channels, or too "
                 "few outputs for the tile";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = blockedLayouts(layer, columnTag);
    request.operands[0] = "";
    return request;
  }
};

} // namespace

KernelInfo codegen::emitConvPanels(KernelBuilder &k, Operation *layer,
                                   StringRef symbol, ConvPanels c,
                                   const PanelTuning &tuning,
                                   std::optional<Cells> cells) {
  assert((!cells || !c.hasDepth()) && "cells() has looked");
  if (!cells && c.isFlat())
    c.flatten();
  const WindowShape &w = c.w;
  int64_t block = c.block;
  // The padding of quantised numbers counts: it has a value.
  Regions regions =
      cells || c.quantized || c.hasDepth() ? Regions() : Regions(w);
  HaloCopy copy(w, c.inBlocks, block, c.elementSize());
  if (c.hasDepth()) {
    copy.planesOfBlock = c.depth.in;
    copy.taps = c.depth.kernel;
    copy.tapDistance = c.depth.dilation;
  }
  // Quads of columns reach beyond the window, and beyond the input.
  int64_t moreColumns =
      c.hasColumnQuads() ? 4 * c.kernelCols() - w.kernelCols : 0;
  if ((w.isPadded() && !regions) || c.hasColumnQuads() ||
      !c.depth.isPlaneByPlane())
    copy.copyColumns(
        -w.left,
        w.inputCols(cells ? std::min(cells->cols, w.outWidth) : w.outWidth) +
            moreColumns);

  PanelGrid grid = c.grid(w.outHeight, w.outWidth);
  grid.cutsRows = !regions;
  grid.hasMatrixUnit = !cells && c.quantized && MatrixUnit::isIn(k.target);
  PanelGrid::Costs costs = c.costs();
  costs.inputRowBytes =
      c.inBlocks * w.strideRows * copy.rowSize() * c.elementSize();
  costs.copiesInput = copy.copies;
  costs.kernelRows = w.kernelRows;
  if (cells)
    grid.planCells(k.target, *cells, costs.multiplyAdds, tuning);
  else
    grid.plan(k.target, costs, tuning);
  copy.rows = w.inputRows(std::min(grid.rowBlock, w.outHeight));

  PanelShape shape = c.shape();
  shape.inCol = w.strideCols * block;
  shape.inRow = w.strideRows * copy.rowSize();
  shape.kernelCol = c.hasColumnQuads() ? 4 : w.dilationCols * block;
  shape.scalesColumns = grid.scalesColumns();
  shape.isCompact = cells.has_value();
  shape.hasFlippedInputs = copy.flips =
      c.quantized && copy.copies && ArmProducts::canFlip(k.target);
  if (grid.hasMatrixUnit)
    describeRowsInPlace(shape);

  auto body = [&](PanelBlock b, Value scratch) {
    b.at = c.call(k, b.batch);
    b.at.inBlock = copy.copies ? copy.planeSize() : c.depth.in * c.inPlane();
    if (grid.hasMatrixUnit)
      b.at.blocks = c.inBlocks;
    b.at.kernelRow = w.dilationRows * copy.rowSize();
    if (regions) {
      b.at.in = c.inAt(k, b.batch);
      return emitRegions(k, c, regions, shape, grid, b);
    }
    Index inputRow = k.mul(b.row, w.strideRows),
          inputCol = k.mul(b.col, w.strideCols);
    b.at.in = k.add(c.inAt(k, b.batch), k.mul(inputRow, w.width * block));
    b.at.in = k.add(b.at.in, k.mul(inputCol, block));
    Index inputPlane = 0;
    if (c.hasDepth()) {
      inputPlane = c.inDepth(k, b.batch);
      b.at.in = k.add(b.at.in, k.mul(inputPlane, c.inPlane()));
    }
    if (copy.copies) {
      k.ifThen(b.isNew, [&] {
        Value fill = b.memory.padding ? k.load(b.memory.padding, 0) : Value();
        if (cells)
          return copy.emitCell(k, b.memory.in, c.inAt(k, b.batch),
                               k.sub(inputRow, w.top), k.sub(inputCol, w.left),
                               scratch, fill);
        copy.emit(k, b.memory.in, c.inAt(k, b.batch), k.sub(inputRow, w.top),
                  scratch, fill, inputPlane);
      });
      b.memory.in = scratch;
      b.at.in = 0;
    }
    b.at.out = k.add(b.at.out, k.mul(b.row, shape.outRow));
    b.at.out = k.add(b.at.out, k.mul(b.col, shape.outCol));
    if (c.quantized && c.quantized->rows)
      b.at.terms = k.add(k.add(b.at.terms, k.mul(b.row, shape.termRow)), b.col);
    if (cells)
      emitPanelCell(k, shape, grid, b);
    else
      emitPanelBlock(k, shape, grid, b);
  };
  KernelInfo info = c.quantized
                        ? emitPanelTiles(k, layer, symbol, grid, *c.quantized,
                                         copy.scratchBytes(), body)
                        : emitPanelTiles(k, layer, symbol, grid, c.epilogue,
                                         copy.scratchBytes(), body);
  info.maps = {c.map(grid)};
  return info;
}

Variants codegen::convDirectRoutines() {
  return tunedRoutines<ConvBlocked</*isFlat=*/false>>();
}
Variants codegen::convGemmRoutines() {
  return tunedRoutines<ConvBlocked</*isFlat=*/true>>();
}
Variants codegen::convFirstRoutines() { return tunedRoutines<ConvFirst>(); }
