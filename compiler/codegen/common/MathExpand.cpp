//===- MathExpand.cpp - Elementary functions in plain arithmetic ----------===//

#include "compiler/codegen/common/MathExpand.h"

#include "mlir/IR/TypeUtilities.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12::codegen;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

FloatMath::FloatMath(BuilderBase &k, Type type) : k(k), b(k.b), type(type) {
  assert((isF64() || getElementTypeOrSelf(type).isF32()) &&
         "narrower floats are computed in f32");
}

bool FloatMath::isF64() const { return getElementTypeOrSelf(type).isF64(); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value FloatMath::fma(Value x, Value y, Value z) {
  return k.fuses ? k.fma(x, y, z) : add(mul(x, y), z);
}

Value FloatMath::lostByProduct(Value x, Value y, Value xy) {
  if (k.fuses)
    return fma(x, y, neg(xy));
  // Dekker's: products of halves of the significands are exact.
  auto split = [&](Value v, Value &low) {
    Value scaled = mul(v, c(isF64() ? 0x1p27 + 1 : 0x1p12 + 1));
    Value high = sub(scaled, sub(scaled, v));
    low = sub(v, high);
    return high;
  };
  Value xLow, yLow, xHigh = split(x, xLow), yHigh = split(y, yLow);
  Value lost = add(sub(mul(xHigh, yHigh), xy), mul(xHigh, yLow));
  return add(add(lost, mul(xLow, yHigh)), mul(xLow, yLow));
}

Value FloatMath::remainder(Value x, Value q, Value d) {
  if (k.fuses)
    return fma(neg(q), d, x);
  Value product = mul(q, d);
  return sub(sub(x, product), lostByProduct(q, d, product));
}

Value FloatMath::copySign(Value magnitude, Value sign) {
  // MLIR's lowering for SPIR-V gave wrong powers of f64 on lavapipe.
  if (!k.fuses && isF64()) {
    Value x = abs(magnitude);
    Value isNegative = k.compare(Order::slt, bits(sign), integer(0));
    return select(isNegative, neg(x), x);
  }
  return math::CopySignOp::create(b, magnitude, sign);
}

Value FloatMath::roundEven(Value x) {
  if (k.fuses || !isF64())
    return math::RoundEvenOp::create(b, x);
  // Mesa's driver for CPUs without AVX-512 rounds f64 towards zero. Numbers of
  // 2^52 have no fraction, so that a sum with it is rounded. No bits: those of
  // f64 are int64, which few GPUs have. x meets no constant: a comparison of
  // an integer's f64 would be one of its own type, which is not declared.
  Value magnitude = abs(x), large = c(0x1p52);
  Value whole = sub(add(magnitude, large), large);
  Value result = select(equal(magnitude, x), whole, neg(whole));
  result = select(equal(magnitude, whole), x, result);
  return select(less(magnitude, large), result, x);
}

Value FloatMath::min(Value x, Value y) {
  // x < y ? x : y gives y where either is NaN, so only x needs a look.
  return select(isNaN(x), x, select(less(x, y), x, y));
}
Value FloatMath::max(Value x, Value y) {
  return select(isNaN(x), x, select(greater(x, y), x, y));
}
Value FloatMath::clamp(Value x, Value lo, Value hi) {
  // One max and one min instruction, which give x where it is NaN.
  Value above = select(greater(lo, x), lo, x);
  return select(less(hi, above), hi, above);
}

Value FloatMath::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = c(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, c(coefficient));
  return result;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Value FloatMath::integer(int64_t x) {
  return k.iconst(x, withElement(type, b.getIntegerType(isF64() ? 64 : 32)));
}
Value FloatMath::bits(Value x) {
  return arith::BitcastOp::create(
      b, withElement(type, b.getIntegerType(isF64() ? 64 : 32)), x);
}
Value FloatMath::fromBits(Value x) {
  return arith::BitcastOp::create(b, type, x);
}

Value FloatMath::scaleByPowerOfTwo(Value x, Value exponent) {
  // In two steps, since 2^e itself may overflow where x * 2^e does not. Adding
  // 1.5 * 2^23 (or 52) puts the whole number into the low bits of the mantissa.
  double magic = isF64() ? 0x1.8p52 : 0x1.8p23;
  Value mantissa = integer(isF64() ? 52 : 23);
  Value bias = integer(isF64() ? 1023 : 127);
  Value e =
      arith::SubIOp::create(b, bits(add(exponent, c(magic))), bits(c(magic)));
  Value half = arith::ShRSIOp::create(b, e, integer(1));
  Value rest = arith::SubIOp::create(b, e, half);
  auto powerOfTwo = [&](Value n) {
    Value biased = arith::AddIOp::create(b, n, bias);
    return fromBits(arith::ShLIOp::create(b, biased, mantissa));
  };
  return mul(mul(x, powerOfTwo(half)), powerOfTwo(rest));
}

Value FloatMath::normalPowerOfTwo(Value exponent, int64_t more) {
  assert(!isF64() && "the exponent has 8 bits");
  // The sum has the biased exponent in its low bits, and zeros up to a bit that
  // is shifted out.
  Value sum = add(exponent, c(0x1.8p23 + double(127 + more)));
  return fromBits(arith::ShLIOp::create(b, bits(sum), integer(23)));
}

std::pair<Value, Value> FloatMath::splitExponent(Value x) {
  bool wide = isF64();
  Value small;
  if (wide) { // Subnormal numbers are scaled up.
    small = less(x, c(0x1p-1022));
    x = select(small, mul(x, c(0x1p54)), x);
  }
  // Moves sqrt(1/2) to the boundary between exponents -1 and 0.
  int64_t root = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value width = integer(wide ? 52 : 23);
  Value shifted = arith::SubIOp::create(b, bits(x), integer(root));
  Value exponent = arith::ShRSIOp::create(b, shifted, width);
  Value cleared = arith::ShLIOp::create(b, exponent, width);
  Value m = fromBits(arith::SubIOp::create(b, bits(x), cleared));
  Value e = arith::SIToFPOp::create(b, type, exponent);
  return {m, wide ? select(small, sub(e, c(54)), e) : e};
}

//===----------------------------------------------------------------------===//
// Exponential and logarithm
//===----------------------------------------------------------------------===//

std::pair<Value, Value> FloatMath::reduceExp(Value x) {
  Value n = roundEven(mul(x, c(1.4426950408889634)));
  if (isF64()) {
    Value r = fma(n, c(-6.93147180369123816490e-01), x);
    r = fma(n, c(-1.90821492927058770002e-10), r);
    // Taylor's series; |r| <= 0.347 leaves 4e-18 of it.
    double coefficients[13];
    double factorial = 1;
    for (int i = 0; i < 13; ++i)
      coefficients[i] = 1 / (factorial *= i + 2);
    return {n, fma(mul(r, r), polynomial(r, coefficients), r)};
  }
  Value r = fma(n, c(-0.693359375), x);
  r = fma(n, c(2.12194440e-4), r);
  return {
      n, fma(mul(r, r),
             polynomial(r, {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                            8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4}),
             r)};
}

Value FloatMath::exp(Value x) {
  // Beyond these the result is 0 or infinite anyway.
  Value clamped =
      isF64() ? clamp(x, c(-746), c(710)) : clamp(x, c(-104), c(89));
  auto [n, expm1r] = reduceExp(clamped);
  return scaleByPowerOfTwo(add(expm1r, c(1)), n);
}

Value FloatMath::expUpTo88(Value x) {
  if (isF64())
    return exp(x);
  // A result below 2^-126 is subnormal, and kernels flush subnormals to 0.
  Value clamped = select(less(x, c(-88)), c(-88), x);
  auto [n, expm1r] = reduceExp(clamped);
  return mul(add(expm1r, c(1)), normalPowerOfTwo(n));
}

Value FloatMath::onePlusExp(Value x) {
  if (isF64())
    return add(exp(x), c(1));
  // A result far below 1 may be 0. Half of the power of two is then normal or
  // 0, and it is finite where exp(x) overflows.
  Value clamped = clamp(x, c(-87), c(89));
  auto [n, expm1r] = reduceExp(clamped);
  Value e = add(expm1r, c(1));
  return add(mul(add(e, e), normalPowerOfTwo(n, -1)), c(1));
}

Value FloatMath::expm1(Value x) {
  // 2^n * (1 + e) - 1 = 2^n * e + (2^n - 1), where nothing cancels badly.
  Value clamped = isF64() ? clamp(x, c(-60), c(710)) : clamp(x, c(-30), c(89));
  auto [n, expm1r] = reduceExp(clamped);
  // One power of two less keeps 2^n finite where the result is.
  Value power = scaleByPowerOfTwo(c(0.5), n);
  Value half = fma(power, expm1r, sub(power, c(0.5)));
  return add(half, half);
}

Value FloatMath::log(Value x) {
  auto [m, e] = splitExponent(x);
  Value f = sub(m, c(1)), result;
  if (isF64()) {
    Value s = div(f, add(f, c(2)));
    Value z = mul(s, s);
    // atanh's series with its coefficients adapted to the interval.
    Value r = mul(
        z, polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                          2.857142874366239149e-01, 2.222219843214978396e-01,
                          1.818357216161805012e-01, 1.531383769920937332e-01,
                          1.479819860511658591e-01}));
    Value halfSquare = mul(mul(f, f), c(0.5));
    Value low =
        fma(s, add(halfSquare, r), mul(e, c(1.90821492927058770002e-10)));
    result =
        fma(e, c(6.93147180369123816490e-01), sub(f, sub(halfSquare, low)));
  } else {
    Value z = mul(f, f);
    Value p =
        polynomial(f, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1,
                       -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
                       1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2});
    Value low = fma(mul(z, f), p, mul(e, c(-2.12194440e-4)));
    low = fma(z, c(-0.5), low);
    result = fma(e, c(0.693359375), add(f, low));
  }
  result = select(equal(x, c(0)), c(-infinity), result);
  result = select(equal(x, c(infinity)), x, result);
  // Negative or NaN.
  return select(compare(arith::CmpFPredicate::ULT, x, c(0)), c(quietNaN),
                result);
}

