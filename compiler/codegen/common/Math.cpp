//===- Math.cpp - Element-wise functions of the nn dialect ----------------===//

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/common/SmallFloatMath.h"
#include "dialects/nn/SmallTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;
using nn::UnaryKind;

static unsigned width(Value x) {
  return getElementTypeOrSelf(x).getIntOrFloatBitWidth();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type codegen::computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (nn::smallFloat(element))
    return IntegerType::get(element.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type codegen::storageType(Type element) {
  // LLVM would widen vectors of bfloat16 by calls of functions that kernels do
  // not have; as bits they are moved like integers.
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  if (nn::smallFloat(element))
    return IntegerType::get(element.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(),
                            std::max(8u, integer.getWidth()));
  return element;
}

/// f32 to the bits of bf16, in integers: LLVM makes a call of an integer's
/// conversion that is narrowed at once, and NaNs keep their sign this way.
static Value toBFloat16Bits(BuilderBase &k, Value x) {
  Type type = withElement(x.getType(), k.b.getI32Type());
  auto c = [&](int64_t value) { return k.iconst(value, type); };
  auto upperHalf = [&](Value bits) -> Value {
    return arith::ShRUIOp::create(k.b, bits, c(16));
  };
  Value bits = arith::BitcastOp::create(k.b, type, x);
  Value last = arith::AndIOp::create(k.b, upperHalf(bits), c(1));
  Value rounded = upperHalf(arith::AddIOp::create(
      k.b, arith::AddIOp::create(k.b, bits, c(0x7fff)), last));
  Value quiet = arith::OrIOp::create(k.b, upperHalf(bits), c(0x40));
  Value isNaN = arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNO, x, x);
  return arith::TruncIOp::create(
      k.b, withElement(type, k.b.getI16Type()),
      arith::SelectOp::create(k.b, isNaN, quiet, rounded));
}

/// Half precision to f32 and back.
static Value fromHalf(BuilderBase &k, Value x) {
  return arith::ExtFOp::create(k.b, withElement(x.getType(), k.b.getF32Type()),
                               x);
}
static Value toHalf(BuilderBase &k, Value x, Type element) {
  Type type = withElement(x.getType(), element);
  if (element.isBF16())
    return arith::BitcastOp::create(k.b, type, toBFloat16Bits(k, x));
  return arith::TruncFOp::create(k.b, type, x);
}

Value codegen::toCompute(BuilderBase &k, Value stored, Type element) {
  // A GPU's memory may hold f32 in f16 (gpu/HalfMemory.h).
  if (element.isF32() && getElementTypeOrSelf(stored).isF16())
    element = getElementTypeOrSelf(stored);
  assert(getElementTypeOrSelf(stored) == storageType(element) &&
         "it is as memory holds it");
  Type type = withElement(stored.getType(), computeType(element));
  if (element.isInteger(1))
    return arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, stored,
                                 k.iconst(0, stored.getType()));
  if (element.isBF16())
    stored = arith::BitcastOp::create(
        k.b, withElement(stored.getType(), element), stored);
  if (element.isF16() || element.isBF16())
    return fromHalf(k, stored);
  if (nn::isSmallInteger(element))
    return arith::TruncIOp::create(k.b, type, stored);
  if (element.getIntOrFloatBitWidth() < 8) // a code
    return arith::AndIOp::create(
        k.b, stored,
        k.iconst((1 << element.getIntOrFloatBitWidth()) - 1, type));
  return stored;
}

