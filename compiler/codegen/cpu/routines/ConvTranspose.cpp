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

#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/TransposePhases.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

class ConvTranspose : public CpuRoutine {
public:
  ConvTranspose()
      : CpuRoutine(
            "conv_transpose.phases.nChw16c",
            "each phase of the stride is a convolution with a part of the "
            "kernel") {}
  bool matches(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvTransposeOp>(layer);
    if (!op || !hasBlockableWindow(op))
      return false;
    ArrayRef<int64_t> in = shapeOf(op.getInput()),
                      out = shapeOf(op.getOutput());
    int64_t groups = op.getGroups();
    if (llvm::any_of(op.getStrides(), [](int64_t s) { return s > 8; }))
      return false; // each phase has code of its own
    return groups == 1 || (in[1] / groups % panelWidth == 0 &&
                           out[1] / groups % panelWidth == 0);
  }
  LayoutRequest layouts(Operation *layer) const override {
    size_t rank = shapeOf(layer->getOperand(0)).size();
    return blockedLayouts(layer, transposedPanelTag(rank));
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
};

KernelInfo ConvTranspose::emit(KernelBuilder &k, Operation *layer,
                               StringRef symbol) const {
  constexpr int64_t block = panelWidth;
  auto op = cast<nn::ConvTransposeOp>(layer);
  WindowShape w(op, shapeOf(op.getWeights()).drop_front(2));
  int64_t groups = op.getGroups();
  int64_t channels = w.channels / groups, outChannels = w.outChannels / groups;
  assert(channels * groups == w.channels &&
         outChannels * groups == w.outChannels && "groups are of one size");
  int64_t inBlocks = divideCeil(channels, block),
          panels = divideCeil(outChannels, panelWidth);
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
  PanelGrid grid;
  grid.batches = w.batch * groups;
  grid.rows = rowPhases[0].outputs;
  grid.cols = colPhases[0].outputs;
  grid.panels = panels;
  grid.lastLanes = outChannels - (panels - 1) * panelWidth;

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
  bool copies = rows.low < 0 || cols.low < 0 || rows.last >= w.height ||
                cols.last >= w.width;
  int64_t copyWidth = copies ? cols.last - cols.low + 1 : w.width;

  PanelGrid::Costs costs;
  costs.weightBytes =
      panels * panelWidth * channels * w.kernelRows * w.kernelCols * 4;
  costs.inputRowBytes = inBlocks * block * copyWidth * 4;
  costs.multiplyAdds = double(w.height * w.width) *
                       double(costs.weightBytes / 4) * double(grid.batches);
  costs.copiesInput = copies;
  grid.plan(k.target, costs);

  HaloCopy copy;
  copy.planes = inBlocks;
  copy.height = w.height;
  copy.width = w.width;
  copy.pixel = block;
  copy.left = -cols.low;
  copy.rows = std::min(grid.rowBlock, grid.rows) + rows.high - rows.low;
  copy.copyWidth = copyWidth;

  Epilogue epilogue = Epilogue::of(op);
  int64_t weightBlock = w.kernelRows * w.kernelCols * block * panelWidth;
  int64_t weightPanel = divideCeil(w.channels, block) * weightBlock;
  int64_t inBatch = inBlocks * w.height * w.width * block;
  int64_t outPanel = w.outHeight * w.outWidth * panelWidth;

  SmallVector<Type> memories(op->getNumOperands() + 1, k.b.getF32Type());
  k.kernel(
      symbol, memories,
      [&](ValueRange operands, Value scratch, Value begin, Value end) {
        PanelBlock b;
        b.memory = PanelMemory::of(operands, epilogue);
        if (copies)
          b.memory.in = scratch;
        emitPanelTiles(
            k, grid, begin, end,
            [&](Index batch, Index row, Index, Value isNew, Index firstPanel) {
              Index group = k.rem(k.val(batch), groups);
              Index in =
                  k.add(k.mul(batch, inBatch), k.mul(row, w.width * block));
              if (copies) {
                k.ifThen(isNew, [&] {
                  copy.emit(k, operands[1], k.mul(batch, inBatch),
                            k.add(row, rows.low), scratch);
                });
                in = Index(-(rows.low * copyWidth + cols.low) * block);
              }
              b.firstPanel = firstPanel;
              b.at.bias = k.mul(group, panels * panelWidth);
              b.at.inBlock =
                  copies ? copy.planeSize() : w.height * w.width * block;
              b.at.weightPanel = weightPanel;
              b.at.outPanel = outPanel;
              for (const Phase &y : rowPhases)
                for (const Phase &x : colPhases) {
                  bool empty = y.taps == 0 || x.taps == 0; // only the bias
                  PanelShape shape;
                  shape.epilogue = epilogue;
                  shape.kernelRows = empty ? 1 : y.taps;
                  shape.kernelCols = empty ? 1 : x.taps;
                  shape.inCol = block;
                  shape.inRow = copyWidth * block;
                  shape.outCol = w.strideCols * panelWidth;
                  shape.outRow = w.strideRows * w.outWidth * panelWidth;
                  shape.kernelCol = -x.inputStep * block;
                  shape.channelTail = empty ? 0 : channels % block;
                  shape.weightCol = x.tapStep * block * panelWidth;
                  shape.weightRow =
                      y.tapStep * w.kernelCols * block * panelWidth;
                  shape.weightBlock = weightBlock;
                  PanelGrid part = grid;
                  part.rows = y.outputs;
                  part.cols = x.outputs;
                  part.tile.cols = std::min(grid.tile.cols, part.cols);
                  b.at.blocks = empty ? 0 : channels / block;
                  b.at.in = k.add(
                      in, empty ? 0 : (y.input * copyWidth + x.input) * block);
                  b.at.kernelRow = -y.inputStep * copyWidth * block;
                  b.at.weights =
                      k.add(k.mul(group, inBlocks * weightBlock),
                            (y.firstTap * w.kernelCols + x.firstTap) * block *
                                panelWidth);
                  b.at.out =
                      k.add(k.add(k.mul(batch, panels * outPanel),
                                  k.mul(row, shape.outRow)),
                            (y.firstOutput * w.outWidth + x.firstOutput) *
                                panelWidth);
                  b.rows = grid.rowBlocks == 1
                               ? Index(y.outputs)
                               : k.min(grid.rowBlock, k.sub(y.outputs, row));
                  emitPanelBlock(k, shape, part, b);
                }
            });
      });
  KernelInfo info;
  info.tiles = grid.tiles();
  info.maps = {
      grid.blockedMap(outPanel, w.outWidth * panelWidth, w.strideRows)};
  info.scratchBytes = copies ? copy.size() * 4 : 0;
  if (epilogue.allowsInPlace())
    info.inPlaceOperands.push_back(op->getNumOperands() - 1);
  return info;
}

} // namespace

namespace nnv12::codegen {
const Routine *convTransposeRoutine() {
  static const ConvTranspose routine;
  return &routine;
}
} // namespace nnv12::codegen
