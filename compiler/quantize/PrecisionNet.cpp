//===- PrecisionNet.cpp - Which layers are in 8 bits ----------------------===//

#include "compiler/quantize/PrecisionNet.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace nnv12::quantize;
using namespace nnv12::search;

/// Prices are searched for over so many powers of two, around that at which all
/// errors are worth all the time, in so many steps.
static constexpr int powers = 40, steps = 24;
/// Points of a front at most.
static constexpr int frontPoints = 24;
/// Nets are small: beyond this an answer is a good one.
static constexpr NetLimits limits = {uint64_t(1) << 23, uint64_t(1) << 16};

PrecisionNet::PrecisionNet(std::vector<Layer> layers, std::vector<Value> values)
    : layers(std::move(layers)), values(std::move(values)) {
  for (const Layer &layer : this->layers) {
    wholeTime += std::max(layer.time[floats], layer.time[bytes]);
    wholeError += layer.error;
    wholeStorage += std::max(layer.storage[floats], layer.storage[bytes]);
  }
}

unsigned PrecisionNet::Mix::count() const {
  return unsigned(std::count(in8.begin(), in8.end(), true));
}

Net PrecisionNet::net(const Prices &prices) const {
  Net net;
  for (const Value &value : values) {
    NetValue &added = net.values.emplace_back();
    added.schemas = 2;
    added.adapt = {0, value.quantize, value.dequantize, 0};
    added.given = floats;
    if (value.isReadAsFloats)
      added.required = floats;
  }
  for (const Layer &layer : layers) {
    NetLayer &added = net.layers.emplace_back();
    added.operands = layer.operands;
    added.results = layer.results;
    for (uint8_t schema : {floats, bytes}) {
      double cost = layer.time[schema] + prices.storage * layer.storage[schema];
      if (schema == bytes)
        cost += prices.error * layer.error;
      uint8_t made = schema == bytes && layer.isProduct ? anySchema : schema;
      added.signatures.push_back(
          {std::vector<uint8_t>(layer.operands.size(), schema),
           std::vector<uint8_t>(layer.results.size(), made), cost});
    }
    for (uint32_t result : layer.results)
      net.values[result].given = noSchema;
  }
  return net;
}

PrecisionNet::Mix PrecisionNet::mixOf(const NetChoice &choice) const {
  assert(choice.signatures.size() == layers.size() && "all is possible");
  Mix mix;
  mix.adapts = unsigned(choice.adapts.size());
  for (const NetAdapt &adapt : choice.adapts)
    mix.time += adapt.to == bytes ? values[adapt.value].quantize
                                  : values[adapt.value].dequantize;
  for (size_t i = 0; i < layers.size(); ++i) {
    uint32_t schema = choice.signatures[i];
    mix.in8.push_back(schema == bytes);
    mix.time += layers[i].time[schema];
    mix.storage += layers[i].storage[schema];
    if (schema == bytes)
      mix.error += layers[i].error;
  }
  return mix;
}

PrecisionNet::Mix PrecisionNet::of(const std::vector<bool> &in8) const {
  assert(in8.size() == layers.size() && "a choice for each layer");
  return mixOf(priced(net({}), {in8.begin(), in8.end()}));
}

PrecisionNet::Mix PrecisionNet::at(const Prices &prices) const {
  return mixOf(dprs(net(prices), limits));
}

/// `whole` of one are worth `time` at 2^power.
static double priceOf(double time, double whole, double power) {
  return whole > 0 ? time / whole * std::exp2(power) : 0;
}

PrecisionNet::Mix PrecisionNet::withinError(double error,
                                            double ofStorage) const {
  Mix best = at({0, ofStorage});
  if (best.error <= error)
    return best;
  // No layer is in 8 bits at a price beyond all others.
  double time = wholeTime + ofStorage * wholeStorage;
  double low = -powers, high = powers;
  best = of(std::vector<bool>(layers.size(), false));
  for (int i = 0; i < steps; ++i) {
    double power = (low + high) / 2;
    Mix mix = at({priceOf(time, wholeError, power), ofStorage});
    bool isKept = mix.error <= error;
    if (isKept)
      best = std::move(mix);
    (isKept ? high : low) = power;
  }
  return best;
}

PrecisionNet::Mix PrecisionNet::improved(Mix mix, const Bounds &bounds) const {
  Net plain = net({});
  std::vector<uint32_t> signatures(mix.in8.begin(), mix.in8.end());
  for (bool changed = true; changed;) {
    changed = false;
    Mix best = mix;
    for (size_t i = 0; i < layers.size(); ++i) {
      signatures[i] ^= 1;
      Mix other = mixOf(priced(plain, signatures));
      signatures[i] ^= 1;
      if (bounds.areKeptBy(other) && other.time < best.time) {
        best = std::move(other);
        changed = true;
      }
    }
    mix = std::move(best);
    signatures.assign(mix.in8.begin(), mix.in8.end());
  }
  return mix;
}

std::optional<PrecisionNet::Mix>
PrecisionNet::best(const Bounds &bounds) const {
  Mix found = withinError(bounds.error, 0);
  if (bounds.areKeptBy(found))
    return improved(std::move(found), bounds);
  double low = -powers, high = powers;
  std::optional<Mix> best;
  for (int i = 0; i < steps; ++i) {
    double power = (low + high) / 2;
    Mix mix =
        withinError(bounds.error, priceOf(wholeTime, wholeStorage, power));
    bool isKept = bounds.areKeptBy(mix);
    if (isKept)
      best = std::move(mix);
    (isKept ? high : low) = power;
  }
  if (!best) {
    Mix least = smallest(bounds.error);
    if (!bounds.areKeptBy(least))
      return std::nullopt;
    best = std::move(least);
  }
  return improved(std::move(*best), bounds);
}

PrecisionNet::Mix PrecisionNet::smallest(double error) const {
  return withinError(error, priceOf(wholeTime, wholeStorage, powers));
}

PrecisionNet::Mix PrecisionNet::greedy() const {
  return mixOf(search::greedy(net({})));
}

std::vector<PrecisionNet::Mix> PrecisionNet::front() const {
  std::vector<Mix> all = {of(std::vector<bool>(layers.size(), false))};
  auto add = [&](Mix mix) {
    if (mix.time < all.back().time)
      all.push_back(std::move(mix));
  };
  // From a price at which nothing is worth an error to one at which none
  // counts: the interesting part is where choices differ.
  double low = -powers, high = powers;
  auto countAt = [&](double power) {
    return at({priceOf(wholeTime, wholeError, power), 0}).count();
  };
  unsigned most = at({}).count();
  for (double least = -powers; least < high; least += 1)
    if (countAt(least) < most) {
      low = least - 1;
      break;
    }
  for (double last = powers; last > low; last -= 1)
    if (countAt(last) > 0) {
      high = last + 1;
      break;
    }
  for (int i = 0; i <= frontPoints; ++i)
    add(at(
        {priceOf(wholeTime, wholeError, high + (low - high) * i / frontPoints),
         0}));
  add(at({}));
  return all;
}
