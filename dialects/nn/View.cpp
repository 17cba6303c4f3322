//===- View.cpp - Layers that move no memory ------------------------------===//

#include "dialects/nn/View.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nnv12;

bool nn::isView(Operation *layer) {
  // In its byte an element of 4 or 2 bits is below zeros or below copies of its
  // sign, as its type has it.
  if (isa<BitCastOp>(layer) &&
      getElementTypeOrSelf(layer->getOperand(0)).getIntOrFloatBitWidth() < 8)
    return false;
  return isa<ReshapeOp, BitCastOp>(layer) &&
         layoutTag(layer->getOperand(0).getType()).empty() &&
         layoutTag(layer->getResult(0).getType()).empty();
}
