//===- DeadEnds.cpp - Signatures that no best choice needs ----------------===//
//
// Where a layer goes from signature s to t and nothing else changes, the price
// of a value around it changes by an amount that depends on the schemas that
// the other layers make and want. If t costs less than s by the largest such
// amounts, summed over the layer's values, every choice with s has one with t
// that is no dearer. (Dead-end elimination, after Goldstein.)
//
//===----------------------------------------------------------------------===//

#include "compiler/search/DeadEnds.h"

#include <algorithm>

namespace nnv12::search {

namespace {

class DeadEnds {
public:
  explicit DeadEnds(const NetView &view) : view(view) {
    for (const NetLayer &layer : view.net.layers) {
      std::vector<uint32_t> possible;
      for (uint32_t s = 0; s < layer.signatures.size(); ++s)
        if (layer.signatures[s].cost < impossible)
          possible.push_back(s);
      live.push_back(std::move(possible));
    }
  }

  LiveSignatures run(uint64_t &steps) {
    // Where a signature is gone, more of its neighbours' can go.
    static constexpr int mostRounds = 8;
    bool dropped = true;
    for (int round = 0; dropped && round < mostRounds; ++round) {
      dropped = false;
      for (size_t i = 0; i < live.size(); ++i)
        dropped |= visit(i);
    }
    steps += counted;
    return std::move(live);
  }

private:
  /// The effects of a layer's signatures on one value, alike ones together.
  struct Effects {
    std::vector<uint8_t> kinds;    ///< schemas made, or sets wanted
    std::vector<size_t> kindOf;    ///< by position among the live ones
    std::vector<uint8_t> possible; ///< whether some context allows it, a kind
    /// [from][to]: the most that a change adds to the value's price.
    std::vector<double> change;
  };

  /// The schemas in which a value may be made, each once.
  std::vector<uint8_t> possibleSources(const ValueView &value) const {
    if (value.producer == ValueView::none)
      return value.produced;
    std::vector<uint8_t> result;
    for (uint32_t s : live[value.producer])
      if (std::find(result.begin(), result.end(), value.produced[s]) ==
          result.end())
        result.push_back(value.produced[s]);
    return result;
  }

  /// The schemas that layers beside this one may want of a value.
  unsigned wantable(const ValueView &value, size_t without) const {
    unsigned set = 0;
    for (const ValueReader &reader : value.readers)
      if (reader.layer != without)
        for (uint32_t s : live[reader.layer])
          set |= reader.wants[s];
    return set & ~unsigned(value.required);
  }

  Effects effectsOf(size_t layer, const NetPort &port) {
    const ValueView &value = view.values[port.value];
    bool produces = port.reader == NetPort::producer;
    const std::vector<uint8_t> &does =
        produces ? value.produced : value.readers[port.reader].wants;
    Effects effects;
    for (uint32_t s : live[layer]) {
      auto at = std::find(effects.kinds.begin(), effects.kinds.end(), does[s]);
      effects.kindOf.push_back(size_t(at - effects.kinds.begin()));
      if (at == effects.kinds.end())
        effects.kinds.push_back(does[s]);
    }
    size_t kinds = effects.kinds.size();
    effects.possible.assign(kinds, false);
    effects.change.assign(kinds * kinds, -impossible);
    std::vector<double> prices(kinds);
    auto context = [&] {
      counted += kinds * (kinds + 1);
      for (size_t a = 0; a < kinds; ++a) {
        if (prices[a] == impossible)
          continue;
        effects.possible[a] = true;
        for (size_t b = 0; b < kinds; ++b) {
          double &change = effects.change[a * kinds + b];
          change = std::max(change, prices[b] - prices[a]);
        }
      }
    };
    // All subsets of the schemas that others may want, which is more than all
    // that can occur.
    unsigned others = wantable(value, layer);
    std::vector<uint8_t> sources =
        produces ? std::vector<uint8_t>{anySchema} : possibleSources(value);
    for (uint8_t source : sources)
      for (unsigned set = others;; set = (set - 1) & others) {
        for (size_t k = 0; k < kinds; ++k)
          prices[k] =
              produces
                  ? value.copies.least(effects.kinds[k], set | value.required)
                  : value.copies.least(source,
                                       set | value.required | effects.kinds[k]);
        context();
        if (!set)
          break;
      }
    return effects;
  }

  /// Whether it dropped a signature of the layer.
  bool visit(size_t layer) {
    std::vector<uint32_t> &mine = live[layer];
    size_t before = mine.size();
    std::vector<Effects> effects;
    for (const NetPort &port : view.ports[layer])
      effects.push_back(effectsOf(layer, port));
    std::vector<uint8_t> dropped(before, false);
    for (size_t s = 0; s < before; ++s)
      for (const Effects &effect : effects)
        if (!effect.possible[effect.kindOf[s]])
          dropped[s] = true;
    const std::vector<Signature> &signatures =
        view.net.layers[layer].signatures;
    // One after another: the replacement of a dropped one is still there.
    for (size_t s = 0; s < before; ++s)
      for (size_t t = 0; t < before && !dropped[s]; ++t) {
        if (s == t || dropped[t])
          continue;
        double with = signatures[mine[t]].cost;
        for (const Effects &effect : effects)
          with += effect.change[effect.kindOf[s] * effect.kinds.size() +
                                effect.kindOf[t]];
        counted += effects.size() + 1;
        double cost = signatures[mine[s]].cost;
        dropped[s] = cost > with || (cost == with && t < s);
      }
    std::vector<uint32_t> rest;
    for (size_t s = 0; s < before; ++s)
      if (!dropped[s])
        rest.push_back(mine[s]);
    mine = std::move(rest);
    return mine.size() < before;
  }

  const NetView &view;
  LiveSignatures live;
  uint64_t counted = 0;
};

} // namespace

LiveSignatures withoutDeadEnds(const NetView &view, uint64_t &steps) {
  return DeadEnds(view).run(steps);
}

} // namespace nnv12::search