Value FloatMath::log1p(Value x) {
  // log(u) with a first order correction of the rounding error of 1 + x.
  Value u = add(x, c(1));
  Value lost = div(sub(x, sub(u, c(1))), u);
  Value big =
      greater(u, c(0x1p60)); // also infinite: there is nothing to correct
  Value corrected = add(log(u), select(big, c(0), lost));
  return select(equal(u, c(1)), x,
                select(equal(u, c(0)), c(-infinity), corrected));
}

//===----------------------------------------------------------------------===//
// Sigmoid functions
//===----------------------------------------------------------------------===//

Value FloatMath::sigmoid(Value x) { return div(c(1), onePlusExp(neg(x))); }

Value FloatMath::tanh(Value x) {
  Value a = abs(x);
  if (isF64()) {
    Value t = expm1(mul(clamp(a, c(0), c(22)), c(2)));
    return copySign(div(t, add(t, c(2))), x);
  }
  Value large = sub(c(1), div(c(2), onePlusExp(add(a, a))));
  Value z = mul(x, x);
  Value p =
      polynomial(z, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                     2.06390887954e-2, -5.70498872745e-3});
  Value small = fma(mul(p, z), x, x);
  return copySign(select(less(a, c(0.625)), small, large), x);
}

Value FloatMath::erf(Value x) {
  Value a = abs(x), z = mul(x, x);
  if (isF64()) {
    // Maclaurin's series up to 1, then 1 - exp(-x^2) * g((x - 2.5) / (x + 2.5))
    // with a Chebyshev fit of g on [1, 6.5].
    double series[20];
    double factorial = 1;
    for (int i = 0; i < 20; ++i) {
      factorial *= i ? -i : 1;
      series[i] = 1.1283791670955126 / (factorial * (2 * i + 1));
    }
    Value small = mul(x, polynomial(z, series));
    Value bounded = clamp(a, c(1), c(6.5));
    Value t = div(sub(bounded, c(2.5)), add(bounded, c(2.5)));
    Value u = fma(t, c(2.290909090909091), c(-0.01818181818181818));
    Value g = polynomial(u, {0.20787186512579933, -0.160532268587908,
                             0.04739686525028879, -0.010294032861018017,
                             0.001443551179337855, -6.526575453427593e-05,
                             -1.7939351501752983e-05, 2.6877837026597246e-06,
                             2.8876125872319526e-07, -7.567229650012731e-08,
                             -8.168667223824883e-09, 2.1182755663112453e-09,
                             3.4951292083190076e-10, -5.225687022774531e-11,
                             -1.628000480711796e-11, 5.417619203707551e-13,
                             6.021719666538699e-13, 3.746710985785292e-14});
    Value large = sub(c(1), mul(exp(neg(mul(bounded, bounded))), g));
    // NaN goes the way of the series, whose product keeps it.
    return select(greater(a, c(1)), copySign(large, x), small);
  }
  Value p = fma(c(-1.72853470e-5), a, c(3.83197126e-4));
  Value q = fma(c(-3.88396438e-3), a, c(2.42546219e-2));
  p = fma(p, z, q);
  p = fma(p, a, c(-1.06777877e-1));
  p = fma(p, a, c(-6.34846687e-1));
  p = fma(p, a, c(-1.28717512e-1));
  p = fma(p, a, neg(a));
  Value large =
      copySign(sub(c(1), expUpTo88(select(less(c(0), p), c(0), p))), x);
  Value r = polynomial(z, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1,
                           -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
  return select(greater(a, c(0.927734375)), large, fma(r, x, x));
}

//===----------------------------------------------------------------------===//
// Trigonometric and hyperbolic functions
//===----------------------------------------------------------------------===//

std::pair<Value, Value> FloatMath::sinCos(Value x) {
  assert(isF64() && "the constants are of f64");
  // x = n * pi/2 + r, with pi/2 in three parts.
  Value n = roundEven(mul(x, c(0.63661977236758134308)));
  Value r = fma(n, c(-1.57079632673412561417e+00), x);
  r = fma(n, c(-6.07710050630396597660e-11), r);
  r = fma(n, c(-2.02226624879595063154e-21), r);
  Value z = mul(r, r);
  Value s =
      polynomial(z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                     -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                     -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  s = fma(mul(z, r), s, r);
  Value co =
      polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                     2.48015872894767294178e-05, -2.75573143513906633035e-07,
                     2.08757232129817482790e-09, -1.13596475577881948265e-11});
  co = add(sub(c(1), mul(z, c(0.5))), mul(mul(z, z), co));
  // The quadrant n mod 4 as a float, 0 to 3.
  Value quadrant = sub(n, mul(c(4), floor(mul(n, c(0.25)))));
  Value one = equal(quadrant, c(1)), two = equal(quadrant, c(2)),
        three = equal(quadrant, c(3));
  Value odd = k.bitOr(one, three);
  Value sineNegative = k.bitOr(two, three);
  Value cosineNegative = k.bitOr(one, two);
  Value p = select(odd, co, s), q = select(odd, s, co);
  return {select(sineNegative, neg(p), p), select(cosineNegative, neg(q), q)};
}

