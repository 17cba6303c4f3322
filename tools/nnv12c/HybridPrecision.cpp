//===- HybridPrecision.cpp - Which layers are in 8 bits, by a net ---------===//

#include "tools/nnv12c/HybridPrecision.h"

#include "compiler/quantize/AdaptsModel.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using calibrate::ErrorBound;
using calibrate::Measure;
using quantize::PrecisionNet;
using quantize::QuantizableLayer;
using quantize::QuantizableModel;

/// Choices that are measured at most.
static constexpr unsigned mostRounds = 5;
/// Other choices that are planned at most, where a plan is no faster than
/// floats.
static constexpr unsigned mostFewer = 4;
/// Samples that errors of single layers are measured over.
static constexpr unsigned fewSamples = 8;
/// Choices are searched for with so much of the noise that a bound allows.
static constexpr double ofBound = 0.9;
/// A faster choice is tried if a bound allows so much more noise.
static constexpr double worthMore = 1.25;

/// Mean square of the difference, as a part of that of the floats.
static double noiseOf(const OutputErrors &errors) {
  double rmse = errors.worst(Measure::Rmse);
  return rmse * rmse;
}

InFlightDiagnostic HybridPrecision::error() const {
  return emitError(UnknownLoc::get(&context)) << options.input << ": ";
}

FailureOr<PricedPlan> HybridPrecision::priceOf(std::string bytes) const {
  return priceOf(std::move(bytes), options);
}

FailureOr<PricedPlan> HybridPrecision::priceOf(std::string bytes,
                                               CompileOptions how) const {
  how.modelBytes = std::make_shared<const std::string>(std::move(bytes));
  how.precision = {};
  how.summary = how.timing = false;
  how.plan.gpu.clear();
  how.plan.gpuForce = false;
  return price(how);
}

/// The costs of layers, by node. A layer that was fused with others is that of
/// the first product among them.
static std::map<int, PricedLayer> costsByNode(const PricedPlan &plan,
                                              const QuantizableModel &model) {
  std::map<std::string, const QuantizableLayer *> byName;
  for (const QuantizableLayer &layer : model.layers())
    byName[QuantizableModel::nodeName(layer.node)] = &layer;
  std::map<int, PricedLayer> costs;
  for (const PricedLayer &priced : plan.layers) {
    const QuantizableLayer *of = nullptr;
    for (const std::string &name : priced.names) {
      auto layer = byName.find(name);
      if (layer != byName.end() &&
          (!of || (layer->second->isProduct() && !of->isProduct())))
        of = layer->second;
    }
    if (!of)
      continue;
    PricedLayer &cost = costs[of->node];
    cost.time += priced.time;
    cost.bytes += priced.bytes;
  }
  return costs;
}

LogicalResult HybridPrecision::measureTimes() {
  auto ofFloats = priceOf(model.floats(QuantizableModel::Names::Numbers));
  if (failed(ofFloats))
    return failure();
  auto ofBytes =
      priceOf(model.quantized(ranges, all, QuantizableModel::Names::Numbers));
  if (failed(ofBytes))
    return failure();
  std::set<uint64_t> counts;
  for (const auto &[tensor, count] : elements)
    counts.insert(count);
  // The options on the model's inputs are not for this one.
  CompileOptions how = options;
  how.import = {};
  how.properties.clear();
  how.labels.clear();
  auto ofAdapts = priceOf(quantize::adaptsModel(counts), std::move(how));
  if (failed(ofAdapts))
    return failure();
  std::map<std::string, double> adapts;
  for (const PricedLayer &priced : ofAdapts->layers)
    for (const std::string &name : priced.names)
      adapts[name] += priced.time;

  std::map<int, PricedLayer> costs[2] = {costsByNode(*ofFloats, model),
                                         costsByNode(*ofBytes, model)};
  std::map<std::string, uint32_t> numbers;
  auto numberOf = [&](const std::string &tensor) {
    auto [known, isNew] = numbers.try_emplace(tensor, values.size());
    if (isNew) {
      PrecisionNet::Value &value = values.emplace_back();
      value.isReadAsFloats = model.isReadAsFloats(tensor);
      auto count = elements.find(tensor);
      if (count != elements.end()) {
        value.quantize = adapts[quantize::quantizeName(count->second)];
        value.dequantize = adapts[quantize::dequantizeName(count->second)];
      }
    }
    return known->second;
  };
  double inNet = 0, storedInNet = 0;
  for (const PricedLayer &priced : ofFloats->layers)
    wholeTime += priced.time;
  for (size_t i = 0; i < model.layers().size(); ++i) {
    const QuantizableLayer &layer = model.layers()[i];
    if (!all[i]) {
      // It stays float.
      for (const std::string &operand : layer.operands)
        values[numberOf(operand)].isReadAsFloats = true;
      continue;
    }
    PrecisionNet::Layer &added = layers.emplace_back();
    numbered.push_back(i);
    added.isProduct = layer.isProduct();
    for (const std::string &operand : layer.operands)
      added.operands.push_back(numberOf(operand));
    for (const std::string &result : layer.results)
      added.results.push_back(numberOf(result));
    for (uint8_t schema : {PrecisionNet::floats, PrecisionNet::bytes}) {
      const PricedLayer &cost = costs[schema][layer.node];
      added.time[schema] = cost.time;
      added.storage[schema] = cost.bytes;
    }
    inNet += added.time[PrecisionNet::floats];
    storedInNet += added.storage[PrecisionNet::floats];
  }
  floats = std::move(*ofFloats);
  bytes = std::move(*ofBytes);
  fixedTime = wholeTime - inNet;
  fixedStorage = floats->bytes - storedInNet;
  return success();
}

