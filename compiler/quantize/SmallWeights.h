//===- SmallWeights.h - Weights that fewer bits could hold ------*- C++ -*-===//
//
// For choosing the layers that nnv12c --weights rounds: which layers have
// weights of that kind, and a model in which each layer's can be rounded alone.
// The pass round-weights rounds them in the end, by scales of its own.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_QUANTIZE_SMALLWEIGHTS_H
#define NNV12_COMPILER_QUANTIZE_SMALLWEIGHTS_H

#include <string>
#include <vector>

namespace nnv12::quantize {

class OnnxGraph;

/// The weights of a layer.
struct SmallWeights {
  int node;
  std::string name;        ///< the importer's for the layer
  std::vector<int> inputs; ///< of the node, which are weights of floats
  int axis;                ///< of the weights: the outputs
  /// The squares of the differences of halves, as a part of those of 8 bits.
  double noiseOfHalves = 0;
};

/// In the order of the graph. Those that few bytes hold are left out, and those
/// with numbers that are not finite.
std::vector<SmallWeights> smallWeightsOf(const OnnxGraph &graph);

/// The serialised model with a switch for each of `layers`, which rounds its
/// weights to 8 bits.
std::string withRoundedWeights(const OnnxGraph &graph,
                               const std::vector<SmallWeights> &layers);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_SMALLWEIGHTS_H
