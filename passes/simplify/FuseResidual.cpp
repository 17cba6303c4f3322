//===- FuseResidual.cpp - Sums into the layer that makes a summand --------===//
#include "passes/Passes.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

namespace nnv12 {
#define GEN_PASS_DEF_FUSERESIDUAL
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// The layer that defines `summand`, if it can add something itself; else
/// null.
static Linear adderOf(Value summand) {
  Linear layer = soleLinear(summand);
  bool adds = layer && !layer.getResidual() &&
              !layer.getResidualActivationAttr() && isFloatTensor(summand);
  return adds ? layer : Linear();
}

namespace {
struct FuseAdd : CountedPattern<BinaryOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    if (op.getKind() != BinaryKind::add || lhs.getType() != op.getType() ||
        rhs.getType() != op.getType() || lhs == rhs)
      return failure();
    auto left = adderOf(lhs), right = adderOf(rhs);
    if (!left && !right)
      return failure();
    // The later of two takes it: the other's result is there by then.
    bool useLeft = left && (!right || right->isBeforeInBlock(left));
    Linear layer = useLeft ? left : right;
    Value residual = useLeft ? rhs : lhs;
    rewriter.modifyOpInPlace(
        layer, [&] { layer.getResidualMutable().assign(residual); });
    // A residual defined in between: its definition is before the sum.
    Operation *definition = residual.getDefiningOp();
    if (definition && layer->isBeforeInBlock(definition))
      rewriter.moveOpAfter(layer, definition);
    rewriter.replaceOp(op, resultOf(layer));
    ++count;
    return success();
  }
};

struct FuseResidual : nnv12::impl::FuseResidualBase<FuseResidual> {
  void runOnOperation() override {
    rewriteGreedily<FuseAdd>(getOperation(), fused);
  }
};
} // namespace
