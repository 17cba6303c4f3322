//===- PrecisionChoice.cpp - Layers in fewer bits, by a net ---------------===//

#include "tools/nnv12c/PrecisionChoice.h"

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
/// Weights beside those of the model that a run with switches has at most, but
/// for one layer.
static constexpr double mostSwitched = 8e6;
/// Choices are searched for with so much of the noise that a bound allows.
static constexpr double ofBound = 0.9;
/// A faster choice is tried if a bound allows so much more noise.
static constexpr double worthMore = 1.25;

/// Mean square of the difference, as a part of that of the floats.
static double noiseOf(const OutputErrors &errors) {
  double rmse = errors.worst(Measure::Rmse);
  return rmse * rmse;
}

InFlightDiagnostic PrecisionChoice::error() const {
  return emitError(UnknownLoc::get(&context)) << options.input << ": ";
}

FailureOr<PricedPlan> PrecisionChoice::priceOf(std::string bytes,
                                               WeightOptions weights) const {
  CompileOptions how = options;
  how.weights = std::move(weights);
  return priceOf(std::move(bytes), std::move(how));
}

FailureOr<PricedPlan> PrecisionChoice::priceOf(std::string bytes,
                                               CompileOptions how) const {
  how.modelBytes = std::make_shared<const std::string>(std::move(bytes));
  how.precision = {};
  how.summary = how.timing = false;
  how.plan.gpu.clear();
  how.plan.gpuForce = false;
  return price(how);
}

/// The costs of layers, by node. A layer that was fused with others is that of
/// the first product among them, or else of the first one that is known.
static std::map<int, PricedLayer>
costsByNode(const PricedPlan &plan, const std::map<std::string, int> &products,
            const std::map<std::string, int> &others) {
  std::map<int, PricedLayer> costs;
  for (const PricedLayer &priced : plan.layers) {
    std::optional<int> node;
    for (const auto *known : {&products, &others})
      for (const std::string &name : priced.names)
        if (auto of = known->find(name); !node && of != known->end())
          node = of->second;
    if (!node)
      continue;
    PricedLayer &cost = costs[*node];
    cost.time += priced.time;
    cost.bytes += priced.bytes;
  }
  return costs;
}

void PrecisionChoice::findLayers() {
  all.assign(model.layers().size(), false);
  if (!isOfWeights)
    all = model.allWith(ranges);
  if (choosesWeights)
    small = quantize::smallWeightsOf(model.floatGraph());
  std::map<int, size_t> byNode; ///< of `inNet`
  for (size_t i = 0; i < all.size(); ++i) {
    const QuantizableLayer &layer = model.layers()[i];
    if (!all[i])
      continue;
    byNode[layer.node] = inNet.size();
    inNet.push_back({layer.node, layer.name, layer.isProduct(), i, {}});
  }
  for (size_t i = 0; i < small.size(); ++i) {
    auto [of, isNew] = byNode.try_emplace(small[i].node, inNet.size());
    if (isNew)
      inNet.push_back({small[i].node, small[i].name, true, {}, {}});
    inNet[of->second].weights = i;
  }
  llvm::sort(inNet, [](const NetLayer &a, const NetLayer &b) {
    return a.node < b.node;
  });
  auto numberOf = [&](const std::string &tensor) {
    auto [known, isNew] = numbers.try_emplace(tensor, values.size());
    if (isNew)
      values.emplace_back().isReadAsFloats = model.isReadAsFloats(tensor);
    return known->second;
  };
  for (const NetLayer &of : inNet) {
    PrecisionNet::Layer &added = layers.emplace_back();
    added.isProduct = of.isProduct;
    if (!of.layer)
      continue;
    const QuantizableLayer &layer = model.layers()[*of.layer];
    for (const std::string &operand : layer.operands)
      added.operands.push_back(numberOf(operand));
    for (const std::string &result : layer.results)
      added.results.push_back(numberOf(result));
  }
  // The others stay float.
  for (size_t i = 0; i < all.size(); ++i)
    for (const std::string &operand : model.layers()[i].operands)
      if (!all[i])
        values[numberOf(operand)].isReadAsFloats = true;
}

