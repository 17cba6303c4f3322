//===- QConvLayouts.cpp - Shared by convolutions of bytes -----------------===//

#include "compiler/codegen/cpu/routines/QConvLayouts.h"

#include "compiler/routines/Work.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

std::string codegen::misfitOfBytes(Operation *layer) {
  auto op = dyn_cast<nn::QConvOp>(layer);
  if (!op)
    return "it is no convolution of 8-bit integers";
  size_t rank = shapeOf(op.getInput()).size();
  if (rank != 3 && rank != 4)
    return "it has three spatial dimensions";
  auto isEmpty = [](Value v) { return elementsOf(v) == 0; };
  if (llvm::any_of(op->getOperands(), isEmpty) || isEmpty(op.getOutput()))
    return "a tensor of it is empty";
  if (!getElementTypeOrSelf(op.getInput()).isUnsignedInteger() ||
      getElementTypeOrSelf(op.getWeights()).isUnsignedInteger())
    return "its input is not unsigned, or its weights are not signed";
  return "";
}

std::string codegen::channelQuadTag(int64_t rank) {
  return std::string("AB") + (rank == 3 ? "c" : "cd") + "4b16a4b";
}

std::string codegen::columnQuadTag(int64_t rank) {
  return rank == 3 ? "AbC16a4c" : "AbcD16a4d";
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
