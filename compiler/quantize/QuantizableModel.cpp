//===- QuantizableModel.cpp - A float model, and it in 8 bits -------------===//

#include "compiler/quantize/QuantizableModel.h"

#include "compiler/quantize/Equalization.h"
#include "compiler/quantize/OnnxGraph.h"
#include "compiler/quantize/RoundedWeights.h"
#include "compiler/quantize/Switches.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace nnv12::quantize;
using onnx::NodeProto;
using onnx::TensorProto;

using Kind = QuantizableLayer::Kind;

/// The kind of a layer that is no product; none: it stays float.
static std::optional<Kind> kindBetween(const NodeProto &node) {
  if (!node.domain().empty())
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Kind>>(node.op_type())
      .Cases({"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze",
              "Unsqueeze", "Concat", "Slice", "Split"},
             Kind::Moves)
      .Cases({"Add", "AveragePool", "GlobalAveragePool"}, Kind::Counts)
      .Default(std::nullopt);
}

/// Whether a quantised result can follow at once: it only cuts off values.
static bool isClamp(const NodeProto &node) {
  return node.domain().empty() &&
         (node.op_type() == "Relu" || node.op_type() == "Clip");
}

QuantizableModel::QuantizableModel()
    : owned(std::make_unique<OnnxGraph>()), graph(*owned) {}
QuantizableModel::~QuantizableModel() = default;

size_t QuantizableModel::equalize(const Ranges &ranges) {
  return quantize::equalize(graph, [&](const std::string &tensor) {
    auto found = ranges.find(tensor);
    return found == ranges.end() ? std::vector<double>()
                                 : found->second.largest;
  });
}

bool QuantizableModel::isInput(const std::string &tensor) const {
  return graph.producer(tensor) < 0;
}

std::string QuantizableModel::read(const std::string &path,
                                   const std::vector<std::string> &folders,
                                   artifact::InputFiles *inputs) {
  std::string error = graph.read(path, folders, inputs);
  if (!error.empty())
    return error;
  foldBatchNormalization();
  findLayers();
  std::set<std::string> quantised =
      operandsOf(std::vector<bool>(layers_.size(), true));
  // In the order of the graph.
  for (const onnx::ValueInfoProto &input : graph.graph().input())
    if (quantised.count(input.name()))
      values_.push_back(input.name());
  for (const NodeProto &node : graph.graph().node())
    for (const std::string &output : node.output())
      if (quantised.count(output))
        values_.push_back(output);
  return "";
}

/// scale / sqrt(variance + epsilon) and shift of each channel.
static bool factorsOf(const OnnxGraph &graph, const NodeProto &norm,
                      std::vector<float> &factor, std::vector<float> &shift) {
  std::optional<FloatTensor> parts[4];
  for (int i = 0; i < 4; ++i) {
    parts[i] =
        norm.input_size() > 4 ? graph.floats(norm.input(i + 1)) : std::nullopt;
    if (!parts[i] || parts[i]->values.size() != parts[0]->values.size())
      return false;
  }
  float epsilon = floatAttribute(norm, "epsilon", 1e-5f);
  for (size_t c = 0; c < parts[0]->values.size(); ++c) {
    factor.push_back(parts[0]->values[c] /
                     std::sqrt(parts[3]->values[c] + epsilon));
    shift.push_back(parts[1]->values[c] - parts[2]->values[c] * factor[c]);
  }
  return true;
}

void QuantizableModel::foldBatchNormalization() {
  std::set<int> folded;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    NodeProto &norm = *graph.graph().mutable_node(i);
    if (norm.op_type() != "BatchNormalization" || !norm.domain().empty() ||
        norm.output_size() != 1 || intAttribute(norm, "training_mode", 0))
      continue;
    int before = graph.producer(norm.input(0));
    if (before < 0 || graph.readers(norm.input(0)).size() != 1 ||
        graph.isOutput(norm.input(0)))
      continue;
    NodeProto &conv = *graph.graph().mutable_node(before);
    std::optional<FloatTensor> weights, bias;
    if (conv.op_type() == "Conv" && conv.domain().empty())
      weights = graph.floats(conv.input(1));
    std::vector<float> factor, shift;
    if (!weights || !factorsOf(graph, norm, factor, shift) ||
        weights->shape.empty() || weights->shape[0] != int64_t(factor.size()))
      continue;
    if (conv.input_size() > 2) {
      bias = graph.floats(conv.input(2));
      if (!bias || bias->values.size() != factor.size())
        continue;
    }
    size_t row = weights->values.size() / factor.size();
    for (size_t k = 0; k < weights->values.size(); ++k)
      weights->values[k] *= factor[k / row];
    for (size_t c = 0; bias && c < factor.size(); ++c)
      shift[c] += bias->values[c] * factor[c];
    conv.set_input(1, graph.addConstant(conv.input(1) + "_folded",
                                        weights->shape, weights->values));
    while (conv.input_size() < 3)
      conv.add_input();
    conv.set_input(2, graph.addConstant(norm.output(0) + "_shift",
                                        {int64_t(shift.size())}, shift));
    conv.set_output(0, norm.output(0));
    folded.insert(i);
  }
  onnx::GraphProto kept;
  for (int i = 0; i < graph.graph().node_size(); ++i)
    if (!folded.count(i))
      *kept.add_node() = std::move(*graph.graph().mutable_node(i));
  graph.graph().mutable_node()->Swap(kept.mutable_node());
  graph.index();
}