LogicalResult PrecisionChoice::findAdapts() {
  std::set<uint64_t> counts;
  for (const auto &[tensor, count] : elements)
    counts.insert(count);
  // The options on the model's inputs are not for this one.
  CompileOptions how = options;
  how.import = {};
  how.properties.clear();
  how.labels.clear();
  how.weights = {};
  auto plan = priceOf(quantize::adaptsModel(counts), std::move(how));
  if (failed(plan))
    return failure();
  std::map<std::string, double> adapts;
  for (const PricedLayer &priced : plan->layers)
    for (const std::string &name : priced.names)
      adapts[name] += priced.time;
  for (const auto &[tensor, number] : numbers)
    if (auto count = elements.find(tensor); count != elements.end()) {
      values[number].quantize = adapts[quantize::quantizeName(count->second)];
      values[number].dequantize =
          adapts[quantize::dequantizeName(count->second)];
    }
  return success();
}

LogicalResult PrecisionChoice::measureTimes() {
  std::map<std::string, int> products, others;
  for (const QuantizableLayer &layer : model.layers())
    (layer.isProduct() ? products
                       : others)[QuantizableModel::nodeName(layer.node)] =
        layer.node;
  for (const quantize::SmallWeights &layer : small)
    products[QuantizableModel::nodeName(layer.node)] = layer.node;
  auto add = [&](PrecisionNet::Form form, const PricedPlan &plan) {
    std::map<int, PricedLayer> costs = costsByNode(plan, products, others);
    for (auto [of, layer] : llvm::zip_equal(inNet, layers)) {
      const PricedLayer &cost = costs[of.node];
      bool hasForm =
          form == PrecisionNet::F32 ||
          (form == PrecisionNet::U8
               ? of.layer.has_value()
               : of.weights.has_value() &&
                     cost.bytes < layer.costs[PrecisionNet::F32]->storage);
      if (hasForm)
        layer.costs[form] = {cost.time, cost.bytes};
    }
  };
  std::string plain = model.floats(QuantizableModel::Names::Numbers);
  WeightOptions asIs = choosesWeights ? WeightOptions() : options.weights;
  auto ofFloats = priceOf(plain, asIs);
  if (failed(ofFloats))
    return failure();
  floats = std::move(*ofFloats);
  add(PrecisionNet::F32, *floats);
  if (llvm::is_contained(all, true)) {
    auto ofBytes = priceOf(
        model.quantized(ranges, all, QuantizableModel::Names::Numbers), asIs);
    if (failed(ofBytes) || failed(findAdapts()))
      return failure();
    bytes = std::move(*ofBytes);
    add(PrecisionNet::U8, *bytes);
  }
  std::pair<WeightBits, PrecisionNet::Form> forms[] = {
      {WeightBits::F16, PrecisionNet::F16Weights},
      {WeightBits::Q8, PrecisionNet::Q8Weights}};
  for (auto [bits, form] : forms) {
    if (!choosesWeights || (options.weights.bits != WeightBits::Auto &&
                            options.weights.bits != bits))
      continue;
    WeightOptions rounded;
    rounded.bits = bits;
    auto plan = priceOf(plain, rounded);
    if (failed(plan))
      return failure();
    add(form, *plan);
  }
  for (const PricedLayer &priced : floats->layers)
    wholeTime += priced.time;
  PrecisionNet::Costs known;
  for (const PrecisionNet::Layer &layer : layers) {
    known.time += layer.costs[PrecisionNet::F32]->time;
    known.storage += layer.costs[PrecisionNet::F32]->storage;
  }
  fixedTime = wholeTime - known.time;
  fixedStorage = floats->bytes - known.storage;
  return success();
}

FailureOr<std::vector<double>> PrecisionChoice::noiseWith(
    ArrayRef<size_t> asked, double part, const char *what,
    llvm::function_ref<std::string(ArrayRef<size_t>)> switchedModel) {
  std::vector<double> noise;
  while (noise.size() < asked.size()) {
    double bytes = 0;
    ArrayRef<size_t> some =
        asked.drop_front(noise.size()).take_while([&](size_t layer) {
          bool isFirst = bytes == 0;
          bytes += part * layers[layer].costs[PrecisionNet::F32]->storage;
          return isFirst || bytes <= mostSwitched;
        });
    auto found =
        observer.observe({model.floats(), {}, {}, {}, switchedModel(some)},
                         "first", fewSamples, what);
    if (failed(found))
      return failure();
    if (found->switches.size() != some.size())
      return error() << "nnv12-observe: found " << found->switches.size()
                     << " switches in its report, expected " << some.size(),
             failure();
    for (const OutputErrors &errors : found->switches)
      noise.push_back(noiseOf(errors));
  }
  return noise;
}

