//===- FuseQuantized.cpp - Float products of bytes as integer ones --------===//
#include "passes/simplify/QuantizedFactors.h"

#include "dialects/nn/NNBuild.h"
#include "passes/Passes.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cmath>

namespace nnv12 {
#define GEN_PASS_DEF_FUSEQUANTIZED
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether `v` broadcasts to `shape` and varies along dimension `axis` of it at
/// most.
static bool isVectorAlong(Value v, ArrayRef<int64_t> shape, int64_t axis) {
  ArrayRef<int64_t> own = typeOf(v).getShape();
  int64_t front = static_cast<int64_t>(shape.size() - own.size());
  if (front < 0)
    return false;
  for (auto [i, size] : llvm::enumerate(own))
    if (size != 1 && static_cast<int64_t>(i) + front != axis)
      return false;
  return true;
}

/// Such a value as a vector of `columns` elements.
static Value asVector(OpBuilder &b, Value v, int64_t columns) {
  Type element = elementOf(v);
  auto vector = [&](int64_t n) { return RankedTensorType::get({n}, element); };
  int64_t n = typeOf(v).getNumElements();
  v = b.createOrFold<ReshapeOp>(v.getLoc(), vector(n), v);
  return n == columns
             ? v
             : b.createOrFold<BroadcastOp>(v.getLoc(), vector(columns), v);
}

//===----------------------------------------------------------------------===//
// Products of dequantised bytes
//===----------------------------------------------------------------------===//

namespace {
/// The layers behind a product that its end can do in steps of the result.
struct Behind {
  Operation *last; ///< null: none
  Value added;     ///< null: none
  FunctionAttr clamp;
  QuantizeOp quantize;
};
} // namespace

/// relu or clip of numbers that count in steps of `scale`; null where
/// saturation does the same.
static FunctionAttr clampInSteps(FunctionAttr clamp, double scale, Value zero,
                                 Type type) {
  double low = 0, high = INFINITY;
  if (clamp.getKind() == UnaryKind::clip) {
    low = clamp.getParams()[0] / scale;
    high = clamp.getParams()[1] / scale;
  }
  // Whether the bounds lie outside of the numbers that the result has.
  double least = type.isUnsignedInteger() ? 0 : -128, most = least + 255;
  auto centre = zero ? splatOf(zero) : 0.0;
  bool isLowImplied = centre && std::nearbyint(low) + *centre <= least;
  bool isHighImplied =
      high == INFINITY || (centre && std::nearbyint(high) + *centre >= most);
  if (isLowImplied && isHighImplied)
    return {};
  if (isHighImplied && low == 0)
    return FunctionAttr::get(clamp.getContext(), UnaryKind::relu);
  return FunctionAttr::get(clamp.getContext(), UnaryKind::clip, {low, high});
}

/// The layers after `v`, each the only user of the one before: a sum with a
/// vector, and a quantize, with or without a clamp before it.
static Behind behind(Value v, int64_t axis) {
  Behind found{};
  auto user = [&]() -> Operation * {
    return v.hasOneUse() ? *v.getUsers().begin() : nullptr;
  };
  if (auto add = dyn_cast_or_null<BinaryOp>(user());
      add && add.getKind() == BinaryKind::add && add.getType() == v.getType()) {
    Value other = add.getLhs() == v ? add.getRhs() : add.getLhs();
    if (isVectorAlong(other, typeOf(v).getShape(), axis)) {
      found.added = other;
      found.last = add;
      v = add;
    }
  }
  FunctionAttr clamp;
  if (auto unary = dyn_cast_or_null<UnaryOp>(user());
      unary && llvm::is_contained({UnaryKind::relu, UnaryKind::clip},
                                  unary.getFunction().getKind())) {
    clamp = unary.getFunction();
    v = unary;
  }
  auto quantize = dyn_cast_or_null<QuantizeOp>(user());
  if (quantize && quantize.getInput() == v && isSingle(quantize.getScale()) &&
      isSingle(quantize.getZero()) && elementOf(quantize).isInteger(8) &&
      (!clamp || splatOf(quantize.getScale()).value_or(0) > 0)) {
    found.clamp = clamp;
    found.quantize = quantize;
    found.last = quantize;
  }
  return found;
}

namespace {
class Fusion {
public:
  Fusion(RewriterBase &b, Linear layer, Factors &factors)
      : b(b), layer(layer), factors(factors), columns(numOutputs(layer)),
        axis(outputAxis(layer)) {}

