//===- ConvPanels.cpp - Convolutions as products of panels ----------------===//

#include "compiler/codegen/cpu/routines/ConvPanels.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

bool ConvPanels::isFlat() const {
  return !hasColumnQuads() && taps() == 1 && w.strideRows == 1 &&
         w.strideCols == 1 && !w.isPadded();
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
  grid.panelWeights = panelWeights();
  grid.sharesWeights = groups == 1;
  grid.quads = quantized.has_value();
  grid.smallWeights = smallWeights;
  grid.lastLanes = outChannels - (panels - 1) * panelWidth;
  return grid;
}

PanelGrid::Costs ConvPanels::costs() const {
  PanelGrid::Costs costs;
  int64_t weights =
      panels * panelWidth * channels * w.kernelRows * w.kernelCols;
  costs.weightBytes = weights * elementSize();
  costs.multiplyAdds = double(w.outHeight * w.outWidth) * double(weights) *
                       double(w.batch * groups);
  return costs;
}

PanelShape ConvPanels::shape() const {
  PanelShape shape;
  shape.kernelRows = w.kernelRows;
  shape.kernelCols = kernelCols();
  shape.outCol = panelWidth;
  shape.outRow = w.outWidth * panelWidth;
  shape.channelBlock = block;
  shape.channelTail = channels % block;
  shape.weightCol = tapWeights();
  shape.weightRow = kernelCols() * shape.weightCol;
  shape.weightBlock = w.kernelRows * shape.weightRow;
  shape.epilogue = epilogue;
  shape.quantized = quantized;
  shape.smallWeights = smallWeights;
  if (quantized) {
    shape.channelBlock = llvm::divideCeil(block, 4);
    shape.channelTail = llvm::divideCeil(channels % block, 4);
    shape.inChannel = 4;
    shape.termRow = w.outWidth;
    shape.weightChannel = 4 * panelWidth;
  }
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
  if (quantized && quantized->rows)
    call.terms = k.mul(k.div(batch, groups), w.outHeight * w.outWidth);
  return call;
}

std::optional<ConvPanels>
PanelConvRoutine::blockedConv(Operation *layer) const {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || !hasBlockableWindow(op))
    return std::nullopt;
  ConvPanels c(op, panelWidth);
  if (!tuning.fits(c.panels) || !c.separatesGroups())
    return std::nullopt;
  return c;
}

LayoutRequest PanelConvRoutine::layouts(Operation *layer) const {
  return blockedLayouts(layer, panelTag);
}
