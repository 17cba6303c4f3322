//===- OtherLayouts.cpp - Layers in the layouts of a net ------------------===//

#include "compiler/select/OtherLayouts.h"

#include "compiler/layers/ExecutionOrder.h"
#include "compiler/select/Signatures.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/View.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace nnv12;

OtherLayouts::OtherLayouts(func::FuncOp main) {
  llvm::MapVector<Value, SmallVector<std::string>> tags;
  auto add = [&](Value copy, const std::string &tag) {
    Value value = sourceOf(copy);
    if (!value.getDefiningOp<nn::ConstantOp>() &&
        !llvm::is_contained(tags[value], tag))
      tags[value].push_back(tag);
  };
  ExecutionOrder order(main);
  for (Operation *op : order.layers()) {
    if (isa<nn::AdaptOp>(op))
      continue;
    std::vector<LayerLayouts> signatures = signaturesOf(op);
    for (const LayerLayouts &layouts : signatures) {
      for (auto [operand, tag] : llvm::zip(op->getOperands(), layouts.operands))
        add(operand, tag);
      for (auto [result, tag] : llvm::zip(op->getResults(), layouts.results))
        add(result, tag);
    }
    for (const LayerLayouts &layouts : llvm::drop_begin(signatures))
      others.emplace_back(op, layouts);
  }
  for (auto &[value, known] : tags)
    addAdapts(value, known);
}

void OtherLayouts::addAdapts(Value value, ArrayRef<std::string> tags) {
  RankedTensorType type = nn::typeOf(value);
  for (const std::string &from : tags)
    for (const std::string &to : tags) {
      if (from == to)
        continue;
      adapts.emplace_back(nn::withLayout(type, from), nn::withLayout(type, to),
                          value.getLoc());
      if (nn::isView(adapts.back().layer()))
        adapts.pop_back();
    }
}

std::vector<Operation *> OtherLayouts::layers() {
  std::vector<Operation *> result;
  for (LayerIn &other : others)
    result.push_back(other.layer());
  for (AdaptLayer &adapt : adapts)
    result.push_back(adapt.layer());
  return result;
}
