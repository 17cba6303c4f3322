//===- QuantizableModel.cpp - A float model, and it in 8 bits -------------===//

#include "compiler/quantize/QuantizableModel.h"

#include "compiler/quantize/OnnxGraph.h"
#include "compiler/quantize/RoundedWeights.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace nnv12::quantize;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {
/// How a layer that is no product is in 8 bits.
enum class Kind {
  Float, ///< it is not
  Moves, ///< its results are some of its inputs' numbers: the grid stays
  Counts ///< it computes with them
};
} // namespace

static Kind kindOf(const NodeProto &node) {
  if (!node.domain().empty())
    return Kind::Float;
  return llvm::StringSwitch<Kind>(node.op_type())
      .Cases({"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze",
              "Unsqueeze", "Concat", "Slice", "Split"},
             Kind::Moves)
      .Cases({"Add", "AveragePool", "GlobalAveragePool"}, Kind::Counts)
      .Default(Kind::Float);
}

/// Whether a quantised result can follow at once: it only cuts off values.
static bool isClamp(const NodeProto &node) {
  return node.domain().empty() &&
         (node.op_type() == "Relu" || node.op_type() == "Clip");
}

QuantizableModel::QuantizableModel()
    : owned(std::make_unique<OnnxGraph>()), graph(*owned) {}
QuantizableModel::~QuantizableModel() = default;

std::string QuantizableModel::floats() const { return graph.bytes(); }

bool QuantizableModel::isInput(const std::string &tensor) const {
  return graph.producer(tensor) < 0;
}