  void run() {
    Behind after = factors.rest ? Behind{} : behind(resultOf(layer), axis);
    Operation *last = after.last ? after.last : layer.getOperation();
    b.setInsertionPoint(last);
    ProductEnd end;
    end.scale = b.createOrFold<BinaryOp>(
        layer.getLoc(), asVector(b, factors.wScale, columns),
        asScalar(b, factors.xScale), BinaryKind::mul);
    Value bias = factors.bias, shift = factors.shift;
    if (after.added)
      shift =
          sum(shift, asVector(b, withoutDequantize(b, after.added), columns));
    if (shift && !bias) {
      bias = onGrid(shift, end.scale);
      shift = bias ? Value() : shift;
    }
    end.shift = shift;
    if (after.quantize)
      quantised(end, after);
    Value y = product(bias, end);
    if (factors.rest)
      y = b.createOrFold<BinaryOp>(layer.getLoc(), y, factors.rest,
                                   BinaryKind::add);
    b.replaceOp(last, y);
  }

private:
  Value binary(BinaryKind kind, Value l, Value r) {
    return b.createOrFold<BinaryOp>(layer.getLoc(), l, r, kind);
  }
  Value sum(Value l, Value r) { return l ? binary(BinaryKind::add, l, r) : r; }

  /// Numbers count in steps of the result from here on: the scale is one
  /// factor, as QLinearConv has it.
  void quantised(ProductEnd &end, const Behind &after) {
    QuantizeOp quantize = after.quantize;
    Value step = asScalar(b, quantize.getScale());
    end.scale = binary(BinaryKind::div, end.scale, step);
    if (end.shift)
      end.shift = binary(BinaryKind::div, end.shift, step);
    Value zero = quantize.getZero();
    if (after.clamp)
      end.activation =
          clampInSteps(after.clamp, *splatOf(step), zero, elementOf(quantize));
    end.outZero =
        zero
            ? asScalar(b, zero)
            : createConstant(
                  b, layer.getLoc(),
                  makeSplat(RankedTensorType::get({}, elementOf(quantize)), 0));
  }

  /// A shift as integers that are multiplied by the scale, if it is such to the
  /// bit; null if it is not.
  Value onGrid(Value shift, Value scale) {
    auto numbers = ConstantData::get(shift), factor = ConstantData::get(scale);
    if (!numbers || !factor)
      return {};
    SmallVector<int32_t> steps;
    for (int64_t i = 0; i < columns; ++i) {
      auto number = static_cast<float>(numbers->asDouble(i));
      auto f = static_cast<float>(factor->asDouble(i));
      double step = std::nearbyint(double(number) / double(f));
      if (!(std::fabs(step) < Factors::mostSteps) ||
          static_cast<float>(step) * f != number)
        return {};
      steps.push_back(static_cast<int32_t>(step));
    }
    return createConstant(
        b, layer.getLoc(),
        makeConstant(
            RankedTensorType::get({columns}, b.getI32Type()),
            ArrayRef<char>(reinterpret_cast<const char *>(steps.data()),
                           steps.size() * sizeof(int32_t))));
  }

  Value product(Value bias, const ProductEnd &end) {
    Location loc = layer.getLoc();
    if (auto conv = dyn_cast<ConvOp>(layer.getOperation()))
      return quantizedConv(b, loc, factors.x, factors.w, bias,
                           {conv.getStrides(), conv.getDilations(),
                            conv.getPadsLow(), conv.getPadsHigh(),
                            static_cast<int64_t>(conv.getGroups())},
                           end);
    auto matmul = cast<MatMulOp>(layer.getOperation());
    CentredBytes x = factors.x;
    if (matmul.getTransposeLhs()) {
      int64_t rank = typeOf(x.values).getRank();
      auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
      std::swap(perm[rank - 2], perm[rank - 1]);
      x.values = b.createOrFold<TransposeOp>(loc, x.values,
                                             b.getDenseI64ArrayAttr(perm));
    }
    return quantizedMatMul(b, loc, x, factors.w, matmul.getTransposeRhs(), bias,
                           end);
  }

