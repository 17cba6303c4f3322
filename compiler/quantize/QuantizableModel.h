//===- QuantizableModel.h - A float model, and it in 8 bits -----*- C++ -*-===//
//
// Products (Conv, Gemm, MatMul with constant weights) can be in 8 bits, one by
// one. So are layers between them that only move or add numbers, where all that
// they read and something that reads them is in 8 bits. Quantised models are
// spelt as ONNX's quantisers do: QuantizeLinear and DequantizeLinear around
// layers, u8 for activations, i8 weights with a scale for each output, i32
// biases.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_QUANTIZE_QUANTIZABLEMODEL_H
#define NNV12_COMPILER_QUANTIZE_QUANTIZABLEMODEL_H

#include "compiler/calibrate/Range.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
} // namespace onnx

namespace nnv12::quantize {

using calibrate::Grid;
using calibrate::Range;

/// A layer that can be in 8 bits.
struct Product {
  int node;
  std::string name; ///< for people: that of the node, or of its result
  int axis;         ///< of the weights: the outputs
};

class OnnxGraph;

class QuantizableModel {
public:
  QuantizableModel();
  ~QuantizableModel();

  /// Reads the model and folds batch normalisations into convolutions. "" or
  /// one line that starts with the path.
  std::string read(const std::string &path);

  /// The serialised model of floats.
  std::string floats() const;
  /// Whether the tensor is an input of the model.
  bool isInput(const std::string &tensor) const;
  const std::vector<Product> &products() const { return products_; }
  /// The tensors that are quantised where all products are.
  const std::vector<std::string> &values() const { return values_; }

  /// The range of each value.
  using Ranges = std::map<std::string, Range>;

  /// The serialised model with the products in 8 bits that `in8` says, whose
  /// size is that of products(). One whose input has no range stays float.
  std::string quantized(const Ranges &ranges,
                        const std::vector<bool> &in8) const;

private:
  /// Layers in 8 bits.
  struct Choice {
    std::set<int> nodes;           ///< products, and layers between them
    std::set<std::string> tensors; ///< that are quantised
  };
  void foldBatchNormalization();
  void findProducts();
  /// Layers whose tensors have no range in `known` stay float, if that is
  /// given.
  Choice choose(const std::vector<bool> &in8,
                const Ranges *known = nullptr) const;
  /// The tensor behind a following activation that only this one has.
  std::string tail(const std::string &tensor) const;
  /// The inputs that are no constants.
  std::vector<std::string> dataOf(const onnx::NodeProto &node) const;
  /// The grids of the tensors.
  std::map<std::string, Grid> gridsOf(const Choice &choice,
                                      const Ranges &ranges) const;

  std::unique_ptr<OnnxGraph> owned;
  OnnxGraph &graph;
  std::vector<Product> products_;
  std::vector<std::string> values_;
};

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_QUANTIZABLEMODEL_H
