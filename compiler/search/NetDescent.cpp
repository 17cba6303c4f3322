//===- NetDescent.cpp - A choice for a net, made better -------------------===//

#include "compiler/search/NetDescent.h"

#include <array>
#include <cassert>

namespace nnv12::search {

namespace {

/// A sum that tells how many of its parts are impossible.
struct Amount {
  unsigned impossibles = 0;
  double cost = 0;
  void add(double part) {
    if (part == impossible)
      ++impossibles;
    else
      cost += part;
  }
  bool lessThan(const Amount &o) const {
    return impossibles != o.impossibles ? impossibles < o.impossibles
                                        : cost < o.cost;
  }
  /// By more than rounding, which could go back and forth forever.
  bool clearlyLessThan(const Amount &o) const {
    return impossibles != o.impossibles ? impossibles < o.impossibles
                                        : cost < o.cost * (1 - 1e-12);
  }
};

class NetDescent {
public:
  NetDescent(const NetView &view, std::vector<uint32_t> start)
      : view(view), chosen(std::move(start)), wanting(view.values.size()) {
    for (size_t v = 0; v < view.values.size(); ++v) {
      count(v, view.values[v].required, 1);
      for (const ValueReader &reader : view.values[v].readers)
        count(v, reader.wants[chosen[reader.layer]], 1);
    }
  }

  std::vector<uint32_t> run(const LiveSignatures &live, uint64_t limit,
                            uint64_t &steps) {
    for (bool better = true; better;) {
      better = false;
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (steps >= limit)
          return std::move(chosen);
        better |= improve(i, live[i]);
        steps += (live[i].size() + 1) * (view.ports[i].size() + 1);
      }
    }
    return std::move(chosen);
  }

private:
  void count(size_t v, unsigned set, int by) {
    for (unsigned schema = 0; schema < mostSchemas; ++schema)
      if (set >> schema & 1)
        wanting[v][schema] += by;
  }

  unsigned wanted(size_t v) const {
    unsigned set = 0;
    for (unsigned schema = 0; schema < mostSchemas; ++schema)
      set |= unsigned(wanting[v][schema] > 0) << schema;
    return set;
  }

  /// The layer and the values around it. The layer's wishes are not counted.
  Amount amount(size_t layer, uint32_t signature) const {
    Amount result;
    result.add(view.net.layers[layer].signatures[signature].cost);
    for (const NetPort &port : view.ports[layer]) {
      const ValueView &value = view.values[port.value];
      unsigned set = wanted(port.value);
      if (port.reader == NetPort::producer)
        result.add(value.copies.least(value.produced[signature], set));
      else
        result.add(value.copies.least(
            view.produced(port.value, chosen),
            set | value.readers[port.reader].wants[signature]));
    }
    return result;
  }

  void countLayer(size_t layer, int by) {
    for (const NetPort &port : view.ports[layer])
      if (port.reader != NetPort::producer)
        count(port.value,
              view.values[port.value].readers[port.reader].wants[chosen[layer]],
              by);
  }

  bool improve(size_t layer, const std::vector<uint32_t> &live) {
    countLayer(layer, -1);
    uint32_t before = chosen[layer], best = before;
    Amount now = amount(layer, before), least = now;
    for (uint32_t s : live) {
      Amount other = amount(layer, s);
      if (other.clearlyLessThan(now) && other.lessThan(least)) {
        least = other;
        best = s;
      }
    }
    chosen[layer] = best;
    countLayer(layer, 1);
    return best != before;
  }

  const NetView &view;
  std::vector<uint32_t> chosen;
  /// How many want each schema of a value.
  std::vector<std::array<int, mostSchemas>> wanting;
};

} // namespace

std::vector<uint32_t> descend(const NetView &view, const LiveSignatures &live,
                              std::vector<uint32_t> chosen, uint64_t limit,
                              uint64_t &steps) {
  assert(chosen.size() == view.net.layers.size() && "a signature a layer");
  return NetDescent(view, std::move(chosen)).run(live, limit, steps);
}

} // namespace nnv12::search
