//===- NetView.cpp - A net by its values, and its price -------------------===//

#include "compiler/search/NetView.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace nnv12::search {

CopyPrices::CopyPrices(const NetValue &value)
    : schemas(value.schemas), adapt(value.adapt) {
  assert(schemas >= 1 && schemas <= mostSchemas && "as many as a set can hold");
  assert(adapt.size() == size_t(schemas) * schemas && "a price for each pair");
  assert(std::all_of(adapt.begin(), adapt.end(),
                     [](double price) { return price >= 0; }) &&
         "more copies are never cheaper");
  table.assign(size_t(schemas) << schemas, impossible);
  for (unsigned from = 0; from < schemas; ++from) {
    double *row = &table[size_t(from) << schemas];
    std::vector<Way> ways = spread(1u << from);
    // A set is as cheap as the cheapest larger one.
    for (unsigned set = sets(); set-- > 0;) {
      row[set] = ways[set].cost;
      for (unsigned other = 0; other < schemas; ++other)
        row[set] = std::min(row[set], row[set | 1u << other]);
    }
  }
}

std::vector<CopyPrices::Way> CopyPrices::spread(unsigned existing) const {
  std::vector<Way> ways(sets());
  ways[existing].cost = 0;
  // An arborescence can be made node by node, each from one that exists: the
  // cheapest way to a set ends with one more schema.
  for (unsigned set = existing; set < sets(); ++set) {
    if (ways[set].cost == impossible)
      continue;
    for (unsigned to = 0; to < schemas; ++to) {
      if (set >> to & 1)
        continue;
      Way &way = ways[set | 1u << to];
      for (unsigned from = 0; from < schemas; ++from) {
        double cost = ways[set].cost + adapt[size_t(from) * schemas + to];
        if ((set >> from & 1) && cost < way.cost)
          way = {cost, uint8_t(from), uint8_t(to)};
      }
    }
  }
  return ways;
}

unsigned CopyPrices::cheapestWith(const std::vector<Way> &ways,
                                  unsigned wanted) const {
  unsigned best = wanted;
  for (unsigned set = wanted; set < sets(); ++set)
    if ((set & wanted) == wanted && ways[set].cost < ways[best].cost)
      best = set;
  return best;
}

double CopyPrices::least(uint8_t produced, unsigned wanted) const {
  if (produced == anySchema)
    produced = bestProduced(produced, wanted);
  assert(produced < schemas && wanted < sets() && "schemas of the value");
  return table[(size_t(produced) << schemas) + wanted];
}

uint8_t CopyPrices::bestProduced(uint8_t produced, unsigned wanted) const {
  if (produced != anySchema)
    return produced;
  uint8_t best = 0;
  for (uint8_t from = 1; from < schemas; ++from)
    if (least(from, wanted) < least(best, wanted))
      best = from;
  return best;
}

