//===- ConvPanels.cpp - Convolutions as products of panels ----------------===//

#include "compiler/codegen/cpu/routines/ConvPanels.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

bool ConvPanels::isFlat() const {
  return !hasColumnQuads() && taps() == 1 && w.strideRows == 1 &&
         w.strideCols == 1 && !w.isPadded() && depth.isPlaneByPlane();
}

void ConvPanels::flatten() {
  assert(isFlat() && "else neighbours share inputs");
  w.height *= w.width * depth.in;
  w.outHeight *= w.outWidth * depth.out;
  w.width = w.outWidth = depth.in = depth.out = 1;
}

PanelGrid ConvPanels::grid(int64_t rows, int64_t cols) const {
  PanelGrid grid;
  grid.batches = w.batch * groups * depth.out;
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
  int64_t weights = panels * panelWidth * channels * depth.kernel *
                    w.kernelRows * w.kernelCols;
  costs.weightBytes = weights * elementSize();
  costs.multiplyAdds = double(w.outHeight * w.outWidth) * double(weights) *
                       double(w.batch * groups * depth.out);
  return costs;
}

PanelShape ConvPanels::shape() const {
  PanelShape shape;
  shape.kernelRows = w.kernelRows;
  shape.kernelCols = kernelCols();
  shape.outCol = panelWidth;
  shape.outRow = w.outWidth * panelWidth;
  shape.channelBlock = block;
  shape.channelTail = tail();
  shape.weightCol = tapWeights();
  shape.weightRow = kernelCols() * shape.weightCol;
  shape.weightBlock = w.kernelRows * shape.weightRow;
  shape.epilogue = epilogue;
  shape.quantized = quantized;
  shape.smallWeights = smallWeights;
  if (quantized) {
    shape.channelBlock = llvm::divideCeil(block, 4);
    shape.channelTail = llvm::divideCeil(tail(), 4);
    shape.inChannel = 4;
    shape.termRow = w.outWidth;
    shape.weightChannel = 4 * panelWidth;
  }
  return shape;
}

Index ConvPanels::inAt(KernelBuilder &k, Index batch) const {
  return k.mul(depth.out > 1 ? k.div(batch, depth.out) : batch, inSize());
}

Index ConvPanels::inDepth(KernelBuilder &k, Index batch) const {
  Index plane = depth.out > 1 ? k.rem(batch, depth.out) : Index(0);
  return k.sub(k.mul(plane, depth.stride), depth.front);
}

TileMap ConvPanels::map(const PanelGrid &grid) const {
  int64_t outRow = w.outWidth * panelWidth;
  if (grid.colBlock)
    return grid.cellMap(outPanel(), outRow);
  if (depth.out == 1)
    return grid.blockedMap(outPanel(), outRow);
  int64_t images = w.batch * groups;
  return TileMap::grid({{images, panels * outPanel()},
                        {panels, outPanel()},
                        {depth.out, outPlane()},
                        {w.outHeight, outRow},
                        {outRow, 1}},
                       {{0, images, 1},
                        {2, depth.out, 1},
                        {3, grid.rowBlocks, grid.rowBlock},
                        {1, grid.panelChunks, grid.panelChunk}});
}

PanelCall ConvPanels::call(KernelBuilder &k, Index batch) const {
  Index plane = 0;
  if (depth.out > 1) {
    plane = k.rem(batch, depth.out);
    batch = k.div(batch, depth.out);
  }
  Index group = k.rem(batch, groups);
  PanelCall call;
  call.weights = k.mul(group, panels * panelWeights());
  call.bias = k.mul(group, panels * panelWidth);
  call.out = k.mul(batch, panels * outPanel());
  if (depth.out > 1)
    call.out = k.add(call.out, k.mul(plane, outPlane()));
  call.blocks = tail() ? inBlocks - 1 : inBlocks;
  call.weightPanel = panelWeights();
  call.outPanel = outPanel();
  if (quantized && quantized->rows) {
    Index image = k.div(batch, groups);
    if (depth.out > 1)
      image = k.add(k.mul(image, depth.out), plane);
    call.terms = k.mul(image, w.outHeight * w.outWidth);
  }
  return call;
}

std::optional<ConvPanels> PanelConvRoutine::blockedConv(Operation *layer,
                                                        bool volumes) const {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || !(hasBlockableWindow(op) || (volumes && isVolume(op))))
    return std::nullopt;
  ConvPanels c(op, panelWidth);
  if (!tuning.fits(c.panels) || !c.separatesGroups())
    return std::nullopt;
  return c;
}

LayoutRequest PanelConvRoutine::layouts(Operation *layer) const {
  return blockedLayouts(layer, panelTag);
}

std::optional<Cells> PanelConvRoutine::cells(Operation *layer) const {
  return cellsOfPlane(layer);
}
