//===- LayoutNet.cpp - The layouts of a model as a net --------------------===//

#include "compiler/select/LayoutNet.h"

#include "compiler/processors/Processor.h"
#include "compiler/routines/Layouts.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/View.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

void LayoutNet::forOperands(
    Operation *op, llvm::function_ref<void(OpOperand &, Value)> visit) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value source = sourceOf(operand.get());
    if (!source.getDefiningOp<nn::ConstantOp>())
      visit(operand, source);
  }
}

static bool isLayer(Operation &op) {
  return !isa<nn::ConstantOp, nn::AdaptOp>(op) &&
         !op.hasTrait<OpTrait::IsTerminator>();
}

LayoutNet::LayoutNet(func::FuncOp main)
    : main(main), block(&main.getBody().front()) {
  auto addTensor = [&](Value value) {
    numbers[value] = tensors.size();
    Tensor tensor = {value, {""}};
    int64_t rank = nn::typeOf(value).getRank();
    if (rank >= 3 && rank <= 5)
      tensor.tags.push_back(blockedTag(rank));
    tensors.push_back(std::move(tensor));
  };
  for (Value argument : block->getArguments())
    addTensor(argument);
  for (Operation &op : *block) {
    if (!isLayer(op))
      continue;
    layers.push_back({&op, {{LayerLayouts::of(&op), {}}}});
    for (Value result : op.getResults())
      addTensor(result);
  }
}

void LayoutNet::addSchema(Value value, StringRef tag) {
  std::vector<std::string> &tags = tensors[numbers.lookup(value)].tags;
  if (!llvm::is_contained(tags, tag))
    tags.push_back(tag.str());
}

uint8_t LayoutNet::schemaOf(Value value, StringRef tag) const {
  const Tensor &tensor = tensors[numbers.lookup(value)];
  auto it = llvm::find(tensor.tags, tag);
  assert(it != tensor.tags.end() && "signatures have known layouts alone");
  return it - tensor.tags.begin();
}

/// Whether `layouts` leave the layer's constants as they are.
static bool keepConstants(Operation *op, const LayerLayouts &layouts) {
  return llvm::all_of(
      llvm::zip(op->getOperands(), layouts.operands), [](auto pair) {
        auto &[operand, tag] = pair;
        return !operand.template getDefiningOp<nn::ConstantOp>() ||
               tag == nn::layoutTag(operand.getType());
      });
}

void LayoutNet::addSignatures(const ModelPlan &first, CostTable &costs,
                              const PlanOptions &options, bool constantsStay) {
  device = costs.device(options);
  bool mustBeMeasured = first.device.profile->measured;
  llvm::DenseMap<Operation *, const PlannedLayer *> planned;
  for (const PlannedLayer &layer : first.layers)
    planned[layer.layer.op] = &layer;
  auto costsOf = [](const std::vector<CostedCandidate> &candidates) {
    std::vector<search::Candidate> result;
    for (const CostedCandidate &candidate : candidates)
      result.push_back(candidate.costs);
    return result;
  };
  for (Layer &layer : layers) {
    // A layer that is in place already is so in these layouts.
    const PlannedLayer *known = planned.lookup(layer.op);
    if (!known)
      continue;
    layer.signatures[0].candidates = costsOf(known->candidates);
    layer.fixed = "decides which floats are equal";
    if (known->layer.isComparedForEquality)
      continue;
    layer.fixed = "no others";
    std::vector<LayerLayouts> all = signaturesOf(layer.op);
    for (LayerLayouts &layouts : llvm::drop_begin(all)) {
      if (constantsStay && !keepConstants(layer.op, layouts)) {
        layer.fixed = "constants of another target";
        continue;
      }
      LayerIn in(layer.op, layouts);
      ExecutedLayer executed = known->layer;
      executed.op = in.layer();
      std::vector<CostedCandidate> candidates =
          costs.candidates(executed, options);
      auto agreeing = hostRoutines().agreeing(in.layer());
      llvm::erase_if(candidates, [&](const CostedCandidate &candidate) {
        return !llvm::is_contained(agreeing, candidate.routine);
      });
      bool isMeasured = llvm::all_of(
          candidates, [](const CostedCandidate &c) { return c.measured; });
      if (mustBeMeasured && !isMeasured) {
        ++unmeasured;
        layer.fixed = "others not measured";
        continue;
      }
      if (candidates.empty())
        continue;
      layer.signatures.push_back({std::move(layouts), costsOf(candidates)});
    }
  }
  // Layouts of which only a fixed layer knows.
  for (Layer &layer : layers)
    for (const Signature &signature : layer.signatures) {
      for (auto [result, tag] :
           llvm::zip(layer.op->getResults(), signature.layouts.results))
        addSchema(result, tag);
      forOperands(layer.op, [&](OpOperand &operand, Value source) {
        addSchema(source,
                  signature.layouts.operands[operand.getOperandNumber()]);
      });
    }
  priceAdapts(costs, mustBeMeasured);
}

