//===- NodeOrder.cpp - Puts the nodes of a graph in order -----------------===//
//
// ONNX asks for nodes in order; files exist where they are not. Any acyclic
// graph is accepted. Names of the graph around that are used inside of a body
// of If, Loop or Scan count as inputs of that node. Nodes that lead to no
// output are left out, since files that were cut by hand hold such nodes, and
// some of them use unknown operators.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/GraphImporter.h"

#include <cassert>
#include <queue>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Gives `use` each name outside of the node that it depends on. A name that a
/// body defines is its own, even if the graph around has the same name:
/// exporters name the outputs of a branch like those of its If.
static void collectNames(const onnx::NodeProto &node,
                         llvm::function_ref<void(StringRef)> use) {
  for (const std::string &name : node.input())
    if (!name.empty())
      use(name);
  auto collectGraph = [&](const onnx::GraphProto &graph) {
    llvm::StringSet<> own;
    for (const onnx::ValueInfoProto &input : graph.input())
      own.insert(input.name());
    for (const onnx::TensorProto &tensor : graph.initializer())
      own.insert(tensor.name());
    for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
      own.insert(tensor.values().name());
    for (const onnx::NodeProto &inner : graph.node())
      for (const std::string &output : inner.output())
        own.insert(output);
    auto useOuter = [&](StringRef name) {
      if (!own.contains(name))
        use(name);
    };
    for (const onnx::NodeProto &inner : graph.node())
      collectNames(inner, useOuter);
    for (const onnx::ValueInfoProto &output : graph.output())
      useOuter(output.name());
  };
  for (const onnx::AttributeProto &a : node.attribute()) {
    if (a.has_g())
      collectGraph(a.g());
    for (const onnx::GraphProto &graph : a.graphs())
      collectGraph(graph);
  }
}

bool GraphImporter::sortNodes(const Nodes &nodes, const Scope &scope,
                              ArrayRef<StringRef> outputs,
                              SmallVectorImpl<int> &order) {
  llvm::StringMap<int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &name : nodes[i].output())
      if (!name.empty() &&
          (scope.definesHere(name) || !producers.try_emplace(name, i).second))
        return reportNode(nodes[i], i)
            .refuse("output '" + name + "', a name that is taken",
                    "each name once");

  SmallVector<SmallVector<int, 2>> users(nodes.size());
  SmallVector<SmallVector<int, 2>> producersOf(nodes.size());
  SmallVector<int> missing(nodes.size(), 0);
  for (int i = 0; i < nodes.size(); ++i)
    collectNames(nodes[i], [&](StringRef name) {
      auto it = producers.find(name);
      if (it == producers.end())
        return;
      users[it->second].push_back(i);
      producersOf[i].push_back(it->second);
      ++missing[i];
    });

  // Which nodes lead to an output.
  SmallVector<bool> live(nodes.size(), false);
  SmallVector<int> reached;
  auto reach = [&](int i) {
    if (!live[i])
      reached.push_back(i);
    live[i] = true;
  };
  for (StringRef name : outputs)
    if (auto it = producers.find(name); it != producers.end())
      reach(it->second);
  while (!reached.empty())
    for (int producer : producersOf[reached.pop_back_val()])
      reach(producer);

  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (live[i] && missing[i] == 0)
      ready.push(i);
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int user : users[i])
      if (--missing[user] == 0 && live[user])
        ready.push(user);
  }
  size_t wanted = llvm::count(live, true);
  assert(order.size() <= wanted && "each node once");
  if (order.size() == wanted)
    return true;

  // Walk back over unsorted producers until a node comes twice: it is on a
  // cycle.
  SmallVector<bool> visited(nodes.size(), false);
  int at = 0;
  while (!live[at] || missing[at] == 0)
    ++at;
  while (!visited[at]) {
    visited[at] = true;
    for (int producer : producersOf[at])
      if (missing[producer] > 0) {
        at = producer;
        break;
      }
  }
  return reportNode(nodes[at], at)
      .refuse("a cycle through it", "an acyclic graph");
}
