//===- Product.cpp - Layers that can be in 8 bits -------------------------===//

#include "compiler/quantize/Product.h"

#include "compiler/quantize/OnnxGraph.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace nnv12::quantize;

std::optional<Product> nnv12::quantize::productAt(const OnnxGraph &graph,
                                                  int number) {
  const onnx::NodeProto &node = graph.graph().node(number);
  if (!node.domain().empty() || node.input_size() < 2 ||
      graph.isConstant(node.input(0)))
    return std::nullopt;
  auto weights = graph.floats(node.input(1));
  if (!weights)
    return std::nullopt;
  size_t rank = weights->shape.size();
  int axis = -1;
  if (node.op_type() == "Conv" && rank >= 3)
    axis = 0;
  else if (node.op_type() == "MatMul" && rank == 2)
    axis = 1;
  else if (node.op_type() == "Gemm" && rank == 2 &&
           !intAttribute(node, "transA", 0) &&
           floatAttribute(node, "alpha", 1) == 1 &&
           floatAttribute(node, "beta", 1) == 1)
    axis = intAttribute(node, "transB", 0) ? 0 : 1;
  if (axis < 0 || weights->values.empty() ||
      !llvm::all_of(weights->values, [](float x) { return std::isfinite(x); }))
    return std::nullopt;
  if (node.input_size() > 2 && !node.input(2).empty()) {
    auto bias = graph.floats(node.input(2));
    if (!bias || int64_t(bias->values.size()) != weights->shape[axis])
      return std::nullopt;
  }
  return Product{number, nodeName(node, number), axis};
}

WeightPlaces::WeightPlaces(const std::vector<int64_t> &shape, int axis,
                           int64_t groups)
    : axis_(axis), outputs_(size_t(shape[size_t(axis)])) {
  for (size_t d = size_t(axis) + 1; d < shape.size(); ++d)
    inner_ *= size_t(shape[d]);
  for (size_t d = 2; d < shape.size(); ++d)
    taps_ *= size_t(shape[d]);
  if (axis != 0) {
    channels_ = shape.size() == 2 ? size_t(shape[0]) : 0;
    return;
  }
  if (groups < 1 || outputs_ % size_t(groups) != 0 || shape.size() < 2)
    return;
  ofGroup_ = size_t(shape[1]);
  perGroup_ = outputs_ / size_t(groups);
  channels_ = ofGroup_ * size_t(groups);
}