Value codegen::toStorage(BuilderBase &k, Value x, Type element) {
  Type type = withElement(x.getType(), storageType(element));
  if (element.isInteger(1))
    return arith::ExtUIOp::create(k.b, type, x);
  if (element.isF16())
    return toHalf(k, x, element);
  if (element.isBF16())
    return toBFloat16Bits(k, x);
  if (nn::isSmallInteger(element))
    return element.isUnsignedInteger()
               ? Value(arith::ExtUIOp::create(k.b, type, x))
               : Value(arith::ExtSIOp::create(k.b, type, x));
  return x;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

static Value floatToInteger(BuilderBase &k, Value x, Type type,
                            bool isUnsigned) {
  FloatMath m(k, x.getType());
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  double limit =
      std::ldexp(1.0, isUnsigned ? bits : bits - 1); // first value too large
  unsigned mantissa = getElementTypeOrSelf(x).isF64() ? 53 : 24;
  unsigned valueBits = isUnsigned ? bits : bits - 1;
  double largest = valueBits <= mantissa
                       ? limit - 1
                       : limit - std::ldexp(1.0, valueBits - mantissa);
  Value nan = m.isNaN(x);
  Value clamped = m.clamp(x, m.c(isUnsigned ? 0 : -limit), m.c(largest));
  clamped = m.select(nan, m.c(0), clamped);
  // Narrow integers go through i32, which every target converts to.
  Type wide = bits < 32 ? withElement(type, k.b.getI32Type()) : type;
  Value result = isUnsigned && bits >= 32
                     ? Value(arith::FPToUIOp::create(k.b, wide, clamped))
                     : Value(arith::FPToSIOp::create(k.b, wide, clamped));
  if (bits < 32)
    return arith::TruncIOp::create(k.b, type, result);
  if (valueBits > mantissa) {
    Value top =
        k.iconst(isUnsigned ? -1 : int64_t(~uint64_t(0) >> (65 - bits)), type);
    Value over = m.compare(arith::CmpFPredicate::OGE, x, m.c(limit));
    result = arith::SelectOp::create(k.b, over, top, result);
  }
  return result;
}

Value codegen::emitCast(BuilderBase &k, Value x, Type from, Type to,
                        bool saturate, nn::Rounding rounding) {
  assert(getElementTypeOrSelf(x) == computeType(from) &&
         "it is as kernels compute it");
  if (from == to)
    return x;
  // Small floats go through f32, which holds all of them and all that a narrow
  // integer can be, or through f64.
  auto real = [&](bool isWide) -> Type {
    return isWide ? Type(k.b.getF64Type()) : Type(k.b.getF32Type());
  };
  if (const artifact::SmallFloat *format = nn::smallFloat(from)) {
    // Where subnormal numbers count as zero, f32 is too narrow for a truth
    // value.
    from = real(to.isF64() || to.isInteger(1));
    return emitCast(k,
                    emitDecode(k, *format, x, withElement(x.getType(), from)),
                    from, to, saturate, rounding);
  }
  if (const artifact::SmallFloat *format = nn::smallFloat(to)) {
    bool isWide = from.isF64() ||
                  (isa<IntegerType>(from) && from.getIntOrFloatBitWidth() > 16);
    x = emitCast(k, x, from, real(isWide));
    return emitEncode(k, *format, x, saturate, toFormat(rounding));
  }
  Type target = withElement(x.getType(), computeType(to));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    if (fromFloat)
      return arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNE, x,
                                   k.fconst(0, x.getType()));
    return arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, x,
                                 k.iconst(0, x.getType()));
  }
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (!toFloat) {
    if (fromFloat)
      return floatToInteger(k, x, target, to.isUnsignedInteger());
    unsigned source = width(x), bits = to.getIntOrFloatBitWidth();
    if (bits < source)
      return arith::TruncIOp::create(k.b, target, x);
    if (bits == source)
      return x;
    return fromUnsigned ? Value(arith::ExtUIOp::create(k.b, target, x))
                        : Value(arith::ExtSIOp::create(k.b, target, x));
  }
  Value result = x;
  if (!fromFloat)
    result = fromUnsigned ? Value(arith::UIToFPOp::create(k.b, target, x))
                          : Value(arith::SIToFPOp::create(k.b, target, x));
  else if (width(x) < getElementTypeOrSelf(target).getIntOrFloatBitWidth())
    result = arith::ExtFOp::create(k.b, target, x);
  else if (getElementTypeOrSelf(x) != getElementTypeOrSelf(target))
    result = arith::TruncFOp::create(k.b, target, x);
  if (to.isF16() || to.isBF16())
    result = toCompute(k, toStorage(k, result, to), to);
  return result;
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

static double parameter(nn::FunctionAttr f, unsigned i, double otherwise) {
  return i < f.getParams().size() ? f.getParams()[i] : otherwise;
}

static Value negative(BuilderBase &k, Value x) {
  return arith::SubIOp::create(k.b, k.iconst(0, x.getType()), x);
}