  RewriterBase &b;
  Linear layer;
  Factors &factors;
  int64_t columns, axis;
};

//===----------------------------------------------------------------------===//
// The end of a product of integers
//===----------------------------------------------------------------------===//

/// The product that makes a value which nothing else uses.
template <typename Op> Op soleProduct(Value v) {
  auto product = v.getDefiningOp<Op>();
  return product && v.hasOneUse() ? product : Op();
}

int64_t columnAxis(QConvOp) { return 1; }
int64_t columnAxis(QMatMulOp op) { return op.getType().getRank() - 1; }

/// The product with another bias, end and type, where `at` is.
Value rebuilt(PatternRewriter &b, QConvOp op, Type type, Value bias,
              const ProductEnd &end) {
  const ProductResidual &r = end.residual;
  return QConvOp::create(b, op.getLoc(), type, op.getInput(), op.getWeights(),
                         op.getPadding(), bias, r.values, op.getRows(),
                         end.scale, end.shift, end.outScale, end.outZero,
                         r.step, r.scale, r.zero, r.finalZero, op.getStrides(),
                         op.getDilations(), op.getPadsLow(), op.getPadsHigh(),
                         op.getGroups(), end.activation);
}
Value rebuilt(PatternRewriter &b, QMatMulOp op, Type type, Value bias,
              const ProductEnd &end) {
  const ProductResidual &r = end.residual;
  return QMatMulOp::create(b, op.getLoc(), type, op.getLhs(), op.getRhs(), bias,
                           r.values, op.getRows(), end.scale, end.shift,
                           end.outScale, end.outZero, r.step, r.scale, r.zero,
                           r.finalZero, op.getTransposeRhs(), end.activation);
}

template <typename Op> ProductEnd endOf(Op op) {
  return {op.getScale(),
          op.getShift(),
          op.getOutScale(),
          op.getOutZero(),
          op.getActivationAttr(),
          {op.getResidual(), op.getStep(), op.getResidualScale(),
           op.getResidualZero(), op.getFinalZero()}};
}

/// sum + bias, f32(sum) * scale, y + shift, each with a vector.
template <typename Op> struct EndWithVector : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [v, other] : {std::pair(op.getLhs(), op.getRhs()),
                            std::pair(op.getRhs(), op.getLhs())})
      if (succeeded(fuse(op, v, other, rewriter)))
        return success();
    return failure();
  }

  LogicalResult fuse(BinaryOp op, Value v, Value other,
                     PatternRewriter &rewriter) const {
    BinaryKind kind = op.getKind();
    if (kind == BinaryKind::mul) {
      auto cast = v.getDefiningOp<CastOp>();
      if (!cast || !v.hasOneUse() || !elementOf(v).isF32())
        return failure();
      v = cast.getInput();
    } else if (kind != BinaryKind::add) {
      return failure();
    }
    auto product = soleProduct<Op>(v);
    if (!product || op.getType().getShape() != product.getType().getShape() ||
        !isVectorAlong(other, op.getType().getShape(), columnAxis(product)))
      return failure();
    ProductEnd end = endOf(product);
    Value bias = product.getBias();
    bool isSum = elementOf(v).isInteger(32);
    if (!isSum && (kind == BinaryKind::mul || !elementOf(v).isF32() ||
                   end.shift || end.activation))
      return failure();
    Value vector = asVector(rewriter, other,
                            product.getType().getDimSize(columnAxis(product)));
    if (kind == BinaryKind::mul)
      end.scale = vector;
    else if (!isSum)
      end.shift = vector;
    else
      bias = bias ? rewriter.createOrFold<BinaryOp>(op.getLoc(), bias, vector,
                                                    BinaryKind::add)
                  : vector;
    rewriter.replaceOp(op, rebuilt(rewriter, product, op.getType(), bias, end));
    return success();
  }
};

/// f32(sum) * scale + shift by the same numbers for all.
template <typename Op> struct EndWithAffine : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    FunctionAttr function = op.getFunction();
    auto cast = op.getInput().getDefiningOp<CastOp>();
    auto product = cast && cast.getOutput().hasOneUse()
                       ? soleProduct<Op>(cast.getInput())
                       : Op();
    if (function.getKind() != UnaryKind::affine || !product ||
        product.getScale() || !elementOf(op).isF32())
      return failure();
    auto vector = [&](double number) {
      int64_t columns = op.getType().getDimSize(columnAxis(product));
      return createConstant(
          rewriter, op.getLoc(),
          makeSplat(RankedTensorType::get({columns}, elementOf(op)), number));
    };
    ProductEnd end;
    end.scale = vector(function.getParams()[0]);
    if (function.getParams()[1] != 0)
      end.shift = vector(function.getParams()[1]);
    rewriter.replaceOp(
        op, rebuilt(rewriter, product, op.getType(), product.getBias(), end));
    return success();
  }
};

