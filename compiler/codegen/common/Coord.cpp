//===- Coord.cpp - Indices that may differ by lane ------------------------===//

#include "compiler/codegen/common/Coord.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace nnv12::codegen;

static int64_t floorMod(int64_t x, int64_t k) { return ((x % k) + k) % k; }

VectorType CoordMath::vectorType() { return k.vec(lanes, laneType); }

Coord CoordMath::fromVector(Value vector, int64_t lo, int64_t hi, bool wild) {
  Coord result;
  result.vector = vector;
  result.lo = lo;
  result.hi = hi;
  result.wild = wild;
  return result;
}

Value CoordMath::iota(int64_t stride, int64_t first) {
  llvm::SmallVector<Attribute> values;
  for (int64_t i = 0; i < lanes; ++i)
    values.push_back(k.b.getIntegerAttr(laneType, first + i * stride));
  return arith::ConstantOp::create(
      k.b, DenseElementsAttr::get(vectorType(), values));
}

Value CoordMath::toVector(const Coord &x) {
  if (x.vector)
    return x.vector;
  if (x.isConstant())
    return k.iconst(x.base.constant, vectorType());
  if (x.base.isConstant())
    return iota(x.stride, x.base.constant);
  Value scalar = arith::IndexCastOp::create(k.b, laneType, k.val(x.base));
  Value result = k.broadcast(scalar, lanes);
  if (x.stride)
    result = arith::AddIOp::create(k.b, result, iota(x.stride));
  return result;
}

/// A vector of signed integers as one of other integers.
static Value resized(BuilderBase &k, Value vector, Type element) {
  Type type = withElement(vector.getType(), element);
  unsigned have = getElementTypeOrSelf(vector).getIntOrFloatBitWidth(),
           want = element.getIntOrFloatBitWidth();
  if (want > have)
    return arith::ExtSIOp::create(k.b, type, vector);
  if (want < have)
    return arith::TruncIOp::create(k.b, type, vector);
  return vector;
}

Value CoordMath::toValue(const Coord &x, IntegerType type) {
  if (x.isUniform())
    return arith::IndexCastOp::create(k.b, type, k.val(x.base));
  return resized(k, toVector(x), type);
}

Coord CoordMath::fromValue(Value value, int64_t lo, int64_t hi) {
  if (lo == hi)
    return Coord(lo);
  if (!isa<VectorType>(value.getType()))
    return Coord(arith::IndexCastOp::create(k.b, k.b.getIndexType(), value), lo,
                 hi);
  return fromVector(resized(k, value, laneType), lo, hi, false);
}

Coord CoordMath::add(const Coord &x, const Coord &y) {
  if (x.vector || y.vector) {
    if (x.isConstant() && x.base.constant == 0)
      return y;
    if (y.isConstant() && y.base.constant == 0)
      return x;
    return fromVector(arith::AddIOp::create(k.b, toVector(x), toVector(y)),
                      x.lo + y.lo, x.hi + y.hi, x.wild || y.wild);
  }
  Coord result;
  result.base = k.add(x.base, y.base);
  result.stride = x.stride + y.stride;
  result.lo = x.lo + y.lo;
  result.hi = x.hi + y.hi;
  result.wild = x.wild || y.wild;
  result.multiple = x.base.isConstant()   ? y.multiple
                    : y.base.isConstant() ? x.multiple
                                          : std::gcd(x.multiple, y.multiple);
  return result;
}

Coord CoordMath::mul(const Coord &x, int64_t factor) {
  if (factor == 1)
    return x;
  if (factor == 0)
    return Coord(0);
  int64_t lo = std::min(x.lo * factor, x.hi * factor);
  int64_t hi = std::max(x.lo * factor, x.hi * factor);
  if (x.vector)
    return fromVector(
        arith::MulIOp::create(k.b, x.vector, k.iconst(factor, vectorType())),
        lo, hi, x.wild);
  Coord result = x;
  result.base = k.mul(x.base, factor);
  result.stride *= factor;
  result.multiple = x.multiple * std::abs(factor);
  result.lo = lo;
  result.hi = hi;
  return result;
}

bool CoordMath::staysBetweenMultiples(const Coord &x, int64_t divisor) {
  if (x.wild)
    return false;
  // base = (a multiple of g) + constant, and g divides the divisor.
  int64_t g = x.base.isConstant() ? divisor : std::gcd(x.multiple, divisor);
  int64_t first = floorMod(x.base.constant, g);
  int64_t last = first + x.stride * (active - 1);
  return last >= 0 && last < g;
}

Coord CoordMath::div(const Coord &x, int64_t divisor) {
  assert(divisor > 0 && x.lo >= 0 && "divisions take non-negative coordinates");
  if (divisor == 1)
    return x;
  if (x.lo >= 0 && x.hi < divisor)
    return Coord(0);
  int64_t lo = x.lo / divisor, hi = x.hi / divisor;
  bool scalar =
      !x.vector && (x.isUniform() || (!x.wild && x.stride % divisor == 0) ||
                    staysBetweenMultiples(x, divisor));
  if (!scalar)
    return fromVector(arith::DivUIOp::create(k.b, toVector(x),
                                             k.iconst(divisor, vectorType())),
                      lo, hi, x.wild);
  Coord result;
  if (x.base.isConstant()) {
    result.base = Index(x.base.constant / divisor);
  } else if (x.multiple % divisor == 0) {
    // The value alone may be negative, down to lo - constant, and the division
    // is one of unsigned numbers.
    int64_t c =
        (x.base.constant - floorMod(x.base.constant, divisor)) / divisor;
    int64_t shift = x.base.constant > x.lo
                        ? llvm::divideCeil(x.base.constant - x.lo, divisor)
                        : 0;
    result.base =
        k.add(k.div(Index(x.base.value, shift * divisor), divisor), c - shift);
    result.multiple = x.multiple / divisor;
  } else {
    // A part below the known multiple cannot change the quotient.
    int64_t g = std::gcd(x.multiple, divisor);
    int64_t c = x.base.constant - floorMod(x.base.constant, g);
    result.base = k.div(Index(x.base.value, c), divisor);
  }
  result.stride = x.stride % divisor == 0 ? x.stride / divisor : 0;
  result.lo = lo;
  result.hi = hi;
  return result;
}