std::vector<NetAdapt> CopyPrices::adapts(uint32_t value, uint8_t produced,
                                         unsigned wanted) const {
  unsigned existing = 1u << bestProduced(produced, wanted);
  std::vector<Way> ways = spread(existing);
  std::vector<NetAdapt> result;
  unsigned set = cheapestWith(ways, wanted | existing);
  if (ways[set].cost == impossible)
    return result;
  while (set != existing) {
    result.push_back({value, ways[set].from, ways[set].to});
    set &= ~(1u << ways[set].to);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

CopyPrices::Growth CopyPrices::grow(unsigned existing, unsigned wanted) const {
  if (!existing && !wanted)
    return {0, 0};
  if (!existing)
    existing = 1u << bestProduced(anySchema, wanted);
  std::vector<Way> ways = spread(existing);
  unsigned set = cheapestWith(ways, existing | wanted);
  return {ways[set].cost, set};
}

#ifndef NDEBUG
static bool isSchemaOf(uint8_t schema, const NetValue &value) {
  return schema == anySchema || schema < value.schemas;
}

/// Whether a signature names schemas that its layer's values have.
static bool fitsLayer(const Net &net, const NetLayer &layer,
                      const Signature &signature) {
  if (signature.operands.size() != layer.operands.size() ||
      signature.results.size() != layer.results.size() ||
      !(signature.cost >= 0))
    return false;
  for (size_t k = 0; k < layer.operands.size(); ++k)
    if (!isSchemaOf(signature.operands[k], net.values[layer.operands[k]]))
      return false;
  for (size_t k = 0; k < layer.results.size(); ++k)
    if (!isSchemaOf(signature.results[k], net.values[layer.results[k]]))
      return false;
  return true;
}
#endif

NetView::NetView(const Net &net) : net(net), ports(net.layers.size()) {
  values.reserve(net.values.size());
  for (const NetValue &value : net.values) {
    ValueView view = {CopyPrices(value)};
    if (value.given != noSchema) {
      assert(value.given < value.schemas && "a schema of the value");
      view.produced = {value.given};
    }
    if (value.required != noSchema) {
      assert(value.required < value.schemas && "a schema of the value");
      view.required = uint8_t(1u << value.required);
    }
    values.push_back(std::move(view));
    schemas = std::max(schemas, value.schemas);
  }
  for (uint32_t i = 0; i < net.layers.size(); ++i) {
    const NetLayer &layer = net.layers[i];
    complete &= !layer.signatures.empty();
    assert(std::all_of(layer.signatures.begin(), layer.signatures.end(),
                       [&](const Signature &signature) {
                         return fitsLayer(net, layer, signature);
                       }) &&
           "a signature names schemas of the layer's values");
    for (size_t k = 0; k < layer.operands.size(); ++k) {
      ValueView &value = values[layer.operands[k]];
      assert((value.producer != ValueView::none || !value.produced.empty()) &&
             "producers before readers");
      if (value.readers.empty() || value.readers.back().layer != i) {
        ports[i].push_back({layer.operands[k], uint32_t(value.readers.size())});
        value.readers.push_back(
            {i, std::vector<uint8_t>(layer.signatures.size())});
      }
      for (size_t s = 0; s < layer.signatures.size(); ++s) {
        uint8_t schema = layer.signatures[s].operands[k];
        if (schema != anySchema)
          value.readers.back().wants[s] |= uint8_t(1u << schema);
      }
    }
    for (size_t k = 0; k < layer.results.size(); ++k) {
      ValueView &value = values[layer.results[k]];
      assert(value.producer == ValueView::none && value.produced.empty() &&
             "one producer, none where a value is given");
      ports[i].push_back({layer.results[k], NetPort::producer});
      value.producer = i;
      for (const Signature &signature : layer.signatures)
        value.produced.push_back(signature.results[k]);
    }
  }
}

uint8_t NetView::produced(size_t value,
                          const std::vector<uint32_t> &chosen) const {
  const ValueView &view = values[value];
  if (view.producer != ValueView::none)
    return view.produced[chosen[view.producer]];
  assert(view.produced.size() == 1 && "a value has a producer or is given");
  return view.produced[0];
}

unsigned NetView::wanted(size_t value,
                         const std::vector<uint32_t> &chosen) const {
  unsigned set = values[value].required;
  for (const ValueReader &reader : values[value].readers)
    set |= reader.wants[chosen[reader.layer]];
  return set;
}

NetChoice impossibleChoice(uint64_t steps) {
  NetChoice choice;
  choice.cost = choice.bound = impossible;
  choice.exact = true;
  choice.steps = steps;
  return choice;
}

NetChoice NetView::priced(const std::vector<uint32_t> &chosen) const {
  assert(chosen.size() == net.layers.size() && "a signature for each layer");
  NetChoice choice;
  for (size_t i = 0; i < chosen.size(); ++i) {
    assert(chosen[i] < net.layers[i].signatures.size() && "one of the layer's");
    choice.cost += net.layers[i].signatures[chosen[i]].cost;
    choice.steps += ports[i].size() + 1;
  }
  for (size_t v = 0; v < values.size(); ++v)
    choice.cost +=
        values[v].copies.least(produced(v, chosen), wanted(v, chosen));
  if (choice.cost == impossible)
    return choice;
  choice.signatures = chosen;
  for (uint32_t v = 0; v < values.size(); ++v) {
    const CopyPrices &copies = values[v].copies;
    unsigned set = wanted(v, chosen);
    choice.produced.push_back(copies.bestProduced(produced(v, chosen), set));
    std::vector<NetAdapt> more = copies.adapts(v, choice.produced[v], set);
    choice.adapts.insert(choice.adapts.end(), more.begin(), more.end());
  }
  return choice;
}

NetChoice priced(const Net &net, const std::vector<uint32_t> &signatures) {
  return NetView(net).priced(signatures);
}

} // namespace nnv12::search
