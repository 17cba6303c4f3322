//===- GraphImporter.h - Walks the nodes of an ONNX model -------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_GRAPHIMPORTER_H
#define NNV12_COMPILER_IMPORT_GRAPHIMPORTER_H

#include "compiler/import/ExternalData.h"
#include "compiler/import/ImportOptions.h"
#include "compiler/import/Node.h"
#include "compiler/import/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>

namespace nnv12::importer {

/// Names that a graph (or function body) and those around it define.
struct Scope {
  const Scope *parent = nullptr;
  llvm::StringMap<ImportValue> values;
  /// Decoded on first use.
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<const onnx::SparseTensorProto *> sparse;

  bool definesHere(llvm::StringRef name) const {
    return values.contains(name) || initializers.contains(name) ||
           sparse.contains(name);
  }
};

/// The nodes' view of the model or function that they stand in.
struct Frame {
  /// Operator set versions by domain ("" for ai.onnx).
  llvm::StringMap<int64_t> opsets;
  /// Attributes of the call, in a function.
  Attributes attributes;
};

class GraphImporter : public NodeContext {
public:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  /// Takes the bytes of `model`'s weights out of it once they are imported.
  GraphImporter(onnx::ModelProto &model, llvm::StringRef path,
                const ImportOptions &options, mlir::MLIRContext &context);

  /// Null after a fault, which has been reported.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  const std::string &argumentName(unsigned i) const override {
    return argumentNames_[i];
  }
  const ImportOptions &options() const override { return options_; }
  Value addInput(llvm::StringRef name, mlir::RankedTensorType type) override;
  ExternalData &external() override { return external_; }
  const onnx::GraphProto &mainGraph() const override { return model_.graph(); }
  llvm::SmallVector<ImportValue>
  importSubgraph(Node &node, const onnx::GraphProto &graph,
                 llvm::ArrayRef<ImportValue> inputs) override;
  Value tensorConstant(const onnx::TensorProto &tensor,
                       LayerBuilder &b) override;

private:
  bool checkModel();
  bool importFunctions();
  bool importInputs(Scope &scope);
  bool addInitializers(const onnx::GraphProto &graph, Scope &scope);
  /// Imports the nodes that `outputs` depend on.
  bool importNodes(const Nodes &nodes, llvm::ArrayRef<llvm::StringRef> outputs,
                   Scope &scope, const Frame &frame);
  bool importNode(const onnx::NodeProto &proto, int index, Scope &scope,
                  const Frame &frame);
  bool importOperator(Node &node, llvm::StringRef domain);
  bool importCall(Node &node, const onnx::FunctionProto &function,
                  const Attributes &attributes);
  /// Indices of the nodes that `outputs` depend on, every node after those it
  /// depends on.
  bool sortNodes(const Nodes &nodes, const Scope &scope,
                 llvm::ArrayRef<llvm::StringRef> outputs,
                 llvm::SmallVectorImpl<int> &order);
  /// nullopt if the name is not defined; after a fault in an initialiser, a
  /// null tensor.
  std::optional<ImportValue> lookup(const Scope &scope, llvm::StringRef name);
  /// The names of the tensors that are the outputs.
  llvm::SmallVector<llvm::StringRef> wantedOutputs() const;
  /// Notes what tensors of the graph became, for the user.
  void nameTensors(const onnx::GraphProto &graph, const Scope &scope);
  bool bindOutputs();

  LayerBuilder report(const llvm::Twine &what = "");
  LayerBuilder reportNode(const onnx::NodeProto &proto, int index);

  const onnx::ModelProto &model_;
  std::string path_;
  ExternalData external_;
  const ImportOptions &options_;
  mlir::OpBuilder builder_;
  mlir::Location fileLoc_;

  mlir::func::FuncOp mainFunc_;
  mlir::Block *block_ = nullptr;
  llvm::SmallVector<std::string> argumentNames_;
  Frame modelFrame_;
  const Scope *current_ = nullptr;
  const Frame *currentFrame_ = nullptr;
  llvm::StringMap<const onnx::FunctionProto *> functions_;
  std::vector<std::unique_ptr<onnx::AttributeProto>> defaults_;
  /// The initialisers of the main graph, whose bytes may go.
  llvm::DenseMap<const void *, onnx::TensorProto *> weights_;
  llvm::DenseMap<const void *, Value> decoded_;
  uint64_t nodeCount_ = 0;
  unsigned depth_ = 0;
  bool undecoded_ = false; ///< an initialiser could not be decoded
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_GRAPHIMPORTER_H