Value FloatMath::sin(Value x) {
  return select(equal(x, c(0)), x, sinCos(x).first);
}

Value FloatMath::cos(Value x) { return sinCos(x).second; }

Value FloatMath::tan(Value x) {
  auto [s, co] = sinCos(x);
  return select(equal(x, c(0)), x, div(s, co));
}

Value FloatMath::atan(Value x) {
  // Folds the argument into |t| <= tan(pi/8).
  Value a = abs(x);
  Value big = greater(a, c(2.414213562373095)),
        mid = greater(a, c(0.4142135623730950));
  Value t = select(big, div(c(-1), a),
                   select(mid, div(sub(a, c(1)), add(a, c(1))), a));
  Value base = select(big, c(1.5707963267948966),
                      select(mid, c(0.7853981633974483), c(0)));
  Value low = select(big, c(6.123233995736766e-17),
                     select(mid, c(3.061616997868383e-17), c(0)));
  Value z = mul(t, t);
  Value p =
      polynomial(z, {-3.33333333333329318027e-01, 1.99999999998764832476e-01,
                     -1.42857142725034663711e-01, 1.11111104054623557880e-01,
                     -9.09088713343650656196e-02, 7.69187620504482999495e-02,
                     -6.66107313738753120669e-02, 5.83357013379057348645e-02,
                     -4.97687799461593236017e-02, 3.65315727442169155270e-02,
                     -1.62858201153657823623e-02});
  Value result = add(base, add(fma(mul(z, t), p, low), t));
  return select(isNaN(x), x, copySign(result, x));
}

