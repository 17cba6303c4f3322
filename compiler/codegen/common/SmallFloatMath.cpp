//===- SmallFloatMath.cpp - Codes of small floats in kernels --------------===//

#include "compiler/codegen/common/SmallFloatMath.h"

#include "mlir/IR/TypeUtilities.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using artifact::SmallFloat;

namespace {
/// Arithmetic on the bits of a value of `real`, f32 or f64, or a vector of it.
struct Bits {
  Bits(BuilderBase &k, Type real)
      : k(k), real(real),
        mantissa(getElementTypeOrSelf(real).isF64() ? 52 : 23),
        bias(getElementTypeOrSelf(real).isF64() ? 1023 : 127),
        width(getElementTypeOrSelf(real).getIntOrFloatBitWidth()),
        type(withElement(real, k.b.getIntegerType(width))) {
    assert((width == 32 || width == 64) && "f32 or f64");
  }

  Value c(int64_t x) { return k.iconst(x, type); }
  Value add(Value x, int64_t y) {
    return y == 0 ? x : Value(arith::AddIOp::create(k.b, x, c(y)));
  }
  Value bitAnd(Value x, int64_t y) { return k.bitAnd(x, c(y)); }
  Value left(Value x, int64_t by) {
    return arith::ShLIOp::create(k.b, x, c(by));
  }
  Value right(Value x, int64_t by) {
    return arith::ShRUIOp::create(k.b, x, c(by));
  }
  Value is(Order order, Value x, int64_t y) {
    return k.compare(order, x, c(y));
  }
  Value of(Value x) { return arith::BitcastOp::create(k.b, type, x); }
  Value number(Value bits) { return arith::BitcastOp::create(k.b, real, bits); }
  /// The bits of 2^exponent, a normal number.
  int64_t power(int exponent) const {
    return int64_t(exponent + bias) << mantissa;
  }
  /// The bits of infinity; larger ones are NaNs.
  int64_t infinity() const { return int64_t(2 * bias + 1) << mantissa; }
  int64_t nan() const { return infinity() | int64_t(1) << (mantissa - 1); }

  BuilderBase &k;
  Type real;
  int mantissa, bias;
  unsigned width;
  Type type;
};
} // namespace

Value codegen::emitDecode(BuilderBase &k, const SmallFloat &format, Value code,
                          Type type) {
  assert(getElementTypeOrSelf(code).isInteger(8) && "codes are bytes");
  Bits b(k, type);
  Value bits = arith::ExtUIOp::create(k.b, b.type, code);
  Value magnitude =
      format.isSigned ? b.bitAnd(bits, format.magnitudeMask()) : bits;
  int shift = b.mantissa - format.mantissaBits;
  Value result = b.add(b.left(magnitude, shift), int64_t(b.bias - format.bias)
                                                     << b.mantissa);
  if (format.mantissaBits > 0) {
    // Zero and subnormals: the mantissa as a number, scaled.
    Value number = arith::SIToFPOp::create(k.b, type, magnitude);
    Value unit =
        k.fconst(std::ldexp(1.0, 1 - format.bias - format.mantissaBits), type);
    result = k.select(b.is(Order::slt, magnitude, 1 << format.mantissaBits),
                      b.of(arith::MulFOp::create(k.b, number, unit)), result);
  } else if (b.bias == format.bias) {
    // The least power of two is subnormal here.
    result = k.select(b.is(Order::eq, magnitude, 0),
                      b.c(int64_t(1) << (b.mantissa - 1)), result);
  }
  if (format.special == SmallFloat::Special::Ieee)
    result = k.select(b.is(Order::eq, magnitude, format.largest() + 1),
                      b.c(b.infinity()), result);
  if (format.nanHasSign() || !format.isSigned)
    result = k.select(b.is(Order::sgt, magnitude,
                           format.special == SmallFloat::Special::Ieee
                               ? format.largest() + 1
                               : format.largest()),
                      b.c(b.nan()), result);
  if (format.isSigned) {
    Value sign = b.left(b.bitAnd(bits, format.signBit()),
                        b.width - 1 - format.magnitudeBits());
    result = k.bitOr(result, sign);
  }
  if (format.special == SmallFloat::Special::NegativeZero)
    result =
        k.select(b.is(Order::eq, bits, format.nan()), b.c(b.nan()), result);
  return b.number(result);
}

