//===- FuseActivation.cpp - Functions into the layer they follow ----------===//
#include "passes/Passes.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

namespace nnv12 {
#define GEN_PASS_DEF_FUSEACTIVATION
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
struct FuseUnary : OpRewritePattern<UnaryOp> {
  FuseUnary(MLIRContext *context, bool second, Pass::Statistic &fused)
      : OpRewritePattern(context), second(second), fused(fused) {}

  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto layer = soleLinear(op.getInput());
    if (!layer || op.getInput().getType() != op.getType() ||
        !isFloatTensor(op.getInput()))
      return failure();
    bool isLast = layer.getResidual() || (second && layer.getActivationAttr());
    if (layer.getResidualActivationAttr() ||
        (!isLast && layer.getActivationAttr()))
      return failure();
    rewriter.modifyOpInPlace(layer, [&] {
      if (isLast)
        layer.setResidualActivationAttr(op.getFunction());
      else
        layer.setActivationAttr(op.getFunction());
    });
    rewriter.replaceOp(op, op.getInput());
    ++fused;
    return success();
  }

  bool second;
  Pass::Statistic &fused;
};

struct FuseActivation : nnv12::impl::FuseActivationBase<FuseActivation> {
  using FuseActivationBase::FuseActivationBase;
  void runOnOperation() override {
    rewriteGreedily<FuseUnary>(getOperation(), second, fused);
  }
};
} // namespace
