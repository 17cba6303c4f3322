//===- FoldScale.cpp - Scales and shifts into weights and bias ------------===//
#include "dialects/nn/NNBuild.h"
#include "passes/Passes.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cassert>
#include <cmath>
#include <iterator>

namespace nnv12 {
#define GEN_PASS_DEF_FOLDSCALE
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Weights of at most this many bytes are copied even if others use them.
static constexpr size_t smallWeights = 64 << 10;

namespace {
using Numbers = SmallVector<double>;

/// scale[i] * input + shift[i], i the index along one axis.
struct ScaleShift {
  Value input;
  Numbers scale, shift;

  bool hasScale() const {
    return llvm::any_of(scale, [](double v) { return v != 1; });
  }
  bool hasShift() const {
    return llvm::any_of(shift, [](double v) { return v != 0; });
  }
  bool isFinite() const {
    auto finite = [](double v) { return std::isfinite(v); };
    return llvm::all_of(scale, finite) && llvm::all_of(shift, finite);
  }
};
} // namespace

static std::optional<ScaleShift>
scaleShiftOfBinary(BinaryOp op, bool inputIsLhs, int64_t axis) {
  Value input = inputIsLhs ? op.getLhs() : op.getRhs();
  ArrayRef<int64_t> shape = typeOf(op).getShape();
  auto numbers =
      perIndexOf(inputIsLhs ? op.getRhs() : op.getLhs(), shape, axis);
  if (!numbers)
    return std::nullopt;
  size_t n = numbers->size();
  ScaleShift result{input, Numbers(n, 1), Numbers(n, 0)};
  BinaryKind kind = op.getKind();
  if (kind == BinaryKind::mul)
    result.scale = *numbers;
  else if (kind == BinaryKind::div && inputIsLhs)
    for (size_t i = 0; i < n; ++i)
      result.scale[i] = 1 / (*numbers)[i];
  else if (kind == BinaryKind::add || (kind == BinaryKind::sub && !inputIsLhs))
    result.shift = *numbers;
  else if (kind == BinaryKind::sub)
    for (size_t i = 0; i < n; ++i)
      result.shift[i] = -(*numbers)[i];
  else
    return std::nullopt;
  if (kind == BinaryKind::sub && !inputIsLhs)
    result.scale.assign(n, -1);
  return result;
}

/// The scales and shifts that `op` applies to an input, if it has one of each
/// for each index of `axis`; any of its operands may be the input.
static SmallVector<ScaleShift, 2> scaleShiftsOf(Operation *op, int64_t axis) {
  SmallVector<ScaleShift, 2> found;
  auto add = [&](std::optional<ScaleShift> candidate) {
    if (candidate && candidate->isFinite() && isFloatTensor(candidate->input) &&
        candidate->input.getType() == op->getResult(0).getType())
      found.push_back(std::move(*candidate));
  };
  if (auto affine = affineOf(op)) {
    int64_t n = typeOf(op->getResult(0)).getDimSize(axis);
    add(ScaleShift{affine->input, Numbers(n, affine->scale),
                   Numbers(n, affine->shift)});
  } else if (auto binary = dyn_cast_or_null<BinaryOp>(op)) {
    add(scaleShiftOfBinary(binary, /*inputIsLhs=*/true, axis));
    add(scaleShiftOfBinary(binary, /*inputIsLhs=*/false, axis));
  }
  return found;
}

static ElementsAttr makeNumbers(ArrayRef<double> numbers,
                                ArrayRef<int64_t> shape, Type element) {
  const ElementCodec *codec = ElementCodec::get(element);
  assert(codec && "weights are of types that constants are computed in");
  assert(llvm::product_of(shape) == static_cast<int64_t>(numbers.size()) &&
         "a number for each element");
  return makeConstant(
      RankedTensorType::get(shape, element), [&](MutableArrayRef<char> bytes) {
        codec->storeDouble(numbers.data(), numbers.size(), bytes.data());
      });
}

/// The largest absolute value.
static double largestOf(const ConstantData &constant) {
  const ElementCodec &codec = constant.codec();
  int64_t n = constant.isSplat() ? 1 : constant.size();
  double largest = 0, block[512];
  for (int64_t begin = 0; begin < n; begin += std::size(block)) {
    int64_t count = std::min<int64_t>(std::size(block), n - begin);
    codec.loadDouble(constant.stored().data() + begin * codec.size, 1, count,
                     block);
    for (int64_t i = 0; i < count; ++i)
      largest = std::max(largest, std::fabs(block[i]));
  }
  return largest;
}

/// The weights times `scale` along the channels of the view; null if they are
/// not constant, shared and large, or would leave the range of their type.
static ElementsAttr scaledConstant(Linear layer, const WeightsView &view,
                                   ArrayRef<double> scale) {
  auto constant = weightsOf(layer).getDefiningOp<ConstantOp>();
  auto weights = ConstantData::get(weightsOf(layer));
  if (!weights || !isFloatTensor(weightsOf(layer)))
    return {};
  if (!weightsOf(layer).hasOneUse() && weights->stored().size() > smallWeights)
    return {};
  Type element = weights->type().getElementType();
  double largest = largestOf(*weights);
  if (!llvm::all_of(scale, [&](double s) {
        return isRepresentable(s * largest, element);
      }))
    return {};
  auto viewType = RankedTensorType::get(view.shape, element);
  ElementsAttr viewed = evalReshape(constant.getValue(), viewType);
  ElementsAttr factors = makeNumbers(scale, view.channelShape,
                                     Float64Type::get(element.getContext()));
  auto lhs = ConstantData::get(viewed), rhs = ConstantData::get(factors);
  if (!lhs || !rhs)
    return {};
  ElementsAttr product = evalBinary(BinaryKind::mul, *lhs, *rhs, viewType);
  return product ? evalReshape(product, weights->type()) : ElementsAttr();
}

/// The bias as numbers, zeros if there is none; nullopt if it is not constant
/// or varies along more than the output channels.
static std::optional<Numbers> biasOf(Linear layer) {
  if (!layer.getBias())
    return Numbers(numOutputs(layer), 0);
  if (!isa<MatMulOp>(layer.getOperation()))
    return perIndexOf(layer.getBias(), {numOutputs(layer)}, 0);
  return perIndexOf(layer.getBias(), typeOf(resultOf(layer)).getShape(),
                    outputAxis(layer));
}

/// Whether `shift` may join `bias`: it neither cancels it nor is so large that
/// the other addend is rounded on purpose, as by (x + 2^23) - 2^23, and
/// their sum is in the range of their type.
static bool mayJoin(double bias, double shift, FloatType element) {
  double sum = bias + shift;
  double rounds =
      std::ldexp(1.0, static_cast<int>(element.getFPMantissaWidth()) - 2);
  return !cancel(bias, shift) && std::fabs(shift) < rounds &&
         (std::fabs(sum) < 1 || isRepresentable(sum, element));
}

/// Dequantised weights times `scale` along the outputs, or, if those are all
/// one number, along any channels: on the grid of their integers. Null for
/// others.
static Value scaledOnGrid(PatternRewriter &rewriter, Linear layer,
                          Channels channels, ArrayRef<double> scale) {
  auto dequantize = weightsOf(layer).getDefiningOp<DequantizeOp>();
  auto given =
      dequantize ? ConstantData::get(dequantize.getScale()) : std::nullopt;
  if (!given || !ConstantData::get(dequantize.getInput()))
    return {};
  Numbers factors(scale);
  if (llvm::all_equal(scale) && !scale.empty())
    factors.resize(1);
  else if (channels == Channels::Input)
    return {};
  ArrayRef<int64_t> shape = dequantize.getType().getShape();
  int64_t axis = weightsAxis(layer);
  auto old = perIndexOf(dequantize.getScale(), shape, axis);
  if (!old || (factors.size() != 1 && factors.size() != old->size()))
    return {};
  Type f32 = rewriter.getF32Type();
  for (auto [i, number] : llvm::enumerate(*old)) {
    number *= factors[factors.size() == 1 ? 0 : i];
    if (!isRepresentable(number, f32))
      return {};
  }
  SmallVector<int64_t> along(shape.size(), 1);
  along[axis] = shape[axis];
  rewriter.setInsertionPoint(layer);
  return DequantizeOp::create(rewriter, dequantize.getLoc(),
                              dequantize.getType(), dequantize.getInput(),
                              createConstant(rewriter, dequantize.getLoc(),
                                             makeNumbers(*old, along, f32)),
                              dequantize.getZero());
}

/// The weights times `scale`; null where they stay as they are.
static Value scaledWeights(PatternRewriter &rewriter, Linear layer,
                           Channels channels, ArrayRef<double> scale) {
  if (Value onGrid = scaledOnGrid(rewriter, layer, channels, scale))
    return onGrid;
  ElementsAttr weights =
      scaledConstant(layer, viewWeights(layer, channels), scale);
  if (!weights)
    return {};
  rewriter.setInsertionPoint(layer);
  return createConstant(rewriter, weightsOf(layer).getLoc(), weights);
}

static void replaceBias(PatternRewriter &rewriter, Linear layer,
                        ArrayRef<double> bias) {
  rewriter.setInsertionPoint(layer);
  ElementsAttr value = makeNumbers(bias, {numOutputs(layer)},
                                   typeOf(resultOf(layer)).getElementType());
  layer.getBiasMutable().assign(
      createConstant(rewriter, layer->getLoc(), value));
}

namespace {
/// scale * linear(x) + shift.
struct FoldAfter : RewritePattern {
  FoldAfter(MLIRContext *context, Pass::Statistic &folded)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        folded(folded) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<UnaryOp, BinaryOp>(op))
      return failure();
    for (Value operand : op->getOperands()) {
      auto layer = soleLinear(operand);
      if (!layer || layer.getActivationAttr() ||
          layer.getResidualActivationAttr())
        continue;
      for (const ScaleShift &s : scaleShiftsOf(op, outputAxis(layer)))
        if (s.input == operand && succeeded(fold(layer, s, rewriter))) {
          rewriter.replaceOp(op, operand);
          ++folded;
          return success();
        }
    }
    return failure();
  }

