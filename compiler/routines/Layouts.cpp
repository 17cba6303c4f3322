//===- Layouts.cpp - Layouts that several routines ask for ----------------===//

#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

using namespace mlir;
using namespace nnv12;

/// Letters of the spatial dimensions of a tensor of this rank.
static std::string spatial(int64_t rank) {
  std::string letters;
  for (int64_t d = 2; d < rank; ++d)
    letters += char('a' + d);
  return letters;
}

std::string nnv12::blockedTag(int64_t rank) {
  return "aB" + spatial(rank) + "16b";
}
std::string nnv12::panelTag(int64_t rank) {
  return "AB" + spatial(rank) + "16b16a";
}
std::string nnv12::transposedPanelTag(int64_t rank) {
  return "BA" + spatial(rank) + "16a16b";
}
std::string nnv12::columnTag(int64_t rank) {
  return "Ab" + spatial(rank) + "16a";
}
std::string nnv12::transposedRowTag(int64_t rank) {
  return "bA" + spatial(rank) + "16a";
}

static LayoutRequest sameLayouts(Operation *layer,
                                 const std::optional<std::string> &tag) {
  LayoutRequest request;
  request.operands.assign(layer->getNumOperands(), tag);
  request.results.assign(layer->getNumResults(), tag);
  return request;
}

LayoutRequest nnv12::anyLayouts(Operation *layer) {
  return sameLayouts(layer, std::nullopt);
}

LayoutRequest Routine::layouts(Operation *layer) const {
  return sameLayouts(layer, "");
}

LayoutRequest nnv12::blockedLayouts(Operation *layer,
                                    std::string (*weights)(int64_t rank)) {
  int64_t rank = shapeOf(layer->getOperand(0)).size();
  LayoutRequest request = sameLayouts(layer, blockedTag(rank));
  request.operands[1] = weights(rank);
  if (cast<nn::Linear>(layer).getBias())
    request.operands[2] = "A16a";
  return request;
}

bool nnv12::isVolume(Operation *layer) {
  return shapeOf(layer->getOperand(0)).size() == 5 && isNonEmptyF32(layer);
}

bool nnv12::hasBlockableWindow(Operation *layer) {
  size_t rank = shapeOf(layer->getOperand(0)).size();
  return (rank == 3 || rank == 4) && isNonEmptyF32(layer);
}
