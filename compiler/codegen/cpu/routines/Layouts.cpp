//===- Layouts.cpp - Layouts that several routines ask for ----------------===//

#include "compiler/codegen/cpu/routines/Layouts.h"
#include "compiler/codegen/cpu/routines/WindowShape.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

/// Letters of the spatial dimensions of a tensor of this rank.
static std::string spatial(int64_t rank) {
  std::string letters;
  for (int64_t d = 2; d < rank; ++d)
    letters += char('a' + d);
  return letters;
}

std::string codegen::blockedTag(int64_t rank) {
  return "aB" + spatial(rank) + "16b";
}
std::string codegen::panelTag(int64_t rank) {
  return "AB" + spatial(rank) + "16b16a";
}
std::string codegen::columnTag(int64_t rank) {
  return "Ab" + spatial(rank) + "16a";
}

LayoutRequest codegen::denseLayouts(Operation *layer) {
  LayoutRequest request;
  request.operands.assign(layer->getNumOperands(), std::string());
  request.results.assign(layer->getNumResults(), std::string());
  return request;
}

LayoutRequest codegen::blockedLayouts(Operation *layer, std::string weights) {
  std::string blocked = blockedTag(shapeOf(layer->getOperand(0)).size());
  auto conv = dyn_cast<nn::ConvOp>(layer);
  bool hasBias = conv ? bool(conv.getBias())
                      : bool(cast<nn::ConvTransposeOp>(layer).getBias());
  LayoutRequest request;
  request.operands.assign(layer->getNumOperands(), blocked); // the residual too
  request.operands[1] = std::move(weights);
  if (hasBias)
    request.operands[2] = "A16a";
  request.results = {blocked};
  return request;
}

bool codegen::hasBlockableWindow(Operation *layer) {
  size_t rank = shapeOf(layer->getOperand(0)).size();
  return (rank == 3 || rank == 4) && isNonEmptyF32(layer);
}