static Value floatUnary(BuilderBase &k, nn::FunctionAttr f, Value x) {
  FloatMath m(k, x.getType());
  using V = Value;
  auto p = [&](unsigned i, double otherwise) {
    return m.c(parameter(f, i, otherwise));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto isNegative = [&] { return m.less(x, m.c(0)); };
  // The negative part goes through exp; its argument is kept where it matters.
  auto expm1Negative = [&](V y) { return m.expm1(y); };
  auto clamp01 = [&](V y) { return m.clamp(y, m.c(0), m.c(1)); };
  switch (f.getKind()) {
  case UnaryKind::identity:
    return x;
  case UnaryKind::abs:
    return m.abs(x);
  case UnaryKind::neg:
    return m.neg(x);
  case UnaryKind::sign:
    return m.select(m.greater(x, m.c(0)), m.c(1),
                    m.select(m.less(x, m.c(0)), m.c(-1), x));
  case UnaryKind::reciprocal:
    return m.div(m.c(1), x);
  case UnaryKind::sqrt:
    return m.sqrt(x);
  case UnaryKind::exp:
    return m.exp(x);
  case UnaryKind::log:
    return m.log(x);
  case UnaryKind::erf:
    return m.erf(x);
  case UnaryKind::floor:
    return m.floor(x);
  case UnaryKind::ceil:
    return m.ceil(x);
  case UnaryKind::round:
    return m.roundEven(x);
  case UnaryKind::sin:
    return m.sin(x);
  case UnaryKind::cos:
    return m.cos(x);
  case UnaryKind::tan:
    return m.tan(x);
  case UnaryKind::asin:
    return m.asin(x);
  case UnaryKind::acos:
    return m.acos(x);
  case UnaryKind::atan:
    return m.atan(x);
  case UnaryKind::sinh:
    return m.sinh(x);
  case UnaryKind::cosh:
    return m.cosh(x);
  case UnaryKind::tanh:
    return m.tanh(x);
  case UnaryKind::asinh:
    return m.asinh(x);
  case UnaryKind::acosh:
    return m.acosh(x);
  case UnaryKind::atanh:
    return m.atanh(x);
  case UnaryKind::relu: // one max instruction, which keeps NaN
    return m.select(m.greater(m.c(0), x), m.c(0), x);
  case UnaryKind::leaky_relu:
    return m.select(m.less(x, m.c(0)), m.mul(x, p(0, 0.01)), x);
  case UnaryKind::elu:
    return m.select(isNegative(), m.mul(p(0, 1), expm1Negative(x)), x);
  case UnaryKind::celu:
    return m.select(isNegative(),
                    m.mul(p(0, 1), expm1Negative(m.div(x, p(0, 1)))), x);
  case UnaryKind::selu:
    return m.mul(
        p(1, 1.05070102214813232421875),
        m.select(isNegative(),
                 m.mul(p(0, 1.67326319217681884765625), expm1Negative(x)), x));
  case UnaryKind::sigmoid:
    return m.sigmoid(x);
  case UnaryKind::hard_sigmoid:
    return clamp01(m.fma(x, p(0, 0.2), p(1, 0.5)));
  case UnaryKind::hard_swish:
    return m.mul(x, clamp01(m.fma(x, p(0, 1.0 / 6), p(1, 0.5))));
  case UnaryKind::swish: {
    double alpha = parameter(f, 0, 1);
    return m.div(
        x, m.add(m.c(1), m.exp(alpha == 1 ? m.neg(x) : m.mul(x, m.c(-alpha)))));
  }
  case UnaryKind::gelu: {
    V half = m.mul(x, m.c(0.5));
    return m.fma(half, m.erf(m.mul(x, m.c(0.70710678118654752440))), half);
  }
  case UnaryKind::gelu_tanh: {
    V half = m.mul(x, m.c(0.5));
    V inner = m.mul(m.mul(x, m.c(0.79788456080286535588)),
                    m.fma(m.mul(x, x), m.c(0.044715), m.c(1)));
    return m.fma(half, m.tanh(inner), half);
  }
  case UnaryKind::mish: {
    // tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x).
    V e = m.exp(m.select(m.greater(x, m.c(20)), m.c(20), x));
    V n = m.mul(e, m.add(e, m.c(2)));
    return m.mul(x, m.div(n, m.add(n, m.c(2))));
  }
  case UnaryKind::softplus:
    return m.add(m.select(m.greater(m.c(0), x), m.c(0), x),
                 m.log1p(m.exp(m.neg(m.abs(x)))));
  case UnaryKind::softsign:
    return m.div(x, m.add(m.c(1), m.abs(x)));
  case UnaryKind::thresholded_relu:
    return m.select(m.greater(x, p(0, 1)), x, m.c(0));
  case UnaryKind::shrink: {
    V lambda = p(0, 0.5), bias = p(1, 0);
    return m.select(m.less(x, m.neg(lambda)), m.add(x, bias),
                    m.select(m.greater(x, lambda), m.sub(x, bias), m.c(0)));
  }
  case UnaryKind::clip:
    return m.clamp(x, p(0, -infinity), p(1, infinity));
  case UnaryKind::affine:
    // Adding a zero would take the sign of a negative one.
    return parameter(f, 1, 0) == 0 ? m.mul(x, p(0, 1))
                                   : m.fma(x, p(0, 1), p(1, 0));
  case UnaryKind::is_nan:
    return m.isNaN(x);
  case UnaryKind::is_inf: {
    V up = m.equal(x, m.c(infinity)), down = m.equal(x, m.c(-infinity));
    bool negativeToo = parameter(f, 0, 1) != 0,
         positiveToo = parameter(f, 1, 1) != 0;
    if (negativeToo && positiveToo)
      return arith::OrIOp::create(k.b, up, down);
    if (!negativeToo && !positiveToo)
      return k.iconst(0, up.getType());
    return negativeToo ? down : up;
  }
  case UnaryKind::logical_not:
    return m.equal(x, m.c(0));
  case UnaryKind::bitwise_not:
    return x; // no bits of floats: refused by the verifier
  }
  return x;
}

/// An integer bound from a double, saturated.
static int64_t bound(double x, unsigned bits, bool isUnsigned) {
  if (isUnsigned) {
    uint64_t top = ~uint64_t(0) >> (64 - bits);
    return x <= 0 ? 0 : x >= double(top) ? int64_t(top) : int64_t(uint64_t(x));
  }
  int64_t top = int64_t(~uint64_t(0) >> (65 - bits)), bottom = -top - 1;
  if (std::isnan(x))
    return 0;
  return x >= double(top) ? top : x <= double(bottom) ? bottom : int64_t(x);
}

static Value integerUnary(BuilderBase &k, nn::FunctionAttr f, Value x,
                          bool isUnsigned) {
  Type type = x.getType();
  unsigned bits = width(x);
  auto c = [&](int64_t v) { return k.iconst(v, type); };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(k.b, condition, a, b);
  };
  auto larger = [&](Value a, Value b) -> Value {
    return isUnsigned ? Value(arith::MaxUIOp::create(k.b, a, b))
                      : Value(arith::MaxSIOp::create(k.b, a, b));
  };
  auto smaller = [&](Value a, Value b) -> Value {
    return isUnsigned ? Value(arith::MinUIOp::create(k.b, a, b))
                      : Value(arith::MinSIOp::create(k.b, a, b));
  };
  switch (f.getKind()) {
  case UnaryKind::identity:
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
    return x;
  case UnaryKind::abs:
    return isUnsigned ? x : larger(x, negative(k, x));
  case UnaryKind::neg:
    return negative(k, x);
  case UnaryKind::sign: {
    Value nonZero =
        arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, x, c(0));
    Value result = select(nonZero, c(1), c(0));
    if (isUnsigned)
      return result;
    Value below =
        arith::CmpIOp::create(k.b, arith::CmpIPredicate::slt, x, c(0));
    return select(below, c(-1), result);
  }
  case UnaryKind::relu:
    return isUnsigned ? x : larger(x, c(0));
  case UnaryKind::clip: {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Value lo = c(bound(parameter(f, 0, -infinity), bits, isUnsigned));
    Value hi = c(bound(parameter(f, 1, infinity), bits, isUnsigned));
    return smaller(larger(x, lo), hi);
  }
  case UnaryKind::bitwise_not:
    return arith::XOrIOp::create(k.b, x, c(-1));
  case UnaryKind::logical_not:
    return arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, x, c(0));
  case UnaryKind::is_nan:
  case UnaryKind::is_inf:
    return k.iconst(0, withElement(type, k.b.getI1Type()));
  default: {
    // A function of real numbers: computed in f64, truncated back.
    Type real = withElement(type, k.b.getF64Type());
    Value y = isUnsigned ? Value(arith::UIToFPOp::create(k.b, real, x))
                         : Value(arith::SIToFPOp::create(k.b, real, x));
    return floatToInteger(k, floatUnary(k, f, y), type, isUnsigned);
  }
  }
}

