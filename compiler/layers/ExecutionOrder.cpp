//===- ExecutionOrder.cpp - The order of layers and their memory ----------===//

#include "compiler/layers/ExecutionOrder.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;

ExecutionOrder::ExecutionOrder(func::FuncOp main) : aliases(main) {
  Block &block = main.getBody().front();
  for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
    outputs_[baseOf(v)] = i;
  for (auto [i, v] : llvm::enumerate(block.getArguments()))
    inputs_[v] = i;
  for (Operation &op : block) {
    if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      continue;
    for (Value v : op.getResults())
      touch(v, layers_.size());
    for (Value v : op.getOperands())
      touch(v, layers_.size());
    layers_.push_back(&op);
  }
}

/// Notes that `value` is written or read by layer `layer`.
void ExecutionOrder::touch(Value value, size_t layer) {
  Value base = baseOf(value);
  if (!base.getDefiningOp() || base.getDefiningOp<nn::ConstantOp>() ||
      outputs_.contains(base))
    return;
  auto [it, isNew] = tensorOf_.try_emplace(base, tensors_.size());
  if (isNew)
    tensors_.push_back({base, layer, layer});
  Tensor &tensor = tensors_[it->second];
  tensor.last = layer;
  tensor.hasAliases |= base != value;
}

std::vector<Lifetime> ExecutionOrder::lifetimes() const {
  std::vector<Lifetime> result;
  for (const Tensor &tensor : tensors_)
    result.push_back({uint64_t(nn::storageSize(tensor.value)),
                      int64_t(tensor.first), int64_t(tensor.last)});
  return result;
}
