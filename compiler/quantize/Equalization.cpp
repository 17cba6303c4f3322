//===- Equalization.cpp - Channels with ranges that are alike -------------===//

#include "compiler/quantize/Equalization.h"

#include "compiler/quantize/OnnxGraph.h"
#include "compiler/quantize/Product.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace nnv12::quantize;
using onnx::NodeProto;

namespace {
/// A product whose weights change.
struct Side {
  Side(const OnnxGraph &graph, const Product &product)
      : axis(product.axis),
        weights(*graph.floats(graph.graph().node(product.node).input(1))),
        places(weights.shape, axis,
               intAttribute(graph.graph().node(product.node), "group", 1)) {
    const NodeProto &node = graph.graph().node(product.node);
    if (node.input_size() > 2 && !node.input(2).empty())
      bias = graph.floats(node.input(2));
  }

  int axis;
  FloatTensor weights;
  std::optional<FloatTensor> bias;
  WeightPlaces places;
  bool isChanged = false;
};

/// Two products: the second one reads the values of the first one.
struct Pair {
  int first, second; ///< nodes
};

class Equalizer {
public:
  Equalizer(OnnxGraph &graph, const LargestOf &largestOf)
      : graph(graph), largestOf(largestOf) {}
  size_t run();

private:
  int readerOf(int node) const;
  void findPairs();
  /// Whether a channel has another factor now.
  bool scale(const Pair &pair);
  void write();

  OnnxGraph &graph;
  const LargestOf &largestOf;
  std::map<int, Side> sides; ///< by node
  std::vector<Pair> pairs;
};
} // namespace

/// Whether multiples of numbers become the same multiples of results.
static bool keepsFactors(const OnnxGraph &graph, const NodeProto &node) {
  if (!node.domain().empty())
    return false;
  return node.op_type() == "Relu" || node.op_type() == "LeakyRelu" ||
         (node.op_type() == "PRelu" && node.input_size() == 2 &&
          graph.isConstant(node.input(1)));
}

/// The only node that reads a node's result, behind activations; -1: there are
/// others, or none.
int Equalizer::readerOf(int node) const {
  for (;;) {
    const std::string &result = graph.graph().node(node).output(0);
    if (graph.isOutput(result) || graph.readers(result).size() != 1)
      return -1;
    node = graph.readers(result)[0];
    const NodeProto &reader = graph.graph().node(node);
    // Subgraphs may read anything.
    if (reader.input(0) != result)
      return -1;
    if (!keepsFactors(graph, reader))
      return node;
  }
}

void Equalizer::findPairs() {
  for (int i = 0; i < graph.graph().node_size(); ++i)
    if (auto product = productAt(graph, i))
      sides.emplace(i, Side(graph, *product));
  for (const auto &[node, side] : sides) {
    auto reader = sides.find(readerOf(node));
    if (reader == sides.end())
      continue;
    // Channels are in one place for convolutions and in another one for
    // products of matrices.
    bool isConv = graph.graph().node(node).op_type() == "Conv",
         readsConv = graph.graph().node(reader->first).op_type() == "Conv";
    if (isConv == readsConv &&
        reader->second.places.channels() == side.places.outputs())
      pairs.push_back({node, reader->first});
  }
}

bool Equalizer::scale(const Pair &pair) {
  Side &first = sides.at(pair.first), &second = sides.at(pair.second);
  size_t channels = first.places.outputs();
  std::vector<double> largest =
      largestOf(graph.graph().node(pair.second).input(0));
  if (largest.size() != channels)
    return false;
  double most = *std::max_element(largest.begin(), largest.end());
  // How large the weights of each channel are, beside the largest one that they
  // share a scale with.
  std::vector<float> ofOutput(second.places.outputs(), 0),
      ofChannel(channels, 0);
  const std::vector<float> &weights = second.weights.values;
  auto widen = [](float &most, float x) { most = std::max(most, x); };
  for (size_t i = 0; i < weights.size(); ++i)
    widen(ofOutput[second.places.output(i)], std::fabs(weights[i]));
  for (size_t i = 0; i < weights.size(); ++i)
    if (float share = ofOutput[second.places.output(i)])
      widen(ofChannel[second.places.channel(i)], std::fabs(weights[i]) / share);
  std::vector<float> factor(channels, 1);
  bool isChanged = false;
  for (size_t c = 0; c < channels; ++c) {
    // Nothing tells how large a channel of zeros may be.
    if (largest[c] == 0 || ofChannel[c] == 0)
      continue;
    double part = largest[c] / most;
    double exponent =
        second.places.isDepthwise()
            ? std::ceil(std::log2(part))
            : std::nearbyint(std::log2(part / double(ofChannel[c])) / 2);
    // No factor makes a weight infinite or denormal.
    constexpr double mostExponent = 16;
    factor[c] =
        float(std::exp2(std::clamp(exponent, -mostExponent, mostExponent)));
    isChanged |= factor[c] != 1;
  }
  if (!isChanged)
    return false;
  for (size_t i = 0; i < first.weights.values.size(); ++i)
    first.weights.values[i] /= factor[first.places.output(i)];
  for (size_t c = 0; first.bias && c < channels; ++c)
    first.bias->values[c] /= factor[c];
  for (size_t i = 0; i < weights.size(); ++i)
    second.weights.values[i] *= factor[second.places.channel(i)];
  first.isChanged = second.isChanged = true;
  return true;
}

void Equalizer::write() {
  for (auto &[number, side] : sides) {
    if (!side.isChanged)
      continue;
    NodeProto &node = *graph.graph().mutable_node(number);
    // Others may share the constants.
    node.set_input(1,
                   graph.addConstant(node.input(1) + "_equalized",
                                     side.weights.shape, side.weights.values));
    if (side.bias)
      node.set_input(2, graph.addConstant(node.input(2) + "_equalized",
                                          side.bias->shape, side.bias->values));
  }
  graph.index();
}

size_t Equalizer::run() {
  findPairs();
  // Each pair decides by its own values, and by weights beside others of one
  // output. No other pair changes these.
  auto count = size_t(
      llvm::count_if(pairs, [&](const Pair &pair) { return scale(pair); }));
  if (count)
    write();
  return count;
}

size_t nnv12::quantize::equalize(OnnxGraph &graph, const LargestOf &largest) {
  return Equalizer(graph, largest).run();
}