Coord CoordMath::rem(const Coord &x, int64_t divisor) {
  assert(divisor > 0 && x.lo >= 0 && "divisions take non-negative coordinates");
  if (divisor == 1)
    return Coord(0);
  if (x.lo >= 0 && x.hi < divisor)
    return x;
  bool invariant = !x.wild && x.stride % divisor == 0;
  bool scalar = !x.vector && (x.isUniform() || invariant ||
                              staysBetweenMultiples(x, divisor));
  if (!scalar)
    return fromVector(arith::RemUIOp::create(k.b, toVector(x),
                                             k.iconst(divisor, vectorType())),
                      0, divisor - 1, x.wild);
  Coord result;
  result.stride = invariant ? 0 : x.stride;
  result.lo = 0;
  result.hi = divisor - 1;
  if (x.base.isConstant() || x.multiple % divisor == 0) {
    result.base = Index(floorMod(x.base.constant, divisor));
    int64_t first = result.base.constant;
    std::tie(result.lo, result.hi) =
        std::minmax({first, first + result.stride * (active - 1)});
    return result;
  }
  int64_t g = std::gcd(x.multiple, divisor);
  int64_t below = floorMod(x.base.constant, g);
  result.base = k.add(
      k.rem(Index(x.base.value, x.base.constant - below), divisor), below);
  result.multiple = g;
  return result;
}

Coord CoordMath::clamp(const Coord &x, int64_t lo, int64_t hi) {
  if (x.lo >= lo && x.hi <= hi && !x.wild)
    return x;
  if (lo >= hi)
    return Coord(lo);
  int64_t newLo = std::clamp(x.lo, lo, hi), newHi = std::clamp(x.hi, lo, hi);
  if (x.isUniform()) {
    if (x.base.isConstant())
      return Coord(std::clamp(x.base.constant, lo, hi));
    Index i = x.base;
    if (x.lo < lo)
      i = k.max(i, lo);
    if (x.hi > hi)
      i = k.min(i, hi);
    return Coord(k.val(i), newLo, newHi);
  }
  Value v = toVector(x);
  v = arith::MaxSIOp::create(k.b, v, k.iconst(lo, vectorType()));
  v = arith::MinSIOp::create(k.b, v, k.iconst(hi, vectorType()));
  return fromVector(v, newLo, newHi, false);
}

Coord CoordMath::bounded(Coord x, int64_t lo, int64_t hi) {
  if (x.lo >= lo && x.hi <= hi)
    return x;
  if (lo == hi)
    return Coord(lo);
  x.wild |= !x.isUniform();
  x.lo = std::max(x.lo, lo);
  x.hi = std::min(x.hi, hi);
  return x;
}

Coord CoordMath::select(const Condition &condition, const Coord &x,
                        const Coord &y) {
  if (condition.always())
    return x;
  if (condition.never)
    return y;
  int64_t lo = std::min(x.lo, y.lo), hi = std::max(x.hi, y.hi);
  if (!condition.varying && x.isUniform() && y.isUniform())
    return Coord(k.select(condition.uniform, k.val(x.base), k.val(y.base)), lo,
                 hi);
  return fromVector(k.select(toMask(condition), toVector(x), toVector(y)), lo,
                    hi, x.wild || y.wild);
}

Condition CoordMath::less(const Coord &x, int64_t bound) {
  Condition result;
  if (x.hi < bound)
    return result;
  result.never = x.lo >= bound;
  if (result.never)
    return result;
  if (x.isUniform())
    result.uniform = k.less(x.base, bound);
  else
    result.varying =
        k.compare(Order::slt, toVector(x), k.iconst(bound, vectorType()));
  return result;
}

Condition CoordMath::notLess(const Coord &x, int64_t bound) {
  // One comparison sets one part only.
  Condition result = less(x, bound);
  auto invert = [&](Value v) -> Value {
    return v ? k.bitXor(v, k.iconst(1, v.getType())) : v;
  };
  assert(!(result.uniform && result.varying) && "it compares once");
  bool decided = result.never || result.always();
  result.never = decided && !result.never;
  result.uniform = invert(result.uniform);
  result.varying = invert(result.varying);
  return result;
}

Condition CoordMath::both(const Condition &x, const Condition &y) {
  auto combine = [&](Value a, Value b) -> Value {
    return a && b ? k.bitAnd(a, b) : a ? a : b;
  };
  Condition result;
  result.never = x.never || y.never;
  if (result.never)
    return result;
  result.uniform = combine(x.uniform, y.uniform);
  result.varying = combine(x.varying, y.varying);
  return result;
}

Condition CoordMath::within(const Coord &x, int64_t lo, int64_t end) {
  return both(notLess(x, lo), less(x, end));
}

Value CoordMath::toMask(const Condition &condition) {
  assert(!condition.never && !condition.always() && "it is not decided yet");
  if (!condition.varying)
    return condition.uniform;
  if (!condition.uniform)
    return condition.varying;
  return k.bitAnd(condition.varying, k.broadcast(condition.uniform, lanes));
}
