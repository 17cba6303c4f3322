//===- ConvTranspose.cpp - Transposed convolution in channel blocks -------===//
//
// conv_transpose.phases.nChw16c: input and result in blocks of 16 channels,
// weights [O/16][I/16][kh][kw][16 i][16 o].
//
// Output positions whose distance is a multiple of the stride take the same
// kernel taps. For each such phase the layer is a convolution of stride one
// with a part of the kernel, going backwards over the input:
//
//   for tile = (image and group, block of phase rows, chunk of output panels)
//     if a phase reaches outside: copy the rows with a zero halo to scratch
//     for phase row, phase column: the loops of conv.direct
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/ConvPanels.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/Phases.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class ConvTranspose : public PanelRoutine {
public:
  ConvTranspose()
      : PanelRoutine(
            "conv_transpose.phases.nChw16c",
            "each phase of the stride is a convolution with a part of the "
            "kernel") {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvTransposeOp>(layer);
    if (!op || !hasBlockableWindow(op))
      return noBlockableWindow<nn::ConvTransposeOp>;
    if (llvm::any_of(op.getStrides(), [](int64_t s) { return s > 8; }))
      return "a stride is above 8, and each phase has code of its own";
    return ConvPanels(op, block).separatesGroups()
               ? ""
               : "its groups are no whole blocks of channels";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, transposedPanelTag);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
};

KernelInfo ConvTranspose::emit(KernelBuilder &k, Operation *layer,
                               StringRef symbol) const {
  ConvPanels c(cast<nn::ConvTransposeOp>(layer), block);
  const WindowShape &w = c.w;
  SmallVector<Phase> rowPhases =
      phasesOf(w.outHeight, w.kernelRows, w.strideRows, w.dilationRows, w.top);
  SmallVector<Phase> colPhases =
      phasesOf(w.outWidth, w.kernelCols, w.strideCols, w.dilationCols, w.left);

  [[maybe_unused]] auto firstHasMost = [](ArrayRef<Phase> phases) {
    return llvm::all_of(phases, [&](const Phase &phase) {
      return phase.outputs <= phases[0].outputs;
    });
  };
  assert(firstHasMost(rowPhases) && firstHasMost(colPhases) &&
         "the grid has room for all phases");
  PanelGrid grid = c.grid(rowPhases[0].outputs, colPhases[0].outputs);

  // The input that all phases of a block together need.
  struct Span {
    int64_t low = 0, high = 0, last = 0;
    explicit Span(ArrayRef<Phase> phases) {
      for (const Phase &phase : phases) {
        low = std::min(low, phase.lowest());
        high = std::max(high, phase.highest());
        last = std::max(last, phase.highest() + phase.outputs - 1);
      }
    }
  };
  const Span rows(rowPhases), cols(colPhases);
  HaloCopy copy(w, c.inBlocks, block);
  if (rows.low < 0 || cols.low < 0 || rows.last >= w.height ||
      cols.last >= w.width)
    copy.copyColumns(cols.low, cols.last - cols.low + 1);

  PanelGrid::Costs costs = c.costs();
  costs.inputRowBytes = c.inBlocks * copy.rowSize() * 4;
  costs.multiplyAdds = double(w.height * w.width) *
                       double(costs.weightBytes / 4) * double(grid.batches);
  costs.copiesInput = copy.copies;
  grid.plan(k.target, costs);
  copy.rows = std::min(grid.rowBlock, grid.rows) + rows.high - rows.low;

  const PanelShape all = c.shape();
  KernelInfo info = emitPanelTiles(
      k, layer, symbol, grid, c.epilogue, copy.scratchBytes(),
      [&](PanelBlock b, Value scratch) {
        Index group = k.rem(b.batch, c.groups);
        Index in =
            k.add(k.mul(b.batch, c.inSize()), k.mul(b.row, w.width * block));
        if (copy.copies) {
          k.ifThen(b.isNew, [&] {
            copy.emit(k, b.memory.in, k.mul(b.batch, c.inSize()),
                      k.add(b.row, rows.low), scratch);
          });
          b.memory.in = scratch;
          in = Index(-(rows.low * copy.columns + cols.low) * block);
        }
        b.at.bias = k.mul(group, c.panels * panelWidth);
        b.at.inBlock = copy.planeSize();
        // A panel has all groups' input channels.
        b.at.weightPanel = c.groups * c.panelWeights();
        b.at.outPanel = c.outPanel();
        for (const Phase &y : rowPhases)
          for (const Phase &x : colPhases) {
            bool empty = y.taps == 0 || x.taps == 0; // only the bias
            PanelShape shape = all;
            shape.kernelRows = empty ? 1 : y.taps;
            shape.kernelCols = empty ? 1 : x.taps;
            shape.inRow = copy.rowSize();
            shape.outCol *= x.outputStep;
            shape.outRow *= y.outputStep;
            shape.kernelCol = x.tapInput * block;
            shape.weightCol *= x.tapStep;
            shape.weightRow *= y.tapStep;
            if (empty)
              shape.channelTail = 0;
            PanelGrid part = grid;
            part.rows = y.outputs;
            part.cols = x.outputs;
            part.tile.cols = std::min(grid.tile.cols, part.cols);
            b.at.blocks = empty ? 0 : c.channels / block;
            b.at.in = k.add(
                in, empty ? 0 : (y.input * copy.columns + x.input) * block);
            b.at.kernelRow = y.tapInput * copy.rowSize();
            b.at.weights =
                k.add(k.mul(group, c.panelWeights()),
                      y.firstTap * all.weightRow + x.firstTap * all.weightCol);
            b.at.out =
                k.add(k.add(k.mul(b.batch, c.panels * c.outPanel()),
                            k.mul(b.row, shape.outRow)),
                      y.firstOutput * all.outRow + x.firstOutput * all.outCol);
            b.rows = grid.rowBlocks == 1
                         ? Index(y.outputs)
                         : k.min(grid.rowBlock, k.sub(y.outputs, b.row));
            emitPanelBlock(k, shape, part, b);
          }
      });
  info.maps = {grid.blockedMap(c.outPanel(), all.outRow, w.strideRows)};
  return info;
}

} // namespace

Variants codegen::convTransposeRoutine() {
  return onlyRoutine<ConvTranspose>();
}
