//===- SmallWeights.cpp - Weights that fewer bits could hold --------------===//

#include "compiler/quantize/SmallWeights.h"

#include "compiler/quantize/OnnxGraph.h"
#include "compiler/quantize/Product.h"
#include "compiler/quantize/Switches.h"
#include "compiler/weights/Exact.h"
#include "compiler/weights/Rounding.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace nnv12;
using namespace nnv12::quantize;
using onnx::NodeProto;

/// Weights with fewer elements are not rounded: see isWorthNarrowing().
static constexpr size_t leastElements = 683;

/// The dimension of the weights that has the outputs; -1: they are none.
static int outputAxis(const NodeProto &node, int input, int rank) {
  llvm::StringRef type = node.op_type();
  bool isRecurrent = type == "LSTM" || type == "GRU" || type == "RNN";
  if (!node.domain().empty() || rank < 2 ||
      (input != 1 && !(input == 2 && isRecurrent)))
    return -1;
  if (type == "Gemm")
    return intAttribute(node, "transB", 0) ? 0 : 1;
  return llvm::StringSwitch<int>(type)
      .Case("Conv", 0)
      .Cases({"ConvTranspose", "LSTM", "GRU", "RNN"}, 1)
      .Case("MatMul", rank - 1)
      .Default(-1);
}

/// The weights as 8 bits hold them; nothing where a channel has no scale.
static std::optional<std::vector<float>> inBytes(const FloatTensor &weights,
                                                 int axis) {
  WeightPlaces of(weights.shape, axis);
  std::vector<std::vector<float>> channels(of.outputs());
  for (size_t i = 0; i < weights.values.size(); ++i)
    channels[of.output(i)].push_back(weights.values[i]);
  std::vector<float> scales;
  for (const std::vector<float> &channel : channels) {
    auto scale = nearScale(channel.data(), channel.size());
    if (!scale)
      return std::nullopt;
    scales.push_back(*scale);
  }
  std::vector<float> result(weights.values.size());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = nearestMultiple(weights.values[i], scales[of.output(i)]);
  return result;
}

std::vector<SmallWeights>
nnv12::quantize::smallWeightsOf(const OnnxGraph &graph) {
  std::vector<SmallWeights> result;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const NodeProto &node = graph.graph().node(i);
    SmallWeights layer = {i, nodeName(node, i), {}, -1};
    double ofHalves = 0, ofBytes = 0;
    for (int input = 1; input < std::min(node.input_size(), 3); ++input) {
      auto weights = graph.floats(node.input(input));
      if (!weights || weights->values.size() < leastElements)
        continue;
      int axis = outputAxis(node, input, int(weights->shape.size()));
      auto rounded = axis < 0 ? std::nullopt : inBytes(*weights, axis);
      if (!rounded)
        continue;
      for (auto [value, near] : llvm::zip_equal(weights->values, *rounded)) {
        ofBytes += std::pow(double(near) - value, 2);
        // Beyond the largest half no layer has that form.
        if (std::fabs(value) <= largestHalf)
          ofHalves += std::pow(double(nearestHalfAsFloat(value)) - value, 2);
      }
      layer.axis = axis;
      layer.inputs.push_back(input);
    }
    if (layer.inputs.empty())
      continue;
    layer.noiseOfHalves = ofBytes > 0 ? ofHalves / ofBytes : 0;
    result.push_back(std::move(layer));
  }
  return result;
}

std::string
nnv12::quantize::withRoundedWeights(const OnnxGraph &graph,
                                    const std::vector<SmallWeights> &layers) {
  OnnxGraph result = graph;
  addSwitches(result, layers.size());
  onnx::GraphProto nodes;
  size_t next = 0;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    NodeProto node = graph.graph().node(i);
    if (next == layers.size() || layers[next].node != i) {
      *nodes.add_node() = node;
      continue;
    }
    NodeProto rounded = node;
    for (int input : layers[next].inputs) {
      FloatTensor weights = *graph.floats(node.input(input));
      rounded.set_input(
          input, result.addConstant(node.output(0) + "_weight", weights.shape,
                                    *inBytes(weights, layers[next].axis)));
    }
    addSwitched(result, nodes, rounded, node, next++);
  }
  result.graph().mutable_node()->Swap(nodes.mutable_node());
  return result.bytes();
}
