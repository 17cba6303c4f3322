//===- QConvLayouts.cpp - Shared by convolutions of bytes -----------------===//

#include "compiler/codegen/cpu/routines/QConvLayouts.h"

#include "compiler/routines/Work.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

std::string codegen::misfitOfBytes(Operation *layer, size_t mostRank) {
  auto op = dyn_cast<nn::QConvOp>(layer);
  if (!op)
    return "it is no convolution of 8-bit integers";
  size_t rank = shapeOf(op.getInput()).size();
  if (rank < 3 || rank > mostRank)
    return "it has too many spatial dimensions";
  auto isEmpty = [](Value v) { return elementsOf(v) == 0; };
  if (llvm::any_of(op->getOperands(), isEmpty) || isEmpty(op.getOutput()))
    return "a tensor of it is empty";
  if (!getElementTypeOrSelf(op.getInput()).isUnsignedInteger() ||
      getElementTypeOrSelf(op.getWeights()).isUnsignedInteger())
    return "its input is not unsigned, or its weights are not signed";
  return "";
}

/// Letters of the spatial dimensions of a tensor of this rank.
static std::string spatial(int64_t rank) {
  return std::string("cde").substr(0, rank - 2);
}

std::string codegen::channelQuadTag(int64_t rank) {
  return "AB" + spatial(rank) + "4b16a4b";
}

std::string codegen::columnQuadTag(int64_t rank) {
  std::string letters = spatial(rank), columns(1, letters.back());
  letters.back() = llvm::toUpper(letters.back());
  return "Ab" + letters + "16a4" + columns;
}

LayoutRequest codegen::quantizedLayouts(nn::QConvOp op,
                                        std::string (*weights)(int64_t rank)) {
  int64_t rank = shapeOf(op.getInput()).size();
  LayoutRequest request;
  for (Value operand : op->getOperands())
    request.operands.push_back(shapeOf(operand).size() == 1  ? "A16a"
                               : operand == op.getResidual() ? blockedTag(rank)
                                                             : "");
  request.operands[0] = blockedTag(rank);
  request.operands[1] = weights(rank);
  request.results = {blockedTag(rank)};
  return request;
}