  LogicalResult fold(Linear layer, const ScaleShift &s,
                     PatternRewriter &rewriter) const {
    assert(!layer.getActivationAttr() && !layer.getResidualActivationAttr() &&
           "a function would come between the sums and the scale");
    bool hasScale = s.hasScale();
    auto bias = biasOf(layer);
    if (!bias || (hasScale && layer.getResidual()))
      return failure();
    assert(s.scale.size() == bias->size() && s.shift.size() == bias->size() &&
           "a scale and a shift for each output");
    auto element = cast<FloatType>(typeOf(resultOf(layer)).getElementType());
    for (size_t i = 0; i < bias->size(); ++i) {
      if (!mayJoin((*bias)[i] * s.scale[i], s.shift[i], element))
        return failure();
      (*bias)[i] = (*bias)[i] * s.scale[i] + s.shift[i];
    }
    Value weights;
    if (hasScale) {
      weights = scaledWeights(rewriter, layer, Channels::Output, s.scale);
      if (!weights)
        return failure();
    }
    bool hasBias = layer.getBias() || s.hasShift();
    rewriter.modifyOpInPlace(layer, [&] {
      if (weights)
        layer->setOperand(1, weights);
      if (hasBias)
        replaceBias(rewriter, layer, *bias);
    });
    return success();
  }

