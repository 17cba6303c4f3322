//===- RoundWeights.cpp - Weights that fewer bits hold --------------------===//
#include "compiler/weights/NearWeights.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseMap.h"

namespace nnv12 {
#define GEN_PASS_DEF_ROUNDWEIGHTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether the operand is a factor of sums of products.
static bool isFactor(OpOperand &use) {
  auto layer = dyn_cast<Weighted>(use.getOwner());
  return layer && layer.isFactor(use.getOperandNumber());
}

namespace {
struct RoundWeights : nnv12::impl::RoundWeightsBase<RoundWeights> {
  using RoundWeightsBase::RoundWeightsBase;

  void runOnOperation() override {
    // Equal constants stay so: layers share them by their elements.
    llvm::DenseMap<std::pair<Attribute, Type>, ElementsAttr> known;
    getOperation().walk([&](ConstantOp constant) {
      if (!typeOf(constant).getElementType().isF32() || constant->use_empty() ||
          !llvm::all_of(constant->getUses(), isFactor))
        return;
      auto [it, isNew] = known.try_emplace(
          std::pair<Attribute, Type>(constant.getValue(), constant.getType()));
      if (isNew)
        it->second = nearWeights(constant.getOutput(), bits);
      if (!it->second)
        return;
      constant.setValueAttr(it->second);
      ++rounded;
    });
  }
};
} // namespace