Value codegen::emitUnary(BuilderBase &k, nn::FunctionAttr f, Value x,
                         bool isUnsigned) {
  Type element = getElementTypeOrSelf(x);
  if (element.isF16() || element.isBF16()) {
    Value result = emitUnary(k, f, fromHalf(k, x), false);
    return isa<FloatType>(getElementTypeOrSelf(result))
               ? toHalf(k, result, element)
               : result;
  }
  if (isa<FloatType>(element))
    return floatUnary(k, f, x);
  if (element.isInteger(1)) {
    // false and true as the numbers 0 and 1.
    if (f.getKind() == UnaryKind::logical_not ||
        f.getKind() == UnaryKind::bitwise_not)
      return arith::XOrIOp::create(k.b, x, k.iconst(1, x.getType()));
    if (f.getKind() == UnaryKind::is_nan || f.getKind() == UnaryKind::is_inf)
      return k.iconst(0, x.getType());
    return x;
  }
  return integerUnary(k, f, x, isUnsigned);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

static Value floatBinary(BuilderBase &k, BinaryKind kind, Value x, Value y) {
  FloatMath m(k, x.getType());
  using P = arith::CmpFPredicate;
  switch (kind) {
  case BinaryKind::add:
    return m.add(x, y);
  case BinaryKind::sub:
    return m.sub(x, y);
  case BinaryKind::mul:
    return m.mul(x, y);
  case BinaryKind::div:
    return m.div(x, y);
  case BinaryKind::pow:
    return m.pow(x, y);
  case BinaryKind::min:
    return m.min(x, y);
  case BinaryKind::max:
    return m.max(x, y);
  case BinaryKind::fmod:
    return m.fmod(x, y);
  case BinaryKind::mod: {
    Value r = m.fmod(x, y);
    Value apart =
        arith::XOrIOp::create(k.b, m.less(r, m.c(0)), m.less(y, m.c(0)));
    // Zero has the sign of the divisor as well.
    return m.select(m.equal(r, m.c(0)), m.copySign(m.c(0), y),
                    m.select(apart, m.add(r, y), r));
  }
  case BinaryKind::prelu:
    return m.select(m.less(x, m.c(0)), m.mul(x, y), x);
  case BinaryKind::equal:
    return m.compare(P::OEQ, x, y);
  case BinaryKind::less:
    return m.compare(P::OLT, x, y);
  case BinaryKind::less_equal:
    return m.compare(P::OLE, x, y);
  case BinaryKind::greater:
    return m.compare(P::OGT, x, y);
  case BinaryKind::greater_equal:
    return m.compare(P::OGE, x, y);
  default:
    return x; // bits of floats: refused by the verifier
  }
}

/// lhs / rhs, truncated, where rhs is neither 0 nor (if signed) -1.
static Value safeDivide(BuilderBase &k, Value lhs, Value rhs, bool isUnsigned) {
  Type type = lhs.getType();
  if (width(lhs) <= 32 && k.VL > 1) {
    // No vector unit divides integers; f64 division of 32-bit integers,
    // truncated, is exact. Where there are no vectors there may be no f64.
    Type real = withElement(type, k.b.getF64Type());
    auto convert = [&](Value x) -> Value {
      return isUnsigned ? Value(arith::UIToFPOp::create(k.b, real, x))
                        : Value(arith::SIToFPOp::create(k.b, real, x));
    };
    Value q = arith::DivFOp::create(k.b, convert(lhs), convert(rhs));
    return isUnsigned ? Value(arith::FPToUIOp::create(k.b, type, q))
                      : Value(arith::FPToSIOp::create(k.b, type, q));
  }
  return isUnsigned ? Value(arith::DivUIOp::create(k.b, lhs, rhs))
                    : Value(arith::DivSIOp::create(k.b, lhs, rhs));
}

static Value integerDivide(BuilderBase &k, Value lhs, Value rhs,
                           bool isUnsigned) {
  Type type = lhs.getType();
  Value zero = k.iconst(0, type), one = k.iconst(1, type);
  using P = arith::CmpIPredicate;
  Value byZero = arith::CmpIOp::create(k.b, P::eq, rhs, zero);
  Value divisor = arith::SelectOp::create(k.b, byZero, one, rhs);
  Value minusOne;
  if (!isUnsigned) {
    minusOne = arith::CmpIOp::create(k.b, P::eq, rhs, k.iconst(-1, type));
    divisor = arith::SelectOp::create(k.b, minusOne, one, divisor);
  }
  Value q = safeDivide(k, lhs, divisor, isUnsigned);
  if (!isUnsigned)
    q = arith::SelectOp::create(k.b, minusOne, negative(k, lhs), q);
  return arith::SelectOp::create(k.b, byZero, zero, q);
}

/// The remainder with the dividend's sign; 0 for a zero divisor.
static Value integerRemainder(BuilderBase &k, Value lhs, Value rhs,
                              bool isUnsigned) {
  Value q = integerDivide(k, lhs, rhs, isUnsigned);
  Value r = arith::SubIOp::create(k.b, lhs, arith::MulIOp::create(k.b, q, rhs));
  Value zero = k.iconst(0, lhs.getType());
  Value byZero =
      arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, rhs, zero);
  return arith::SelectOp::create(k.b, byZero, zero, r);
}