void QuantizableModel::findLayers() {
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const NodeProto &node = graph.graph().node(i);
    QuantizableLayer layer = {i,  Kind::Product, nnv12::nodeName(node, i),
                              -1, dataOf(node),  {}};
    for (const std::string &output : node.output())
      layer.results.push_back(tail(output));
    if (auto product = productAt(graph, i)) {
      layer.axis = product->axis;
    } else {
      std::optional<Kind> kind = kindBetween(node);
      // Computed shapes are data, too, so such layers stay floats.
      size_t data = layer.operands.size();
      bool isOnly = node.op_type() == "Concat" || node.op_type() == "Add"
                        ? int(data) == node.input_size()
                        : data == 1;
      if (!kind || !isOnly)
        continue;
      layer.kind = *kind;
    }
    layers_.push_back(std::move(layer));
  }
  std::vector<bool> in8(layers_.size(), true);
  leaveAlone(in8);
  size_t i = 0;
  llvm::erase_if(layers_, [&](const QuantizableLayer &) { return !in8[i++]; });
}

std::string QuantizableModel::tail(const std::string &tensor) const {
  if (graph.isOutput(tensor) || graph.readers(tensor).size() != 1)
    return tensor;
  const NodeProto &reader = graph.graph().node(graph.readers(tensor)[0]);
  return isClamp(reader) && reader.input(0) == tensor ? reader.output(0)
                                                      : tensor;
}

std::vector<std::string> QuantizableModel::dataOf(const NodeProto &node) const {
  std::vector<std::string> data;
  for (const std::string &input : node.input())
    if (!input.empty() && !graph.isConstant(input))
      data.push_back(input);
  return data;
}

void QuantizableModel::leaveAlone(std::vector<bool> &in8) const {
  assert(in8.size() == layers_.size() && "a choice for each layer");
  for (bool changed = true; changed;) {
    changed = false;
    std::set<std::string> made, read = operandsOf(in8);
    for (size_t i = 0; i < layers_.size(); ++i)
      if (in8[i])
        made.insert(layers_[i].results.begin(), layers_[i].results.end());
    for (size_t i = 0; i < layers_.size(); ++i) {
      const QuantizableLayer &layer = layers_[i];
      auto isMade = [&](const std::string &t) { return made.count(t) != 0; };
      auto isRead = [&](const std::string &t) { return read.count(t) != 0; };
      if (!in8[i] || layer.isProduct() ||
          (llvm::all_of(layer.operands, isMade) &&
           llvm::any_of(layer.results, isRead)))
        continue;
      in8[i] = false;
      changed = true;
    }
  }
}

std::vector<bool> QuantizableModel::allWith(const Ranges &ranges) const {
  std::vector<bool> in8(layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i)
    in8[i] = llvm::all_of(layers_[i].operands, [&](const std::string &tensor) {
      return ranges.count(tensor) != 0;
    });
  leaveAlone(in8);
  return in8;
}

std::set<std::string>
QuantizableModel::operandsOf(const std::vector<bool> &in8) const {
  std::set<std::string> tensors;
  for (size_t i = 0; i < layers_.size(); ++i)
    if (in8[i])
      tensors.insert(layers_[i].operands.begin(), layers_[i].operands.end());
  return tensors;
}

bool QuantizableModel::isReadAsFloats(const std::string &tensor) const {
  if (graph.isOutput(tensor))
    return true;
  return llvm::any_of(graph.readers(tensor), [&](int reader) {
    return llvm::none_of(layers_, [&](const QuantizableLayer &layer) {
      return layer.node == reader && llvm::is_contained(layer.operands, tensor);
    });
  });
}

