//===- Math.cpp - Element-wise functions of the nn dialect ----------------===//

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/common/SmallFloatMath.h"
#include "dialects/nn/SmallTypes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

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
  Value last = k.bitAnd(upperHalf(bits), c(1));
  Value rounded = upperHalf(arith::AddIOp::create(
      k.b, arith::AddIOp::create(k.b, bits, c(0x7fff)), last));
  Value quiet = k.bitOr(upperHalf(bits), c(0x40));
  Value isNaN = arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNO, x, x);
  return arith::TruncIOp::create(k.b, withElement(type, k.b.getI16Type()),
                                 k.select(isNaN, quiet, rounded));
}

/// The operation on unsigned or on signed integers.
template <typename Unsigned, typename Signed, typename... Arguments>
static Value bySign(BuilderBase &k, bool isUnsigned, Arguments... arguments) {
  return isUnsigned ? Value(Unsigned::create(k.b, arguments...))
                    : Value(Signed::create(k.b, arguments...));
}

static Value larger(BuilderBase &k, Value x, Value y, bool isUnsigned) {
  return bySign<arith::MaxUIOp, arith::MaxSIOp>(k, isUnsigned, x, y);
}
static Value smaller(BuilderBase &k, Value x, Value y, bool isUnsigned) {
  return bySign<arith::MinUIOp, arith::MinSIOp>(k, isUnsigned, x, y);
}
static Value extended(BuilderBase &k, Type type, Value x, bool isUnsigned) {
  return bySign<arith::ExtUIOp, arith::ExtSIOp>(k, isUnsigned, type, x);
}
static Value integerToFloat(BuilderBase &k, Type type, Value x,
                            bool isUnsigned) {
  return bySign<arith::UIToFPOp, arith::SIToFPOp>(k, isUnsigned, type, x);
}
static Value floatToWhole(BuilderBase &k, Type type, Value x, bool isUnsigned) {
  return bySign<arith::FPToUIOp, arith::FPToSIOp>(k, isUnsigned, type, x);
}

Value codegen::toCompute(BuilderBase &k, Value stored, Type element) {
  // A GPU's memory may hold f32 in f16 (gpu/HalfMemory.h).
  if (element.isF32() && getElementTypeOrSelf(stored).isF16())
    element = getElementTypeOrSelf(stored);
  assert(getElementTypeOrSelf(stored) == storageType(element) &&
         "it is as memory holds it");
  Type type = withElement(stored.getType(), computeType(element));
  if (element.isInteger(1))
    return k.compare(Order::ne, stored, k.iconst(0, stored.getType()));
  if (element.isBF16())
    stored = arith::BitcastOp::create(
        k.b, withElement(stored.getType(), element), stored);
  if (element.isF16() || element.isBF16())
    return arith::ExtFOp::create(k.b, type, stored);
  if (nn::isSmallInteger(element))
    return arith::TruncIOp::create(k.b, type, stored);
  if (element.getIntOrFloatBitWidth() < 8) // a code
    return k.bitAnd(stored,
                    k.iconst((1 << element.getIntOrFloatBitWidth()) - 1, type));
  return stored;
}