/// Square and multiply. A negative exponent gives 0 but for a base of ±1.
static Value integerPower(BuilderBase &k, Value base, Value exponent,
                          bool isUnsigned) {
  Type type = base.getType();
  using P = arith::CmpIPredicate;
  Value zero = k.iconst(0, type), one = k.iconst(1, type);
  Value result = one;
  Value shift = one;
  Values last = k.loop(
      0, width(base), 1, {result, base, exponent}, [&](Value, ValueRange s) {
        Value odd = arith::CmpIOp::create(
            k.b, P::ne, arith::AndIOp::create(k.b, s[2], one), zero);
        Value product = arith::MulIOp::create(k.b, s[0], s[1]);
        return Values{arith::SelectOp::create(k.b, odd, product, s[0]),
                      arith::MulIOp::create(k.b, s[1], s[1]),
                      arith::ShRUIOp::create(k.b, s[2], shift)};
      });
  if (isUnsigned)
    return last[0];
  Value isNegative = arith::CmpIOp::create(k.b, P::slt, exponent, zero);
  Value odd = arith::CmpIOp::create(
      k.b, P::ne, arith::AndIOp::create(k.b, exponent, one), zero);
  Value isOne = arith::CmpIOp::create(k.b, P::eq, base, one);
  Value isMinusOne =
      arith::CmpIOp::create(k.b, P::eq, base, k.iconst(-1, type));
  Value inverse = arith::SelectOp::create(k.b, odd, k.iconst(-1, type), one);
  inverse = arith::SelectOp::create(k.b, isMinusOne, inverse, zero);
  inverse = arith::SelectOp::create(k.b, isOne, one, inverse);
  return arith::SelectOp::create(k.b, isNegative, inverse, last[0]);
}

