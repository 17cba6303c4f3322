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

template <typename T>
static Value constantVector(OpBuilder &b, Location loc, Type element,
                            ArrayRef<T> numbers) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, element);
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()),
                       numbers.size() * sizeof(T));
  return createConstant(b, loc, makeConstant(type, bytes));
}

//===----------------------------------------------------------------------===//
// Products of dequantised bytes
//===----------------------------------------------------------------------===//

namespace {
/// The layers behind a product that its end can do in steps of the result.
struct Quantised {
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
static Quantised behind(Value v, int64_t axis) {
  Quantised found{};
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
    Quantised after =
        factors.rest ? Quantised{} : behind(resultOf(layer), axis);
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
  void quantised(ProductEnd &end, const Quantised &after) {
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
    return constantVector<int32_t>(b, layer.getLoc(), b.getI32Type(), steps);
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
  const ProductRest &r = end.rest;
  return QConvOp::create(b, op.getLoc(), type, op.getInput(), op.getWeights(),
                         op.getPadding(), bias, r.residual, op.getRows(),
                         end.scale, end.shift, end.outScale, end.outZero,
                         r.step, r.offset, r.residualScale, r.residualZero,
                         r.finalScale, r.finalZero, op.getStrides(),
                         op.getDilations(), op.getPadsLow(), op.getPadsHigh(),
                         op.getGroups(), end.activation, r.activation);
}
Value rebuilt(PatternRewriter &b, QMatMulOp op, Type type, Value bias,
              const ProductEnd &end) {
  const ProductRest &r = end.rest;
  return QMatMulOp::create(
      b, op.getLoc(), type, op.getLhs(), op.getRhs(), bias, r.residual,
      op.getRows(), end.scale, end.shift, end.outScale, end.outZero, r.step,
      r.offset, r.residualScale, r.residualZero, r.finalScale, r.finalZero,
      op.getTransposeRhs(), end.activation, r.activation);
}

template <typename Op> ProductEnd endOf(Op op) {
  return {op.getScale(),
          op.getShift(),
          op.getOutScale(),
          op.getOutZero(),
          op.getActivationAttr(),
          {op.getStep(), op.getOffset(), op.getResidual(),
           op.getResidualScale(), op.getResidualZero(), op.getFinalScale(),
           op.getFinalZero(), op.getFinalActivationAttr()}};
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

/// The layers behind a value that a product's end can do, each the only user
/// of the one before, in this order. Absent layers are null.
struct Behind {
  Value factor, offset; ///< constant vectors
  Value residual;       ///< of the value's type
  FunctionAttr activation;
  QuantizeOp quantize; ///< with constants
  Operation *last = nullptr;

  /// `v` is f32. Columns go along its dimension `axis`.
  Behind(Value v, int64_t axis);

private:
  bool take(Operation *user, Value v, int64_t axis);
  bool takeBinary(BinaryOp op, Value v, int64_t axis);
};

Behind::Behind(Value v, int64_t axis) {
  while (v.hasOneUse() && !quantize) {
    Operation *user = *v.getUsers().begin();
    if (!take(user, v, axis))
      return;
    last = user;
    v = user->getResult(0);
  }
}

bool Behind::take(Operation *user, Value v, int64_t axis) {
  if (auto op = dyn_cast<BinaryOp>(user))
    return op.getType() == v.getType() && !activation &&
           takeBinary(op, v, axis);
  if (auto op = dyn_cast<UnaryOp>(user)) {
    if (activation || op.getType() != v.getType())
      return false;
    activation = op.getFunction();
    return true;
  }
  auto op = dyn_cast<QuantizeOp>(user);
  if (!op || op.getInput() != v || !Steps::of(op, op.getOutput()))
    return false;
  quantize = op;
  return true;
}

bool Behind::takeBinary(BinaryOp op, Value v, int64_t axis) {
  Value other = op.getLhs() == v ? op.getRhs() : op.getLhs();
  bool isAdd = op.getKind() == BinaryKind::add;
  if (residual || (!isAdd && op.getKind() != BinaryKind::mul))
    return false;
  if (isVectorAlong(other, op.getType().getShape(), axis) &&
      ConstantData::get(other)) {
    if (offset || (!isAdd && factor))
      return false;
    (isAdd ? offset : factor) = other;
    return true;
  }
  if (!isAdd || other.getType() != v.getType() || other == v)
    return false;
  residual = other;
  return true;
}

/// The layers behind a product become a part of its end, or behind the
/// dequantize of its result.
template <typename Op> struct Rest {
  Op product;
  int64_t axis;
  Behind behind;
  double step = 1;
  std::optional<double> zero = std::nullopt; ///< of the product's bytes

  Rest(Op product, Value v)
      : product(product), axis(columnAxis(product)), behind(v, axis) {}

  void fuse(PatternRewriter &b) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(behind.last);
    ProductEnd end = endOf(product);
    ProductRest &rest = end.rest;
    QuantizeOp quantize = behind.quantize;
    Type u8 = b.getIntegerType(8, false);
    Type type =
        RankedTensorType::get(product.getType().getShape(), b.getF32Type());
    double unit = 1; // numbers count in steps of the result where they can
    rest.activation = behind.activation;
    if (quantize) {
      auto last = Steps::of(quantize, quantize.getOutput());
      type = quantize.getType().clone(u8);
      if (double zero = unsignedZero(quantize.getOutput(), *last))
        rest.finalZero = number(b, u8, zero);
      if (isClamp(rest.activation) || !rest.activation) {
        unit = last->scale;
        if (rest.activation)
          rest.activation =
              clampInSteps(rest.activation, last->scale, quantize.getZero(),
                           elementOf(quantize));
      } else if (last->scale != 1) {
        rest.finalScale = number(b, b.getF32Type(), last->scale);
      }
    }
    if (zero)
      end.outZero = number(b, u8, *zero);
    rest.step = vector(b, behind.factor, step / unit, 1);
    if (behind.offset)
      rest.offset = vector(b, behind.offset, 1 / unit, 0);
    if (behind.residual)
      addResidual(b, rest, unit);
    Value result = rebuilt(b, product, type, product.getBias(), end);
    bool flips = quantize && !elementOf(quantize).isUnsignedInteger();
    b.replaceOp(behind.last,
                flips ? withFlippedSign(b, product.getLoc(), result) : result);
  }

  /// The zero point as one of ui8.
  static double unsignedZero(Value integers, const Steps &steps) {
    return elementOf(integers).isUnsignedInteger() ? steps.zero
                                                   : steps.zero + 128;
  }

private:
  static bool isClamp(FunctionAttr function) {
    return function && llvm::is_contained({UnaryKind::relu, UnaryKind::clip},
                                          function.getKind());
  }
  Value number(OpBuilder &b, Type type, double value) {
    return createConstant(b, product.getLoc(),
                          makeSplat(RankedTensorType::get({}, type), value));
  }
  /// `v` times `factor` for each column; null stands for `absent`.
  Value vector(OpBuilder &b, Value v, double factor, double absent) {
    int64_t columns = product.getType().getDimSize(axis);
    SmallVector<float> numbers(columns, float(absent * factor));
    if (v) {
      Value all = asVector(b, v, columns);
      auto data = ConstantData::get(all);
      for (int64_t i = 0; i < columns; ++i)
        numbers[i] = float(data->asDouble(i) * factor);
    }
    return constantVector<float>(b, product.getLoc(), b.getF32Type(), numbers);
  }
  void addResidual(OpBuilder &b, ProductRest &rest, double unit) {
    rest.residual = behind.residual;
    double scale = 1;
    auto dequantize = behind.residual.template getDefiningOp<DequantizeOp>();
    std::optional<Steps> own;
    if (dequantize)
      own = Steps::of(dequantize, dequantize.getInput());
    if (own && dequantize.getInput().getType().getShape() ==
                   dequantize.getType().getShape()) {
      Value bytes = dequantize.getInput();
      scale = own->scale;
      if (double zero = unsignedZero(bytes, *own))
        rest.residualZero = number(b, b.getIntegerType(8, false), zero);
      rest.residual = elementOf(bytes).isUnsignedInteger()
                          ? bytes
                          : withFlippedSign(b, product.getLoc(), bytes);
    }
    rest.residualScale = number(b, b.getF32Type(), scale / unit);
  }
};

/// Layers behind the dequantize of a product's bytes.
template <typename Op> struct GoOnWithBytes : OpRewritePattern<DequantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto steps = Steps::of(op, op.getInput());
    Op product = steps ? productOfBytes(op.getInput()) : Op();
    if (!product || product.getStep() ||
        !elementOf(product.getOutput()).isUnsignedInteger(8))
      return failure();
    Rest<Op> rest(product, op);
    rest.step = steps->scale;
    rest.zero = rest.unsignedZero(op.getInput(), *steps);
    Value zero = product.getOutZero();
    if ((zero ? splatOf(zero) : 0.0) != rest.zero || !isWorth(rest.behind))
      return failure();
    rest.fuse(rewriter);
    return success();
  }

private:
  /// The product before a flip of its result's sign.
  static Op productOfBytes(Value bytes) {
    if (!bytes.hasOneUse())
      return {};
    if (Value before = flippedToSigned(bytes)) {
      if (!bytes.getDefiningOp()->getOperand(0).hasOneUse())
        return {};
      bytes = before;
    }
    return soleProduct<Op>(bytes);
  }
  /// Floats that one kernel reads next, element by element, are best made
  /// there, of bytes.
  static bool isWorth(const Behind &behind) {
    if (!behind.factor && !behind.offset && !behind.residual &&
        !behind.activation)
      return false;
    if (behind.quantize)
      return true;
    Value result = behind.last->getResult(0);
    return !result.hasOneUse() || !isa<Elementwise>(*result.getUsers().begin());
  }
};

/// A residual behind a product's floats, which is quantised then.
template <typename Op> struct GoOnWithFloats : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op.getStep() || !op.getScale() || !elementOf(op.getOutput()).isF32())
      return failure();
    Rest<Op> rest(op, op.getOutput());
    if (!rest.behind.residual || !rest.behind.quantize)
      return failure();
    rest.fuse(rewriter);
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
                    GoOnWithBytes<QConvOp>, GoOnWithBytes<QMatMulOp>,
                    GoOnWithFloats<QConvOp>, GoOnWithFloats<QMatMulOp>>(
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