void LayoutNet::priceAdapts(CostTable &costs, bool mustBeMeasured) {
  for (Tensor &tensor : tensors) {
    assert(tensor.tags.size() <= search::mostSchemas);
    RankedTensorType type = nn::typeOf(tensor.value);
    for (const std::string &from : tensor.tags)
      for (const std::string &to : tensor.tags) {
        if (from == to) {
          tensor.adapt.push_back(0);
          continue;
        }
        AdaptLayer adapt(nn::withLayout(type, from), nn::withLayout(type, to),
                         tensor.value.getLoc());
        if (nn::isView(adapt.layer())) {
          tensor.adapt.push_back(0);
          continue;
        }
        ExecutedLayer executed;
        executed.op = adapt.layer();
        CostedCandidate cost =
            costs.cost(executed, {hostRoutines().preferred(adapt.layer()),
                                  {plan::Storage::packed}});
        tensor.adapt.push_back(mustBeMeasured && !cost.measured
                                   ? search::impossible
                                   : cost.costs.execute);
      }
  }
}

unsigned LayoutNet::numFree() const {
  return llvm::count_if(
      layers, [](const Layer &layer) { return layer.signatures.size() > 1; });
}

search::Net LayoutNet::net() const {
  search::Net net;
  for (const Tensor &tensor : tensors) {
    search::NetValue value;
    value.schemas = tensor.tags.size();
    value.adapt = tensor.adapt;
    if (isa<BlockArgument>(tensor.value))
      value.given =
          schemaOf(tensor.value, nn::layoutTag(tensor.value.getType()));
    net.values.push_back(std::move(value));
  }
  for (OpOperand &operand : block->getTerminator()->getOpOperands()) {
    Value source = sourceOf(operand.get());
    if (!source.getDefiningOp<nn::ConstantOp>())
      net.values[numbers.lookup(source)].required =
          schemaOf(source, nn::layoutTag(operand.get().getType()));
  }
  for (const Layer &layer : layers) {
    search::NetLayer &added = net.layers.emplace_back();
    forOperands(layer.op, [&](OpOperand &, Value source) {
      added.operands.push_back(numbers.lookup(source));
    });
    for (Value result : layer.op->getResults())
      added.results.push_back(numbers.lookup(result));
    for (const Signature &from : layer.signatures) {
      search::Signature &signature = added.signatures.emplace_back();
      forOperands(layer.op, [&](OpOperand &operand, Value source) {
        signature.operands.push_back(schemaOf(
            source, from.layouts.operands[operand.getOperandNumber()]));
      });
      for (auto [result, tag] :
           llvm::zip(layer.op->getResults(), from.layouts.results))
        signature.results.push_back(schemaOf(result, tag));
    }
  }
  price(net, {});
  return net;
}

void LayoutNet::price(search::Net &net, search::Balance balance) const {
  for (auto [layer, priced] : llvm::zip(layers, net.layers))
    for (auto [from, signature] :
         llvm::zip(layer.signatures, priced.signatures)) {
      if (from.candidates.empty())
        continue;
      signature.cost = search::impossible;
      for (const search::Candidate &candidate : from.candidates)
        signature.cost =
            std::min(signature.cost, search::value(device, candidate, balance));
    }
}

//===----------------------------------------------------------------------===//
// Back to a model
//===----------------------------------------------------------------------===//