static Value integerBinary(BuilderBase &k, BinaryKind kind, Value x, Value y,
                           bool isUnsigned) {
  using P = arith::CmpIPredicate;
  Type type = x.getType();
  auto compare = [&](P ifSigned, P ifUnsigned) -> Value {
    return arith::CmpIOp::create(k.b, isUnsigned ? ifUnsigned : ifSigned, x, y);
  };
  auto isTrue = [&](Value v) -> Value {
    if (getElementTypeOrSelf(v).isInteger(1))
      return v;
    return arith::CmpIOp::create(k.b, P::ne, v, k.iconst(0, v.getType()));
  };
  switch (kind) {
  case BinaryKind::add:
    return arith::AddIOp::create(k.b, x, y);
  case BinaryKind::sub:
    return arith::SubIOp::create(k.b, x, y);
  case BinaryKind::mul:
    return arith::MulIOp::create(k.b, x, y);
  case BinaryKind::div:
    return integerDivide(k, x, y, isUnsigned);
  case BinaryKind::pow:
    return integerPower(k, x, y, isUnsigned);
  case BinaryKind::min:
    return isUnsigned ? Value(arith::MinUIOp::create(k.b, x, y))
                      : Value(arith::MinSIOp::create(k.b, x, y));
  case BinaryKind::max:
    return isUnsigned ? Value(arith::MaxUIOp::create(k.b, x, y))
                      : Value(arith::MaxSIOp::create(k.b, x, y));
  case BinaryKind::fmod:
    return integerRemainder(k, x, y, isUnsigned);
  case BinaryKind::mod: {
    Value r = integerRemainder(k, x, y, isUnsigned);
    if (isUnsigned)
      return r;
    Value zero = k.iconst(0, type);
    Value apart = arith::CmpIOp::create(k.b, P::slt,
                                        arith::XOrIOp::create(k.b, r, y), zero);
    Value nonZero = arith::CmpIOp::create(k.b, P::ne, r, zero);
    return arith::SelectOp::create(k.b,
                                   arith::AndIOp::create(k.b, apart, nonZero),
                                   arith::AddIOp::create(k.b, r, y), r);
  }
  case BinaryKind::prelu: {
    if (isUnsigned)
      return x;
    Value below = arith::CmpIOp::create(k.b, P::slt, x, k.iconst(0, type));
    return arith::SelectOp::create(k.b, below, arith::MulIOp::create(k.b, x, y),
                                   x);
  }
  case BinaryKind::equal:
    return compare(P::eq, P::eq);
  case BinaryKind::less:
    return compare(P::slt, P::ult);
  case BinaryKind::less_equal:
    return compare(P::sle, P::ule);
  case BinaryKind::greater:
    return compare(P::sgt, P::ugt);
  case BinaryKind::greater_equal:
    return compare(P::sge, P::uge);
  case BinaryKind::logical_and:
    return arith::AndIOp::create(k.b, isTrue(x), isTrue(y));
  case BinaryKind::logical_or:
    return arith::OrIOp::create(k.b, isTrue(x), isTrue(y));
  case BinaryKind::logical_xor:
    return arith::XOrIOp::create(k.b, isTrue(x), isTrue(y));
  case BinaryKind::bitwise_and:
    return arith::AndIOp::create(k.b, x, y);
  case BinaryKind::bitwise_or:
    return arith::OrIOp::create(k.b, x, y);
  case BinaryKind::bitwise_xor:
    return arith::XOrIOp::create(k.b, x, y);
  case BinaryKind::shift_left:
  case BinaryKind::shift_right: {
    Value bits = k.iconst(width(x), type);
    Value fits = arith::CmpIOp::create(k.b, P::ult, y, bits);
    bool arithmetic = kind == BinaryKind::shift_right && !isUnsigned;
    Value amount = arith::SelectOp::create(
        k.b, fits, y, k.iconst(arithmetic ? width(x) - 1 : 0, type));
    if (arithmetic)
      return arith::ShRSIOp::create(k.b, x, amount);
    Value shifted = kind == BinaryKind::shift_left
                        ? Value(arith::ShLIOp::create(k.b, x, amount))
                        : Value(arith::ShRUIOp::create(k.b, x, amount));
    return arith::SelectOp::create(k.b, fits, shifted, k.iconst(0, type));
  }
  }
  return x;
}

