//===- NodeContext.h - The importer's services for handlers -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_NODECONTEXT_H
#define NNV12_COMPILER_IMPORT_NODECONTEXT_H

#include "compiler/import/ExternalData.h"
#include "compiler/import/ImportOptions.h"
#include "compiler/import/ImportValue.h"

namespace onnx {
class GraphProto;
class TensorProto;
} // namespace onnx

namespace nnv12::importer {

class Node;

/// The graph around a node.
class NodeContext {
public:
  virtual ~NodeContext() = default;
  virtual mlir::OpBuilder &builder() = 0;
  virtual const ImportOptions &options() const = 0;
  /// The name in the model of argument `i` of @main.
  virtual const std::string &argumentName(unsigned i) const = 0;
  virtual ExternalData &external() = 0;

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

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_NODECONTEXT_H
