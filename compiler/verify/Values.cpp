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

Content Values::computed(Value value) { return add({value, {}, std::nullopt}); }

Content Values::weights(const WeightsKey &key) {
  return add({Value(), key, std::nullopt});
}

Content Values::frame(const WeightsKey &key, size_t number) {
  return add({Value(), key, number});
}

const WeightsKey *Values::weightsOf(Content content) const {
  const Thing &thing = *things[content.id];
  return content.offset || thing.value || thing.frame ? nullptr
                                                      : &thing.weights;
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
  if (auto result = dyn_cast_if_present<OpResult>(thing.value))
    os << "result " << result.getResultNumber() << " of '"
       << firstName(result.getOwner()->getLoc()) << "' ("
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
