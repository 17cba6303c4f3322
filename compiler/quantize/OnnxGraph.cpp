//===- OnnxGraph.cpp - An ONNX model that is rewritten --------------------===//

#include "compiler/quantize/OnnxGraph.h"

#include "artifact/MappedFile.h"
#include "compiler/quantize/ExternalTensors.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/stubs/logging.h>
#include <limits>
#include <memory>

using namespace nnv12;
using namespace nnv12::quantize;
using onnx::NodeProto;
using onnx::TensorProto;

/// The first operator set whose DequantizeLinear has scales of channels.
static constexpr int leastOpset = 13;

int64_t nnv12::quantize::intAttribute(const NodeProto &node, const char *name,
                                      int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

float nnv12::quantize::floatAttribute(const NodeProto &node, const char *name,
                                      float otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.f();
  return otherwise;
}

void nnv12::quantize::setInt(NodeProto &node, const char *name, int64_t value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

std::string OnnxGraph::read(const std::string &path,
                            const std::vector<std::string> &folders,
                            artifact::InputFiles *inputs) {
  artifact::MappedFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault))
    return path + ": " + fault.text;
  google::protobuf::LogSilencer silence; // one line a fault: ours
  if (file.size() > size_t(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(file.data(), int(file.size())) ||
      !model.has_graph())
    return path + ": found no ONNX model, expected one to quantise";
  if (model.functions_size())
    return path + ": found functions of the model, expected operators alone, "
                  "to quantise it";
  importer::ExternalData files(path, folders, inputs);
  std::string error = readExternalTensors(model, files);
  if (!error.empty())
    return path + ": " + error;
  index(); // so that new names are new
  chooseDomain();
  makeInitializers();
  index();
  return "";
}

std::string OnnxGraph::bytes() const { return model.SerializeAsString(); }

/// Constant nodes become initialisers, and names of constants by way of
/// Identity the constants' own.
void OnnxGraph::makeInitializers() {
  onnx::GraphProto kept;
  std::map<std::string, std::string> others;
  std::set<std::string> known, results;
  for (const TensorProto &tensor : graph().initializer())
    known.insert(tensor.name());
  for (const onnx::ValueInfoProto &output : graph().output())
    results.insert(output.name());
  for (NodeProto &node : *graph().mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (auto other = others.find(input); other != others.end())
        input = other->second;
    bool isValue = node.op_type() == "Constant" && node.attribute_size() == 1 &&
                   node.attribute(0).name() == "value" &&
                   !results.count(node.output(0));
    if (isValue) {
      TensorProto &tensor = *graph().add_initializer();
      tensor = node.attribute(0).t();
      tensor.set_name(node.output(0));
      known.insert(tensor.name());
    } else if (node.op_type() == "Identity" && known.count(node.input(0)) &&
               !results.count(node.output(0))) {
      others[node.output(0)] = node.input(0);
    } else {
      *kept.add_node() = std::move(node);
    }
  }
  graph().mutable_node()->Swap(kept.mutable_node());
  // Before version 4 constants are inputs, too.
  for (onnx::ValueInfoProto &input : *graph().mutable_input())
    if (!known.count(input.name()))
      *kept.add_input() = std::move(input);
  graph().mutable_input()->Swap(kept.mutable_input());
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 4));
}

void OnnxGraph::index() {
  constants.clear();
  readers_.clear();
  producers.clear();
  outputs.clear();
  for (int i = 0; i < graph().initializer_size(); ++i)
    constants[graph().initializer(i).name()] = i;
  for (int i = 0; i < graph().node_size(); ++i) {
    const NodeProto &node = graph().node(i);
    for (const std::string &input : node.input()) {
      std::vector<int> &of = readers_[input];
      if (of.empty() || of.back() != i)
        of.push_back(i);
    }
    for (const std::string &output : node.output())
      producers[output] = i;
  }
  for (const onnx::ValueInfoProto &output : graph().output())
    outputs.insert(output.name());
  for (const auto &[name, node] : producers)
    names.insert(name);
  for (const auto &[name, tensor] : constants)
    names.insert(name);
  for (const onnx::ValueInfoProto &input : graph().input())
    names.insert(input.name());
}

std::optional<FloatTensor> OnnxGraph::floats(const std::string &name) const {
  auto found = constants.find(name);
  if (found == constants.end())
    return std::nullopt;
  const TensorProto &tensor = graph().initializer(found->second);
  if (tensor.data_type() != TensorProto::FLOAT)
    return std::nullopt;
  FloatTensor result;
  result.shape.assign(tensor.dims().begin(), tensor.dims().end());
  size_t count = 1;
  for (int64_t dimension : result.shape)
    count *= size_t(dimension);
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != count * sizeof(float))
      return std::nullopt;
    result.values.resize(count);
    memcpy(result.values.data(), tensor.raw_data().data(),
           tensor.raw_data().size());
  } else {
    result.values.assign(tensor.float_data().begin(),
                         tensor.float_data().end());
    if (result.values.size() != count)
      return std::nullopt;
  }
  return result;
}

