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
#include "compiler/quantize/Product.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
} // namespace onnx
namespace nnv12::artifact {
class InputFiles;
} // namespace nnv12::artifact

namespace nnv12::quantize {

struct FloatTensor;

using calibrate::Grid;
using calibrate::Range;

/// A layer that can be in 8 bits, with the clamp behind it that only it has.
struct QuantizableLayer {
  enum class Kind {
    Product, ///< a sum of products with constant weights
    Moves,   ///< its results are some of its inputs' numbers: the grid stays
    Counts   ///< it computes with them
  };
  int node;
  Kind kind;
  std::string name; ///< for people: that of the node, or of its result
  int axis;         ///< of the weights: the outputs; -1: no product
  /// Tensors: inputs that are no constants, and results.
  std::vector<std::string> operands, results;

  bool isProduct() const { return kind == Kind::Product; }
};

/// The facts of a value over a set of samples.
struct ValueStatistics {
  Range range;
  /// By channels (dimension 1); empty where they are not known.
  std::vector<double> means = {};
  std::vector<double> largest = {}; ///< magnitudes, likewise
};

class QuantizableModel {
public:
  QuantizableModel();
  ~QuantizableModel();

  /// Reads the model, as OnnxGraph does, and folds batch normalisations into
  /// convolutions. "" or one line that starts with the path.
  std::string read(const std::string &path,
                   const std::vector<std::string> &folders = {},
                   artifact::InputFiles *inputs = nullptr);

  /// Whether the tensor is an input of the model.
  bool isInput(const std::string &tensor) const;
  /// In the order of the graph: products, and those between them that are in 8
  /// bits where all products are.
  const std::vector<QuantizableLayer> &layers() const { return layers_; }
  /// The tensors that are quantised where all layers are in 8 bits.
  const std::vector<std::string> &values() const { return values_; }
  /// Whether something else than layers() needs the tensor as floats: other
  /// layers, or the user.
  bool isReadAsFloats(const std::string &tensor) const;

  /// The facts of each value.
  using Ranges = std::map<std::string, ValueStatistics>;
  /// The layers that can be in 8 bits together if these values have ranges.
  std::vector<bool> allWith(const Ranges &ranges) const;

  /// Gives channels between products ranges that are alike, see
  /// Equalization.h. The values of floats() change, its results do not. Returns
  /// for how many pairs of products.
  size_t equalize(const Ranges &ranges);

  /// The names of nodes in models that are made.
  enum class Names {
    Given,  ///< those of the model
    Numbers ///< "n0", "n1"...: see nodeName(). Those that are added have others
  };
  static std::string nodeName(int node) { return "n" + std::to_string(node); }

  /// The model of floats.
  const OnnxGraph &floatGraph() const { return graph; }
  /// It, serialised.
  std::string floats(Names names = Names::Given) const;
  /// The serialised model with the layers in 8 bits that `in8` says, whose size
  /// is that of layers(). All their inputs have ranges. Where the means of an
  /// input are known, the bias takes back by how much rounded weights change
  /// the mean of each output.
  std::string quantized(const Ranges &ranges, const std::vector<bool> &in8,
                        Names names = Names::Given) const;

  /// The serialised model of floats with a switch (Switches.h) for each product
  /// of `in8`, in their order, which puts it in 8 bits.
  std::string switched(const Ranges &ranges,
                       const std::vector<bool> &in8) const;

private:
  void foldBatchNormalization();
  void findLayers();
  /// Layers between others leave `in8` until each that is left has all operands
  /// made in 8 bits, and a reader in 8 bits.
  void leaveAlone(std::vector<bool> &in8) const;
  /// The tensors that layers in 8 bits read.
  std::set<std::string> operandsOf(const std::vector<bool> &in8) const;
  /// The tensor behind a following clamp that only this one has.
  std::string tail(const std::string &tensor) const;
  /// The inputs that are no constants.
  std::vector<std::string> dataOf(const onnx::NodeProto &node) const;
  /// The grids of the tensors that layers in 8 bits read.
  std::map<std::string, Grid> gridsOf(const std::vector<bool> &in8,
                                      const Ranges &ranges) const;

  std::unique_ptr<OnnxGraph> owned;
  OnnxGraph &graph;
  std::vector<QuantizableLayer> layers_;
  std::vector<std::string> values_;
};

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_QUANTIZABLEMODEL_H