/// The code of the format that is an exponent alone.
static Value encodeExponent(Bits &b, const SmallFloat &format, Value bits,
                            Value magnitude, bool saturate,
                            SmallFloat::Rounding rounding) {
  int64_t fraction = (int64_t(1) << b.mantissa) - 1;
  int64_t carry = rounding == SmallFloat::Rounding::Up ? fraction
                  : rounding == SmallFloat::Rounding::Nearest
                      ? (fraction + 1) / 2
                      : 0;
  int least = -format.bias, most = format.largest() - format.bias;
  Value code =
      b.add(b.right(b.add(magnitude, carry), b.mantissa), format.bias - b.bias);
  int64_t leastBits = b.power(least);
  if (b.bias == format.bias) {
    // A subnormal number of at least 2^least: its exponent is one less than
    // that of the normal number with the same bits but the highest, moved up.
    leastBits = int64_t(1) << (b.mantissa - 1);
    Value moved = b.right(b.add(b.left(magnitude, 1), carry), b.mantissa);
    code = b.k.select(b.is(Order::slt, magnitude, int64_t(1) << b.mantissa),
                      b.add(moved, -1), code);
  }
  Value small = b.k.bitOr(b.is(Order::slt, magnitude, leastBits),
                          b.is(Order::slt, bits, 0));
  Value large = b.is(Order::sgt, bits, b.power(most));
  code = b.k.select(small, b.c(saturate ? 0 : format.nan()), code);
  code =
      b.k.select(large, b.c(saturate ? format.largest() : format.nan()), code);
  return b.k.select(b.is(Order::sgt, magnitude, b.infinity()),
                    b.c(format.nan()), code);
}

Value codegen::emitEncode(BuilderBase &k, const SmallFloat &format, Value x,
                          bool saturate, SmallFloat::Rounding rounding) {
  Bits b(k, x.getType());
  Type byte = withElement(x.getType(), k.b.getIntegerType(8));
  Value bits = b.of(x);
  Value magnitude = b.bitAnd(bits, ~(uint64_t(1) << (b.width - 1)));
  if (format.mantissaBits == 0)
    return arith::TruncIOp::create(
        k.b, byte,
        encodeExponent(b, format, bits, magnitude, saturate, rounding));

  Value sign = b.bitAnd(b.right(bits, b.width - 1 - format.magnitudeBits()),
                        format.signBit());
  // Half a unit, less one where the last bit that stays is even; a carry into
  // the exponent comes out right.
  int shift = b.mantissa - format.mantissaBits;
  Value last = b.bitAnd(b.right(magnitude, shift), 1);
  Value rounded = arith::AddIOp::create(
      k.b, b.add(magnitude, (int64_t(1) << (shift - 1)) - 1), last);
  Value code = b.add(b.right(rounded, shift),
                     -(int64_t(b.bias - format.bias) << format.mantissaBits));
  // A number below the normal ones is rounded by adding a number whose last
  // place is worth one unit.
  int leastNormal = 1 - format.bias;
  int64_t anchor = b.power(leastNormal - format.mantissaBits + b.mantissa);
  Value sum = b.of(
      arith::AddFOp::create(k.b, b.number(magnitude), b.number(b.c(anchor))));
  code = k.select(b.is(Order::slt, magnitude, b.power(leastNormal)),
                  b.add(sum, -anchor), code);

  Value isLarge = b.is(Order::sgt, code, format.largest());
  Value isNan = b.is(Order::sgt, magnitude, b.infinity());
  bool overflows = !saturate && format.special != SmallFloat::Special::None;
  int64_t beyond = overflows ? format.overflow() : format.largest();
  if (format.nanHasSign()) {
    code = k.select(isLarge, b.c(beyond), code);
    code = k.bitOr(k.select(isNan, b.c(format.nan()), code), sign);
  } else {
    code = k.select(isLarge, b.c(format.largest()), code);
    Value isZero = b.is(Order::eq, code, 0);
    Value whole = k.bitOr(code, sign);
    if (format.special == SmallFloat::Special::NegativeZero)
      whole = k.select(isZero, code, whole);
    code = k.select(overflows ? k.bitOr(isNan, isLarge) : isNan,
                    b.c(format.nan()), whole);
  }
  return arith::TruncIOp::create(k.b, byte, code);
}
