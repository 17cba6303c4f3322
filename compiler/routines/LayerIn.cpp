//===- LayerIn.cpp - A layer in other layouts -----------------------------===//

#include "compiler/routines/LayerIn.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

static SmallVector<std::string> tagsOf(TypeRange types) {
  return llvm::map_to_vector(
      types, [](Type type) { return nn::layoutTag(type).str(); });
}

LayerLayouts LayerLayouts::of(Operation *layer) {
  return {tagsOf(layer->getOperandTypes()), tagsOf(layer->getResultTypes())};
}

/// The values between the layers of a fuse are in no memory, so their layouts
/// say nothing: an adapt between two of them does nothing.
static void dropInnerAdapts(nn::FuseOp fuse) {
  auto yield = cast<nn::YieldOp>(fuse.getBody().front().getTerminator());
  for (auto adapt : llvm::make_early_inc_range(
           fuse.getBody().front().getOps<nn::AdaptOp>())) {
    bool isYielded = adapt.getOutput() == yield.getValues()[0];
    // A fuse has a layer.
    if (isYielded && !adapt.getInput().getDefiningOp())
      continue;
    adapt.getOutput().replaceAllUsesWith(adapt.getInput());
    adapt.erase();
  }
}

void nnv12::retype(Operation *layer, const LayerLayouts &layouts) {
  assert(llvm::equal(tagsOf(layer->getOperandTypes()), layouts.operands) &&
         layer->getNumResults() == layouts.results.size());
  for (auto [result, tag] : llvm::zip(layer->getResults(), layouts.results))
    result.setType(nn::withLayout(nn::typeOf(result), tag));
  auto fuse = dyn_cast<nn::FuseOp>(layer);
  if (!fuse)
    return;
  Block &body = fuse.getBody().front();
  for (auto [argument, operand] :
       llvm::zip(body.getArguments(), fuse.getInputs()))
    argument.setType(operand.getType());
  dropInnerAdapts(fuse);
  Value yielded = cast<nn::YieldOp>(body.getTerminator()).getValues()[0];
  assert(yielded.getDefiningOp() && "a fuse yields a layer's result");
  yielded.setType(fuse.getOutput().getType());
}

LayerIn::LayerIn(Operation *layer, const LayerLayouts &layouts) {
  assert(layouts.operands.size() == layer->getNumOperands());
  OpBuilder b(layer->getContext());
  b.setInsertionPointToEnd(&block);
  SmallVector<Value> operands;
  llvm::DenseMap<std::pair<Value, Type>, Value> made;
  for (auto [operand, tag] :
       llvm::zip(layer->getOperands(), layouts.operands)) {
    auto type = nn::withLayout(nn::typeOf(operand), tag);
    Value &copy = made[{operand, type}];
    if (!copy) {
      if (auto constant = operand.getDefiningOp<nn::ConstantOp>())
        copy = nn::ConstantOp::create(b, constant.getLoc(), type,
                                      constant.getValue());
      else
        copy = block.addArgument(type, operand.getLoc());
    }
    operands.push_back(copy);
  }
  Operation *copy = b.clone(*layer);
  copy->setOperands(operands);
  retype(copy, layouts);
}

AdaptLayer::AdaptLayer(RankedTensorType from, RankedTensorType to,
                       Location location) {
  OpBuilder b(from.getContext());
  b.setInsertionPointToEnd(&block);
  Value input = block.addArgument(from, location);
  nn::AdaptOp::create(b, location, to, input);
}

PackLayer::PackLayer(RankedTensorType packed)
    : AdaptLayer(nn::withLayout(packed, ""), packed,
                 UnknownLoc::get(packed.getContext())) {}
