//===- Switches.cpp - Models of which parts can be rounded ----------------===//

#include "compiler/quantize/Switches.h"

#include "compiler/quantize/OnnxGraph.h"

using namespace nnv12::quantize;
using onnx::NodeProto;

void nnv12::quantize::addSwitches(OnnxGraph &graph, size_t count) {
  onnx::ValueInfoProto &input = *graph.graph().add_input();
  input.set_name(switchInput);
  onnx::TypeProto::Tensor &type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::BOOL);
  type.mutable_shape()->add_dim()->set_dim_value(int64_t(count));
}

static void addNode(onnx::GraphProto &nodes, const char *type,
                    const std::vector<std::string> &inputs,
                    const std::string &output) {
  NodeProto &node = *nodes.add_node();
  node.set_op_type(type);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
}

void nnv12::quantize::addSwitched(OnnxGraph &graph, onnx::GraphProto &nodes,
                                  NodeProto on, NodeProto off, size_t number) {
  std::vector<std::string> results(off.output().begin(), off.output().end());
  for (int i = 0; i < int(results.size()); ++i) {
    if (results[i].empty())
      continue;
    on.set_output(i, graph.freshName(results[i] + "_rounded"));
    off.set_output(i, graph.freshName(results[i] + "_float"));
  }
  *nodes.add_node() = on;
  *nodes.add_node() = off;
  std::string index = graph.addConstant<int64_t>(results[0] + "_switch", {},
                                                 {int64_t(number)}),
              isOn = graph.freshName(results[0] + "_is_on");
  addNode(nodes, "Gather", {switchInput, index}, isOn);
  for (int i = 0; i < int(results.size()); ++i)
    if (!results[i].empty())
      addNode(nodes, "Where", {isOn, on.output(i), off.output(i)}, results[i]);
}
