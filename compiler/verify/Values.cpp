//===- Values.cpp - The contents of a model's values ----------------------===//

#include "compiler/verify/Values.h"

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
            weights({constant.getValue(), constant.getType(), {}}));
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

uint32_t Values::add(Thing thing) {
  things.push_back(std::move(thing));
  return things.size() - 1;
}

Content Values::computed(Value value) {
  auto [it, isNew] = numberOfValue.try_emplace(value);
  if (isNew)
    it->second = add({value, {}, std::nullopt});
  return {it->second, 0};
}

Content Values::weights(const WeightsKey &key) {
  auto [it, isNew] = numberOfWeights.try_emplace(key);
  if (isNew)
    it->second = add({Value(), key, std::nullopt});
  return {it->second, 0};
}

Content Values::frame(const WeightsKey &key, size_t number) {
  auto [it, isNew] = numberOfFrame.try_emplace({key, number});
  if (isNew)
    it->second = add({Value(), key, number});
  return {it->second, 0};
}

const WeightsKey *Values::weightsOf(Content content) const {
  const Thing &thing = things[content.id];
  return content.offset || thing.value || thing.frame ? nullptr
                                                      : &thing.weights;
}

std::optional<std::pair<WeightsKey, size_t>>
Values::frameOf(Content content) const {
  const Thing &thing = things[content.id];
  if (content.offset || !thing.frame)
    return std::nullopt;
  return std::pair(thing.weights, *thing.frame);
}

/// The first name that a location has.
static std::string nameOf(Location location) {
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (named)
      name = named.getName().str();
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  return name;
}

std::string Values::describe(Content content, uint64_t size) const {
  assert(content.id < things.size() && "contents have numbers");
  const Thing &thing = things[content.id];
  std::string what;
  llvm::raw_string_ostream os(what);
  os << llvm::formatv("bytes {0} to {1} of ", content.offset,
                      content.offset + size);
  if (auto result = dyn_cast_if_present<OpResult>(thing.value))
    os << "result " << result.getResultNumber() << " of '"
       << nameOf(result.getOwner()->getLoc()) << "' ("
       << result.getOwner()->getName() << ")";
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
  return what;
}
