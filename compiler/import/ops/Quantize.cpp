//===- Quantize.cpp - Quantisation and integer layers ---------------------===//
//
// Integers stay integers: zero points are subtracted as int32, products are
// summed exactly as int32, and results are scaled in float32 and rounded half
// to even. Floats of 8 and 4 bits are float32 as soon as they are computed
// with.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/ops/Quantize.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Products.h"
#include "compiler/import/ops/Windows.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

Value importer::spread(Node &n, Value v, Value x, int64_t axis, int64_t block) {
  if (n.failed() || !v || n.size(v) == 1)
    return v ? n.reshape(v, {}) : v;
  if (block > 0) {
    // [.., blocks, ..] becomes [.., blocks, block, ..], then cut to x's size.
    Ints s = n.shape(v), split = s, repeated, merged = s;
    Ints blocks = n.shape(x);
    blocks[axis] = llvm::divideCeil(blocks[axis], block);
    if (s != blocks)
      return n.refuse("a scale or zero point " + str(s) + " for blocks of " +
                          Twine(block) + " of " + str(n.shape(x)),
                      str(blocks));
    split.insert(split.begin() + axis + 1, 1);
    repeated = split;
    repeated[axis + 1] = block;
    merged[axis] *= block;
    Value wide = n.reshape(n.broadcast(n.reshape(v, split), repeated), merged);
    return n.slice(wide, axis, 0, n.dim(x, axis));
  }
  if (n.rank(v) != 1 || n.size(v) != n.dim(x, axis))
    return n.refuse("a scale or zero point " + str(n.shape(v)) + " for " +
                        str(n.shape(x)),
                    "one number, or one for each of axis " + Twine(axis));
  Ints s(n.rank(x), 1);
  s[axis] = n.size(v);
  return n.reshape(v, s);
}

Value importer::saturate(Node &n, Value x, Value zeroPoint, Type type) {
  if (n.failed())
    return {};
  assert(n.elem(x).isF32() && "the caller has cast it");
  assert(type.getIntOrFloatBitWidth() <= 16 && "f32 has all of its integers");
  Value y = n.unary(UnaryKind::round, x);
  if (zeroPoint)
    y = n.add(y, n.cast(zeroPoint, n.f32()));
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  return n.cast(n.unary(UnaryKind::clip, y, {low, high}), type);
}

static constexpr TypeSet kFullInts = kInt8 | kUInt8 | kInt16 | kUInt16;
static constexpr TypeSet kQuantised =
    kFullInts | kSmallInts | kFloat8s | kFloat4E2M1;

static bool checkType(Node &n, const char *what, Type type, TypeSet allowed) {
  if (!n.failed() && !(typeSetOf(type) & allowed))
    n.fail(Twine(what) + " " + typeName(type), typeSetNames(allowed));
  return !n.failed();
}

/// The type that the attribute names, `absent` without it, null after a fault.
static Type typeAttr(Node &n, const char *name, Type absent, TypeSet allowed) {
  int64_t number = n.intAttr(name, 0);
  if (n.failed() || number == 0)
    return absent;
  Type type = elementType(number, n.context());
  if (typeSetOf(type) & allowed)
    return type;
  return n.refuse(Twine(name) + " " + dataTypeName(number),
                  typeSetNames(allowed));
}

/// The attribute axis, where the shape of the scale makes use of it.
static int64_t quantisedAxis(Node &n, Value x, Value scale, int64_t block) {
  if (block < 0)
    n.fail("block_size " + Twine(block), "0 or more");
  int64_t axis = n.intAttr("axis", 1);
  return n.size(scale) == 1 && block == 0 ? 0 : n.axis(axis, n.rank(x));
}

/// A zero point that does nothing is left out: -0 + 0 would not be -0.
static Value zeroPoint(Node &n) {
  Value zero = n.optional(2);
  auto data = n.data(zero);
  return data && data->splat() == 0.0 ? Value() : zero;
}

/// As float32, but no more exact than `precision`.
static Value rounded(Node &n, Value x, Type precision) {
  return n.cast(n.cast(x, precision), n.f32());
}

/// The scale's type, or `precision`, says how exactly x is divided; in the
/// operator of ONNX Runtime's domain it is float32.
static void quantize(Node &n, bool isOnnx) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  Type byZero = zero ? n.elem(zero) : Type();
  Type otherwise = byZero ? byZero : n.builder().getIntegerType(8, false);
  Type type = typeAttr(n, "output_dtype", otherwise, kQuantised);
  if (!checkType(n, "a quantised type", type, kQuantised) ||
      !checkType(n, "a scale of", n.elem(scale),
                 kFloats | kInt32 | kFloat8E8M0))
    return;
  if (byZero && type != byZero)
    return n.fail("output_dtype " + typeName(type),
                  "the zero point's " + typeName(byZero));
  zero = zeroPoint(n);
  bool isHalf = isOnnx && typeSetOf(n.elem(scale)) & (kFloat16 | kBFloat16);
  Type precision = typeAttr(n, "precision", isHalf ? n.elem(scale) : n.f32(),
                            kFloat32 | kFloat16 | kBFloat16);
  if (n.failed())
    return;
  int64_t block = n.intAttr("block_size", 0);
  int64_t axis = quantisedAxis(n, x, scale, block);
  Value divisor = spread(n, rounded(n, scale, precision), x, axis, block);
  Value divided =
      rounded(n, n.div(rounded(n, x, precision), divisor), precision);
  zero = spread(n, zero, x, axis, block);
  if (!(typeSetOf(type) & (kFloat8s | kFloat4E2M1)))
    return n.out(saturate(n, divided, zero, type));
  if (zero)
    divided = n.add(divided, n.cast(zero, n.f32()));
  n.out(n.cast(divided, type, n.intAttr("saturate", 1) != 0));
}