  Pass::Statistic &folded;
};

/// linear(scale * x + shift).
struct FoldBefore : CountedPattern<Linear, OpInterfaceRewritePattern> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(Linear layer,
                                PatternRewriter &rewriter) const override {
    if (!inputOf(layer).hasOneUse())
      return failure();
    for (const ScaleShift &s :
         scaleShiftsOf(inputOf(layer).getDefiningOp(), inputAxis(layer)))
      if (succeeded(fold(layer, s, rewriter))) {
        ++count;
        return success();
      }
    return failure();
  }

  /// Whether every output sums the same weights: no padding, no gaps.
  static bool isUniform(Linear layer) {
    if (auto conv = dyn_cast<ConvOp>(layer.getOperation())) {
      auto isZero = [](int64_t v) { return v == 0; };
      return llvm::all_of(conv.getPadsLow(), isZero) &&
             llvm::all_of(conv.getPadsHigh(), isZero);
    }
    return isa<MatMulOp>(layer.getOperation()) &&
           typeOf(weightsOf(layer)).getRank() == 2;
  }

  LogicalResult fold(Linear layer, const ScaleShift &s,
                     PatternRewriter &rewriter) const {
    bool hasShift = s.hasShift();
    auto bias = biasOf(layer);
    if (hasShift && (!bias || !isUniform(layer)))
      return failure();
    if (hasShift && !ConstantData::get(weightsOf(layer)))
      return failure();
    if (llvm::any_of(s.shift,
                     [](double v) { return std::fabs(v) > largestShift; }))
      return failure();
    Value weights;
    if (s.hasScale()) {
      weights = scaledWeights(rewriter, layer, Channels::Input, s.scale);
      if (!weights)
        return failure();
    }
    if (hasShift)
      addProduct(layer, s.shift, *bias);
    rewriter.modifyOpInPlace(layer, [&] {
      layer->setOperand(0, s.input);
      if (weights)
        layer->setOperand(1, weights);
      if (hasShift)
        replaceBias(rewriter, layer, *bias);
    });
    return success();
  }

  /// bias[o] += sum of weights[o, i] * shift[i] over inputs and kernel.
  static void addProduct(Linear layer, ArrayRef<double> shift, Numbers &bias) {
    assert(isUniform(layer) && "else outputs sum different weights");
    auto weights = *ConstantData::get(weightsOf(layer));
    auto at = [&](int64_t i) { return weights.asDouble(i); };
    int64_t outputs = numOutputs(layer), inputs = numInputs(layer);
    assert(static_cast<int64_t>(shift.size()) == inputs &&
           static_cast<int64_t>(bias.size()) == outputs &&
           "a shift for each input, a bias for each output");
    if (auto matmul = dyn_cast<MatMulOp>(layer.getOperation())) {
      bool isTransposed = matmul.getTransposeRhs();
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t o = 0; o < outputs; ++o)
          bias[o] +=
              shift[i] * at(isTransposed ? o * inputs + i : i * outputs + o);
      return;
    }
    auto conv = cast<ConvOp>(layer.getOperation());
    int64_t groups = conv.getGroups(), perGroup = inputs / groups;
    int64_t taps = typeOf(weightsOf(layer)).getNumElements() /
                   std::max<int64_t>(outputs * perGroup, 1);
    assert(outputs % groups == 0 && inputs % groups == 0 &&
           typeOf(weightsOf(layer)).getNumElements() ==
               outputs * perGroup * taps &&
           "weights are [outputs, inputs of a group, kernel]");
    for (int64_t o = 0; o < outputs; ++o) {
      int64_t first = o / (outputs / groups) * perGroup;
      for (int64_t i = 0; i < perGroup * taps; ++i)
        bias[o] += shift[first + i / taps] * at(o * perGroup * taps + i);
    }
  }
};

struct FoldScale : nnv12::impl::FoldScaleBase<FoldScale> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldAfter>(&getContext(), foldedAfter);
    patterns.add<FoldBefore>(&getContext(), foldedBefore);
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
