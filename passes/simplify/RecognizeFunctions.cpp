//===- RecognizeFunctions.cpp - One function for its many spellings -------===//
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cmath>
#include <limits>

namespace nnv12 {
#define GEN_PASS_DEF_RECOGNIZEFUNCTIONS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double sqrtHalf = 0.70710678118654752440;
static constexpr double sqrt2OverPi = 0.79788456080286535588;

/// `op` as the function of `x` with these parameters.
static LogicalResult nameAs(PatternRewriter &rewriter, Operation *op, Value x,
                            UnaryKind kind, ArrayRef<double> params = {}) {
  rewriter.replaceOpWithNewOp<UnaryOp>(
      op, op->getResult(0).getType(), x,
      FunctionAttr::get(op->getContext(), kind, params));
  return success();
}

//===----------------------------------------------------------------------===//
// Layers with a number: x + 1, max(x, 0), 1 / x, x ** 2
//===----------------------------------------------------------------------===//

/// The range that a layer limits its input to: relu, clip, min and max with a
/// number.
namespace {
struct Clip {
  Value input;
  double low, high;

  bool isRelu() const { return low == 0 && high == infinity; }
  UnaryKind kind() const {
    return isRelu() ? UnaryKind::relu : UnaryKind::clip;
  }
  SmallVector<double> params() const {
    return isRelu() ? SmallVector<double>() : SmallVector<double>{low, high};
  }
};
} // namespace

static std::optional<Clip> clipOf(Operation *op) {
  if (auto unary = dyn_cast_or_null<UnaryOp>(op)) {
    ArrayRef<double> params = unary.getFunction().getParams();
    if (unary.getFunction().getKind() == UnaryKind::relu)
      return Clip{unary.getInput(), 0, infinity};
    // Where the bounds cross, the upper one wins.
    if (unary.getFunction().getKind() == UnaryKind::clip && params.size() == 2)
      return Clip{unary.getInput(), std::min(params[0], params[1]), params[1]};
    return std::nullopt;
  }
  auto binary = dyn_cast_or_null<BinaryOp>(op);
  if (!binary || (binary.getKind() != BinaryKind::min &&
                  binary.getKind() != BinaryKind::max))
    return std::nullopt;
  auto lhs = splatOf(binary.getLhs()), rhs = splatOf(binary.getRhs());
  Value input = lhs ? binary.getRhs() : binary.getLhs();
  if (lhs.has_value() == rhs.has_value() ||
      input.getType() != binary.getType() || !isFloatTensor(input))
    return std::nullopt;
  double bound = lhs ? *lhs : *rhs;
  if (std::isnan(bound))
    return std::nullopt;
  if (binary.getKind() == BinaryKind::min)
    return Clip{input, -infinity, bound};
  return Clip{input, bound, infinity};
}

/// clip(a * x + b, 0, m) / m as the a * x + b of a hard sigmoid.
static std::optional<Affine> hardSigmoidOf(Operation *op) {
  auto outer = affineOf(op, Exactness::any);
  auto clip = outer ? clipOf(outer->input.getDefiningOp()) : std::nullopt;
  if (!clip || !outer->input.hasOneUse() || clip->low != 0 || clip->high <= 0 ||
      outer->shift != 0 || !isClose(outer->scale, 1 / clip->high))
    return std::nullopt;
  return compose(Affine{outer->input, outer->scale, 0},
                 affineChainOf(clip->input), Exactness::any);
}

namespace {
struct BinaryWithNumber : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloatTensor(op.getResult()))
      return failure();
    if (auto affine = affineOf(op.getOperation()))
      return nameAs(rewriter, op, affine->input, UnaryKind::affine,
                    {affine->scale, affine->shift});
    if (auto clip = clipOf(op))
      return nameAs(rewriter, op, clip->input, clip->kind(), clip->params());
    if (auto sigmoid = hardSigmoidOf(op))
      return nameAs(rewriter, op, sigmoid->input, UnaryKind::hard_sigmoid,
                    {sigmoid->scale, sigmoid->shift});
    auto lhs = splatOf(op.getLhs()), rhs = splatOf(op.getRhs());
    if (lhs && op.getRhs().getType() == op.getType())
      return numberFirst(op, *lhs, rewriter);
    if (rhs && op.getLhs().getType() == op.getType())
      return numberLast(op, *rhs, rewriter);
    return failure();
  }

  LogicalResult numberFirst(BinaryOp op, double number,
                            PatternRewriter &rewriter) const {
    if (op.getKind() != BinaryKind::div || number != 1)
      return failure();
    return nameAs(rewriter, op, op.getRhs(), UnaryKind::reciprocal);
  }

  LogicalResult numberLast(BinaryOp op, double number,
                           PatternRewriter &rewriter) const {
    Value x = op.getLhs();
    if (op.getKind() == BinaryKind::prelu)
      return nameAs(rewriter, op, x, UnaryKind::leaky_relu, {number});
    if (op.getKind() != BinaryKind::pow)
      return failure();
    if (number == 2) {
      rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), x, x,
                                            BinaryKind::mul);
      return success();
    }
    if (number == -1)
      return nameAs(rewriter, op, x, UnaryKind::reciprocal);
    // The root of -inf is NaN, its power inf.
    if (number == 0.5 && isNonNegative(x))
      return nameAs(rewriter, op, x, UnaryKind::sqrt);
    return failure();
  }
};