LogicalResult HybridPrecision::measureErrors() {
  QuantizableModel::Switched switched = model.switched(ranges, all);
  auto found = observer.observe({model.floats(), {}, {}, switched.bytes},
                                "first", fewSamples, "single layers");
  if (failed(found))
    return failure();
  if (found->switches.size() != switched.layers.size())
    return error() << "nnv12-observe: found " << found->switches.size()
                   << " switches in its report, expected "
                   << switched.layers.size();
  for (size_t i = 0; i < switched.layers.size(); ++i) {
    size_t number =
        llvm::lower_bound(numbered, switched.layers[i]) - numbered.begin();
    assert(numbered[number] == switched.layers[i] && "it is in the net");
    layers[number].error = noiseOf(found->switches[i]);
  }
  return success();
}

LogicalResult HybridPrecision::prepare() {
  all = model.allWith(ranges);
  if (failed(measureTimes()) || failed(measureErrors()))
    return failure();
  net.emplace(layers, values);
  for (size_t i = 0; i < layers.size(); ++i) {
    PrecisionReport::Layer &of = report_.layers.emplace_back();
    of.name = model.layers()[numbered[i]].name;
    of.isProduct = layers[i].isProduct;
    for (int schema : {0, 1}) {
      of.time[schema] = layers[i].time[schema] / wholeTime;
      of.bytes[schema] = layers[i].storage[schema];
    }
    of.rmse = std::sqrt(layers[i].error);
  }
  front = net->front();
  for (const Mix &mix : front)
    report_.front.push_back(pointOf(mix));
  report_.net = pointOf(net->at({})).time;
  report_.greedy = pointOf(net->greedy()).time;
  report_.uniform =
      pointOf(net->of(std::vector<bool>(layers.size(), true))).time;
  return success();
}

PrecisionReport::Point HybridPrecision::pointOf(const Mix &mix) const {
  PrecisionReport::Point point;
  for (size_t i = 0; i < layers.size(); ++i)
    point.layers += mix.in8[i] && layers[i].isProduct;
  point.time = (mix.time + fixedTime) / wholeTime;
  point.rmse = std::sqrt(mix.error);
  point.bytes = mix.storage + fixedStorage;
  return point;
}

FailureOr<HybridPrecision::Tried> HybridPrecision::measured(const Mix &mix,
                                                            PricedPlan plan) {
  auto found = observer.observe(
      {model.floats(), {}, model.quantized(ranges, inModel(mix))}, "second", 0,
      "error");
  if (failed(found))
    return failure();
  PrecisionReport::Point point = pointOf(mix);
  point.isMeasured = true;
  point.rmse = found->errors.worst(Measure::Rmse);
  point.time = timeOf(plan) / timeOf(*floats);
  point.bytes = plan.bytes;
  report_.tried.push_back(point);
  return Tried{mix, std::move(plan), std::move(*found)};
}

std::vector<bool> HybridPrecision::inModel(const Mix &mix) const {
  std::vector<bool> in8(model.layers().size(), false);
  for (size_t i = 0; i < numbered.size(); ++i)
    in8[numbered[i]] = mix.in8[i];
  return in8;
}