Value FloatMath::asin(Value x) {
  return atan(div(x, sqrt(mul(sub(c(1), x), add(c(1), x)))));
}

Value FloatMath::acos(Value x) {
  Value half = atan(sqrt(div(sub(c(1), x), add(c(1), x))));
  return add(half, half);
}

Value FloatMath::sinh(Value x) {
  Value a = abs(x);
  Value t = expm1(a);
  Value result = mul(c(0.5), add(t, div(t, add(t, c(1)))));
  // exp overflows before sinh does.
  Value root = exp(mul(a, c(0.5)));
  result = select(greater(a, c(30)), mul(mul(c(0.5), root), root), result);
  return copySign(result, x);
}

Value FloatMath::cosh(Value x) {
  Value a = abs(x);
  Value e = exp(a);
  Value root = exp(mul(a, c(0.5)));
  return select(greater(a, c(30)), mul(mul(c(0.5), root), root),
                mul(c(0.5), add(e, div(c(1), e))));
}

Value FloatMath::asinh(Value x) {
  Value a = abs(x), z = mul(a, a);
  Value result = log1p(add(a, div(z, add(c(1), sqrt(add(z, c(1)))))));
  Value large = add(log(a), c(0.69314718055994530942)); // where z may overflow
  return copySign(select(greater(a, c(1e9)), large, result), x);
}

