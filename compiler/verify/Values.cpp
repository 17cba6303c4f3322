//===- Values.cpp - The contents of a model's values ----------------------===//

#include "compiler/verify/Values.h"

#include "compiler/layers/LayerName.h"
#include "compiler/verify/Moves.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

static uint64_t bytes(Value v) { return nn::storageSize(v); }

Values::Values(func::FuncOp main, const llvm::DenseSet<Operation *> &computed) {
  auto whole = [&](Value value, Content content) {
    append(runs[value], {0, bytes(value), content});
  };
  for (Value argument : main.getArguments())
    whole(argument, this->computed(argument));
  for (Operation &op : main.getBody().front()) {
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      whole(constant.getOutput(),
            weights(WeightsKey::of(constant.getOutput())));
      continue;
    }
    auto moves = computed.contains(&op) ? std::nullopt : movesOf(&op);
    if (!moves) {
      for (Value result : op.getResults())
        whole(result, this->computed(result));
      continue;
    }
    Runs result;
    for (const Move &move : *moves)
      for (const Run &run : cut(of(op.getOperand(move.operand)), move.source,
                                move.source + move.size))
        append(result,
               {move.result + run.begin, move.result + run.end, run.content});
    runs[op.getResult(0)] = std::move(result);
  }
}

Content Values::add(Thing thing) {
  auto [it, isNew] = numbers.try_emplace(std::move(thing), things.size());
  if (isNew)
    things.push_back(&it->first);
  return {it->second, 0};
}

Content Values::computed(Value value) { return add({value, {}}); }

Content Values::weights(const WeightsKey &key) { return add({Value(), key}); }

Content Values::frame(const WeightsKey &key, size_t number) {
  return add({Value(), key, number});
}

Content Values::table(StringRef bytes) {
  Thing thing;
  thing.table = bytes;
  return add(std::move(thing));
}

Content Values::handedOver(const StepMemory &memory) {
  Thing thing;
  thing.step = memory;
  return add(std::move(thing));
}

Content Values::half(Content content) {
  assert(content.offset % 4 == 0 && "elements of f32 stay whole");
  Thing thing = *things[content.id];
  if (thing.value)
    thing.isHalf = true;
  else
    thing.weights.form.narrow = plan::Narrowing::rounded;
  return {add(std::move(thing)).id, content.offset / 2};
}

Runs Values::halves(const Runs &runs) {
  Runs result;
  for (const Run &run : runs)
    append(result, {run.begin / 2, run.end / 2, half(run.content)});
  return result;
}

Content Values::nearest(Content content) {
  Thing thing = *things[content.id];
  if (thing.weights.form.narrow != plan::Narrowing::f16 || thing.frame)
    return content;
  thing.weights.form.narrow = plan::Narrowing::rounded;
  return {add(std::move(thing)).id, content.offset};
}

const WeightsKey *Values::weightsOf(Content content) const {
  const Thing &thing = *things[content.id];
  bool isWeights = thing.weights.elements && !thing.frame;
  return content.offset || !isWeights ? nullptr : &thing.weights;
}

std::optional<std::pair<WeightsKey, size_t>>
Values::frameOf(Content content) const {
  const Thing &thing = *things[content.id];
  if (content.offset || !thing.frame)
    return std::nullopt;
  return std::pair(thing.weights, *thing.frame);
}

std::string Values::describe(Content content, uint64_t size) const {
  assert(content.id < things.size() && "contents have numbers");
  const Thing &thing = *things[content.id];
  std::string what;
  llvm::raw_string_ostream os(what);
  os << llvm::formatv("bytes {0} to {1} of ", content.offset,
                      content.offset + size);
  auto name = [&](const char *memory, unsigned number, Operation *layer) {
    os << memory << " " << number << " of '" << firstName(layer->getLoc())
       << "' (" << layer->getName() << ")";
  };
  if (thing.step) {
    name(thing.step->isTemporary ? "temporary" : "result", thing.step->index,
         thing.step->layer);
    os << " behind step " << thing.step->step;
  } else if (!thing.table.empty())
    os << "a table of kernels";
  else if (auto result = dyn_cast_if_present<OpResult>(thing.value))
    name("result", result.getResultNumber(), result.getOwner());
  else if (auto argument = dyn_cast_if_present<BlockArgument>(thing.value))
    os << "input " << argument.getArgNumber();
  else {
    if (thing.frame)
      os << "frame " << *thing.frame << " of ";
    os << "weights " << thing.weights.type;
    const plan::StoredForm &form = thing.weights.form;
    if (!form.name.empty())
      os << " in form '" << form.name << "'";
    else if (form.narrow)
      os << " in form '" << plan::text(*form.narrow) << "'";
  }
  if (thing.isHalf)
    os << " in f16";
  return what;
}