/// Arithmetic of false and true: + is or, * is and.
static Value boolBinary(BuilderBase &k, BinaryKind kind, Value x, Value y) {
  switch (kind) {
  case BinaryKind::add:
    return arith::OrIOp::create(k.b, x, y);
  case BinaryKind::sub:
    return arith::XOrIOp::create(k.b, x, y);
  case BinaryKind::div:
  case BinaryKind::mul:
    return arith::AndIOp::create(k.b, x, y);
  case BinaryKind::pow: {
    Value one = k.iconst(1, y.getType());
    return arith::OrIOp::create(k.b, x, arith::XOrIOp::create(k.b, y, one));
  }
  case BinaryKind::mod:
  case BinaryKind::fmod:
  case BinaryKind::shift_left:
  case BinaryKind::shift_right:
    return k.iconst(0, x.getType());
  default:
    return integerBinary(k, kind, x, y, /*isUnsigned=*/true);
  }
}

Value codegen::emitBinary(BuilderBase &k, BinaryKind kind, Value lhs, Value rhs,
                          bool isUnsigned) {
  Type element = getElementTypeOrSelf(lhs);
  if (element.isF16() || element.isBF16()) {
    Value result =
        emitBinary(k, kind, fromHalf(k, lhs), fromHalf(k, rhs), false);
    return isa<FloatType>(getElementTypeOrSelf(result))
               ? toHalf(k, result, element)
               : result;
  }
  if (isa<FloatType>(element))
    return floatBinary(k, kind, lhs, rhs);
  if (element.isInteger(1))
    return boolBinary(k, kind, lhs, rhs);
  return integerBinary(k, kind, lhs, rhs, isUnsigned);
}