Value FloatMath::acosh(Value x) {
  Value t = sub(x, c(1));
  Value result = log1p(add(t, sqrt(fma(t, t, add(t, t)))));
  Value large = add(log(x), c(0.69314718055994530942));
  return select(greater(x, c(1e9)), large, result);
}

Value FloatMath::atanh(Value x) {
  Value a = abs(x);
  Value result = mul(c(0.5), log1p(div(add(a, a), sub(c(1), a))));
  // 2a/(1-a) passes infinity at one; beyond it there is no result.
  result = select(greater(a, c(1)), c(quietNaN), result);
  return copySign(result, x);
}

//===----------------------------------------------------------------------===//
// Power and remainder
//===----------------------------------------------------------------------===//

/// x^y of f64 for x >= 0: exp(y * log(x)) with the logarithm and the product in
/// twice the precision, for an error of log(x) grows with the size of y.
Value FloatMath::powPositive(Value x, Value y) {
  assert(isF64() && "the constants are of f64");
  auto [m, e] = splitExponent(x);
  // s = (m - 1) / (m + 1) as high + low.
  Value f = sub(m, c(1)), d = add(m, c(1));
  Value dLow = add(sub(m, sub(d, c(1))), sub(c(1), sub(d, sub(d, c(1)))));
  Value s = div(f, d);
  Value rest = remainder(f, s, d);
  Value sLow = div(fma(neg(s), dLow, rest), d);
  // log(m) = 2s + s^3 (2/3 + 2/5 s^2 + …), the cubic term in high + low as
  // well.
  Value z = mul(s, s);
  Value zLow = lostByProduct(s, s, z);
  zLow = fma(add(s, s), sLow, zLow);
  Value r = mul(
      z, polynomial(z, {3.999999999940941908e-01, 2.857142874366239149e-01,
                        2.222219843214978396e-01, 1.818357216161805012e-01,
                        1.531383769920937332e-01, 1.479819860511658591e-01}));
  // 2/3 in two parts; the fitted 6.666666666666735130e-01 differs from it.
  Value cubic = mul(s, z);
  Value cubicLow = lostByProduct(s, z, cubic);
  cubicLow = fma(s, zLow, fma(sLow, z, cubicLow));
  Value third = c(6.666666666666735130e-01);
  Value t = mul(cubic, third);
  Value tLow = lostByProduct(cubic, third, t);
  tLow = fma(cubicLow, third, fma(cubic, r, tLow));
  auto twoSum = [&](Value p, Value q, Value &low) {
    Value sum = add(p, q);
    Value part = sub(sum, p);
    low = add(sub(p, sub(sum, part)), sub(q, part));
    return sum;
  };
  Value low1, low2;
  Value high = twoSum(mul(e, c(6.93147180369123816490e-01)), add(s, s), low1);
  high = twoSum(high, t, low2);
  Value low =
      add(add(low1, low2),
          add(tLow, fma(e, c(1.90821492927058770002e-10), add(sLow, sLow))));
  Value logHigh = add(high, low);
  Value logLow = sub(low, sub(logHigh, high));
  logHigh = select(equal(x, c(0)), c(-infinity), logHigh);
  logHigh = select(equal(x, c(infinity)), x, logHigh);
  // y * log(x), its rounding error a factor of the result.
  Value p = mul(y, logHigh);
  Value pLow = fma(y, logLow, lostByProduct(y, logHigh, p));
  Value big = compare(arith::CmpFPredicate::UGE, abs(p), c(800));
  pLow = select(big, c(0), pLow);
  Value power = exp(p);
  Value result = fma(power, pLow, power);
  return select(big, power, result);
}

