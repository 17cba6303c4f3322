//===- LinearLayer.cpp - Convolutions and matrix products alike -----------===//
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

std::optional<LinearLayer> LinearLayer::get(Operation *op) {
  if (!isa_and_nonnull<Linear>(op))
    return std::nullopt;
  return LinearLayer(op);
}

std::optional<LinearLayer> LinearLayer::onlyUse(Value result) {
  return result.hasOneUse() ? get(result.getDefiningOp()) : std::nullopt;
}

void LinearLayer::setResidual(Value value) {
  assert(!residual() && !residualActivation() &&
         "it is added before what the layer has already");
  linear().getResidualMutable().assign(value);
}

void LinearLayer::setActivation(FunctionAttr function) {
  assert(!activation() && !residual() && !residualActivation() &&
         "it is applied before what the layer has already");
  linear().setActivationAttr(function);
}
void LinearLayer::setResidualActivation(FunctionAttr function) {
  assert(!residualActivation() && "there is room for one");
  linear().setResidualActivationAttr(function);
}

int64_t LinearLayer::outputAxis() const {
  return isa<MatMulOp>(op) ? typeOf(result()).getRank() - 1 : 1;
}

int64_t LinearLayer::inputAxis() const {
  auto matmul = dyn_cast<MatMulOp>(op);
  if (!matmul)
    return 1;
  return typeOf(input()).getRank() - (matmul.getTransposeLhs() ? 2 : 1);
}

int64_t LinearLayer::outputs() const {
  return typeOf(result()).getDimSize(outputAxis());
}

int64_t LinearLayer::inputs() const {
  return typeOf(input()).getDimSize(inputAxis());
}

LinearLayer::WeightsView LinearLayer::view(bool byOutput) const {
  ArrayRef<int64_t> weightShape = typeOf(weights()).getShape();
  WeightsView view;
  size_t channelDim;
  bool perGroup = false;
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    view.shape.assign(weightShape.begin(), weightShape.end());
    bool isLast = byOutput != matmul.getTransposeRhs();
    channelDim = weightShape.size() - (isLast ? 1 : 2);
  } else {
    bool isTransposed = isa<ConvTransposeOp>(op);
    int64_t groups =
        isTransposed
            ? static_cast<int64_t>(cast<ConvTransposeOp>(op).getGroups())
            : static_cast<int64_t>(cast<ConvOp>(op).getGroups());
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
