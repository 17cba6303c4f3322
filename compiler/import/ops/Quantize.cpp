//===- Quantize.cpp - Quantisation and integer layers ---------------------===//
//
// Integers stay integers: zero points are subtracted as int32, products are
// summed exactly as int32, and results are scaled in float32 and rounded half
// to even.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Convolution.h"
#include "compiler/import/ops/Matrix.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// A scale or zero point (scalar, one a slice along `axis`, or one a block) so
/// that it broadcasts against x.
static Value spread(Node &n, Value v, Value x, int64_t axis, int64_t block) {
  if (n.failed() || !v || n.size(v) == 1)
    return v ? n.reshape(v, {}) : v;
  if (block > 0) {
    // [.., blocks, ..] becomes [.., blocks, block, ..], then cut to x's size.
    Ints s = n.shape(v), split = s, repeated, merged = s;
    if (n.rank(v) != n.rank(x))
      return n.fail("a scale " + str(s) + " for blocks of " + str(n.shape(x)),
                    "the input's rank"),
             Value();
    if (s[axis] * block < n.dim(x, axis) || block > (int64_t(1) << 31))
      return n.fail("a scale " + str(s) + " for blocks of " + Twine(block),
                    "enough for " + str(n.shape(x))),
             Value();
    split.insert(split.begin() + axis + 1, 1);
    repeated = split;
    repeated[axis + 1] = block;
    merged[axis] *= block;
    Value wide = n.reshape(n.broadcast(n.reshape(v, split), repeated), merged);
    return n.slice(wide, axis, 0, n.dim(x, axis));
  }
  if (n.rank(v) != 1 || n.size(v) != n.dim(x, axis))
    return n.fail("a scale or zero point " + str(n.shape(v)) + " for " +
                      str(n.shape(x)),
                  "one number, or one for each of axis " + Twine(axis)),
           Value();
  Ints s(n.rank(x), 1);
  s[axis] = n.size(v);
  return n.reshape(v, s);
}

/// round(x) + zeroPoint, saturated to `type`. x is float32.
static Value saturate(Node &n, Value x, Value zeroPoint, Type type) {
  if (n.failed())
    return {};
  Value y = n.unary(UnaryKind::round, x);
  if (zeroPoint)
    y = n.add(y, n.cast(zeroPoint, n.f32()));
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  return n.cast(n.unary(UnaryKind::clip, y, {low, high}), type);
}

static bool checkQuantized(Node &n, Type type) {
  if (!n.failed() && (typeSetOf(type) & (kInt8 | kUInt8 | kInt16 | kUInt16)))
    return true;
  n.fail("a quantised type " + typeName(type), "int8, uint8, int16 or uint16");
  return false;
}

static void quantizeLinear(Node &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  Type type = zero ? n.elem(zero) : Type();
  int64_t dataType = n.intAttr("output_dtype", 0);
  if (!type && dataType) {
    type = elementType(int32_t(std::clamp<int64_t>(dataType, 0, 1000)),
                       n.context());
    if (!type)
      return n.fail("output_dtype " + dataTypeName(int32_t(dataType)),
                    "int8, uint8, int16 or uint16");
  } else if (!type) {
    type = n.builder().getIntegerType(8, false);
  }
  if (!checkQuantized(n, type))
    return;
  int64_t axis = n.intAttr("axis", 1), block = n.intAttr("block_size", 0);
  axis = n.size(scale) == 1 && block == 0 ? 0 : n.axis(axis, n.rank(x));
  Value wide = n.cast(x, n.f32());
  Value divided =
      n.div(wide, spread(n, n.cast(scale, n.f32()), x, axis, block));
  n.out(saturate(n, divided, spread(n, zero, x, axis, block), type));
}

static void dequantizeLinear(Node &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  int64_t axis = n.intAttr("axis", 1), block = n.intAttr("block_size", 0);
  axis = n.size(scale) == 1 && block == 0 ? 0 : n.axis(axis, n.rank(x));
  if (!n.isFloat(scale))
    return n.fail("a scale of " + typeName(n.elem(scale)), "a float");
  if (zero && n.elem(zero) != n.elem(x))
    return n.fail("a zero point of " + typeName(n.elem(zero)),
                  "the input's type " + typeName(n.elem(x)));
  Value y = n.cast(x, n.i32());
  if (zero)
    y = n.sub(y, n.cast(spread(n, zero, x, axis, block), n.i32()));
  Value factor = spread(n, n.cast(scale, n.f32()), x, axis, block);
  n.out(n.cast(n.mul(n.cast(y, n.f32()), factor), n.elem(scale)));
}

/// uint8 over the range of x, which is made to contain zero.
static void dynamicQuantizeLinear(Node &n) {
  Value x = n.in(0);
  Ints all(n.rank(x));
  std::iota(all.begin(), all.end(), 0);
  Value zero = n.scalar(n.f32(), 0);
  Value low =
      n.binary(BinaryKind::min, n.reduce(ReduceKind::min, x, all, false), zero);
  Value high =
      n.binary(BinaryKind::max, n.reduce(ReduceKind::max, x, all, false), zero);
  Value scale = n.div(n.sub(high, low), 255);
  // All zeros: any scale does.
  Value divisor = n.select(n.binary(BinaryKind::equal, scale, 0.0),
                           n.scalar(n.f32(), 1), scale);
  Type u8 = n.builder().getIntegerType(8, false);
  Value zeroPoint =
      saturate(n, n.div(n.unary(UnaryKind::neg, low), divisor), Value(), u8);
  n.out(0, saturate(n, n.div(x, divisor), zeroPoint, u8));
  n.out(1, scale);
  n.out(2, zeroPoint);
}