static void quantizeLinear(Node &n) { quantize(n, true); }
static void quantizeInFloat32(Node &n) { quantize(n, false); }

static void dequantizeLinear(Node &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  int64_t block = n.intAttr("block_size", 0);
  int64_t axis = quantisedAxis(n, x, scale, block);
  if (!checkType(n, "a scale of", n.elem(scale), kFloats | kFloat8E8M0))
    return;
  if (zero && n.elem(zero) != n.elem(x))
    return n.fail("a zero point of " + typeName(n.elem(zero)),
                  "the input's type " + typeName(n.elem(x)));
  Type result = typeAttr(n, "output_dtype", n.elem(scale), kFloats);
  if (!checkType(n, "a result of", result, kFloats))
    return;
  zero = spread(n, zeroPoint(n), x, axis, block);
  Type exact = n.isFloat(x) ? n.f32() : n.i32();
  Value y = n.cast(x, exact);
  if (zero)
    y = n.sub(y, n.cast(zero, exact));
  Value factor = spread(n, n.cast(scale, n.f32()), x, axis, block);
  n.out(n.cast(n.mul(n.cast(y, n.f32()), factor), result));
}

Quantized importer::dynamicallyQuantized(Node &n, Value x) {
  Ints all = n.axesFrom(0, x);
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
  return {saturate(n, n.div(x, divisor), zeroPoint, u8), scale, zeroPoint};
}

static void dynamicQuantizeLinear(Node &n) {
  Quantized q = dynamicallyQuantized(n, n.in(0));
  n.out(0, q.values);
  n.out(1, q.scale);
  n.out(2, q.zeroPoint);
}

Value importer::centred(Node &n, Value x, Value zeroPoint, int64_t axis) {
  if (n.failed())
    return {};
  if (!(typeSetOf(n.elem(x)) & (kInt8 | kUInt8)))
    return n.refuse("an operand of " + typeName(n.elem(x)), "int8 or uint8");
  Value y = n.cast(x, n.i32());
  if (!zeroPoint)
    return y;
  if (n.elem(zeroPoint) != n.elem(x))
    return n.refuse("a zero point of " + typeName(n.elem(zeroPoint)),
                    "the operand's type " + typeName(n.elem(x)));
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

Value importer::integerMatmul(Node &n, Value a, Value aZero, Value b,
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
  if (!checkType(n, "a quantised type", n.elem(zeroPoint), kFullInts))
    return {};
  if (n.size(inScale) != 1 || n.size(outScale) != 1 || n.size(zeroPoint) != 1)
    return n.refuse("several scales for an input or the output", "one");
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
  n.out(channelsFirst(n, n.in(0), [&](Value x) -> Value {
    Value sum = integerConv(n, x, n.in(2), n.in(3), n.in(5));
    if (Value bias = n.optional(8)) {
      Ints s(n.rank(sum), 1);
      if (n.failed() || n.size(bias) != n.dim(sum, 1))
        return n.refuse("a bias " + str(n.shape(bias)), Twine(n.dim(sum, 1)));
      s[1] = n.size(bias);
      sum = n.add(sum, n.reshape(bias, s));
    }
    return requantize(n, sum, n.in(1), n.in(4), n.in(6), n.in(7), 1);
  }));
}

OpRows importer::quantizeOps() {
  constexpr TypeSet kBytes = kInt8 | kUInt8;
  static const OpRow rows[] = {
      {"ConvInteger", 10, kBytes, convInteger},
      {"DequantizeLinear", 10, kQuantised | kInt32, dequantizeLinear},
      microsoftOp("DequantizeLinear", kQuantised | kInt32, dequantizeLinear),
      {"DynamicQuantizeLinear", 11, kFloat32, dynamicQuantizeLinear},
      {"MatMulInteger", 10, kBytes, matmulInteger},
      {"QLinearConv", 10, kBytes, qLinearConv},
      microsoftOp("QLinearConv", kBytes, qLinearConv),
      {"QLinearMatMul", 10, kBytes, qLinearMatmul, "one scale for A"},
      {"QuantizeLinear", 10, kFloats | kInt32, quantizeLinear},
      microsoftOp("QuantizeLinear", kFloats, quantizeInFloat32),
  };
  return rows;
}