//===----------------------------------------------------------------------===//
// Functions of functions
//===----------------------------------------------------------------------===//

/// affine(affine(x)) where they compose, clip(clip(x)), and the spellings of
/// hard_sigmoid, softplus and sigmoid.
struct ComposeUnary : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<UnaryOp>();
    // With other uses, the inner function may be the x of an x * f(x).
    if (!inner || !op.getInput().hasOneUse() || !isFloatTensor(op.getInput()) ||
        inner.getInput().getType() != op.getType())
      return failure();
    UnaryKind kind = op.getFunction().getKind();
    if (kind == UnaryKind::affine || kind == UnaryKind::neg)
      return composeAffine(op, rewriter);
    if (kind == UnaryKind::clip || kind == UnaryKind::relu)
      return composeClip(op, rewriter);
    Affine argument = affineOf(op.getInput());
    if (!argument.input.getDefiningOp())
      return failure();
    bool addsOne = argument.scale == 1 && argument.shift == 1;
    auto exponential = definingUnary(argument.input, UnaryKind::exp);
    if (!addsOne || !exponential || !argument.input.hasOneUse())
      return failure();
    if (kind == UnaryKind::log)
      return nameAs(rewriter, op, exponential.getInput(), UnaryKind::softplus);
    auto negated = definingUnary(exponential.getInput(),
                                 {UnaryKind::neg, UnaryKind::affine});
    if (kind != UnaryKind::reciprocal || !negated)
      return failure();
    Affine negation = affineOf(exponential.getInput());
    if (negation.scale != -1 || negation.shift != 0)
      return failure();
    return nameAs(rewriter, op, negation.input, UnaryKind::sigmoid);
  }

  static LogicalResult composeAffine(UnaryOp op, PatternRewriter &rewriter) {
    auto outer = affineOf(op.getOperation());
    auto inner = affineOf(op.getInput().getDefiningOp());
    if (outer && inner) {
      auto both = compose(*outer, *inner, Exactness::asSpelled);
      if (!both)
        return failure();
      return nameAs(rewriter, op, both->input, UnaryKind::affine,
                    {both->scale, both->shift});
    }
    auto sigmoid = hardSigmoidOf(op.getOperation());
    if (!sigmoid)
      return failure();
    return nameAs(rewriter, op, sigmoid->input, UnaryKind::hard_sigmoid,
                  {sigmoid->scale, sigmoid->shift});
  }

  static LogicalResult composeClip(UnaryOp op, PatternRewriter &rewriter) {
    auto outer = clipOf(op), inner = clipOf(op.getInput().getDefiningOp());
    if (outer && inner && inner->low <= inner->high &&
        outer->low <= outer->high) {
      auto limit = [&](double v) {
        return std::min(std::max(v, outer->low), outer->high);
      };
      Clip both{inner->input, limit(inner->low), limit(inner->high)};
      return nameAs(rewriter, op, both.input, both.kind(), both.params());
    }
    // clip(a * x + b, 0, 1)
    Affine affine = affineChainOf(op.getInput());
    if (!outer || outer->low != 0 || outer->high != 1 ||
        affine.input == op.getInput())
      return failure();
    return nameAs(rewriter, op, affine.input, UnaryKind::hard_sigmoid,
                  {affine.scale, affine.shift});
  }
};

//===----------------------------------------------------------------------===//
// x * f(x)
//===----------------------------------------------------------------------===//

/// scale * first * second, from layers nothing else uses.
struct Product {
  double scale = 1;
  SmallVector<Value, 3> factors;
};

bool collect(Value value, bool isRoot, Product &product) {
  if (isRoot || value.hasOneUse()) {
    Affine affine = affineOf(value, Exactness::any);
    if (affine.input != value && affine.shift == 0) {
      product.scale *= affine.scale;
      return collect(affine.input, false, product);
    }
    if (auto mul = definingBinary(value, BinaryKind::mul))
      return mul.getLhs().getType() == mul.getType() &&
             mul.getRhs().getType() == mul.getType() &&
             collect(mul.getLhs(), false, product) &&
             collect(mul.getRhs(), false, product);
  }
  product.factors.push_back(value);
  return product.factors.size() <= 3;
}

/// x ** 3, as a product or a power.
bool isCube(Value value, Value x) {
  if (auto pow = definingBinary(value, BinaryKind::pow)) {
    auto exponent = splatOf(pow.getRhs());
    return pow.getLhs() == x && exponent && *exponent == 3;
  }
  Product product;
  return collect(value, true, product) && product.scale == 1 &&
         product.factors.size() == 3 && llvm::all_equal(product.factors) &&
         product.factors.front() == x;
}

