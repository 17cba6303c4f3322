//===- RandomNet.h - Nets for the search's tests ----------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMNET_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMNET_H

#include "RandomProblem.h"
#include "compiler/search/Net.h"

namespace nnv12::search {

/// How a net is drawn.
struct NetDraw {
  unsigned leastLayers = 1;
  unsigned layers = 9;     ///< at most
  unsigned schemas = 4;    ///< at most, a value
  unsigned signatures = 4; ///< at most, a layer
  double choices = 600;    ///< signatures of all layers multiplied, at most
  bool impossibles = true; ///< some adapts, and some signatures
  bool wholeCosts = false; ///< 0, 1 or 2: many ties
};

inline double randomCost(Random &random, const NetDraw &draw, double most) {
  return draw.wholeCosts ? random.below(3) : random.between(0, most);
}

inline NetValue randomValue(Random &random, const NetDraw &draw) {
  NetValue value;
  value.schemas = uint8_t(1 + random.below(draw.schemas));
  value.adapt.clear();
  for (unsigned from = 0; from < value.schemas; ++from)
    for (unsigned to = 0; to < value.schemas; ++to) {
      bool none = draw.impossibles && random.below(4) == 0;
      value.adapt.push_back(from == to ? 0
                            : none     ? impossible
                                       : randomCost(random, draw, 1));
    }
  return value;
}

inline uint8_t randomSchema(Random &random, const NetValue &value) {
  return random.below(12) ? uint8_t(random.below(value.schemas)) : anySchema;
}

/// Layers that read some of the values before, often the last ones.
inline Net randomNet(Random &random, const NetDraw &draw) {
  Net net;
  std::vector<bool> isRead;
  auto add = [&] {
    net.values.push_back(randomValue(random, draw));
    isRead.push_back(false);
    return uint32_t(net.values.size() - 1);
  };
  for (unsigned n = 1 + random.below(3); n; --n) {
    NetValue &value = net.values[add()];
    value.given = uint8_t(random.below(value.schemas));
  }
  double choices = 1;
  for (unsigned n =
           draw.leastLayers + random.below(draw.layers - draw.leastLayers + 1);
       n; --n) {
    NetLayer layer;
    uint32_t known = uint32_t(net.values.size());
    for (unsigned k = 1 + random.below(3); k; --k) {
      uint32_t back = random.flip() ? random.below(std::min(known, 3u))
                                    : random.below(known);
      layer.operands.push_back(known - 1 - back);
      isRead[known - 1 - back] = true;
    }
    for (unsigned k = random.below(6) ? 1 : 2; k; --k)
      layer.results.push_back(add());
    unsigned most = unsigned(std::max(
        1.0, std::min<double>(draw.signatures, draw.choices / choices)));
    for (unsigned k = 1 + random.below(most); k; --k) {
      Signature signature;
      for (uint32_t v : layer.operands)
        signature.operands.push_back(randomSchema(random, net.values[v]));
      for (uint32_t v : layer.results)
        signature.results.push_back(randomSchema(random, net.values[v]));
      signature.cost = draw.impossibles && random.below(30) == 0
                           ? impossible
                           : randomCost(random, draw, 2);
      layer.signatures.push_back(std::move(signature));
    }
    choices *= double(layer.signatures.size());
    net.layers.push_back(std::move(layer));
  }
  for (size_t v = 0; v < net.values.size(); ++v)
    if (random.below(isRead[v] ? 8 : 2) == 0)
      net.values[v].required = uint8_t(random.below(net.values[v].schemas));
  return net;
}

/// Makes nets of layers that compute in each of some schemas, with drawn costs.
class NetBuilder {
public:
  NetBuilder(unsigned seed, uint8_t schemas) : random(seed), schemas(schemas) {}

  uint32_t input() {
    uint32_t v = value();
    net.values[v].given = 0;
    return v;
  }
  void output(uint32_t v) { net.values[v].required = 0; }

  /// Any schema of the operand, any of the result: an own kernel for each.
  uint32_t mixing(uint32_t operand) {
    NetLayer layer = {{operand}, {value()}};
    for (uint8_t in = 0; in < schemas; ++in)
      for (uint8_t out = 0; out < schemas; ++out)
        layer.signatures.push_back({{in}, {out}, random.between(0.5, 2)});
    return add(layer);
  }
  /// All operands and the result in one schema: element-wise, concat.
  uint32_t keeping(const std::vector<uint32_t> &operands) {
    NetLayer layer = {operands, {value()}};
    for (uint8_t schema = 0; schema < schemas; ++schema)
      layer.signatures.push_back({std::vector<uint8_t>(operands.size(), schema),
                                  {schema},
                                  random.between(0.1, 0.5)});
    return add(layer);
  }

  Random random;
  Net net;

private:
  uint32_t value() {
    NetValue value = {schemas, {}};
    for (unsigned from = 0; from < schemas; ++from)
      for (unsigned to = 0; to < schemas; ++to)
        value.adapt.push_back(from == to ? 0 : random.between(0.1, 0.6));
    net.values.push_back(value);
    return uint32_t(net.values.size() - 1);
  }
  uint32_t add(const NetLayer &layer) {
    net.layers.push_back(layer);
    return layer.results[0];
  }

  uint8_t schemas;
};

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMNET_H