Value FloatMath::pow(Value x, Value y) {
  Value a = abs(x);
  Value result = powPositive(a, y);
  Value whole = equal(floor(y), y);
  Value half = mul(y, c(0.5));
  Value odd =
      k.bitAnd(whole, compare(arith::CmpFPredicate::ONE, floor(half), half));
  // The sign of x goes into the result of an odd power, zero's too.
  result = select(odd, copySign(result, x), result);
  Value hasSign = less(x, c(0));
  Value finite = less(a, c(infinity));
  Value noPower = k.bitAnd(k.bitAnd(hasSign, finite),
                           k.bitXor(whole, k.iconst(1, whole.getType())));
  result = select(noPower, c(quietNaN), result);
  result =
      select(compare(arith::CmpFPredicate::UNO, x, y), c(quietNaN), result);
  // (±1)^±inf, 1^NaN and x^0 are 1.
  Value unit = k.bitAnd(equal(a, c(1)), equal(abs(y), c(infinity)));
  unit = k.bitOr(unit, equal(x, c(1)));
  unit = k.bitOr(unit, equal(y, c(0)));
  return select(unit, c(1), result);
}

Value FloatMath::fmod(Value x, Value y) {
  Value a = abs(x), d = abs(y);
  Value q = truncate(div(a, d));
  Value r = remainder(a, q, d);
  r = select(less(r, c(0)), add(r, d), r); // the quotient was rounded up
  r = select(equal(d, c(infinity)), a, r);
  r = select(equal(a, c(infinity)), c(quietNaN), r);
  return copySign(r, x);
}
