//===- NetSets.cpp - A net as costs of few variables each -----------------===//

#include "compiler/search/NetSets.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

namespace nnv12::search {

namespace {

/// The schemas that a layer wants, by position among its live signatures.
using Wishes = std::pair<uint32_t, std::vector<uint8_t>>;

/// The set of one value, or of several that are wanted alike.
struct SharedSet {
  unsigned required = 0;       ///< with all signatures
  std::vector<Wishes> readers; ///< layers ascend
  std::vector<uint32_t> values = {};
  std::vector<uint8_t> domain = {};   ///< sets, ascending
  std::vector<size_t> contained = {}; ///< smaller sets that stand for readers
  std::vector<uint8_t> direct = {};   ///< whether none does, a reader
  uint32_t variable = 0;
};

class NetSets {
public:
  NetSets(const NetView &view, const LiveSignatures &live)
      : view(view), live(live), setsOf(live.size()) {
    share();
    for (size_t i = 0; i < sets.size(); ++i) {
      findDomain(sets[i]);
      findContained(i);
    }
  }

  Elimination run() {
    std::vector<uint32_t> sizes;
    for (const std::vector<uint32_t> &signatures : live)
      sizes.push_back(uint32_t(signatures.size()));
    for (SharedSet &set : sets) {
      set.variable = uint32_t(sizes.size());
      sizes.push_back(uint32_t(set.domain.size()));
    }
    Elimination result(std::move(sizes));
    for (uint32_t i = 0; i < live.size(); ++i) {
      std::vector<double> costs;
      for (uint32_t s : live[i])
        costs.push_back(view.net.layers[i].signatures[s].cost);
      result.add({i}, costs);
    }
    for (const SharedSet &set : sets) {
      addAdapts(set, result);
      for (size_t r = 0; r < set.readers.size(); ++r)
        if (set.direct[r])
          addReader(set, set.readers[r], result);
      for (size_t smaller : set.contained)
        addContained(set, sets[smaller], result);
    }
    return result;
  }

private:
  void share() {
    std::map<std::pair<unsigned, std::vector<Wishes>>, size_t> known;
    for (uint32_t v = 0; v < view.values.size(); ++v) {
      const ValueView &value = view.values[v];
      unsigned required = value.required;
      std::vector<Wishes> readers;
      for (const ValueReader &reader : value.readers) {
        std::vector<uint8_t> wants;
        for (uint32_t s : live[reader.layer])
          wants.push_back(reader.wants[s]);
        // A layer that always wants the same is no variable.
        if (std::count(wants.begin(), wants.end(), wants[0]) ==
            std::ptrdiff_t(wants.size()))
          required |= wants[0];
        else
          readers.emplace_back(reader.layer, std::move(wants));
      }
      auto [at, isNew] =
          known.try_emplace({required, std::move(readers)}, sets.size());
      if (isNew) {
        for (const Wishes &reader : at->first.second)
          setsOf[reader.first].push_back(sets.size());
        sets.push_back({required, at->first.second});
      }
      sets[at->second].values.push_back(v);
    }
  }

  /// All unions of the readers' possible wishes.
  void findDomain(SharedSet &set) const {
    std::vector<uint8_t> possible(1u << mostSchemas, false);
    possible[set.required] = true;
    for (const Wishes &reader : set.readers) {
      std::vector<uint8_t> next(possible.size(), false);
      for (size_t before = 0; before < possible.size(); ++before)
        if (possible[before])
          for (uint8_t wants : reader.second)
            next[before | wants] = true;
      possible = std::move(next);
    }
    for (size_t mask = 0; mask < possible.size(); ++mask)
      if (possible[mask])
        set.domain.push_back(uint8_t(mask));
  }

  /// Whether every wish for `a` is one for `b`; `common` readers wish alike.
  bool isContained(const SharedSet &a, const SharedSet &b,
                   size_t common) const {
    return common == a.readers.size() && (a.required & ~b.required) == 0;
  }

  /// Smaller sets that stand for most readers each, the largest first.
  void findContained(size_t number) {
    SharedSet &set = sets[number];
    set.direct.assign(set.readers.size(), true);
    std::map<size_t, std::vector<size_t>> common; // places of readers, by set
    for (size_t r = 0; r < set.readers.size(); ++r)
      for (size_t other : setsOf[set.readers[r].first])
        if (other != number &&
            std::binary_search(sets[other].readers.begin(),
                               sets[other].readers.end(), set.readers[r]))
          common[other].push_back(r);
    for (auto at = common.begin(); at != common.end();)
      at = isContained(sets[at->first], set, at->second.size())
               ? std::next(at)
               : common.erase(at);
    for (;;) {
      // One for one gains nothing.
      std::ptrdiff_t most = 1;
      auto best = common.end();
      for (auto at = common.begin(); at != common.end(); ++at) {
        std::ptrdiff_t gain =
            std::count_if(at->second.begin(), at->second.end(),
                          [&](size_t r) { return set.direct[r]; });
        if (gain > most) {
          most = gain;
          best = at;
        }
      }
      if (best == common.end())
        return;
      set.contained.push_back(best->first);
      for (size_t r : best->second)
        set.direct[r] = false;
    }
  }

  void addAdapts(const SharedSet &set, Elimination &result) const {
    for (uint32_t v : set.values) {
      const ValueView &value = view.values[v];
      std::vector<uint32_t> variables;
      std::vector<uint8_t> sources;
      if (value.producer == ValueView::none)
        sources = value.produced;
      else {
        variables.push_back(value.producer);
        for (uint32_t s : live[value.producer])
          sources.push_back(value.produced[s]);
      }
      variables.push_back(set.variable);
      std::vector<double> costs;
      for (uint8_t source : sources)
        for (uint8_t mask : set.domain)
          costs.push_back(value.copies.least(source, mask));
      result.add(variables, costs);
    }
  }

  void addReader(const SharedSet &set, const Wishes &reader,
                 Elimination &result) const {
    std::vector<double> costs;
    for (uint8_t wants : reader.second)
      for (uint8_t mask : set.domain)
        costs.push_back(wants & ~mask ? impossible : 0);
    result.add({reader.first, set.variable}, costs);
  }

  void addContained(const SharedSet &larger, const SharedSet &smaller,
                    Elimination &result) const {
    bool swap = larger.variable < smaller.variable;
    const SharedSet &first = swap ? larger : smaller;
    const SharedSet &second = swap ? smaller : larger;
    std::vector<double> costs;
    for (uint8_t a : first.domain)
      for (uint8_t b : second.domain)
        costs.push_back((swap ? b & ~a : a & ~b) ? impossible : 0);
    result.add({first.variable, second.variable}, costs);
  }

  const NetView &view;
  const LiveSignatures &live;
  std::vector<SharedSet> sets;
  std::vector<std::vector<size_t>> setsOf; ///< that a layer is a reader of
};

} // namespace

Elimination eliminationOf(const NetView &view, const LiveSignatures &live) {
  assert(std::none_of(live.begin(), live.end(),
                      [](const auto &layer) { return layer.empty(); }) &&
         "each layer can be computed");
  return NetSets(view, live).run();
}

} // namespace nnv12::search
