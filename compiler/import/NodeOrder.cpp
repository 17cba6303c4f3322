//===- NodeOrder.cpp - Puts the nodes of a graph in order -----------------===//
//
// ONNX asks for nodes in order; files exist where they are not. Any acyclic
// graph is accepted. Names used inside of a body of If, Loop or Scan count as
// inputs of that node.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/GraphImporter.h"

#include <cassert>
#include <queue>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static void collectNames(const onnx::NodeProto &node,
                         llvm::function_ref<void(StringRef)> use) {
  for (const std::string &name : node.input())
    if (!name.empty())
      use(name);
  auto collectGraph = [&](const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &inner : graph.node())
      collectNames(inner, use);
    for (const onnx::ValueInfoProto &output : graph.output())
      use(output.name());
  };
  for (const onnx::AttributeProto &a : node.attribute()) {
    if (a.has_g())
      collectGraph(a.g());
    for (const onnx::GraphProto &graph : a.graphs())
      collectGraph(graph);
  }
}

bool GraphImporter::sortNodes(const Nodes &nodes, const Scope &scope,
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

  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int user : users[i])
      if (--missing[user] == 0)
        ready.push(user);
  }
  assert(int(order.size()) <= nodes.size() && "each node once");
  if (int(order.size()) == nodes.size())
    return true;

  // Walk back over unsorted producers until a node comes twice: it is on a
  // cycle.
  SmallVector<bool> visited(nodes.size(), false);
  int at = 0;
  while (missing[at] == 0)
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