Value codegen::toStorage(BuilderBase &k, Value x, Type element) {
  Type type = withElement(x.getType(), storageType(element));
  if (element.isInteger(1))
    return arith::ExtUIOp::create(k.b, type, x);
  if (element.isF16())
    return arith::TruncFOp::create(k.b, type, x);
  if (element.isBF16())
    return toBFloat16Bits(k, x);
  if (nn::isSmallInteger(element))
    return extended(k, type, x, element.isUnsignedInteger());
  return x;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

static Value floatToInteger(BuilderBase &k, Value x, Type type,
                            bool isUnsigned) {
  FloatMath m(k, x.getType());
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  unsigned valueBits = isUnsigned ? bits : bits - 1;
  double limit = std::ldexp(1.0, valueBits); // first value too large
  unsigned mantissa = getElementTypeOrSelf(x).isF64() ? 53 : 24;
  double largest = valueBits <= mantissa
                       ? limit - 1
                       : limit - std::ldexp(1.0, valueBits - mantissa);
  Value nan = m.isNaN(x);
  Value clamped = m.clamp(x, m.c(isUnsigned ? 0 : -limit), m.c(largest));
  clamped = m.select(nan, m.c(0), clamped);
  // Narrow integers go through i32, which every target converts to.
  Type wide = bits < 32 ? withElement(type, k.b.getI32Type()) : type;
  Value result = floatToWhole(k, wide, clamped, isUnsigned && bits >= 32);
  if (bits < 32)
    return arith::TruncIOp::create(k.b, type, result);
  if (valueBits > mantissa) {
    Value top = k.iconst(isUnsigned ? -1 : llvm::maxIntN(bits), type);
    Value over = m.compare(arith::CmpFPredicate::OGE, x, m.c(limit));
    result = k.select(over, top, result);
  }
  return result;
}

Type codegen::betweenSmall(Type from, Type to) {
  // f32 holds all small floats and all that a narrow integer can be. Where
  // subnormal numbers count as zero, it is too narrow for a truth value.
  bool isWide = nn::smallFloat(from)
                    ? to.isF64() || to.isInteger(1)
                    : from.isF64() || (isa<IntegerType>(from) &&
                                       from.getIntOrFloatBitWidth() > 16);
  MLIRContext *context = from.getContext();
  return isWide ? Type(Float64Type::get(context))
                : Type(Float32Type::get(context));
}

Value codegen::emitCast(BuilderBase &k, Value x, Type from, Type to,
                        bool saturate, nn::Rounding rounding) {
  assert(getElementTypeOrSelf(x) == computeType(from) &&
         "it is as kernels compute it");
  if (from == to)
    return x;
  Type real = betweenSmall(from, to);
  if (const artifact::SmallFloat *format = nn::smallFloat(from)) {
    x = emitDecode(k, *format, x, withElement(x.getType(), real));
    return emitCast(k, x, real, to, saturate, rounding);
  }
  if (const artifact::SmallFloat *format = nn::smallFloat(to)) {
    x = emitCast(k, x, from, real);
    return emitEncode(k, *format, x, saturate, toFormat(rounding));
  }
  Type target = withElement(x.getType(), computeType(to));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    if (fromFloat)
      return arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNE, x,
                                   k.fconst(0, x.getType()));
    return k.compare(Order::ne, x, k.iconst(0, x.getType()));
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
    return extended(k, target, x, fromUnsigned);
  }
  Value result = x;
  if (!fromFloat)
    result = integerToFloat(k, target, x, fromUnsigned);
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

/// The functions that FloatMath has.
static constexpr std::pair<UnaryKind, Value (FloatMath::*)(Value)> methods[] = {
    {UnaryKind::abs, &FloatMath::abs},
    {UnaryKind::neg, &FloatMath::neg},
    {UnaryKind::sqrt, &FloatMath::sqrt},
    {UnaryKind::exp, &FloatMath::exp},
    {UnaryKind::log, &FloatMath::log},
    {UnaryKind::erf, &FloatMath::erf},
    {UnaryKind::floor, &FloatMath::floor},
    {UnaryKind::ceil, &FloatMath::ceil},
    {UnaryKind::round, &FloatMath::roundEven},
    {UnaryKind::sin, &FloatMath::sin},
    {UnaryKind::cos, &FloatMath::cos},
    {UnaryKind::tan, &FloatMath::tan},
    {UnaryKind::asin, &FloatMath::asin},
    {UnaryKind::acos, &FloatMath::acos},
    {UnaryKind::atan, &FloatMath::atan},
    {UnaryKind::sinh, &FloatMath::sinh},
    {UnaryKind::cosh, &FloatMath::cosh},
    {UnaryKind::tanh, &FloatMath::tanh},
    {UnaryKind::asinh, &FloatMath::asinh},
    {UnaryKind::acosh, &FloatMath::acosh},
    {UnaryKind::atanh, &FloatMath::atanh},
    {UnaryKind::sigmoid, &FloatMath::sigmoid},
    {UnaryKind::is_nan, &FloatMath::isNaN},
};

