//===- View.cpp - Layers that move no memory ------------------------------===//

#include "dialects/nn/View.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;

bool nn::isView(Operation *layer) {
  return isa<ReshapeOp, BitCastOp>(layer) &&
         layoutTag(layer->getOperand(0).getType()).empty() &&
         layoutTag(layer->getResult(0).getType()).empty();
}