template <typename Op> struct EndWithFunction : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto product = soleProduct<Op>(op.getInput());
    if (!product || !product.getScale() || product.getActivationAttr() ||
        product.getType() != op.getType() || !elementOf(op).isF32())
      return failure();
    ProductEnd end = endOf(product);
    end.activation = op.getFunction();
    rewriter.replaceOp(
        op, rebuilt(rewriter, product, op.getType(), product.getBias(), end));
    return success();
  }
};

template <typename Op> struct EndWithQuantize : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto product = soleProduct<Op>(op.getInput());
    if (!product || !product.getScale() || !elementOf(op).isInteger(8) ||
        !isSingle(op.getScale()) || !isSingle(op.getZero()))
      return failure();
    ProductEnd end = endOf(product);
    if (splatOf(op.getScale()) != 1.0)
      end.outScale = asScalar(rewriter, op.getScale());
    // The result of a model may be i8; products give ui8.
    Location loc = op.getLoc();
    bool isSigned = elementOf(op).isSignlessInteger();
    Value zero = op.getZero();
    if (!zero && isSigned)
      zero = createConstant(
          rewriter, loc,
          makeSplat(RankedTensorType::get({}, elementOf(op)), 0));
    if (zero)
      zero = asScalar(rewriter, zero);
    end.outZero = isSigned ? withFlippedSign(rewriter, loc, zero) : zero;
    Type type = op.getType().clone(rewriter.getIntegerType(8, false));
    Value bytes = rebuilt(rewriter, product, type, product.getBias(), end);
    rewriter.replaceOp(op, isSigned ? withFlippedSign(rewriter, loc, bytes)
                                    : bytes);
    return success();
  }
};

/// A constant scale and zero point of all elements.
struct Steps {
  double scale, zero;

  /// Reads a quantize or dequantize of 8-bit integers. Nullopt: the model
  /// computes one of the numbers, or has several scales.
  template <typename Op> static std::optional<Steps> of(Op op, Value integers) {
    if (!elementOf(integers).isInteger(8))
      return std::nullopt;
    std::optional<double> scale = splatOf(op.getScale()), zero = 0;
    if (op.getZero())
      zero = splatOf(op.getZero());
    if (!scale || !(*scale > 0) || !std::isfinite(*scale) || !zero)
      return std::nullopt;
    return Steps{*scale, *zero};
  }
};

/// quantize(clamp(y + dequantize(residual))). y is a product's result, or the
/// same after a quantize and a dequantize. Saturation implies the clamp.
template <typename Op> struct EndWithResidual : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto steps = Steps::of(op, op.getOutput());
    if (!steps)
      return failure();
    Value sum = op.getInput();
    auto clamp = sum.getDefiningOp<UnaryOp>();
    if (clamp && sum.hasOneUse() &&
        llvm::is_contained({UnaryKind::relu, UnaryKind::clip},
                           clamp.getFunction().getKind()) &&
        !clampInSteps(clamp.getFunction(), steps->scale, op.getZero(),
                      elementOf(op)))
      sum = clamp.getInput();
    auto add = sum.getDefiningOp<BinaryOp>();
    if (!add || !sum.hasOneUse() || add.getKind() != BinaryKind::add)
      return failure();
    for (auto [y, other] : {std::pair(add.getLhs(), add.getRhs()),
                            std::pair(add.getRhs(), add.getLhs())})
      if (succeeded(fuse(op, *steps, y, other, rewriter)))
        return success();
    return failure();
  }