std::map<std::string, Grid>
QuantizableModel::gridsOf(const std::vector<bool> &in8,
                          const Ranges &ranges) const {
  std::set<std::string> tensors = operandsOf(in8);
  std::vector<std::string> names(tensors.begin(), tensors.end());
  llvm::IntEqClasses shared(names.size());
  auto numberOf = [&](const std::string &tensor) {
    auto found = llvm::lower_bound(names, tensor);
    assert(found != names.end() && *found == tensor && "it is quantised");
    return unsigned(found - names.begin());
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const QuantizableLayer &layer = layers_[i];
    if (!in8[i] || layer.kind != Kind::Moves)
      continue;
    unsigned first = numberOf(layer.operands.front());
    for (const std::string &tensor : layer.operands)
      shared.join(first, numberOf(tensor));
    for (const std::string &tensor : layer.results)
      if (tensors.count(tensor))
        shared.join(first, numberOf(tensor));
  }
  shared.compress();
  std::vector<Range> whole(shared.getNumClasses());
  for (unsigned i = 0; i < names.size(); ++i) {
    assert(ranges.count(names[i]) && "inputs in 8 bits have ranges");
    const Range &range = ranges.find(names[i])->second.range;
    Range &sum = whole[shared[i]];
    sum.least = std::min(sum.least, range.least);
    sum.most = std::max(sum.most, range.most);
  }
  std::map<std::string, Grid> grids;
  for (unsigned i = 0; i < names.size(); ++i)
    grids[names[i]] = calibrate::gridOf(whole[shared[i]]);
  return grids;
}

