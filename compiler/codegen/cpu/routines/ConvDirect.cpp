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
// A 1x1 convolution of stride 1 sees all pixels as one column of rows. Channels
// past the real count are never multiplied; output channels past it come out of
// zero weights.
//
// conv.first.nChw16c: the same for a few dense input channels: each is a block
// of one channel, weights [O/16][I][kh][kw][16 o].
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Work.h"
#include "compiler/codegen/cpu/routines/HaloCopy.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/codegen/cpu/routines/WindowShape.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

WindowShape windowOf(nn::ConvOp op) {
  return WindowShape(op, shapeOf(op.getWeights()).drop_front(2));
}

bool hasWindow(nn::ConvOp op) {
  int64_t rank = shapeOf(op.getInput()).size();
  return (rank == 3 || rank == 4) && isNonEmptyF32(op);
}

/// Emits a convolution whose input has blocks of `block` channels.
KernelInfo emitConv(KernelBuilder &k, nn::ConvOp op, StringRef symbol,
                    int64_t block) {
  WindowShape w = windowOf(op);
  int64_t groups = op.getGroups();
  int64_t channels = w.channels / groups, outChannels = w.outChannels / groups;
  bool isFlat = w.kernelRows == 1 && w.kernelCols == 1 && w.strideRows == 1 &&
                w.strideCols == 1 && !w.isPadded();
  if (isFlat) {
    w.height *= w.width;
    w.outHeight *= w.outWidth;
    w.width = w.outWidth = 1;
  }
  int64_t inBlocks = divideCeil(channels, block);
  int64_t panels = divideCeil(outChannels, panelWidth);
  bool copies = w.isPadded();

  PanelGrid grid;
  grid.batches = w.batch * groups;
  grid.rows = w.outHeight;
  grid.cols = w.outWidth;
  grid.panels = panels;
  int64_t copyWidth = copies ? w.inputCols(w.outWidth) : w.width;
  PanelGrid::Costs costs;
  costs.weightBytes =
      panels * panelWidth * channels * w.kernelRows * w.kernelCols * 4;
  costs.inputRowBytes = inBlocks * block * copyWidth * w.strideRows * 4;
  costs.multiplyAdds = double(w.outHeight * w.outWidth) *
                       double(costs.weightBytes / 4) * double(grid.batches);
  costs.copiesInput = copies;
  costs.kernelRows = w.kernelRows;
  grid.plan(k.target, costs);

  HaloCopy copy;
  copy.planes = inBlocks;
  copy.height = w.height;
  copy.width = w.width;
  copy.pixel = block;
  copy.left = w.left;
  copy.rows = w.inputRows(std::min(grid.rowBlock, w.outHeight));
  copy.copyWidth = copyWidth;

  PanelShape shape;
  shape.kernelRows = w.kernelRows;
  shape.kernelCols = w.kernelCols;
  shape.inCol = w.strideCols * block;
  shape.inRow = w.strideRows * copyWidth * block;
  shape.outCol = panelWidth;
  shape.outRow = w.outWidth * panelWidth;
  shape.kernelCol = w.dilationCols * block;
  shape.channelBlock = block;
  shape.channelTail = channels % block;
  shape.weightCol = block * panelWidth;
  shape.weightRow = w.kernelCols * shape.weightCol;
  shape.weightBlock = w.kernelRows * shape.weightRow;
  shape.epilogue = Epilogue::of(op);

  // The last weights of a partial block are padding, so panels are whole
  // blocks.
  int64_t weightPanel = inBlocks * shape.weightBlock;
  int64_t inBatch = inBlocks * w.height * w.width * block;
  int64_t outPanel = w.outHeight * w.outWidth * panelWidth;

  SmallVector<Type> memories(op->getNumOperands() + 1, k.b.getF32Type());
  k.kernel(symbol, memories,
           [&](ValueRange operands, Value scratch, Value begin, Value end) {
             PanelMemory memory;
             memory.out = operands[0];
             memory.in = copies ? scratch : operands[1];
             memory.weights = operands[2];
             size_t next = 3;
             if (shape.epilogue.bias)
               memory.bias = operands[next++];
             if (shape.epilogue.residual)
               memory.residual = operands[next++];
             emitPanelTiles(
                 k, grid, begin, end,
                 [&](Index batch, Index row, Index rows, Value isNew,
                     Index firstPanel) {
                   Index group = k.rem(batch, groups);
                   Index inputRow = k.mul(row, w.strideRows);
                   PanelBlock b;
                   b.memory = memory;
                   b.at.in = k.add(k.mul(batch, inBatch),
                                   k.mul(inputRow, w.width * block));
                   if (copies) {
                     k.ifThen(isNew, [&] {
                       copy.emit(k, operands[1], k.mul(batch, inBatch),
                                 k.sub(inputRow, w.top), scratch);
                     });
                     b.at.in = 0;
                   }
                   b.at.weights = k.mul(group, panels * weightPanel);
                   b.at.bias = k.mul(group, panels * panelWidth);
                   b.at.out = k.add(k.mul(batch, panels * outPanel),
                                    k.mul(row, shape.outRow));
                   b.at.blocks = channels / block;
                   b.at.inBlock =
                       copies ? copy.planeSize() : w.height * w.width * block;
                   b.at.kernelRow = w.dilationRows * copyWidth * block;
                   b.at.weightPanel = weightPanel;
                   b.at.outPanel = outPanel;
                   b.firstPanel = firstPanel;
                   b.rows = rows;
                   emitPanelBlock(k, shape, grid, b);
                 });
           });
  KernelInfo info;
  info.tiles = grid.tiles();
  info.scratchBytes = copies ? copy.size() * 4 : 0;
  // A pixel's residual is read just before its result is written.
  if (shape.epilogue.allowsInPlace())
    info.inPlaceOperands.push_back(op->getNumOperands() - 1);
  return info;
}

class ConvDirect : public Routine {
public:
  StringRef name() const override { return "conv.direct.nChw16c"; }
  bool matches(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvOp>(layer);
    if (!op || !hasWindow(op))
      return false;
    WindowShape w = windowOf(op);
    int64_t groups = op.getGroups();
    return groups == 1 || (w.channels / groups % panelWidth == 0 &&
                           w.outChannels / groups % panelWidth == 0);
  }
  LayoutRequest layouts(Operation *layer) const override {
    auto op = cast<nn::ConvOp>(layer);
    int64_t rank = shapeOf(op.getInput()).size();
    LayoutRequest request;
    request.operands = {blockedTag(rank), panelTag(rank)};
    if (op.getBias())
      request.operands.push_back("A16a");
    if (op.getResidual())
      request.operands.push_back(blockedTag(rank));
    request.results = {blockedTag(rank)};
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitConv(k, cast<nn::ConvOp>(layer), symbol, 16);
  }
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
};

class ConvFirst : public ConvDirect {
public:
  StringRef name() const override { return "conv.first.nChw16c"; }
  bool matches(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvOp>(layer);
    return op && hasWindow(op) && op.getGroups() == 1 &&
           shapeOf(op.getInput())[1] <= 4;
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = ConvDirect::layouts(layer);
    request.operands[0] = "";
    request.operands[1] =
        shapeOf(layer->getOperand(0)).size() == 4 ? "Abcd16a" : "Abc16a";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitConv(k, cast<nn::ConvOp>(layer), symbol, 1);
  }
};

} // namespace

namespace nnv12::codegen {
const Routine *convDirectRoutine() {
  static const ConvDirect routine;
  return &routine;
}
const Routine *convFirstRoutine() {
  static const ConvFirst routine;
  return &routine;
}
} // namespace nnv12::codegen
