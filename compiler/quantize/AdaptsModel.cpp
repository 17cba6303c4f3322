//===- AdaptsModel.cpp - Adapts between floats and 8 bits, alone ----------===//

#include "compiler/quantize/AdaptsModel.h"

#include "compiler/quantize/OnnxGraph.h"

using namespace nnv12::quantize;
using onnx::TensorProto;

static void setTensor(onnx::ValueInfoProto &info, const std::string &name,
                      TensorProto::DataType type, uint64_t elements) {
  info.set_name(name);
  onnx::TypeProto::Tensor &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_value(int64_t(elements));
}

std::string nnv12::quantize::adaptsModel(const std::set<uint64_t> &elements) {
  OnnxGraph graph;
  graph.model.set_ir_version(8);
  graph.model.add_opset_import()->set_version(13);
  graph.graph().set_name("adapts");
  std::string scale = graph.addConstant<float>("scale", {}, {0.5F}),
              zero = graph.addConstant<uint8_t>("zero", {}, {128});
  for (uint64_t count : elements) {
    auto add = [&](const char *op, const std::string &name,
                   TensorProto::DataType from, TensorProto::DataType to) {
      setTensor(*graph.graph().add_input(), name + "_x", from, count);
      setTensor(*graph.graph().add_output(), name + "_y", to, count);
      onnx::NodeProto &node = *graph.graph().add_node();
      node.set_op_type(op);
      node.set_name(name);
      for (const std::string &input : {name + "_x", scale, zero})
        node.add_input(input);
      node.add_output(name + "_y");
    };
    add("QuantizeLinear", quantizeName(count), TensorProto::FLOAT,
        TensorProto::UINT8);
    add("DequantizeLinear", dequantizeName(count), TensorProto::UINT8,
        TensorProto::FLOAT);
  }
  return graph.bytes();
}
