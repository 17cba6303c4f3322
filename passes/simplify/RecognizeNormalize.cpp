//===- RecognizeNormalize.cpp - Spelled-out normalisation as one layer ----===//
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

namespace nnv12 {
#define GEN_PASS_DEF_RECOGNIZENORMALIZE
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// The axis from which on a layer takes means, kept as dimensions of size one;
/// nullopt if it is no such layer.
static std::optional<int64_t> trailingMean(Value value, Value &input) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::mean || !reduce.getKeepDims())
    return std::nullopt;
  input = reduce.getInput();
  SmallVector<int64_t> axes(reduce.getAxes());
  llvm::sort(axes);
  int64_t rank = typeOf(input).getRank();
  for (auto [i, axis] : llvm::enumerate(llvm::reverse(axes)))
    if (axis != rank - 1 - static_cast<int64_t>(i))
      return std::nullopt;
  if (axes.empty())
    return std::nullopt;
  return axes.front();
}

namespace {
/// d / sqrt(mean(d * d) + epsilon), d = x - mean(x); also d * (1 / sqrt(…)).
struct NameNormalize : CountedPattern<BinaryOp> {
  using CountedPattern::CountedPattern;

  /// The root that `op` divides `deviation` by.
  static UnaryOp divisor(BinaryOp op, Value deviation, Value other) {
    if (op.getKind() == BinaryKind::div && deviation == op.getLhs())
      return definingUnary(other, UnaryKind::sqrt);
    if (op.getKind() != BinaryKind::mul)
      return {};
    auto reciprocal = definingUnary(other, UnaryKind::reciprocal);
    return reciprocal ? definingUnary(reciprocal.getInput(), UnaryKind::sqrt)
                      : UnaryOp();
  }

  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloatTensor(op.getResult()))
      return failure();
    for (auto [deviation, other] : {std::pair(op.getLhs(), op.getRhs()),
                                    std::pair(op.getRhs(), op.getLhs())}) {
      auto root = divisor(op, deviation, other);
      auto sub = definingBinary(deviation, BinaryKind::sub);
      if (!root || !sub || deviation.getType() != op.getType() ||
          sub.getLhs().getType() != op.getType())
        continue;
      Value x;
      auto axis = trailingMean(sub.getRhs(), x);
      if (!axis || x != sub.getLhs())
        continue;
      Affine variance = affineOf(root.getInput());
      Value square;
      if (variance.scale != 1 || variance.shift < 0 ||
          trailingMean(variance.input, square) != axis)
        continue;
      auto product = definingBinary(square, BinaryKind::mul);
      if (!product || product.getLhs() != deviation ||
          product.getRhs() != deviation)
        continue;
      rewriter.replaceOpWithNewOp<NormalizeOp>(
          op, op.getType(), x, rewriter.getI64IntegerAttr(*axis),
          rewriter.getF64FloatAttr(variance.shift));
      ++count;
      return success();
    }
    return failure();
  }
};

struct RecognizeNormalize
    : nnv12::impl::RecognizeNormalizeBase<RecognizeNormalize> {
  void runOnOperation() override {
    rewriteGreedily<NameNormalize>(getOperation(), recognized);
  }
};
} // namespace