namespace {
/// The values of a model under construction, in their layouts.
class Copies {
public:
  /// `value` in the layout of `tag`, if it is there.
  Value &operator()(Value value, StringRef tag) {
    return made[{value, StringAttr::get(value.getContext(), tag)}];
  }
  Value constant(nn::ConstantOp constant, StringRef tag) {
    Value value = constant.getOutput();
    if (nn::layoutTag(value.getType()) == tag)
      return value;
    Value &copy = (*this)(value, tag);
    if (!copy) {
      OpBuilder b(constant);
      copy = nn::ConstantOp::create(b, constant.getLoc(),
                                    nn::withLayout(nn::typeOf(value), tag),
                                    constant.getValue());
    }
    return copy;
  }

private:
  llvm::DenseMap<std::pair<Value, StringAttr>, Value> made;
};
} // namespace

OwningOpRef<ModuleOp> LayoutNet::build(const search::NetChoice &choice) const {
  assert(choice.signatures.size() == layers.size() && "the net's own choice");
  IRMapping mapping;
  auto module =
      cast<ModuleOp>(main->getParentOfType<ModuleOp>()->clone(mapping));
  auto function = cast<func::FuncOp>(mapping.lookup(main));
  Block &body = function.getBody().front();
  for (auto adapt : llvm::make_early_inc_range(body.getOps<nn::AdaptOp>())) {
    adapt.getOutput().replaceAllUsesWith(adapt.getInput());
    adapt.erase();
  }

  Copies copies;
  std::vector<SmallVector<search::NetAdapt>> adapts(tensors.size());
  for (const search::NetAdapt &adapt : choice.adapts)
    adapts[adapt.value].push_back(adapt);
  // The first layer that reads a value in a layout: profiles show an adapt
  // under its name.
  std::vector<llvm::StringMap<Location>> reader(tensors.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer &layer = layers[i];
    const Signature &signature = layer.signatures[choice.signatures[i]];
    forOperands(layer.op, [&](OpOperand &operand, Value source) {
      reader[numbers.lookup(source)].try_emplace(
          signature.layouts.operands[operand.getOperandNumber()],
          layer.op->getLoc());
    });
  }
  auto addCopies = [&](Value source) {
    uint32_t number = numbers.lookup(source);
    const Tensor &tensor = tensors[number];
    Value value = mapping.lookup(source);
    copies(value, nn::layoutTag(value.getType())) = value;
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(value);
    for (const search::NetAdapt &adapt : adapts[number]) {
      const std::string &from = tensor.tags[adapt.from],
                        &to = tensor.tags[adapt.to];
      auto named = reader[number].find(to);
      copies(value, to) = nn::AdaptOp::create(
          b, named == reader[number].end() ? value.getLoc() : named->second,
          nn::withLayout(nn::typeOf(value), to), copies(value, from));
    }
  };
  auto take = [&](OpOperand &operand, StringRef tag) {
    Value value = operand.get();
    if (auto constant = value.getDefiningOp<nn::ConstantOp>())
      return operand.set(copies.constant(constant, tag));
    Value copy = copies(value, tag);
    assert(copy && "the choice has all adapts that it needs");
    operand.set(copy);
  };

  for (Value argument : block->getArguments())
    addCopies(argument);
  for (auto [i, layer] : llvm::enumerate(layers)) {
    const LayerLayouts &layouts =
        layer.signatures[choice.signatures[i]].layouts;
    Operation *op = mapping.lookup(layer.op);
    for (auto [operand, tag] : llvm::zip(op->getOpOperands(), layouts.operands))
      take(operand, tag);
    if (choice.signatures[i] != 0)
      retype(op, layouts);
    for (Value result : layer.op->getResults())
      addCopies(result);
  }
  for (auto [old, operand] : llvm::zip(block->getTerminator()->getOperands(),
                                       body.getTerminator()->getOpOperands()))
    take(operand, nn::layoutTag(old.getType()));
  for (auto constant :
       llvm::make_early_inc_range(body.getOps<nn::ConstantOp>()))
    if (constant->use_empty())
      constant.erase();
  return module;
}