LogicalResult PrecisionChoice::measureErrors() {
  std::vector<size_t> inBytes, rounded;
  for (auto [i, layer] : llvm::enumerate(layers)) {
    if (layer.isProduct && layer.costs[PrecisionNet::U8])
      inBytes.push_back(i);
    // The others would have no fewer bytes.
    if (layer.costs[PrecisionNet::Q8Weights] ||
        layer.costs[PrecisionNet::F16Weights])
      rounded.push_back(i);
  }
  auto noise = noiseWith(inBytes, /*part=*/0.25, "single layers",
                         [&](ArrayRef<size_t> some) {
                           std::vector<bool> in8(model.layers().size(), false);
                           for (size_t i : some)
                             in8[*inNet[i].layer] = true;
                           return model.switched(ranges, in8);
                         });
  if (failed(noise))
    return failure();
  for (auto [i, of] : llvm::zip_equal(inBytes, *noise))
    layers[i].costs[PrecisionNet::U8]->error = of;
  noise = noiseWith(rounded, /*part=*/1, "weights", [&](ArrayRef<size_t> some) {
    std::vector<quantize::SmallWeights> weights;
    for (size_t i : some)
      weights.push_back(small[*inNet[i].weights]);
    return quantize::withRoundedWeights(model.floatGraph(), weights);
  });
  if (failed(noise))
    return failure();
  for (auto [i, of] : llvm::zip_equal(rounded, *noise)) {
    if (auto &costs = layers[i].costs[PrecisionNet::Q8Weights])
      costs->error = of;
    if (auto &costs = layers[i].costs[PrecisionNet::F16Weights])
      costs->error = of * small[*inNet[i].weights].noiseOfHalves;
  }
  return success();
}

LogicalResult PrecisionChoice::prepare() {
  findLayers();
  if (failed(measureTimes()) || failed(measureErrors()))
    return failure();
  net.emplace(layers, values);
  report_.isOfWeights = isOfWeights;
  for (auto [of, layer] : llvm::zip_equal(inNet, layers)) {
    PrecisionReport::Layer &added = report_.layers.emplace_back();
    added.name = of.name;
    added.isProduct = of.isProduct;
    added.costs = layer.costs;
    for (auto &costs : added.costs)
      if (costs) {
        costs->time /= wholeTime;
        costs->error = std::sqrt(costs->error);
      }
  }
  front = net->front(isOfWeights ? PrecisionNet::Goal::Storage
                                 : PrecisionNet::Goal::Time);
  for (const Mix &mix : front)
    report_.front.push_back(pointOf(mix));
  report_.net = pointOf(net->at({})).time;
  report_.greedy = pointOf(net->greedy()).time;
  report_.uniform = pointOf(net->allIn(PrecisionNet::U8)).time;
  return success();
}

PrecisionReport::Point PrecisionChoice::pointOf(const Mix &mix) const {
  PrecisionReport::Point point;
  for (auto [form, layer] : llvm::zip_equal(mix.forms, layers))
    point.layers += isOfWeights ? form != PrecisionNet::F32
                                : form == PrecisionNet::U8 && layer.isProduct;
  point.time = (mix.time + fixedTime) / wholeTime;
  point.rmse = std::sqrt(mix.error);
  point.bytes = mix.storage + fixedStorage;
  return point;
}

FailureOr<PrecisionChoice::Tried> PrecisionChoice::measured(const Mix &mix,
                                                            PricedPlan plan) {
  Chosen chosen = inModel(mix);
  auto found =
      observer.observe({model.floats(), {}, bytesOf(chosen), chosen.weights},
                       "second", 0, "error");
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

static WeightBits bitsOf(PrecisionNet::Form form) {
  return form == PrecisionNet::F16Weights  ? WeightBits::F16
         : form == PrecisionNet::Q8Weights ? WeightBits::Q8
                                           : WeightBits::F32;
}

PrecisionChoice::Chosen PrecisionChoice::inModel(const Mix &mix) const {
  Chosen chosen;
  chosen.in8.assign(model.layers().size(), false);
  if (!choosesWeights)
    chosen.weights = options.weights;
  for (auto [form, of] : llvm::zip_equal(mix.forms, inNet)) {
    if (form == PrecisionNet::U8)
      chosen.in8[*of.layer] = true;
    if (form == PrecisionNet::U8 || !of.weights)
      continue;
    // Nodes of one name get the most bits of these.
    auto [bits, isNew] =
        chosen.weights.layers.try_emplace(of.name, bitsOf(form));
    bits->second = std::min(bits->second, bitsOf(form));
  }
  return chosen;
}

std::string PrecisionChoice::bytesOf(const Chosen &chosen) const {
  return llvm::is_contained(chosen.in8, true)
             ? model.quantized(ranges, chosen.in8)
             : model.floats();
}

FailureOr<PricedPlan> PrecisionChoice::planOf(const Mix &mix) const {
  Chosen chosen = inModel(mix);
  return priceOf(bytesOf(chosen), chosen.weights);
}

FailureOr<std::pair<PrecisionChoice::Mix, PricedPlan>>
PrecisionChoice::fastestPlan(Mix mix, const PrecisionNet::Bounds &bounds) {
  auto plan = planOf(mix);
  if (failed(plan))
    return failure();
  if (!bytes)
    return std::pair(std::move(mix), std::move(*plan));
  Mix everything = net->allIn(PrecisionNet::U8);
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
    if (!bounds.areKeptBy(*other) || other->isF32() ||
        other->forms == mix.forms)
      continue;
    --left;
    auto found = planOf(*other);
    if (failed(found))
      return failure();
    if (timeOf(*found) >= timeOf(*plan))
      continue;
    mix = *other;
    plan = std::move(found);
  }
  return std::pair(std::move(mix), std::move(*plan));
}