static Value floatUnary(BuilderBase &k, nn::FunctionAttr f, Value x) {
  FloatMath m(k, x.getType());
  if (wayOf(f.getKind()).throughF64 && !m.isF64())
    return m.narrowed(floatUnary(k, f, m.widened(x)));
  for (auto [kind, method] : methods)
    if (kind == f.getKind())
      return (m.*method)(x);
  using V = Value;
  auto p = [&](unsigned i, double otherwise) {
    return m.c(parameter(f, i, otherwise));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto isNegative = [&] { return m.less(x, m.c(0)); };
  auto clamp01 = [&](V y) { return m.clamp(y, m.c(0), m.c(1)); };
  switch (f.getKind()) {
  case UnaryKind::sign:
    return m.select(m.greater(x, m.c(0)), m.c(1),
                    m.select(isNegative(), m.c(-1), x));
  case UnaryKind::reciprocal:
    return m.div(m.c(1), x);
  case UnaryKind::relu: // one max instruction, which keeps NaN
    return m.select(m.greater(m.c(0), x), m.c(0), x);
  case UnaryKind::leaky_relu:
    return m.select(isNegative(), m.mul(x, p(0, 0.01)), x);
  case UnaryKind::elu:
    return m.select(isNegative(), m.mul(p(0, 1), m.expm1(x)), x);
  case UnaryKind::celu:
    return m.select(isNegative(), m.mul(p(0, 1), m.expm1(m.div(x, p(0, 1)))),
                    x);
  case UnaryKind::selu:
    return m.mul(p(1, 1.05070102214813232421875),
                 m.select(isNegative(),
                          m.mul(p(0, 1.67326319217681884765625), m.expm1(x)),
                          x));
  case UnaryKind::hard_sigmoid:
    return clamp01(m.fma(x, p(0, 0.2), p(1, 0.5)));
  case UnaryKind::hard_swish:
    return m.mul(x, clamp01(m.fma(x, p(0, 1.0 / 6), p(1, 0.5))));
  case UnaryKind::swish: {
    double alpha = parameter(f, 0, 1);
    return m.div(x,
                 m.onePlusExp(alpha == 1 ? m.neg(x) : m.mul(x, m.c(-alpha))));
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
    V e = m.expUpTo88(m.select(m.greater(x, m.c(20)), m.c(20), x));
    V n = m.mul(e, m.add(e, m.c(2)));
    return m.mul(x, m.div(n, m.add(n, m.c(2))));
  }
  case UnaryKind::softplus:
    return m.add(m.select(m.greater(m.c(0), x), m.c(0), x),
                 m.log1p(m.expUpTo88(m.neg(m.abs(x)))));
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
  case UnaryKind::is_inf: {
    V up = m.equal(x, m.c(infinity)), down = m.equal(x, m.c(-infinity));
    bool negativeToo = parameter(f, 0, 1) != 0,
         positiveToo = parameter(f, 1, 1) != 0;
    if (negativeToo && positiveToo)
      return k.bitOr(up, down);
    if (!negativeToo && !positiveToo)
      return k.iconst(0, up.getType());
    return negativeToo ? down : up;
  }
  case UnaryKind::logical_not:
    return m.equal(x, m.c(0));
  default: // identity; no bits of floats: refused by the verifier
    return x;
  }
}

/// An integer bound from a double, saturated.
static int64_t bound(double x, unsigned bits, bool isUnsigned) {
  if (isUnsigned) {
    uint64_t top = llvm::maxUIntN(bits);
    return x <= 0 ? 0 : x >= double(top) ? int64_t(top) : int64_t(uint64_t(x));
  }
  int64_t top = llvm::maxIntN(bits), bottom = llvm::minIntN(bits);
  if (std::isnan(x))
    return 0;
  return x >= double(top) ? top : x <= double(bottom) ? bottom : int64_t(x);
}

static Value integerUnary(BuilderBase &k, nn::FunctionAttr f, Value x,
                          bool isUnsigned) {
  Type type = x.getType();
  unsigned bits = width(x);
  auto c = [&](int64_t v) { return k.iconst(v, type); };
  switch (f.getKind()) {
  case UnaryKind::identity:
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
    return x;
  case UnaryKind::abs:
    return isUnsigned ? x : larger(k, x, negative(k, x), isUnsigned);
  case UnaryKind::neg:
    return negative(k, x);
  case UnaryKind::sign: {
    Value result = k.select(k.compare(Order::ne, x, c(0)), c(1), c(0));
    if (isUnsigned)
      return result;
    Value below = k.compare(Order::slt, x, c(0));
    return k.select(below, c(-1), result);
  }
  case UnaryKind::relu:
    return isUnsigned ? x : larger(k, x, c(0), isUnsigned);
  case UnaryKind::clip: {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Value lo = c(bound(parameter(f, 0, -infinity), bits, isUnsigned));
    Value hi = c(bound(parameter(f, 1, infinity), bits, isUnsigned));
    return smaller(k, larger(k, x, lo, isUnsigned), hi, isUnsigned);
  }
  case UnaryKind::bitwise_not:
    return k.bitXor(x, c(-1));
  case UnaryKind::logical_not:
    return k.compare(Order::eq, x, c(0));
  case UnaryKind::is_nan:
  case UnaryKind::is_inf:
    return k.iconst(0, withElement(type, k.b.getI1Type()));
  default: {
    // A function of real numbers: computed in f64, truncated back.
    Type real = withElement(type, k.b.getF64Type());
    Value y = floatUnary(k, f, integerToFloat(k, real, x, isUnsigned));
    return floatToInteger(k, y, type, isUnsigned);
  }
  }
}

Value codegen::emitUnary(BuilderBase &k, nn::FunctionAttr f, Value x,
                         bool isUnsigned) {
  Type element = getElementTypeOrSelf(x);
  if (isa<FloatType>(element))
    return floatUnary(k, f, x);
  if (element.isInteger(1)) {
    // false and true as the numbers 0 and 1.
    if (f.getKind() == UnaryKind::logical_not ||
        f.getKind() == UnaryKind::bitwise_not)
      return k.bitXor(x, k.iconst(1, x.getType()));
    if (f.getKind() == UnaryKind::is_nan || f.getKind() == UnaryKind::is_inf)
      return k.iconst(0, x.getType());
    return x;
  }
  return integerUnary(k, f, x, isUnsigned);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// The functions that FloatMath has.
static constexpr std::pair<BinaryKind, Value (FloatMath::*)(Value, Value)>
    binaryMethods[] = {
        {BinaryKind::add, &FloatMath::add},
        {BinaryKind::sub, &FloatMath::sub},
        {BinaryKind::mul, &FloatMath::mul},
        {BinaryKind::div, &FloatMath::div},
        {BinaryKind::pow, &FloatMath::pow},
        {BinaryKind::fmod, &FloatMath::fmod},
        {BinaryKind::min, &FloatMath::min},
        {BinaryKind::max, &FloatMath::max},
};

struct Comparison {
  BinaryKind kind;
  arith::CmpFPredicate floats;
  Order integers, unsignedIntegers;
};

/// Null for kinds that compare nothing.
static const Comparison *comparisonOf(BinaryKind kind) {
  using F = arith::CmpFPredicate;
  static constexpr Comparison all[] = {
      {BinaryKind::equal, F::OEQ, Order::eq, Order::eq},
      {BinaryKind::less, F::OLT, Order::slt, Order::ult},
      {BinaryKind::less_equal, F::OLE, Order::sle, Order::ule},
      {BinaryKind::greater, F::OGT, Order::sgt, Order::ugt},
      {BinaryKind::greater_equal, F::OGE, Order::sge, Order::uge}};
  auto *known =
      llvm::find_if(all, [&](const Comparison &c) { return c.kind == kind; });
  return known == std::end(all) ? nullptr : known;
}

static Value floatBinary(BuilderBase &k, BinaryKind kind, Value x, Value y) {
  FloatMath m(k, x.getType());
  if ((kind == BinaryKind::pow || kind == BinaryKind::fmod) && !m.isF64())
    return m.narrowed(floatBinary(k, kind, m.widened(x), m.widened(y)));
  for (auto [known, method] : binaryMethods)
    if (known == kind)
      return (m.*method)(x, y);
  if (const Comparison *comparison = comparisonOf(kind))
    return m.compare(comparison->floats, x, y);
  if (kind == BinaryKind::prelu)
    return m.select(m.less(x, m.c(0)), m.mul(x, y), x);
  if (kind != BinaryKind::mod)
    return x; // bits of floats: refused by the verifier
  Value r = floatBinary(k, BinaryKind::fmod, x, y);
  Value apart = k.bitXor(m.less(r, m.c(0)), m.less(y, m.c(0)));
  // Zero has the sign of the divisor as well.
  return m.select(m.equal(r, m.c(0)), m.copySign(m.c(0), y),
                  m.select(apart, m.add(r, y), r));
}

/// lhs / rhs, truncated, where rhs is neither 0 nor (if signed) -1.
static Value safeDivide(BuilderBase &k, Value lhs, Value rhs, bool isUnsigned) {
  Type type = lhs.getType();
  if (width(lhs) <= 32 && k.VL > 1) {
    // No vector unit divides integers; f64 division of 32-bit integers,
    // truncated, is exact. Where there are no vectors there may be no f64.
    Type real = withElement(type, k.b.getF64Type());
    Value q =
        arith::DivFOp::create(k.b, integerToFloat(k, real, lhs, isUnsigned),
                              integerToFloat(k, real, rhs, isUnsigned));
    return floatToWhole(k, type, q, isUnsigned);
  }
  return bySign<arith::DivUIOp, arith::DivSIOp>(k, isUnsigned, lhs, rhs);
}

static Value integerDivide(BuilderBase &k, Value lhs, Value rhs,
                           bool isUnsigned) {
  Type type = lhs.getType();
  Value zero = k.iconst(0, type), one = k.iconst(1, type);
  Value byZero = k.compare(Order::eq, rhs, zero);
  Value divisor = k.select(byZero, one, rhs);
  Value minusOne;
  if (!isUnsigned) {
    minusOne = k.compare(Order::eq, rhs, k.iconst(-1, type));
    divisor = k.select(minusOne, one, divisor);
  }
  Value q = safeDivide(k, lhs, divisor, isUnsigned);
  if (!isUnsigned)
    q = k.select(minusOne, negative(k, lhs), q);
  return k.select(byZero, zero, q);
}

/// The remainder with the dividend's sign; 0 for a zero divisor.
static Value integerRemainder(BuilderBase &k, Value lhs, Value rhs,
                              bool isUnsigned) {
  Value q = integerDivide(k, lhs, rhs, isUnsigned);
  Value r = arith::SubIOp::create(k.b, lhs, arith::MulIOp::create(k.b, q, rhs));
  Value zero = k.iconst(0, lhs.getType());
  Value byZero = k.compare(Order::eq, rhs, zero);
  return k.select(byZero, zero, r);
}

/// Square and multiply. A negative exponent gives 0 but for a base of ±1.
static Value integerPower(BuilderBase &k, Value base, Value exponent,
                          bool isUnsigned) {
  Type type = base.getType();
  Value zero = k.iconst(0, type), one = k.iconst(1, type);
  Values last = k.loop(
      0, width(base), 1, {one, base, exponent}, [&](Value, ValueRange s) {
        Value odd = k.compare(Order::ne, k.bitAnd(s[2], one), zero);
        Value product = arith::MulIOp::create(k.b, s[0], s[1]);
        return Values{k.select(odd, product, s[0]),
                      arith::MulIOp::create(k.b, s[1], s[1]),
                      arith::ShRUIOp::create(k.b, s[2], one)};
      });
  if (isUnsigned)
    return last[0];
  Value isNegative = k.compare(Order::slt, exponent, zero);
  Value odd = k.compare(Order::ne, k.bitAnd(exponent, one), zero);
  Value isOne = k.compare(Order::eq, base, one);
  Value isMinusOne = k.compare(Order::eq, base, k.iconst(-1, type));
  Value inverse = k.select(odd, k.iconst(-1, type), one);
  inverse = k.select(isMinusOne, inverse, zero);
  inverse = k.select(isOne, one, inverse);
  return k.select(isNegative, inverse, last[0]);
}

static Value integerBinary(BuilderBase &k, BinaryKind kind, Value x, Value y,
                           bool isUnsigned) {
  Type type = x.getType();
  if (const Comparison *comparison = comparisonOf(kind))
    return k.compare(
        isUnsigned ? comparison->unsignedIntegers : comparison->integers, x, y);
  auto isTrue = [&](Value v) {
    if (getElementTypeOrSelf(v).isInteger(1))
      return v;
    return k.compare(Order::ne, v, k.iconst(0, v.getType()));
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
    return smaller(k, x, y, isUnsigned);
  case BinaryKind::max:
    return larger(k, x, y, isUnsigned);
  case BinaryKind::fmod:
    return integerRemainder(k, x, y, isUnsigned);
  case BinaryKind::mod: {
    Value r = integerRemainder(k, x, y, isUnsigned);
    if (isUnsigned)
      return r;
    Value zero = k.iconst(0, type);
    Value apart = k.compare(Order::slt, k.bitXor(r, y), zero);
    Value nonZero = k.compare(Order::ne, r, zero);
    return k.select(k.bitAnd(apart, nonZero), arith::AddIOp::create(k.b, r, y),
                    r);
  }
  case BinaryKind::prelu: {
    if (isUnsigned)
      return x;
    Value below = k.compare(Order::slt, x, k.iconst(0, type));
    return k.select(below, arith::MulIOp::create(k.b, x, y), x);
  }
  case BinaryKind::logical_and:
    return k.bitAnd(isTrue(x), isTrue(y));
  case BinaryKind::logical_or:
    return k.bitOr(isTrue(x), isTrue(y));
  case BinaryKind::logical_xor:
    return k.bitXor(isTrue(x), isTrue(y));
  case BinaryKind::bitwise_and:
    return k.bitAnd(x, y);
  case BinaryKind::bitwise_or:
    return k.bitOr(x, y);
  case BinaryKind::bitwise_xor:
    return k.bitXor(x, y);
  case BinaryKind::shift_left:
  case BinaryKind::shift_right: {
    Value bits = k.iconst(width(x), type);
    Value fits = k.compare(Order::ult, y, bits);
    bool arithmetic = kind == BinaryKind::shift_right && !isUnsigned;
    Value amount =
        k.select(fits, y, k.iconst(arithmetic ? width(x) - 1 : 0, type));
    if (arithmetic)
      return arith::ShRSIOp::create(k.b, x, amount);
    Value shifted = kind == BinaryKind::shift_left
                        ? Value(arith::ShLIOp::create(k.b, x, amount))
                        : Value(arith::ShRUIOp::create(k.b, x, amount));
    return k.select(fits, shifted, k.iconst(0, type));
  }
  default: // compares, above
    return x;
  }
}

/// Arithmetic of false and true: + is or, * is and.
static Value boolBinary(BuilderBase &k, BinaryKind kind, Value x, Value y) {
  switch (kind) {
  case BinaryKind::add:
    return k.bitOr(x, y);
  case BinaryKind::sub:
    return k.bitXor(x, y);
  case BinaryKind::div:
  case BinaryKind::mul:
    return k.bitAnd(x, y);
  case BinaryKind::pow: {
    Value one = k.iconst(1, y.getType());
    return k.bitOr(x, k.bitXor(y, one));
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
  if (isa<FloatType>(element))
    return floatBinary(k, kind, lhs, rhs);
  if (element.isInteger(1))
    return boolBinary(k, kind, lhs, rhs);
  return integerBinary(k, kind, lhs, rhs, isUnsigned);
}

Value codegen::clampIndex(BuilderBase &k, Value x, int64_t size) {
  Type type = x.getType();
  Value zero = k.iconst(0, type);
  Value isNegative = k.compare(Order::slt, x, zero);
  Value fromEnd = arith::AddIOp::create(k.b, x, k.iconst(size, type));
  x = larger(k, k.select(isNegative, fromEnd, x), zero, /*isUnsigned=*/false);
  Value last = k.iconst(std::max<int64_t>(size - 1, 0), type);
  return smaller(k, x, last, /*isUnsigned=*/false);
}
