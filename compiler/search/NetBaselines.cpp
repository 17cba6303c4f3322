//===- NetBaselines.cpp - Choices for a net without a search --------------===//

#include "compiler/search/NetView.h"

#include <algorithm>

namespace nnv12::search {

std::vector<uint32_t> greedySignatures(const NetView &view) {
  const Net &net = view.net;
  // Sets of schemas in which each value exists; 0: whichever comes first.
  std::vector<unsigned> existing(net.values.size());
  for (size_t v = 0; v < net.values.size(); ++v)
    if (net.values[v].given != noSchema)
      existing[v] = 1u << net.values[v].given;
  std::vector<uint32_t> chosen(net.layers.size());
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const NetLayer &layer = net.layers[i];
    auto grow = [&](const NetPort &port, uint32_t signature) {
      const ValueView &value = view.values[port.value];
      return value.copies.grow(existing[port.value],
                               value.readers[port.reader].wants[signature]);
    };
    double least = impossible;
    for (uint32_t s = 0; s < layer.signatures.size(); ++s) {
      double cost = layer.signatures[s].cost;
      for (const NetPort &port : view.ports[i])
        if (port.reader != NetPort::producer)
          cost += grow(port, s).cost;
      if (cost < least) {
        least = cost;
        chosen[i] = s;
      }
    }
    for (const NetPort &port : view.ports[i]) {
      if (port.reader != NetPort::producer) {
        existing[port.value] = grow(port, chosen[i]).set;
        continue;
      }
      uint8_t schema = view.values[port.value].produced[chosen[i]];
      existing[port.value] = schema == anySchema ? 0 : 1u << schema;
    }
  }
  return chosen;
}

std::vector<uint32_t> uniformSignatures(const Net &net, uint8_t schema) {
  std::vector<uint32_t> chosen;
  for (const NetLayer &layer : net.layers) {
    auto inSchema = [&](const Signature &signature) {
      auto is = [&](uint8_t s) { return s == schema || s == anySchema; };
      return std::count_if(signature.operands.begin(), signature.operands.end(),
                           is) +
             std::count_if(signature.results.begin(), signature.results.end(),
                           is);
    };
    auto better = [&](const Signature &a, const Signature &b) {
      bool possibleA = a.cost < impossible, possibleB = b.cost < impossible;
      if (possibleA != possibleB)
        return possibleA;
      auto countA = inSchema(a), countB = inSchema(b);
      return countA != countB ? countA > countB : a.cost < b.cost;
    };
    chosen.push_back(uint32_t(std::min_element(layer.signatures.begin(),
                                               layer.signatures.end(), better) -
                              layer.signatures.begin()));
  }
  return chosen;
}

NetChoice greedy(const Net &net) {
  NetView view(net);
  if (!view.complete)
    return impossibleChoice(0);
  return view.priced(greedySignatures(view));
}

NetChoice uniform(const Net &net, uint8_t schema) {
  NetView view(net);
  if (!view.complete)
    return impossibleChoice(0);
  return view.priced(uniformSignatures(net, schema));
}

} // namespace nnv12::search
