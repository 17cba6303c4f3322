//===- Node.h - A node as its operator's handler sees it --------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_NODE_H
#define NNV12_COMPILER_IMPORT_NODE_H

#include "compiler/import/ImportOptions.h"
#include "compiler/import/ImportValue.h"
#include "compiler/import/LayerBuilder.h"
#include "compiler/import/TypeSet.h"
#include "llvm/ADT/StringMap.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace nnv12::importer {

/// Attributes by name; inside a function, references are resolved.
using Attributes = llvm::StringMap<const onnx::AttributeProto *>;

class ExternalData;
class Node;

/// The graph around a node: the importer's services for handlers.
class NodeContext {
public:
  virtual ~NodeContext() = default;

  /// The name in the model of argument `i` of @main.
  virtual const std::string &argumentName(unsigned i) const = 0;
  virtual const ImportOptions &options() const = 0;
  /// One more input of the model.
  virtual Value addInput(llvm::StringRef name, mlir::RankedTensorType type) = 0;
  virtual ExternalData &external() = 0;
  /// The model's graph, around all others.
  virtual const onnx::GraphProto &mainGraph() const = 0;
  /// Imports the graph of a control flow node with these inputs, in place.
  /// The node's fault is set when one occurs inside.
  virtual llvm::SmallVector<ImportValue>
  importSubgraph(Node &node, const onnx::GraphProto &graph,
                 llvm::ArrayRef<ImportValue> inputs) = 0;
  /// The constant for a tensor of an attribute or initialiser; one even if it
  /// is met many times.
  virtual Value tensorConstant(const onnx::TensorProto &tensor,
                               LayerBuilder &b) = 0;
};

class Node : public LayerBuilder {
public:
  /// `builder` names the node in messages.
  Node(NodeContext &graph, LayerBuilder builder, const onnx::NodeProto &proto,
       Attributes attributes, llvm::SmallVector<ImportValue> inputs,
       int64_t opset);

  llvm::StringRef op() const;
  /// Version of the operator set that the op's domain has here.
  int64_t opset() const { return opset_; }
  NodeContext &graph() { return graph_; }
  const onnx::NodeProto &proto() const { return proto_; }
  mlir::OpBuilder &builder() { return b; }

  //===--- Inputs ---------------------------------------------------------===//

  unsigned inputs() const { return inputs_.size(); }
  /// Whether optional input i is given.
  bool has(unsigned i) const { return i < inputs() && !inputs_[i].isAbsent(); }
  /// A tensor; a fault if it is not given, or no tensor.
  Value in(unsigned i);
  /// Puts all elements in the place of those that a mask selects among the
  /// inputs, for an operator that computes each element on its own. Returns the
  /// selection, whose elements are the result's to give; absent where no input
  /// is such, and after a fault.
  ImportValue computeAll();
  /// Null if it is not given.
  Value optional(unsigned i) { return has(i) ? in(i) : Value(); }
  /// All given inputs from `first`.
  Values variadic(unsigned first = 0);
  /// Whether those of inputs `others` that are given have elements of input i's
  /// type, else a fault: an operator that has one type for several inputs.
  bool expectTypeOf(unsigned i, llvm::ArrayRef<unsigned> others);
  const ImportValue &value(unsigned i) const { return inputs_[i]; }
  /// Puts another value in an input's place.
  void replace(unsigned i, ImportValue value) { inputs_[i] = std::move(value); }
  std::string inputName(unsigned i) const;
  /// An input that must be known now; else a fault that names `what` and the
  /// graph inputs to bind.
  std::optional<nn::ConstantData> constantInput(unsigned i, const char *what);
  Ints intsInput(unsigned i, const char *what);
  /// One with one element.
  std::optional<nn::ConstantData> scalarInput(unsigned i, const char *what);
  int64_t intInput(unsigned i, const char *what);
  double floatInput(unsigned i, const char *what);
  /// The options that bind the graph inputs on which `value` depends; empty if
  /// there are none.
  std::string constantsFor(Value value);
  /// The fault for `value` not being known at compile time.
  void failNotConstant(Value value, const llvm::Twine &what);

  //===--- Attributes -----------------------------------------------------===//

  const onnx::AttributeProto *find(llvm::StringRef name);
  bool hasAttr(llvm::StringRef name) { return find(name) != nullptr; }
  int64_t intAttr(llvm::StringRef name, int64_t absent);
  /// A fault if absent.
  int64_t intAttr(llvm::StringRef name);
  double floatAttr(llvm::StringRef name, double absent);
  std::string stringAttr(llvm::StringRef name, llvm::StringRef absent);
  Ints intsAttr(llvm::StringRef name, llvm::ArrayRef<int64_t> absent = {});
  Doubles floatsAttr(llvm::StringRef name, llvm::ArrayRef<double> absent = {});
  llvm::SmallVector<std::string> stringsAttr(llvm::StringRef name);
  const onnx::TensorProto *tensorAttr(llvm::StringRef name);
  const onnx::GraphProto *graphAttr(llvm::StringRef name);
  /// Index of the attribute's value in `choices`, a fault if it is none.
  unsigned choice(llvm::StringRef name, llvm::StringRef absent,
                  llvm::ArrayRef<llvm::StringRef> choices);
  /// The same as the enumerator of that name.
  template <typename Enum>
  Enum choiceOf(llvm::StringRef name, llvm::StringRef absent,
                llvm::ArrayRef<llvm::StringRef> choices) {
    return *nn::symbolizeEnum<Enum>(choices[choice(name, absent, choices)]);
  }
  /// The attribute `name` before opset `inputSince`, from then on input i;
  /// nullopt if absent.
  std::optional<Ints> intsAttrOrInput(llvm::StringRef name, unsigned i,
                                      int64_t inputSince);

  //===--- Outputs --------------------------------------------------------===//

  unsigned outputs() const { return results_.size(); }
  /// Whether output i has a name, that is, can be used.
  bool wants(unsigned i) const;
  void out(unsigned i, ImportValue value);
  void out(Value value) { out(0, value); }
  llvm::ArrayRef<ImportValue> results() const { return results_; }

private:
  NodeContext &graph_;
  const onnx::NodeProto &proto_;
  Attributes attributes_;
  llvm::SmallVector<ImportValue> inputs_;
  llvm::SmallVector<ImportValue> results_;
  int64_t opset_;
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_NODE_H
