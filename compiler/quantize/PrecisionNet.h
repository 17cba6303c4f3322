//===- PrecisionNet.h - Which layers are in 8 bits --------------*- C++ -*-===//
//
// SoftNeuro's hybrid tuning (section IV, table I) under bounds: a net of layers
// whose values are floats or integers of 8 bits, and which layers are best in
// which. Adapts between the schemas are QuantizeLinear and DequantizeLinear.
// The paper takes the fastest choice whatever its error is; here errors and
// bytes have prices (Lagrange multipliers), so that bounds on both can be kept.
// Pure: plain structs and search::Net.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_QUANTIZE_PRECISIONNET_H
#define NNV12_COMPILER_QUANTIZE_PRECISIONNET_H

#include "compiler/search/Net.h"

#include <optional>

namespace nnv12::quantize {

class PrecisionNet {
public:
  /// The schemas of values.
  static constexpr uint8_t floats = 0, bytes = 1;

  struct Layer {
    std::vector<uint32_t> operands, results; ///< values
    /// A product makes floats or bytes of bytes, as its readers like it; other
    /// layers make bytes of bytes.
    bool isProduct = false;
    double time[2] = {0, 0};    ///< ms, by schema of the operands
    double storage[2] = {0, 0}; ///< bytes of its weights
    /// In 8 bits it adds so much to the model's error. Errors of layers add up:
    /// mean squares do where they are independent.
    double error = 0;
  };
  struct Value {
    double quantize = 0, dequantize = 0; ///< ms
    /// Something besides the layers needs floats.
    bool isReadAsFloats = false;
  };

  /// Producers come before readers. A value without one is given as floats.
  PrecisionNet(std::vector<Layer> layers, std::vector<Value> values);

  /// A choice with its costs.
  struct Mix {
    std::vector<bool> in8; ///< by layers
    double time = 0;       ///< ms, with adapts
    double error = 0, storage = 0;
    unsigned adapts = 0;

    unsigned count() const;
  };
  struct Bounds {
    double error = search::impossible, storage = search::impossible;
    bool areKeptBy(const Mix &mix) const {
      return mix.error <= error && mix.storage <= storage;
    }
  };
  /// Milliseconds that one of each is worth.
  struct Prices {
    double error = 0, storage = 0;
  };

  Mix of(const std::vector<bool> &in8) const;
  /// The cheapest choice at these prices.
  Mix at(const Prices &prices) const;
  /// The fastest choice that is found within the bounds: the cheapest one at
  /// the lowest prices that keep them, and then layer by layer as long as one
  /// more gains. Nothing where none is found. With no bounds it is the fastest.
  std::optional<Mix> best(const Bounds &bounds) const;
  /// The choice of the fewest bytes that keeps the bound on errors.
  Mix smallest(double error) const;
  /// Layers in their order take the schema that is cheaper for each.
  Mix greedy() const;
  /// Choices that are the cheapest at some price of errors, from no error to
  /// the fastest one: each is faster than the one before.
  std::vector<Mix> front() const;

private:
  search::Net net(const Prices &prices) const;
  Mix mixOf(const search::NetChoice &choice) const;
  /// The cheapest choice that keeps the bound on errors, at a price of bytes.
  Mix withinError(double error, double ofStorage) const;
  Mix improved(Mix mix, const Bounds &bounds) const;

  std::vector<Layer> layers;
  std::vector<Value> values;
  double wholeTime = 0, wholeError = 0, wholeStorage = 0;
};

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_PRECISIONNET_H