/// x + 0.044715 * x ** 3, or x * (1 + 0.044715 * x ** 2).
bool isGeluPolynomial(Value value, Value x, double scale) {
  auto add = definingBinary(value, BinaryKind::add);
  if (add) {
    bool xFirst = add.getLhs() == x;
    if (!xFirst && add.getRhs() != x)
      return false;
    Affine cube = affineChainOf(xFirst ? add.getRhs() : add.getLhs());
    return cube.shift == 0 && isClose(cube.scale, 0.044715) &&
           isClose(scale, sqrt2OverPi) && isCube(cube.input, x);
  }
  Product product;
  if (!collect(value, true, product) || product.factors.size() != 2)
    return false;
  Value other = product.factors[product.factors[0] == x ? 1 : 0];
  if (product.factors[0] != x && product.factors[1] != x)
    return false;
  Affine affine = affineChainOf(other);
  auto square = definingBinary(affine.input, BinaryKind::mul);
  return square && square.getLhs() == x && square.getRhs() == x &&
         isClose(scale * product.scale * affine.shift, sqrt2OverPi) &&
         isClose(affine.scale / affine.shift, 0.044715);
}

/// `value` as scale * x + shift; with another input if it is none such.
Affine affineOn(Value x, Value value) {
  if (value == x)
    return Affine{x};
  Affine chain = affineChainOf(value);
  // The chain may go on beyond x, to its operands.
  return chain.input == x ? chain : affineOf(value, Exactness::any);
}

/// The function scale * x * f(x), null if it has no name.
FunctionAttr nameOf(Value x, Value f, double scale) {
  MLIRContext *context = x.getContext();
  // f as gain * core + offset.
  Affine outer = affineChainOf(f);
  double gain = outer.scale * scale, offset = outer.shift * scale;
  auto core = outer.input.getDefiningOp<UnaryOp>();
  if (!core)
    return {};
  ArrayRef<double> params = core.getFunction().getParams();
  Affine inner = affineOn(x, core.getInput());
  bool isPlain = offset == 0 && isClose(gain, 1);
  bool isHalf = isClose(gain, 0.5) && isClose(offset, 0.5);
  switch (core.getFunction().getKind()) {
  case UnaryKind::sigmoid:
    if (isPlain && inner.input == x && inner.shift == 0)
      return FunctionAttr::get(context, UnaryKind::swish, {inner.scale});
    return {};
  case UnaryKind::hard_sigmoid:
    if (isPlain && core.getInput() == x && params.size() == 2)
      return FunctionAttr::get(context, UnaryKind::hard_swish, params);
    return {};
  case UnaryKind::clip:
    if (offset == 0 && inner.input == x && params.size() == 2 &&
        params[0] == 0 && params[1] > 0 && isClose(gain, 1 / params[1]))
      return FunctionAttr::get(context, UnaryKind::hard_swish,
                               {inner.scale * gain, inner.shift * gain});
    return {};
  case UnaryKind::erf:
    if (isHalf && inner.input == x && inner.shift == 0 &&
        isClose(inner.scale, sqrtHalf))
      return FunctionAttr::get(context, UnaryKind::gelu);
    return {};
  case UnaryKind::tanh:
    if (isHalf && inner.shift == 0 &&
        isGeluPolynomial(inner.input, x, inner.scale))
      return FunctionAttr::get(context, UnaryKind::gelu_tanh);
    if (auto softplus = definingUnary(core.getInput(), UnaryKind::softplus))
      if (isPlain && softplus.getInput() == x)
        return FunctionAttr::get(context, UnaryKind::mish);
    return {};
  default:
    return {};
  }
}

struct NameProduct : RewritePattern {
  explicit NameProduct(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<BinaryOp, UnaryOp>(op) || !isFloatTensor(op->getResult(0)))
      return failure();
    Product product;
    if (!collect(op->getResult(0), /*isRoot=*/true, product) ||
        product.factors.size() != 2)
      return failure();
    for (unsigned i : {0, 1}) {
      Value x = product.factors[i], f = product.factors[1 - i];
      FunctionAttr name = x.getType() == op->getResult(0).getType()
                              ? nameOf(x, f, product.scale)
                              : FunctionAttr();
      if (name)
        return nameAs(rewriter, op, x, name.getKind(), name.getParams());
    }
    return failure();
  }
};

/// max(x, slope * x) with 0 <= slope <= 1.
struct NameMaximum : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::max || !isFloatTensor(op.getResult()))
      return failure();
    for (auto [x, other] : {std::pair(op.getLhs(), op.getRhs()),
                            std::pair(op.getRhs(), op.getLhs())}) {
      Affine scaled = affineOf(other);
      if (scaled.input != x || scaled.shift != 0 || scaled.scale < 0 ||
          scaled.scale > 1 || x.getType() != op.getType())
        continue;
      return nameAs(rewriter, op, x, UnaryKind::leaky_relu, {scaled.scale});
    }
    return failure();
  }
};

struct RecognizeFunctions
    : nnv12::impl::RecognizeFunctionsBase<RecognizeFunctions> {
  void runOnOperation() override {
    removed += rewriteGreedily<BinaryWithNumber, ComposeUnary, NameProduct,
                               NameMaximum>(getOperation());
  }
};
} // namespace