FailureOr<PrecisionChoice::Chosen> PrecisionChoice::choose() {
  const std::optional<ErrorBound> &bound = options.precision.bound;
  PrecisionNet::Bounds bounds;
  if (bound)
    bounds.error = ofBound * calibrate::noiseAt(*bound);
  if (options.precision.mostBytes)
    bounds.storage = double(options.precision.mostBytes) - fixedStorage;
  std::optional<Tried> best;
  std::set<std::vector<Form>> seen;
  for (unsigned round = 0; round < mostRounds; ++round) {
    std::optional<Mix> mix =
        isOfWeights ? net->smallest(bounds.error) : net->best(bounds);
    if (!mix || mix->isF32() || !seen.insert(mix->forms).second)
      break;
    auto planned = fastestPlan(std::move(*mix), bounds);
    if (failed(planned))
      return failure();
    mix = std::move(planned->first);
    seen.insert(mix->forms);
    auto tried = measured(*mix, std::move(planned->second));
    if (failed(tried))
      return failure();
    double room = bound ? calibrate::roomFor(
                              *bound, tried->found.errors.worst(bound->measure))
                        : 1;
    if (room >= 1) {
      if (!best || valueOf(tried->plan) < valueOf(best->plan))
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
  bool isFloat =
      !best || (floatsFit && valueOf(best->plan) >= valueOf(*floats));
  if (isFloat)
    best = Tried{net->allIn(PrecisionNet::F32), *floats, {}};
  describe(*best, isFloat);
  return inModel(best->mix);
}

void PrecisionChoice::describe(const Tried &chosen, bool isFloat) {
  const std::optional<ErrorBound> &bound = options.precision.bound;
  unsigned products = 0, in8 = 0, halves = 0, bytes = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    Form form = chosen.mix.forms[i];
    report_.layers[i].chosen = form;
    products += layers[i].isProduct;
    in8 += layers[i].isProduct && form == PrecisionNet::U8;
    halves += form == PrecisionNet::F16Weights;
    bytes += form == PrecisionNet::Q8Weights;
  }
  PrecisionReport::Point point = pointOf(chosen.mix);
  point.time = timeOf(chosen.plan) / timeOf(*floats);
  point.bytes = chosen.plan.bytes;
  point.isChosen = point.isMeasured = true;
  point.rmse = isFloat ? 0 : chosen.found.errors.worst(Measure::Rmse);
  report_.tried.push_back(point);
  llvm::raw_string_ostream os(summary_);
  if (isOfWeights)
    os << llvm::formatv("  precision  weights of {0} layers in 8 bits, of {1} "
                        "in f16, of {2} as they are; ",
                        bytes, halves, products - bytes - halves);
  else
    os << llvm::formatv("  precision  {0} layers in 8 bits, {1} in f32{2}, {3} "
                        "adapts; ",
                        in8, products - in8,
                        halves + bytes == 0
                            ? ""
                            : llvm::formatv(" (weights of {0} in 8 bits, of "
                                            "{1} in f16)",
                                            bytes, halves)
                                  .str(),
                        chosen.mix.adapts);
  const char *better = isOfWeights ? "has fewer bytes" : "is faster";
  if (!isFloat)
    os << chosen.found.errors.text(bound);
  else if (bound)
    os << "no choice that keeps --max-error " << bound->text() << " " << better;
  else
    os << "no choice " << better;
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
