//===- PrecisionNet.cpp - In which numbers layers compute -----------------===//

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
    assert(layer.costs[F32] && layer.costs[F32]->error == 0);
    Costs most;
    for (const std::optional<Costs> &costs : layer.costs)
      if (costs)
        most = {std::max(most.time, costs->time),
                std::max(most.storage, costs->storage),
                std::max(most.error, costs->error)};
    wholeTime += most.time;
    wholeStorage += most.storage;
    wholeError += most.error;
  }
  plain = net({});
}

unsigned PrecisionNet::Mix::count(Form form) const {
  return unsigned(std::count(forms.begin(), forms.end(), form));
}

double PrecisionNet::priceOf(size_t layer, Form form,
                             const Prices &prices) const {
  const std::optional<Costs> &costs = layers[layer].costs[form];
  return costs ? costs->time + prices.error * costs->error +
                     prices.storage * costs->storage
               : impossible;
}

PrecisionNet::Form PrecisionNet::floatForm(size_t layer,
                                           const Prices &prices) const {
  Form best = F32;
  for (Form form : {F16Weights, Q8Weights})
    if (priceOf(layer, form, prices) < priceOf(layer, best, prices))
      best = form;
  return best;
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
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer &layer = layers[i];
    NetLayer &added = net.layers.emplace_back();
    added.operands = layer.operands;
    added.results = layer.results;
    for (uint8_t schema : {floats, bytes}) {
      double cost =
          priceOf(i, schema == bytes ? U8 : floatForm(i, prices), prices);
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

PrecisionNet::Mix PrecisionNet::mixOf(const NetChoice &choice,
                                      std::vector<Form> forms) const {
  assert(choice.signatures.size() == layers.size() && "all is possible");
  Mix mix;
  mix.adapts = unsigned(choice.adapts.size());
  for (const NetAdapt &adapt : choice.adapts)
    mix.time += adapt.to == bytes ? values[adapt.value].quantize
                                  : values[adapt.value].dequantize;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Costs &costs = *layers[i].costs[forms[i]];
    mix.time += costs.time;
    mix.storage += costs.storage;
    mix.error += costs.error;
  }
  mix.forms = std::move(forms);
  return mix;
}

PrecisionNet::Mix PrecisionNet::mixAt(const NetChoice &choice,
                                      const Prices &prices) const {
  std::vector<Form> forms;
  for (size_t i = 0; i < layers.size(); ++i)
    forms.push_back(choice.signatures[i] == bytes ? U8 : floatForm(i, prices));
  return mixOf(choice, std::move(forms));
}

PrecisionNet::Mix PrecisionNet::of(const std::vector<Form> &forms) const {
  assert(forms.size() == layers.size() && "a choice for each layer");
  std::vector<uint32_t> schemas;
  for (Form form : forms)
    schemas.push_back(form == U8 ? bytes : floats);
  return mixOf(priced(plain, schemas), forms);
}

PrecisionNet::Mix PrecisionNet::allIn(Form form) const {
  std::vector<Form> all;
  for (const Layer &layer : layers)
    all.push_back(layer.costs[form] ? form : F32);
  return of(all);
}

PrecisionNet::Mix PrecisionNet::with(const Mix &mix, size_t layer,
                                     Form form) const {
  Mix other = mix;
  other.forms[layer] = form;
  if (form == U8 || mix.forms[layer] == U8)
    return of(other.forms);
  // No value changes.
  const Costs &before = *layers[layer].costs[mix.forms[layer]],
              &after = *layers[layer].costs[form];
  other.time += after.time - before.time;
  other.storage += after.storage - before.storage;
  other.error += after.error - before.error;
  return other;
}

PrecisionNet::Mix PrecisionNet::at(const Prices &prices) const {
  return mixAt(dprs(net(prices), limits), prices);
}

/// `whole` of one are worth `time` at 2^power.
static double worth(double time, double whole, double power) {
  return whole > 0 ? time / whole * std::exp2(power) : 0;
}

PrecisionNet::Mix PrecisionNet::withinError(double error,
                                            double ofStorage) const {
  Mix best = at({0, ofStorage});
  if (best.error <= error)
    return best;
  // Nothing is rounded at a price beyond all others.
  double time = wholeTime + ofStorage * wholeStorage;
  double low = -powers, high = powers;
  best = allIn(F32);
  for (int i = 0; i < steps; ++i) {
    double power = (low + high) / 2;
    Mix mix = at({worth(time, wholeError, power), ofStorage});
    bool isKept = mix.error <= error;
    if (isKept)
      best = std::move(mix);
    (isKept ? high : low) = power;
  }
  return best;
}

PrecisionNet::Mix PrecisionNet::improved(Mix mix, const Bounds &bounds,
                                         double ofStorage) const {
  auto priceOf = [&](const Mix &mix) {
    return mix.time + ofStorage * mix.storage;
  };
  for (bool changed = true; changed;) {
    changed = false;
    Mix best = mix;
    for (size_t i = 0; i < layers.size(); ++i)
      for (unsigned form = 0; form < forms; ++form) {
        if (form == mix.forms[i] || !layers[i].costs[form])
          continue;
        Mix other = with(mix, i, Form(form));
        if (bounds.areKeptBy(other) && priceOf(other) < priceOf(best)) {
          best = std::move(other);
          changed = true;
        }
      }
    mix = of(best.forms);
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
    Mix mix = withinError(bounds.error, worth(wholeTime, wholeStorage, power));
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
  double ofStorage = worth(wholeTime, wholeStorage, powers);
  return improved(withinError(error, ofStorage), {error}, ofStorage);
}

PrecisionNet::Mix PrecisionNet::greedy() const {
  return mixAt(search::greedy(plain), {});
}

std::vector<PrecisionNet::Mix> PrecisionNet::front(Goal goal) const {
  double ofStorage =
      goal == Goal::Storage ? worth(wholeTime, wholeStorage, powers) : 0;
  double whole = wholeTime + ofStorage * wholeStorage;
  auto atPower = [&](double power) {
    return at({worth(whole, wholeError, power), ofStorage});
  };
  auto valueOf = [&](const Mix &mix) {
    return goal == Goal::Storage ? mix.storage : mix.time;
  };
  std::vector<Mix> all = {allIn(F32)};
  auto add = [&](Mix mix) {
    if (valueOf(mix) < valueOf(all.back()))
      all.push_back(std::move(mix));
  };
  // From a price at which nothing is worth an error to one at which none
  // counts: the interesting part is where choices differ.
  double low = -powers, high = powers;
  Mix cheapest = at({0, ofStorage});
  for (double least = -powers; least < high; least += 1)
    if (atPower(least).forms != cheapest.forms) {
      low = least - 1;
      break;
    }
  for (double last = powers; last > low; last -= 1)
    if (!atPower(last).isF32()) {
      high = last + 1;
      break;
    }
  for (int i = 0; i <= frontPoints; ++i)
    add(atPower(high + (low - high) * i / frontPoints));
  add(std::move(cheapest));
  return all;
}
