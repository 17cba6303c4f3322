//===- PrecisionReport.h - Layers in 8 bits, for people ---------*- C++ -*-===//
//
// The facts behind a choice of precisions: each layer's times, bytes and error,
// and the front of time and error. As text, as a picture (SVG), and as JSON,
// which is the bundle's property "precision", so that nnv12-inspect draws it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_PRECISIONREPORT_H
#define NNV12_TOOLS_NNV12C_PRECISIONREPORT_H

#include <string>
#include <vector>

namespace nnv12 {

struct PrecisionReport {
  struct Layer {
    std::string name;
    bool isProduct = false, isIn8Bits = false;
    double time[2] = {0, 0};  ///< of floats and of 8 bits, as a part of the
                              ///< model's time in floats
    double bytes[2] = {0, 0}; ///< of its weights
    double rmse = 0;          ///< of the outputs, with this layer in 8 bits
  };
  /// A choice of layers.
  struct Point {
    unsigned layers = 0; ///< products in 8 bits
    double time = 0;     ///< predicted, as a part of the model's in floats
    double rmse = 0;     ///< predicted or measured
    double bytes = 0;
    bool isMeasured = false, isChosen = false;
  };

  std::vector<Layer> layers;
  /// Predicted times of choices without bounds, as a part of the model's in
  /// floats: the net's, layer by layer, and 8 bits wherever they can be.
  double net = 1, greedy = 1, uniform = 1;
  std::vector<Point> front; ///< predicted, by time
  std::vector<Point> tried; ///< in the order of rounds

  std::string text() const;
  std::string svg() const;
  std::string json(bool isOneLine = false) const;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRECISIONREPORT_H
