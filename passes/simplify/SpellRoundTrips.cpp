//===- SpellRoundTrips.cpp - Rounding to a grid, with floats alone --------===//
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cmath>

namespace nnv12 {
#define GEN_PASS_DEF_SPELLROUNDTRIPS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
struct SpellRoundTrip : CountedPattern<DequantizeOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto quantize = op.getInput().getDefiningOp<QuantizeOp>();
    if (!quantize || quantize.getZero() != op.getZero() ||
        quantize.getInput().getType() != op.getType())
      return failure();
    std::optional<double> zero =
        op.getZero() ? splatOf(op.getZero()) : std::optional<double>(0);
    if (!zero)
      return failure();
    Type integer = typeOf(op.getInput()).getElementType();
    auto bits = int(integer.getIntOrFloatBitWidth());
    double least = integer.isUnsignedInteger() ? 0 : -std::ldexp(1, bits - 1),
           most = least + std::ldexp(1, bits) - 1;
    Location loc = op.getLoc();
    auto unary = [&](Value x, UnaryKind kind, ArrayRef<double> params = {}) {
      return UnaryOp::create(rewriter, loc, x,
                             FunctionAttr::get(op.getContext(), kind, params));
    };
    Value x = BinaryOp::create(rewriter, loc, quantize.getInput(),
                               quantize.getScale(), BinaryKind::div);
    x = unary(x, UnaryKind::round);
    x = unary(x, UnaryKind::clip, {least - *zero, most - *zero});
    rewriter.replaceOpWithNewOp<BinaryOp>(op, x, op.getScale(),
                                          BinaryKind::mul);
    ++count;
    return success();
  }
};

struct SpellRoundTrips : nnv12::impl::SpellRoundTripsBase<SpellRoundTrips> {
  using SpellRoundTripsBase::SpellRoundTripsBase;
  void runOnOperation() override {
    rewriteGreedily<SpellRoundTrip>(getOperation(), spelled);
  }
};
} // namespace