private:
  /// The product before a flip of its result's sign; `bytes` is used once.
  static Op productOfBytes(Value bytes) {
    if (!bytes.hasOneUse() || !elementOf(bytes).isInteger(8))
      return {};
    if (Value before = flippedToSigned(bytes)) {
      if (!bytes.getDefiningOp()->getOperand(0).hasOneUse())
        return {};
      bytes = before;
    }
    return soleProduct<Op>(bytes);
  }

  LogicalResult fuse(QuantizeOp op, const Steps &last, Value y, Value other,
                     PatternRewriter &b) const {
    auto residual = other.getDefiningOp<DequantizeOp>();
    std::optional<Steps> own;
    if (residual)
      own = Steps::of(residual, residual.getInput());
    if (!own || residual.getType() != op.getInput().getType())
      return failure();
    Location loc = op.getLoc();
    auto constant = [&](Type type, double value) {
      return createConstant(b, loc,
                            makeSplat(RankedTensorType::get({}, type), value));
    };
    Type u8 = b.getIntegerType(8, false), f32 = b.getF32Type();
    auto zeroOf = [](Value integers, double zero) {
      return elementOf(integers).isUnsignedInteger() ? zero : zero + 128;
    };
    auto factor = [&](double scale) {
      return constant(f32, double(float(scale) / float(last.scale)));
    };

    Op product;
    double step = 1;
    std::optional<double> middle;
    if (auto dequantize = y.getDefiningOp<DequantizeOp>()) {
      auto steps = Steps::of(dequantize, dequantize.getInput());
      if (!steps || !y.hasOneUse())
        return failure();
      product = productOfBytes(dequantize.getInput());
      middle = zeroOf(dequantize.getInput(), steps->zero);
      step = steps->scale;
      if (!product || !elementOf(product.getOutput()).isUnsignedInteger(8))
        return failure();
      Value zero = product.getOutZero();
      if ((zero ? splatOf(zero) : 0.0) != middle)
        return failure();
    } else {
      product = soleProduct<Op>(y);
      if (!product || !elementOf(product.getOutput()).isF32())
        return failure();
    }
    if (product.getResidual() ||
        product.getType().getShape() != residual.getType().getShape())
      return failure();

    ProductEnd end = endOf(product);
    end.outZero = middle ? constant(u8, *middle) : Value();
    end.residual.step = factor(step);
    end.residual.scale = factor(own->scale);
    Value bytes = residual.getInput();
    if (double zero = zeroOf(bytes, own->zero))
      end.residual.zero = constant(u8, zero);
    bool isSigned = !elementOf(op).isUnsignedInteger();
    if (double zero = zeroOf(op.getOutput(), last.zero))
      end.residual.finalZero = constant(u8, zero);
    end.residual.values = elementOf(bytes).isUnsignedInteger()
                              ? bytes
                              : withFlippedSign(b, loc, bytes);
    Value result =
        rebuilt(b, product, op.getType().clone(u8), product.getBias(), end);
    b.replaceOp(op, isSigned ? withFlippedSign(b, loc, result) : result);
    return success();
  }
};

/// Constants of seven bits, as quantisers make them for CPUs whose sums of two
/// products saturate.
bool areSmall(Value weights) {
  auto data = ConstantData::get(weights);
  for (int64_t i = 0, end = data ? data->size() : 0; i < end; ++i)
    if (std::abs(data->asInt(i)) > 64)
      return false;
  return data.has_value();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct FuseQuantized : nnv12::impl::FuseQuantizedBase<FuseQuantized> {
  using FuseQuantizedBase::FuseQuantizedBase;

  void runOnOperation() override {
    SmallVector<Linear> layers;
    getOperation().walk([&](Linear layer) { layers.push_back(layer); });
    for (Linear layer : layers)
      fuseProduct(layer);
    rewriteGreedily<EndWithVector<QConvOp>, EndWithVector<QMatMulOp>,
                    EndWithAffine<QConvOp>, EndWithAffine<QMatMulOp>,
                    EndWithFunction<QConvOp>, EndWithFunction<QMatMulOp>,
                    EndWithQuantize<QConvOp>, EndWithQuantize<QMatMulOp>,
                    EndWithResidual<QConvOp>, EndWithResidual<QMatMulOp>>(
        getOperation());
    getOperation().walk([](Operation *op) {
      if (auto conv = dyn_cast<QConvOp>(op))
        conv.setSmallWeights(areSmall(conv.getWeights()));
      else if (auto matmul = dyn_cast<QMatMulOp>(op))
        matmul.setSmallWeights(areSmall(matmul.getRhs()));
    });
  }

private:
  void fuseProduct(Linear layer) {
    IRRewriter rewriter(layer);
    Factors factors;
    std::string reason = factors.read(layer, rewriter);
    if (!reason.empty()) {
      if (whyFloat)
        emitRemark(layer.getLoc()) << "stays float: " << reason;
      return;
    }
    if (!factors.x.values)
      return;
    if (whyFloat && !factors.floatBias.empty())
      emitRemark(layer.getLoc())
          << "its bias stays float: " << factors.floatBias;
    Fusion(rewriter, layer, factors).run();
    ++fused;
  }
};
} // namespace
