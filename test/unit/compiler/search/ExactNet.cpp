//===- ExactNet.cpp - The cheapest choice by trying all -------------------===//

#include "ExactNet.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace nnv12::search {

namespace {

/// All signatures for each layer; all sources for each schema of a value.
class NetEnumeration {
public:
  explicit NetEnumeration(const Net &net)
      : net(net), chosen(net.layers.size()) {
    for (const NetValue &value : net.values)
      tables.push_back(copiesOf(value));
  }

  double run() {
    chooseLayer(0, 0);
    return best;
  }

private:
  static constexpr unsigned sets = 1u << mostSchemas;

  /// The least cost of each set of schemas, for each produced one.
  std::vector<std::vector<double>> copiesOf(const NetValue &value) {
    std::vector<std::vector<double>> result(
        value.schemas, std::vector<double>(sets, impossible));
    for (unsigned produced = 0; produced < value.schemas; ++produced) {
      std::vector<unsigned> sources(value.schemas, 0);
      chooseSource(value, produced, 0, sources, result[produced]);
    }
    return result;
  }

  /// A schema's source is another one, or itself: there is no such copy.
  void chooseSource(const NetValue &value, unsigned produced, unsigned schema,
                    std::vector<unsigned> &sources, std::vector<double> &row) {
    if (schema == value.schemas) {
      evaluateSources(value, produced, sources, row);
      return;
    }
    if (schema == produced) {
      sources[schema] = schema;
      chooseSource(value, produced, schema + 1, sources, row);
      return;
    }
    for (sources[schema] = 0; sources[schema] < value.schemas;
         ++sources[schema])
      chooseSource(value, produced, schema + 1, sources, row);
  }

  void evaluateSources(const NetValue &value, unsigned produced,
                       const std::vector<unsigned> &sources,
                       std::vector<double> &row) {
    double cost = 0;
    unsigned there = 1u << produced;
    for (unsigned schema = 0; schema < value.schemas; ++schema) {
      if (sources[schema] == schema)
        continue;
      cost += value.adapt[sources[schema] * value.schemas + schema];
      // Follows the sources; those in a circle never come to an end.
      unsigned at = schema;
      for (unsigned n = 0; n < value.schemas && at != produced; ++n)
        at = sources[at];
      if (at != produced)
        return;
      there |= 1u << schema;
    }
    for (unsigned wanted = there;; wanted = (wanted - 1) & there) {
      row[wanted] = std::min(row[wanted], cost);
      if (!wanted)
        break;
    }
  }

  void chooseLayer(size_t i, double cost) {
    if (i == net.layers.size()) {
      evaluate(cost);
      return;
    }
    for (const Signature &signature : net.layers[i].signatures) {
      chosen[i] = &signature;
      chooseLayer(i + 1, cost + signature.cost);
    }
  }

  void evaluate(double cost) {
    std::vector<unsigned> produced(net.values.size(), noSchema),
        wanted(net.values.size(), 0);
    for (size_t v = 0; v < net.values.size(); ++v) {
      produced[v] = net.values[v].given;
      if (net.values[v].required != noSchema)
        wanted[v] |= 1u << net.values[v].required;
    }
    for (size_t i = 0; i < net.layers.size(); ++i) {
      const NetLayer &layer = net.layers[i];
      for (size_t k = 0; k < layer.operands.size(); ++k)
        if (chosen[i]->operands[k] != anySchema)
          wanted[layer.operands[k]] |= 1u << chosen[i]->operands[k];
      for (size_t k = 0; k < layer.results.size(); ++k)
        produced[layer.results[k]] = chosen[i]->results[k];
    }
    for (size_t v = 0; v < net.values.size(); ++v) {
      double least = impossible;
      for (unsigned schema = 0; schema < net.values[v].schemas; ++schema)
        if (produced[v] == schema || produced[v] == anySchema)
          least = std::min(least, tables[v][schema][wanted[v]]);
      cost += least;
    }
    best = std::min(best, cost);
  }

  const Net &net;
  std::vector<const Signature *> chosen;
  std::vector<std::vector<std::vector<double>>> tables;
  double best = impossible;
};

} // namespace

double exactNetCost(const Net &net) { return NetEnumeration(net).run(); }

std::string checkNetChoice(const Net &net, const NetChoice &choice) {
  if (choice.bound > choice.cost)
    return "the bound is above the cost";
  if (choice.exact && choice.bound != choice.cost)
    return "exact, but for the bound";
  if (choice.cost == impossible)
    return choice.signatures.empty() && choice.produced.empty() &&
                   choice.adapts.empty()
               ? ""
               : "something of an impossible choice";
  if (choice.signatures.size() != net.layers.size() ||
      choice.produced.size() != net.values.size())
    return "sizes";
  double cost = 0;
  std::set<std::pair<uint32_t, unsigned>> existing, read;
  for (uint32_t v = 0; v < net.values.size(); ++v) {
    if (net.values[v].given != noSchema &&
        net.values[v].given != choice.produced[v])
      return "a given value is another";
    existing.insert({v, choice.produced[v]});
  }
  for (const NetAdapt &adapt : choice.adapts) {
    if (!existing.count({adapt.value, adapt.from}))
      return "a copy of nothing";
    if (!existing.insert({adapt.value, adapt.to}).second)
      return "a copy of a copy that exists";
    const NetValue &value = net.values[adapt.value];
    cost += value.adapt[size_t(adapt.from) * value.schemas + adapt.to];
    read.insert({adapt.value, adapt.from});
  }
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const NetLayer &layer = net.layers[i];
    if (choice.signatures[i] >= layer.signatures.size())
      return "no such signature";
    const Signature &signature = layer.signatures[choice.signatures[i]];
    cost += signature.cost;
    for (size_t k = 0; k < layer.operands.size(); ++k) {
      if (signature.operands[k] != anySchema &&
          !existing.count({layer.operands[k], signature.operands[k]}))
        return "an operand is missing";
      read.insert({layer.operands[k], signature.operands[k]});
    }
    for (size_t k = 0; k < layer.results.size(); ++k)
      if (signature.results[k] != anySchema &&
          signature.results[k] != choice.produced[layer.results[k]])
        return "a result in another schema";
  }
  for (uint32_t v = 0; v < net.values.size(); ++v)
    if (net.values[v].required != noSchema &&
        !existing.count({v, net.values[v].required}))
      return "an output is missing";
  for (const NetAdapt &adapt : choice.adapts)
    if (net.values[adapt.value].required != adapt.to &&
        !read.count({adapt.value, adapt.to}))
      return "a copy for nobody";
  if (!(std::abs(cost - choice.cost) <= 1e-9 * (1 + cost)))
    return "costs " + std::to_string(cost) + ", not " +
           std::to_string(choice.cost);
  return "";
}

} // namespace nnv12::search
