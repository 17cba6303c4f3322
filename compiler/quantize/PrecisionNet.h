//===- PrecisionNet.h - In which numbers layers compute ---------*- C++ -*-===//
//
// SoftNeuro's hybrid tuning (section IV, table I) under bounds: a net of layers
// whose values are floats or integers of 8 bits, and which layers are best in
// which. Adapts between the schemas are QuantizeLinear and DequantizeLinear.
// Layers that compute with floats can have weights that fewer bits hold.
// The paper takes the fastest choice whatever its error is; here errors and
// bytes have prices (Lagrange multipliers), so that bounds on both can be kept.
// Pure: plain structs and search::Net.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_QUANTIZE_PRECISIONNET_H
#define NNV12_COMPILER_QUANTIZE_PRECISIONNET_H

#include "compiler/search/Net.h"

#include <array>
#include <optional>

namespace nnv12::quantize {

class PrecisionNet {
public:
  /// The schemas of values.
  static constexpr uint8_t floats = 0, bytes = 1;

  /// In which numbers a layer computes, and how its weights are stored.
  enum Form : uint8_t {
    F32,
    U8,         ///< of bytes
    F16Weights, ///< of floats, with weights that are halves
    Q8Weights,  ///< of floats, with weights of 8 bits
  };
  static constexpr unsigned forms = 4;

  struct Costs {
    double time = 0;    ///< ms
    double storage = 0; ///< bytes of its weights
    /// It adds so much to the model's error. Errors of layers add up: mean
    /// squares do where they are independent.
    double error = 0;
  };
  struct Layer {
    std::vector<uint32_t> operands, results; ///< values
    /// A product makes floats or bytes of bytes, as its readers like it; other
    /// layers make bytes of bytes.
    bool isProduct = false;
    /// Those that it has. F32 is always there, without an error.
    std::array<std::optional<Costs>, forms> costs = {Costs()};
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
    std::vector<Form> forms; ///< by layers
    double time = 0;         ///< ms, with adapts
    double error = 0, storage = 0;
    unsigned adapts = 0;

    unsigned count(Form form) const;
    bool isF32() const { return count(F32) == forms.size(); }
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

  /// Each layer has the form.
  Mix of(const std::vector<Form> &forms) const;
  /// All layers that have the form are in it, others in F32.
  Mix allIn(Form form) const;
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
  enum class Goal { Time, Storage };
  /// Choices that are the cheapest at some price of errors, from no error to
  /// the fastest one, or that of the fewest bytes: each is faster, or has fewer
  /// bytes, than the one before.
  std::vector<Mix> front(Goal goal = Goal::Time) const;

private:
  double priceOf(size_t layer, Form form, const Prices &prices) const;
  /// The layer's cheapest form of floats.
  Form floatForm(size_t layer, const Prices &prices) const;
  /// The signatures of layers are schemas.
  search::Net net(const Prices &prices) const;
  Mix mixOf(const search::NetChoice &choice, std::vector<Form> forms) const;
  Mix mixAt(const search::NetChoice &choice, const Prices &prices) const;
  /// The choice with another form of a layer.
  Mix with(const Mix &mix, size_t layer, Form form) const;
  /// The cheapest choice that keeps the bound on errors, at a price of bytes.
  Mix withinError(double error, double ofStorage) const;
  Mix improved(Mix mix, const Bounds &bounds, double ofStorage = 0) const;

  std::vector<Layer> layers;
  std::vector<Value> values;
  double wholeTime = 0, wholeError = 0, wholeStorage = 0;
  search::Net plain; ///< without prices
};

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_PRECISIONNET_H
