//===- PrecisionReport.h - Layers in fewer bits, for people -----*- C++ -*-===//
//
// The facts behind a choice of precisions: each layer's times, bytes and error,
// and the front of time and error. As text, as a picture (SVG), and as JSON,
// which is the bundle's property "precision", so that nnv12-inspect draws it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_PRECISIONREPORT_H
#define NNV12_TOOLS_NNV12C_PRECISIONREPORT_H

#include "compiler/quantize/PrecisionNet.h"

#include <string>

namespace nnv12 {

struct PrecisionReport {
  using Form = quantize::PrecisionNet::Form;
  struct Layer {
    std::string name;
    bool isProduct = false;
    Form chosen = Form::F32;
    /// By forms that it has: times as parts of the model's time in floats, and
    /// as errors the rmse of the outputs, with this layer alone in the form.
    decltype(quantize::PrecisionNet::Layer::costs) costs;
  };
  /// A choice of layers.
  struct Point {
    unsigned layers = 0; ///< with products in 8 bits or with rounded weights
    double time = 0;     ///< predicted, as a part of the model's in floats
    double rmse = 0;     ///< predicted or measured
    double bytes = 0;
    bool isMeasured = false, isChosen = false;
  };

  /// Weights alone are rounded: the fewest bytes are best, not the least time.
  bool isOfWeights = false;
  std::vector<Layer> layers;
  /// Predicted times of choices without bounds, as a part of the model's in
  /// floats: the net's, layer by layer, and 8 bits wherever they can be.
  double net = 1, greedy = 1, uniform = 1;
  std::vector<Point> front; ///< predicted, by time, or by bytes
  std::vector<Point> tried; ///< in the order of rounds

  std::string text() const;
  std::string svg() const;
  std::string json(bool isOneLine = false) const;

private:
  bool hasForm(unsigned form) const;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRECISIONREPORT_H