std::string QuantizableModel::read(const std::string &path) {
  std::string error = graph.read(path);
  if (!error.empty())
    return error;
  foldBatchNormalization();
  findProducts();
  Choice all = choose(std::vector<bool>(products_.size(), true));
  // In the order of the graph.
  for (const onnx::ValueInfoProto &input : graph.graph().input())
    if (all.tensors.count(input.name()))
      values_.push_back(input.name());
  for (const NodeProto &node : graph.graph().node())
    for (const std::string &output : node.output())
      if (all.tensors.count(output))
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

void QuantizableModel::findProducts() {
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const NodeProto &node = graph.graph().node(i);
    if (!node.domain().empty() || node.input_size() < 2 ||
        graph.isConstant(node.input(0)))
      continue;
    auto weights = graph.floats(node.input(1));
    if (!weights)
      continue;
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
    bool hasBias = node.input_size() > 2 && !node.input(2).empty();
    if (axis < 0 || weights->values.empty() ||
        !llvm::all_of(
            weights->values, [](float x) { return std::isfinite(x); }))
      continue;
    if (hasBias) {
      auto bias = graph.floats(node.input(2));
      if (!bias || int64_t(bias->values.size()) != weights->shape[axis])
        continue;
    }
    products_.push_back(
        {i, node.name().empty() ? node.output(0) : node.name(), axis});
  }
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

QuantizableModel::Choice QuantizableModel::choose(const std::vector<bool> &in8,
                                                  const Ranges *known) const {
  assert(in8.size() == products_.size() && "a choice for each product");
  const onnx::GraphProto &nodes = graph.graph();
  Choice choice;
  std::set<int> between;
  auto isKnown = [&](const std::string &tensor) {
    return !known || known->count(tensor);
  };
  for (size_t i = 0; i < products_.size(); ++i)
    if (in8[i] && isKnown(nodes.node(products_[i].node).input(0)))
      choice.nodes.insert(products_[i].node);
  for (int i = 0; i < nodes.node_size(); ++i) {
    const NodeProto &node = nodes.node(i);
    size_t data = dataOf(node).size();
    // Computed shapes are data, too, so such layers stay floats.
    bool isOnly = node.op_type() == "Concat" || node.op_type() == "Add"
                      ? int(data) == node.input_size()
                      : data == 1;
    if (kindOf(node) != Kind::Float && isOnly &&
        llvm::all_of(dataOf(node), isKnown))
      between.insert(i);
  }
  choice.nodes.insert(between.begin(), between.end());
  // Layers go until each that is left has all inputs in 8 bits, and a reader.
  std::map<std::string, std::string> beforeTail;
  for (const NodeProto &node : nodes.node())
    for (const std::string &output : node.output())
      if (tail(output) != output)
        beforeTail[tail(output)] = output;
  auto isMadeIn8 = [&](const std::string &tensor) {
    auto before = beforeTail.find(tensor);
    int node =
        graph.producer(before == beforeTail.end() ? tensor : before->second);
    return node >= 0 && choice.nodes.count(node);
  };
  auto isReadIn8 = [&](const std::string &tensor) {
    return llvm::any_of(graph.readers(tensor), [&](int reader) {
      return choice.nodes.count(reader) &&
             llvm::is_contained(dataOf(nodes.node(reader)), tensor);
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = between.begin(); it != between.end();) {
      const NodeProto &node = nodes.node(*it);
      bool stays = llvm::all_of(dataOf(node), isMadeIn8) &&
                   llvm::any_of(node.output(), [&](const std::string &output) {
                     return isReadIn8(tail(output));
                   });
      if (!stays) {
        choice.nodes.erase(*it);
        changed = true;
      }
      it = stays ? std::next(it) : between.erase(it);
    }
  }
  for (int i : choice.nodes)
    for (const std::string &input : dataOf(nodes.node(i)))
      choice.tensors.insert(input);
  return choice;
}

std::map<std::string, Grid>
QuantizableModel::gridsOf(const Choice &choice, const Ranges &ranges) const {
  std::vector<std::string> names(choice.tensors.begin(), choice.tensors.end());
  llvm::IntEqClasses shared(names.size());
  auto numberOf = [&](const std::string &tensor) {
    auto found = llvm::lower_bound(names, tensor);
    assert(found != names.end() && *found == tensor && "it is quantised");
    return unsigned(found - names.begin());
  };
  for (int i : choice.nodes) {
    const NodeProto &node = graph.graph().node(i);
    if (kindOf(node) != Kind::Moves)
      continue;
    std::vector<std::string> data = dataOf(node);
    for (const std::string &output : node.output())
      if (choice.tensors.count(tail(output)))
        data.push_back(tail(output));
    for (const std::string &tensor : data)
      shared.join(numberOf(data.front()), numberOf(tensor));
  }
  shared.compress();
  std::vector<Range> whole(shared.getNumClasses());
  for (unsigned i = 0; i < names.size(); ++i) {
    const Range &range = ranges.at(names[i]);
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

std::string QuantizableModel::quantized(const Ranges &ranges,
                                        const std::vector<bool> &in8) const {
  Choice choice = choose(in8, &ranges);
  std::map<std::string, Grid> grids = gridsOf(choice, ranges);
  std::map<int, const Product *> products;
  for (size_t i = 0; i < products_.size(); ++i)
    if (in8[i] && choice.nodes.count(products_[i].node))
      products[products_[i].node] = &products_[i];
  OnnxGraph result = graph;
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
    NodeProto node = graph.graph().node(i);
    if (choice.nodes.count(i))
      for (std::string &input : *node.mutable_input())
        if (!graph.isConstant(input) && rounded.count(input))
          input = rounded.at(input);
    if (auto product = products.find(i); product != products.end()) {
      const std::string &x = graph.graph().node(i).input(0);
      std::string weights = node.input(1);
      std::optional<FloatTensor> bias;
      bool hasBias = node.input_size() > 2 && !node.input(2).empty();
      if (hasBias)
        bias = graph.floats(node.input(2));
      RoundedWeights w =
          roundWeights(*graph.floats(weights), product->second->axis,
                       grids.at(x).scale, bias ? &bias->values : nullptr);
      int64_t outputs = int64_t(w.scales.size());
      std::string like = node.output(0) + "_weight";
      auto dequantize = [&](const std::string &q, const std::string &scales,
                            const std::string &zeros, int axis,
                            const std::string &name) {
        setInt(addNode(result, nodes, "DequantizeLinear", {q, scales, zeros},
                       name),
               "axis", axis);
        return name;
      };
      node.set_input(
          1,
          dequantize(result.addConstant(like + "_quantized", w.shape, w.values),
                     result.addConstant(like + "_scale", {outputs}, w.scales),
                     result.addConstant(like + "_zero_point", {outputs},
                                        std::vector<int8_t>(outputs, 0)),
                     w.axis, result.freshName(like + "_DequantizeLinear")));
      if (hasBias) {
        like = node.output(0) + "_bias";
        node.set_input(
            2, dequantize(
                   result.addConstant(like + "_quantized", {outputs}, w.bias),
                   result.addConstant(like + "_scale", {outputs}, w.biasScales),
                   result.addConstant(like + "_zero_point", {outputs},
                                      std::vector<int32_t>(outputs, 0)),
                   0, result.freshName(like + "_DequantizeLinear")));
      }
    }
    *nodes.add_node() = node;
    for (const std::string &output : node.output())
      round(output);
  }
  result.graph().mutable_node()->Swap(nodes.mutable_node());
  dropUnused(result.graph());
  return result.bytes();
}