const std::vector<int> &OnnxGraph::readers(const std::string &name) const {
  static const std::vector<int> none;
  auto found = readers_.find(name);
  return found == readers_.end() ? none : found->second;
}

int OnnxGraph::producer(const std::string &name) const {
  auto found = producers.find(name);
  return found == producers.end() ? -1 : found->second;
}

std::string OnnxGraph::freshName(const std::string &like) {
  std::string name = like;
  for (unsigned i = 2; !names.insert(name).second; ++i)
    name = like + "_" + std::to_string(i);
  return name;
}

static TensorProto::DataType typeOf(float) { return TensorProto::FLOAT; }
static TensorProto::DataType typeOf(int8_t) { return TensorProto::INT8; }
static TensorProto::DataType typeOf(uint8_t) { return TensorProto::UINT8; }
static TensorProto::DataType typeOf(int32_t) { return TensorProto::INT32; }
static TensorProto::DataType typeOf(int64_t) { return TensorProto::INT64; }

template <typename T>
std::string OnnxGraph::addConstant(const std::string &like,
                                   const std::vector<int64_t> &shape,
                                   const std::vector<T> &values) {
  std::string name = freshName(like);
  TensorProto &tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(typeOf(T()));
  for (int64_t dimension : shape)
    tensor.add_dims(dimension);
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
  constants[name] = graph().initializer_size() - 1;
  return name;
}

template std::string OnnxGraph::addConstant(const std::string &,
                                            const std::vector<int64_t> &,
                                            const std::vector<float> &);
template std::string OnnxGraph::addConstant(const std::string &,
                                            const std::vector<int64_t> &,
                                            const std::vector<int8_t> &);
template std::string OnnxGraph::addConstant(const std::string &,
                                            const std::vector<int64_t> &,
                                            const std::vector<uint8_t> &);
template std::string OnnxGraph::addConstant(const std::string &,
                                            const std::vector<int64_t> &,
                                            const std::vector<int32_t> &);
template std::string OnnxGraph::addConstant(const std::string &,
                                            const std::vector<int64_t> &,
                                            const std::vector<int64_t> &);

/// Takes an attribute away; null: there is none.
static std::unique_ptr<onnx::AttributeProto> take(NodeProto &node,
                                                  const char *name) {
  auto &attributes = *node.mutable_attribute();
  for (auto it = attributes.begin(); it != attributes.end(); ++it) {
    if (it->name() != name)
      continue;
    auto taken = std::make_unique<onnx::AttributeProto>(std::move(*it));
    attributes.erase(it);
    return taken;
  }
  return nullptr;
}

/// Spells operators of sets 7 to 9 as set 10 does. False where one of them
/// cannot be; then nothing has changed.
bool OnnxGraph::raiseOpset() {
  for (const NodeProto &node : graph().node()) {
    bool hasGraphs = llvm::any_of(
        node.attribute(), [](const onnx::AttributeProto &attribute) {
          return attribute.has_g() || attribute.graphs_size() != 0;
        });
    if (hasGraphs)
      return false;
    if (node.op_type() == "BatchNormalization" &&
        intAttribute(node, "spatial", 1) != 1)
      return false;
  }
  for (NodeProto &node : *graph().mutable_node()) {
    auto addInput = [&](const char *name, const std::vector<int64_t> &values) {
      node.add_input(addConstant<int64_t>(node.output(0) + "_" + name,
                                          {int64_t(values.size())}, values));
    };
    if (node.op_type() == "BatchNormalization") {
      take(node, "spatial");
    } else if (node.op_type() == "Slice") {
      for (const char *name : {"starts", "ends", "axes"})
        if (auto values = take(node, name))
          addInput(name, {values->ints().begin(), values->ints().end()});
    } else if (node.op_type() == "TopK") {
      if (auto count = take(node, "k"))
        addInput("k", {count->i()});
    } else if (node.op_type() == "Upsample") {
      node.set_op_type("Resize");
      if (auto scales = take(node, "scales"))
        node.add_input(addConstant<float>(
            node.output(0) + "_scales", {scales->floats_size()},
            {scales->floats().begin(), scales->floats().end()}));
    }
  }
  return true;
}

void OnnxGraph::chooseDomain() {
  bool isOld = false;
  for (onnx::OperatorSetIdProto &set : *model.mutable_opset_import()) {
    bool isOnnx = set.domain().empty() || set.domain() == "ai.onnx";
    isOld |= isOnnx && set.version() < leastOpset;
    // ONNX Runtime makes QLinearConv of quantised layers in any set.
    constexpr int64_t ofQuantizedOps = 10, known = 7;
    if (isOnnx && set.version() >= known && set.version() < ofQuantizedOps &&
        raiseOpset())
      set.set_version(ofQuantizedOps);
  }
  if (!isOld)
    return;
  quantizeDomain = "com.microsoft";
  bool isThere = llvm::any_of(model.opset_import(),
                              [&](const onnx::OperatorSetIdProto &set) {
                                return set.domain() == quantizeDomain;
                              });
  if (isThere)
    return;
  onnx::OperatorSetIdProto &set = *model.add_opset_import();
  set.set_domain(quantizeDomain);
  set.set_version(1);
}