/// QuantizeLinear or DequantizeLinear.
static NodeProto &addNode(const OnnxGraph &graph, onnx::GraphProto &nodes,
                          const char *type,
                          const std::vector<std::string> &inputs,
                          const std::string &output) {
  NodeProto &node = *nodes.add_node();
  node.set_op_type(type);
  node.set_domain(graph.quantizeDomain);
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

/// Adds a tensor as 8 bits stand for it, and returns its name.
static std::string addRounded(OnnxGraph &graph, onnx::GraphProto &nodes,
                              const std::string &tensor, const Grid &grid) {
  std::string scale =
      graph.addConstant<float>(tensor + "_scale", {}, {grid.scale});
  std::string zero =
      graph.addConstant<uint8_t>(tensor + "_zero_point", {}, {grid.zero});
  std::string q = graph.freshName(tensor + "_QuantizeLinear"),
              dq = graph.freshName(tensor + "_DequantizeLinear");
  addNode(graph, nodes, "QuantizeLinear", {tensor, scale, zero}, q);
  addNode(graph, nodes, "DequantizeLinear", {q, scale, zero}, dq);
  return dq;
}

/// Constants that no node reads anymore, and that no graph returns, go.
static void dropUnused(onnx::GraphProto &graph) {
  std::set<std::string> used;
  for (const NodeProto &node : graph.node()) {
    used.insert(node.input().begin(), node.input().end());
    // Graphs inside of nodes may read anything.
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g() || attribute.graphs_size())
        return;
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    used.insert(output.name());
  onnx::GraphProto kept;
  for (TensorProto &tensor : *graph.mutable_initializer())
    if (used.count(tensor.name()))
      *kept.add_initializer() = std::move(tensor);
  graph.mutable_initializer()->Swap(kept.mutable_initializer());
}

/// The bias of a product with these weights; nothing where it needs none.
static std::optional<std::vector<float>>
biasOf(const OnnxGraph &graph, const NodeProto &node,
       const FloatTensor &weights, int axis, const Grid &grid,
       const std::vector<double> &means) {
  std::optional<std::vector<float>> bias;
  if (node.input_size() > 2 && !node.input(2).empty())
    bias = graph.floats(node.input(2))->values;
  if (node.op_type() == "MatMul")
    return bias;
  RoundedWeights rounded =
      roundWeights(weights, axis, grid.scale, bias ? &*bias : nullptr);
  std::vector<double> changes =
      meanChanges(weights, rounded, means, intAttribute(node, "group", 1));
  if (llvm::all_of(changes, [](double x) { return x == 0; }))
    return bias;
  if (!bias)
    bias.emplace(changes.size(), 0.0f);
  for (size_t c = 0; c < changes.size(); ++c)
    (*bias)[c] = float(double((*bias)[c]) - changes[c]);
  return bias;
}

/// Makes a product read weights and a bias of 8 bits. Its input has `grid`.
static void roundProduct(OnnxGraph &graph, onnx::GraphProto &nodes,
                         NodeProto &node, int axis, const Grid &grid,
                         const std::vector<double> &means) {
  FloatTensor floats = *graph.floats(node.input(1));
  auto bias = biasOf(graph, node, floats, axis, grid, means);
  RoundedWeights w =
      roundWeights(floats, axis, grid.scale, bias ? &*bias : nullptr);
  int64_t outputs = int64_t(w.scales.size());
  auto dequantize = [&](const std::string &like, const std::string &q,
                        const std::vector<float> &scales,
                        const std::string &zeros, int axis) {
    std::string scale = graph.addConstant(like + "_scale", {outputs}, scales);
    std::string name = graph.freshName(like + "_DequantizeLinear");
    setInt(addNode(graph, nodes, "DequantizeLinear", {q, scale, zeros}, name),
           "axis", axis);
    return name;
  };
  std::string like = node.output(0) + "_weight";
  node.set_input(
      1, dequantize(like,
                    graph.addConstant(like + "_quantized", w.shape, w.values),
                    w.scales,
                    graph.addConstant(like + "_zero_point", {outputs},
                                      std::vector<int8_t>(outputs, 0)),
                    w.axis));
  if (!bias)
    return;
  like = node.output(0) + "_bias";
  while (node.input_size() < 3)
    node.add_input();
  node.set_input(
      2, dequantize(like,
                    graph.addConstant(like + "_quantized", {outputs}, w.bias),
                    w.biasScales,
                    graph.addConstant(like + "_zero_point", {outputs},
                                      std::vector<int32_t>(outputs, 0)),
                    0));
}

static void nameByNumbers(onnx::GraphProto &nodes) {
  for (int i = 0; i < nodes.node_size(); ++i)
    nodes.mutable_node(i)->set_name(QuantizableModel::nodeName(i));
}

std::string QuantizableModel::floats(Names names) const {
  OnnxGraph result = graph;
  if (names == Names::Numbers)
    nameByNumbers(result.graph());
  return result.bytes();
}

std::string QuantizableModel::quantized(const Ranges &ranges,
                                        const std::vector<bool> &in8,
                                        Names names) const {
  assert(in8.size() == layers_.size() && "a choice for each layer");
  std::map<std::string, Grid> grids = gridsOf(in8, ranges);
  std::map<int, const QuantizableLayer *> chosen;
  for (size_t i = 0; i < layers_.size(); ++i)
    if (in8[i])
      chosen[layers_[i].node] = &layers_[i];
  OnnxGraph result = graph;
  if (names == Names::Numbers)
    nameByNumbers(result.graph());
  onnx::GraphProto nodes;
  std::map<std::string, std::string> rounded;
  auto round = [&](const std::string &tensor) {
    auto grid = grids.find(tensor);
    if (grid != grids.end())
      rounded[tensor] = addRounded(result, nodes, tensor, grid->second);
  };
  for (const onnx::ValueInfoProto &input : graph.graph().input())
    round(input.name());
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    NodeProto node = result.graph().node(i);
    if (auto layer = chosen.find(i); layer != chosen.end()) {
      const std::string x = node.input(0);
      for (std::string &input : *node.mutable_input())
        if (!graph.isConstant(input) && rounded.count(input))
          input = rounded.at(input);
      if (layer->second->isProduct())
        roundProduct(result, nodes, node, layer->second->axis, grids.at(x),
                     ranges.find(x)->second.means);
    }
    *nodes.add_node() = node;
    for (const std::string &output : node.output())
      round(output);
  }
  result.graph().mutable_node()->Swap(nodes.mutable_node());
  dropUnused(result.graph());
  return result.bytes();
}

std::string QuantizableModel::switched(const Ranges &ranges,
                                       const std::vector<bool> &in8) const {
  std::map<std::string, Grid> grids = gridsOf(in8, ranges);
  std::map<int, const QuantizableLayer *> layers; ///< by node
  for (size_t i = 0; i < layers_.size(); ++i)
    if (in8[i] && layers_[i].isProduct())
      layers[layers_[i].node] = &layers_[i];
  OnnxGraph result = graph;
  addSwitches(result, layers.size());
  size_t number = 0;
  onnx::GraphProto nodes;
  std::map<std::string, std::string> rounded;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    NodeProto node = graph.graph().node(i);
    auto layer = layers.find(i);
    if (layer == layers.end()) {
      *nodes.add_node() = node;
      continue;
    }
    const std::string x = node.input(0);
    NodeProto in8Bits = node;
    if (!rounded.count(x))
      rounded[x] = addRounded(result, nodes, x, grids.at(x));
    in8Bits.set_input(0, rounded.at(x));
    roundProduct(result, nodes, in8Bits, layer->second->axis, grids.at(x),
                 ranges.find(x)->second.means);
    addSwitched(result, nodes, in8Bits, node, number++);
  }
  result.graph().mutable_node()->Swap(nodes.mutable_node());
  return result.bytes();
}