/// x - zeroPoint as int32. A zero point of rank one goes along `axis`.
static Value centred(Node &n, Value x, Value zeroPoint, int64_t axis) {
  if (n.failed())
    return {};
  if (!(typeSetOf(n.elem(x)) & (kInt8 | kUInt8)))
    return n.fail("an operand of " + typeName(n.elem(x)), "int8 or uint8"),
           Value();
  Value y = n.cast(x, n.i32());
  if (!zeroPoint)
    return y;
  Value zero = n.cast(zeroPoint, n.i32());
  if (n.size(zero) == 1) {
    auto data = n.data(zero);
    if (data && data->asInt(0) == 0)
      return y;
    zero = n.reshape(zero, {});
  } else if (n.rank(zero) == 1) {
    zero = spread(n, zero, x, axis, 0);
  }
  if (n.broadcastShape(n.shape(x), n.shape(zero)) != n.shape(x))
    n.fail("a zero point " + str(n.shape(zeroPoint)),
           "one that broadcasts to " + str(n.shape(x)));
  return n.sub(y, zero);
}

static Value integerMatmul(Node &n, Value a, Value aZero, Value b,
                           Value bZero) {
  if (n.failed())
    return {};
  return numpyMatmul(n,
                     centred(n, a, aZero, std::max<int64_t>(n.rank(a) - 2, 0)),
                     centred(n, b, bZero, std::max<int64_t>(n.rank(b) - 1, 0)));
}

static Value integerConv(Node &n, Value x, Value xZero, Value w, Value wZero) {
  // The input's zero point is subtracted first, so padding is zero.
  return convolution(n, centred(n, x, xZero, 0), centred(n, w, wZero, 0),
                     Value());
}

/// An int32 sum times inScale * weightScale / outScale as the type of
/// `zeroPoint`. The weights' scale goes along `axis` unless it is one number.
static Value requantize(Node &n, Value sum, Value inScale, Value weightScale,
                        Value outScale, Value zeroPoint, int64_t axis) {
  if (n.failed() || !checkQuantized(n, n.elem(zeroPoint)))
    return {};
  if (n.size(inScale) != 1 || n.size(outScale) != 1 || n.size(zeroPoint) != 1)
    return n.fail("several scales for an input or the output", "one"), Value();
  Value factor = spread(n, weightScale, sum, axis, 0);
  factor =
      n.mul(n.cast(factor, n.f32()), n.reshape(n.cast(inScale, n.f32()), {}));
  factor = n.div(factor, n.reshape(n.cast(outScale, n.f32()), {}));
  return saturate(n, n.mul(n.cast(sum, n.f32()), factor),
                  n.reshape(zeroPoint, {}), n.elem(zeroPoint));
}

static void matmulInteger(Node &n) {
  n.out(integerMatmul(n, n.in(0), n.optional(2), n.in(1), n.optional(3)));
}

static void convInteger(Node &n) {
  n.out(integerConv(n, n.in(0), n.optional(2), n.in(1), n.optional(3)));
}

static void qLinearMatmul(Node &n) {
  Value sum = integerMatmul(n, n.in(0), n.in(2), n.in(3), n.in(5));
  n.out(requantize(n, sum, n.in(1), n.in(4), n.in(6), n.in(7),
                   std::max<int64_t>(n.rank(sum) - 1, 0)));
}

static void qLinearConv(Node &n) {
  Value sum = integerConv(n, n.in(0), n.in(2), n.in(3), n.in(5));
  if (Value bias = n.optional(8)) {
    Ints s(n.rank(sum), 1);
    if (n.failed() || n.size(bias) != n.dim(sum, 1))
      return n.fail("a bias " + str(n.shape(bias)), Twine(n.dim(sum, 1)));
    s[1] = n.size(bias);
    sum = n.add(sum, n.reshape(bias, s));
  }
  n.out(requantize(n, sum, n.in(1), n.in(4), n.in(6), n.in(7), 1));
}

OpRows importer::quantizeOps() {
  constexpr int L = kLatestOpset;
  constexpr TypeSet kBytes = kInt8 | kUInt8;
  constexpr const char *kNoSmall = "no 4-bit types, no 8-bit floats";
  static const OpRow rows[] = {
      {"ConvInteger", 10, L, kBytes, convInteger},
      {"DequantizeLinear", 10, L, kBytes | kInt16 | kUInt16 | kInt32,
       dequantizeLinear, kNoSmall},
      {"DynamicQuantizeLinear", 11, L, kFloat32, dynamicQuantizeLinear},
      {"MatMulInteger", 10, L, kBytes, matmulInteger},
      {"QLinearConv", 10, L, kBytes, qLinearConv},
      {"QLinearMatMul", 10, L, kBytes, qLinearMatmul, "one scale for A"},
      {"QuantizeLinear", 10, L, kFloats | kInt32, quantizeLinear, kNoSmall},
  };
  return rows;
}