FailureOr<std::pair<HybridPrecision::Mix, PricedPlan>>
HybridPrecision::fastestPlan(Mix mix, const PrecisionNet::Bounds &bounds) {
  auto plan = priceOf(model.quantized(ranges, inModel(mix)));
  if (failed(plan))
    return failure();
  Mix everything = net->of(std::vector<bool>(layers.size(), true));
  if (bounds.areKeptBy(everything) && timeOf(*bytes) < timeOf(*plan)) {
    mix = std::move(everything);
    plan = *bytes;
  }
  if (timeOf(*plan) < timeOf(*floats))
    return std::pair(std::move(mix), std::move(*plan));
  // Fewer layers, from the fastest choice on: these free less memory, by which
  // routines that take over later are limited.
  unsigned left = mostFewer;
  for (auto other = front.rbegin(); other != front.rend() && left; ++other) {
    if (!bounds.areKeptBy(*other) || !other->count() || other->in8 == mix.in8)
      continue;
    --left;
    auto found = priceOf(model.quantized(ranges, inModel(*other)));
    if (failed(found))
      return failure();
    if (timeOf(*found) >= timeOf(*plan))
      continue;
    mix = *other;
    plan = std::move(found);
  }
  return std::pair(std::move(mix), std::move(*plan));
}

FailureOr<std::vector<bool>> HybridPrecision::choose() {
  const std::optional<ErrorBound> &bound = options.precision.bound;
  PrecisionNet::Bounds bounds;
  if (bound)
    bounds.error = ofBound * calibrate::noiseAt(*bound);
  if (options.precision.mostBytes)
    bounds.storage = double(options.precision.mostBytes) - fixedStorage;
  std::optional<Tried> best;
  std::set<std::vector<bool>> seen;
  for (unsigned round = 0; round < mostRounds; ++round) {
    std::optional<Mix> mix = net->best(bounds);
    if (!mix || !mix->count() || !seen.insert(mix->in8).second)
      break;
    auto planned = fastestPlan(std::move(*mix), bounds);
    if (failed(planned))
      return failure();
    mix = std::move(planned->first);
    seen.insert(mix->in8);
    auto tried = measured(*mix, std::move(planned->second));
    if (failed(tried))
      return failure();
    double room = bound ? calibrate::roomFor(
                              *bound, tried->found.errors.worst(bound->measure))
                        : 1;
    if (room >= 1) {
      if (!best || timeOf(tried->plan) < timeOf(best->plan))
        best = std::move(*tried);
      if (!bound || room < worthMore)
        break;
    }
    bounds.error =
        mix->error * std::clamp(ofBound * room, room < 1 ? 0.1 : 1.0, 10.0);
  }
  bool floatsFit = !options.precision.mostBytes ||
                   floats->bytes <= double(options.precision.mostBytes);
  if (!best && !floatsFit) {
    double least = net->smallest(bounds.error).storage + fixedStorage;
    return error() << "--max-memory: found " << uint64_t(std::ceil(least / 1e3))
                   << " kB of weights at least with the error that is allowed, "
                      "expected "
                   << options.precision.mostBytes / 1000 << " kB at most",
           failure();
  }
  bool isFloat = !best || (floatsFit && timeOf(best->plan) >= timeOf(*floats));
  if (isFloat)
    best = Tried{net->of(std::vector<bool>(layers.size(), false)), *floats, {}};
  describe(*best, isFloat);
  return inModel(best->mix);
}

void HybridPrecision::describe(const Tried &chosen, bool isFloat) {
  const std::optional<ErrorBound> &bound = options.precision.bound;
  unsigned in8 = 0, products = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    report_.layers[i].isIn8Bits = chosen.mix.in8[i];
    in8 += layers[i].isProduct && chosen.mix.in8[i];
    products += layers[i].isProduct;
  }
  PrecisionReport::Point point = pointOf(chosen.mix);
  point.time = timeOf(chosen.plan) / timeOf(*floats);
  point.bytes = chosen.plan.bytes;
  point.isChosen = point.isMeasured = true;
  point.rmse = isFloat ? 0 : chosen.found.errors.worst(Measure::Rmse);
  report_.tried.push_back(point);
  llvm::raw_string_ostream os(summary_);
  os << llvm::formatv("  precision  {0} layers in 8 bits, {1} in f32, {2} "
                      "adapts; ",
                      in8, products - in8, chosen.mix.adapts);
  if (isFloat) {
    os << (bound ? "no choice that keeps --max-error " + bound->text() +
                       " is faster"
                 : std::string("no choice is faster"));
  } else {
    os << chosen.found.errors.text(bound);
  }
  bool areMany = floats->bytes >= 1e6;
  double unit = areMany ? 1e6 : 1e3;
  os << llvm::formatv("; {0:f1} of {1:f1} {2}; cold {3:f2}, warm {4:f2} of "
                      "f32\n",
                      chosen.plan.bytes / unit, floats->bytes / unit,
                      areMany ? "MB" : "kB",
                      chosen.plan.times.cold / floats->times.cold,
                      chosen.plan.times.warm / floats->times.warm);
  if (!isFloat)
    os << "             errors over " << chosen.found.samples << " samples of "
       << chosen.found.files << " files, " << report_.tried.size() - 1
       << " choices tried\n";
}
