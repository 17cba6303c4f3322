//===- OnnxGraph.h - An ONNX model that is rewritten ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_QUANTIZE_ONNXGRAPH_H
#define NNV12_COMPILER_QUANTIZE_ONNXGRAPH_H

#include "compiler/import/Onnx.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nnv12::artifact {
class InputFiles;
} // namespace nnv12::artifact

namespace nnv12::quantize {

/// A tensor of floats.
struct FloatTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// A model with one graph, whose constants are initialisers.
class OnnxGraph {
public:
  /// Reads the file, with external data from its folder and `folders`, and
  /// brings it into this form. Notes in `inputs`, unless null, which other
  /// files it reads. "" or one line that starts with the path.
  std::string read(const std::string &path,
                   const std::vector<std::string> &folders = {},
                   artifact::InputFiles *inputs = nullptr);
  /// The serialised model.
  std::string bytes() const;

  onnx::ModelProto model;
  /// The domain of QuantizeLinear and DequantizeLinear: ai.onnx, or where its
  /// operator set is below 13 and knows no scales of channels, that of ONNX
  /// Runtime's, which do.
  std::string quantizeDomain;
  onnx::GraphProto &graph() { return *model.mutable_graph(); }
  const onnx::GraphProto &graph() const { return model.graph(); }

  /// Whether the tensor is a constant.
  bool isConstant(const std::string &name) const {
    return constants.count(name) != 0;
  }
  /// The values of a constant of f32; nothing for others.
  std::optional<FloatTensor> floats(const std::string &name) const;
  bool isOutput(const std::string &name) const { return outputs.count(name); }
  /// The nodes that read a tensor, each once.
  const std::vector<int> &readers(const std::string &name) const;
  /// The node that makes a tensor; -1: none.
  int producer(const std::string &name) const;
  /// Finds readers and producers again, after a change of nodes.
  void index();

  /// A name that no tensor has.
  std::string freshName(const std::string &like);
  /// Adds an initialiser and returns its name, which is `like` this one.
  template <typename T>
  std::string addConstant(const std::string &like,
                          const std::vector<int64_t> &shape,
                          const std::vector<T> &values);

private:
  void chooseDomain();
  bool raiseOpset();
  void makeInitializers();

  std::map<std::string, int> constants; ///< by name: the initialiser
  std::map<std::string, std::vector<int>> readers_;
  std::map<std::string, int> producers;
  std::set<std::string> outputs, names;
};

/// A node's attribute, or `otherwise`.
int64_t intAttribute(const onnx::NodeProto &node, const char *name,
                     int64_t otherwise);
float floatAttribute(const onnx::NodeProto &node, const char *name,
                     float otherwise);
void setInt(onnx::NodeProto &node, const char *name, int64_t value);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_ONNXGRAPH_H
