//===- MathExpand.h - Elementary functions in plain arithmetic --*- C++ -*-===//
//
// Kernels call no library: exp, log, sin… are written out here as polynomials
// of f32 or f64 arithmetic, on scalars or vectors. Errors are stated in units
// in the last place (ulp) of the result and are checked by
// test/unit/compiler/codegen/MathTest.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_MATHEXPAND_H
#define NNV12_COMPILER_CODEGEN_COMMON_MATHEXPAND_H

#include "compiler/codegen/common/BuilderBase.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace nnv12::codegen {

/// Arithmetic on values of one float type (f32 or f64, scalar or 1-D vector).
/// Functions take and give values of that type.
class FloatMath {
public:
  FloatMath(BuilderBase &k, Type type);

  using Predicate = arith::CmpFPredicate;

  bool isF64() const;
  /// A value of this type, f32, as one of f64, and the reverse.
  Value widened(Value x) {
    return arith::ExtFOp::create(b, withElement(type, b.getF64Type()), x);
  }
  Value narrowed(Value x) { return arith::TruncFOp::create(b, type, x); }

  /// A constant.
  Value c(double x) { return k.fconst(x, type); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  /// Rounds once where the processor does so everywhere, else twice.
  Value fma(Value x, Value y, Value z);
  /// The rounding error of xy = x * y, exactly: x * y - xy.
  Value lostByProduct(Value x, Value y, Value xy);
  /// x - q * d, where that is near to 0: rounded once.
  Value remainder(Value x, Value q, Value d);
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  // These are single instructions of every target: none is approximated.
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  Value floor(Value x) { return mlir::math::FloorOp::create(b, x); }
  Value ceil(Value x) { return mlir::math::CeilOp::create(b, x); }
  Value truncate(Value x) { return mlir::math::TruncOp::create(b, x); }
  Value copySign(Value magnitude, Value sign);
  Value roundEven(Value x);
  Value compare(Predicate p, Value x, Value y) {
    return arith::CmpFOp::create(b, p, x, y);
  }
  // These are false of NaN.
  Value greater(Value x, Value y) { return compare(Predicate::OGT, x, y); }
  Value less(Value x, Value y) { return compare(Predicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(Predicate::OEQ, x, y); }
  Value isNaN(Value x) { return compare(Predicate::UNO, x, x); }
  Value select(Value condition, Value x, Value y) {
    return k.select(condition, x, y);
  }
  /// The smaller / larger; NaN if either is.
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  /// min(max(x, lo), hi) of numbers lo <= hi; NaN stays NaN.
  Value clamp(Value x, Value lo, Value hi);
  /// Horner's scheme: c[0] + x * (c[1] + x * …).
  Value polynomial(Value x, ArrayRef<double> coefficients);

  Value exp(Value x); ///< <= 1 ulp
  /// exp(x) in fewer steps, for x <= 88 or NaN; <= 1 ulp.
  Value expUpTo88(Value x);
  /// 1 + exp(x) in fewer steps; <= 2 ulp.
  Value onePlusExp(Value x);
  Value expm1(Value x);   ///< <= 3 ulp
  Value log(Value x);     ///< <= 2 ulp
  Value log1p(Value x);   ///< <= 3 ulp
  Value tanh(Value x);    ///< <= 3 ulp
  Value erf(Value x);     ///< <= 2 ulp
  Value sigmoid(Value x); ///< <= 3 ulp

  // These are of f64 alone: f32 is computed through it. Arguments of sin, cos
  // and tan beyond 1e6 lose accuracy (absolute error about |x| * 1e-16).
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  /// C's pow, special cases included; <= 4 ulp in f64, <= 1 in f32.
  Value pow(Value x, Value y);
  /// C's fmod: exact while |x / y| < 2^52.
  Value fmod(Value x, Value y);

private:
  Value integer(int64_t x); ///< of the width of the floats
  Value bits(Value x);      ///< the float's bits
  Value fromBits(Value x);
  Value scaleByPowerOfTwo(Value x, Value exponent); ///< exponent a whole float
  /// 2^(exponent + more), whole numbers whose sum is from -127 to 127. 2^-127
  /// is 0. The type is one of f32.
  Value normalPowerOfTwo(Value exponent, int64_t more = 0);
  /// Cuts x > 0 (of f32: normal) into m and e, so that it is m * 2^e with m in
  /// [sqrt(1/2), sqrt(2)).
  std::pair<Value, Value> splitExponent(Value x);
  /// n and exp(r) - 1 for |r| <= ln(2) / 2 of x = n * ln(2) + r.
  std::pair<Value, Value> reduceExp(Value x);
  std::pair<Value, Value> sinCos(Value x);
  Value powPositive(Value x, Value y);

  BuilderBase &k;
  mlir::ImplicitLocOpBuilder &b;
  Type type;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_MATHEXPAND_H
