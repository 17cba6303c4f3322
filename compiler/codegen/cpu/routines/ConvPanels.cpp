//===- ConvPanels.cpp - Convolutions as products of panels ----------------===//

#include "compiler/codegen/cpu/routines/ConvPanels.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

ConvPanels::ConvPanels(nn::ConvOp op, int64_t block)
    : w(op, shapeOf(op.getWeights()).drop_front(2)), block(block),
      groups(op.getGroups()), channels(w.channels / groups),
      outChannels(w.outChannels / groups),
      inBlocks(divideCeil(channels, block)),
      panels(divideCeil(outChannels, panelWidth)), epilogue(Epilogue::of(op)) {
  assert(channels * groups == w.channels &&
         outChannels * groups == w.outChannels && "groups are of one size");
}

bool ConvPanels::isFlat() const {
  return taps() == 1 && w.strideRows == 1 && w.strideCols == 1 && !w.isPadded();
}

void ConvPanels::flatten() {
  assert(isFlat() && "else neighbours share inputs");
  w.height *= w.width;
  w.outHeight *= w.outWidth;
  w.width = w.outWidth = 1;
}

PanelGrid ConvPanels::grid(int64_t rows, int64_t cols) const {
  PanelGrid grid;
  grid.batches = w.batch * groups;
  grid.rows = rows;
  grid.cols = cols;
  grid.panels = panels;
  grid.lastLanes = outChannels - (panels - 1) * panelWidth;
  return grid;
}

PanelGrid::Costs ConvPanels::costs() const {
  PanelGrid::Costs costs;
  costs.weightBytes = panels * panelWidth * channels * taps() * 4;
  costs.multiplyAdds = double(w.outHeight * w.outWidth) *
                       double(costs.weightBytes / 4) * double(w.batch * groups);
  return costs;
}

PanelShape ConvPanels::shape() const {
  PanelShape shape;
  shape.kernelRows = w.kernelRows;
  shape.kernelCols = w.kernelCols;
  shape.outCol = panelWidth;
  shape.outRow = w.outWidth * panelWidth;
  shape.channelBlock = block;
  shape.channelTail = channels % block;
  shape.weightCol = tapWeights();
  shape.weightRow = w.kernelCols * shape.weightCol;
  shape.weightBlock = w.kernelRows * shape.weightRow;
  shape.epilogue = epilogue;
  return shape;
}

PanelCall ConvPanels::call(KernelBuilder &k, Index batch) const {
  Index group = k.rem(batch, groups);
  PanelCall call;
  call.weights = k.mul(group, panels * panelWeights());
  call.bias = k.mul(group, panels * panelWidth);
  call.out = k.mul(batch, panels * outPanel());
  call.blocks = channels / block;
  call.weightPanel = panelWeights();
  call.outPanel = outPanel();
  return call;
}

KernelInfo ConvPanels::info(nn::ConvOp op, const PanelGrid &grid,
                            int64_t scratch) const {
  KernelInfo info;
  info.tiles = grid.tiles();
  info.scratchBytes = scratch;
  assert(outPanel() % grid.rows == 0 && "a panel has whole rows");
  info.maps = {grid.blockedMap(outPanel(), outPanel() / grid.rows)};
  // A pixel's residual is read just before its result is written.
  if (epilogue.allowsInPlace())
    info.inPlaceOperands.push_back(op->getNumOperands() - 1);
  return info;
}

bool PanelConvRoutine::isBlockedConv(Operation *layer) const {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || !hasBlockableWindow(op))
    return false;
  ConvPanels c(op, panelWidth);
  return tuning.fits(c.panels) &&
         (c.groups == 1 ||
          (c.channels % panelWidth == 0 && c.outChannels % panelWidth == 0));
}

LayoutRequest PanelConvRoutine::layouts(Operation *layer) const {
  return blockedLayouts(layer, panelTag(shapeOf(layer->getOperand(0)).size()));
}

Work PanelConvRoutine::work(Operation *layer) const {
  return {blockedMultiplyAdds(layer), bytesOf(layer)};
}
