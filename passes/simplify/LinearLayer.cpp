//===- LinearLayer.cpp - Convolutions and matrix products alike -----------===//
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

Linear nnv12::soleLinear(Value result) {
  return result.hasOneUse() ? result.getDefiningOp<Linear>() : Linear();
}

int64_t nnv12::outputAxis(Linear layer) {
  return isa<MatMulOp>(layer.getOperation())
             ? typeOf(resultOf(layer)).getRank() - 1
             : 1;
}

int64_t nnv12::weightsAxis(Linear layer) {
  if (auto matmul = dyn_cast<MatMulOp>(layer.getOperation()))
    return typeOf(matmul.getRhs()).getRank() -
           (matmul.getTransposeRhs() ? 2 : 1);
  return isa<ConvTransposeOp>(layer.getOperation()) ? 1 : 0;
}

int64_t nnv12::inputAxis(Linear layer) {
  auto matmul = dyn_cast<MatMulOp>(layer.getOperation());
  if (!matmul)
    return 1;
  return typeOf(inputOf(layer)).getRank() - (matmul.getTransposeLhs() ? 2 : 1);
}

int64_t nnv12::numOutputs(Linear layer) {
  return typeOf(resultOf(layer)).getDimSize(outputAxis(layer));
}

int64_t nnv12::numInputs(Linear layer) {
  return typeOf(inputOf(layer)).getDimSize(inputAxis(layer));
}

WeightsView nnv12::viewWeights(Linear layer, Channels channels) {
  ArrayRef<int64_t> weightShape = typeOf(weightsOf(layer)).getShape();
  bool byOutput = channels == Channels::Output;
  WeightsView view;
  size_t channelDim;
  bool perGroup = false;
  if (auto matmul = dyn_cast<MatMulOp>(layer.getOperation())) {
    view.shape.assign(weightShape.begin(), weightShape.end());
    bool isLast = byOutput != matmul.getTransposeRhs();
    channelDim = weightShape.size() - (isLast ? 1 : 2);
  } else {
    bool isTransposed = isa<ConvTransposeOp>(layer.getOperation());
    int64_t groups = layer->getAttrOfType<IntegerAttr>("groups").getInt();
    assert(weightShape[0] % groups == 0 && "groups are of one size");
    view.shape = {groups, weightShape[0] / groups};
    view.shape.append(weightShape.begin() + 1, weightShape.end());
    perGroup = true;
    channelDim = byOutput != isTransposed ? 1 : 2;
  }
  view.channelShape.assign(view.shape.size(), 1);
  if (perGroup)
    view.channelShape[0] = view.shape[0];
  view.channelShape[channelDim] = view.shape[channelDim];
  return view;
}
