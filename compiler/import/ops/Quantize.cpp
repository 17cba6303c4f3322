//===- Quantize.cpp - Quantisation and integer layers ---------------------===//
//
// Integers stay integers: layers quantise and dequantise them, and products are
// summed exactly as int32. Floats of 8 and 4 bits are float32 as soon as they
// are computed with.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/ops/Quantize.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Products.h"
#include "compiler/import/ops/Windows.h"
#include "dialects/nn/QuantEval.h"
#include "dialects/nn/QuantizedProduct.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Whether there is a number for each block of `axis` of x, else a fault.
static bool isOfBlocks(Node &n, Value v, Value x, int64_t axis, int64_t block) {
  Ints blocks = n.shape(x);
  if (n.failed())
    return false;
  blocks[axis] = llvm::divideCeil(blocks[axis], block);
  if (n.shape(v) != blocks)
    return n.refuse("a scale or zero point " + str(n.shape(v)) +
                        " for blocks of " + Twine(block) + " of " +
                        str(n.shape(x)),
                    str(blocks));
  return true;
}

Value importer::spread(Node &n, Value v, Value x, int64_t axis, int64_t block) {
  if (n.failed() || !v || n.size(v) == 1)
    return v ? n.reshape(v, {}) : v;
  if (block > 0) {
    // [.., blocks, ..] becomes [.., blocks, block, ..], then cut to x's size.
    if (!isOfBlocks(n, v, x, axis, block))
      return {};
    Ints split = n.shape(v), repeated, merged = split;
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

bool importer::isScale(Node &n, Value scale, Scales allowed) {
  if (n.failed())
    return false;
  auto data = n.data(scale);
  int64_t count = !data ? 0 : data->isSplat() ? 1 : data->size();
  for (int64_t i = 0; i < count; ++i) {
    double number = data->asDouble(i);
    bool isPositive = number > 0 && !std::isinf(number);
    if (!isPositive && !(allowed == Scales::finite && std::isfinite(number)))
      return n.refuse("a scale of " + Twine(std::to_string(number)),
                      allowed == Scales::finite ? "a finite number"
                                                : "a positive number");
  }
  return true;
}

Value importer::quantized(Node &n, Value x, Value scale, Value zeroPoint,
                          Type type) {
  return n.create<nn::QuantizeOp>({x, scale, zeroPoint}, {},
                                  n.type(n.shape(x), type));
}

Value importer::saturate(Node &n, Value x, Value zeroPoint, Type type) {
  return quantized(n, x, n.scalar(n.f32(), 1), zeroPoint, type);
}

Value importer::dequantized(Node &n, Value q, Value scale, Value zeroPoint) {
  RankedTensorType type = n.type(n.shape(q), n.f32());
  auto data = n.data(q), factor = n.data(scale), zero = n.data(zeroPoint);
  // Numbers decide what other layers do; passes look for larger constants.
  if (type && data && factor && data->size() == 1 && factor->size() == 1 &&
      (zero || !zeroPoint))
    return n.constant(
        nn::evalDequantize(*data, *factor, zero ? &*zero : nullptr, type));
  return n.create<nn::DequantizeOp>({q, scale, zeroPoint}, {}, type);
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

namespace {
/// A tensor with a scale and a zero point for each block of an axis, which is
/// seen as two axes where the blocks divide it.
class Blocks {
public:
  Blocks(Node &n, Value x, int64_t axis, int64_t block)
      : n(n), x(x), axis(axis), block(block), whole(n.shape(x)) {
    isDivided = !n.failed() && block > 0 && n.dim(x, axis) > 0 &&
                n.dim(x, axis) % block == 0;
  }

  Value cut(Value v) {
    if (!isDivided || n.failed())
      return v;
    Ints shape = whole;
    shape[axis] /= block;
    shape.insert(shape.begin() + axis + 1, block);
    return n.reshape(v, shape);
  }
  Value joined(Value v) { return isDivided ? n.reshape(v, whole) : v; }

  /// A scale or zero point in the form that broadcasts to a result of cut().
  Value spread(Value v) {
    if (n.failed() || !v || !isDivided || n.size(v) == 1)
      return importer::spread(n, v, x, axis, block);
    if (!isOfBlocks(n, v, x, axis, block))
      return {};
    Ints shape = n.shape(v);
    shape.insert(shape.begin() + axis + 1, 1);
    return n.reshape(v, shape);
  }

private:
  Node &n;
  Value x;
  int64_t axis, block;
  Ints whole;
  bool isDivided;
};
} // namespace

/// The scale's type, or `precision`, says how exactly x is divided; in the
/// operator of ONNX Runtime's domain it is float32.
static void quantize(Node &n, bool isOnnx) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  Type byZero = zero ? n.elem(zero) : Type();
  Type otherwise = byZero ? byZero : n.builder().getIntegerType(8, false);
  Type type = typeAttr(n, "output_dtype", otherwise, kQuantised);
  if (!checkType(n, "a quantised type", type, kQuantised) ||
      !checkType(n, "a scale of", n.elem(scale),
                 kFloats | kInt32 | kFloat8E8M0) ||
      !isScale(n, scale))
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
  Blocks blocks(n, x, quantisedAxis(n, x, scale, block), block);
  bool isInteger = !(typeSetOf(type) & (kFloat8s | kFloat4E2M1));
  Value divisor = blocks.spread(rounded(n, scale, precision));
  Value y = blocks.cut(rounded(n, x, precision));
  zero = blocks.spread(zero);
  if (isInteger && precision == n.f32()) {
    y = quantized(n, y, divisor, zero, type);
  } else {
    y = rounded(n, n.div(y, divisor), precision);
    if (isInteger)
      y = saturate(n, y, zero, type);
    else
      y = n.cast(zero ? n.add(y, n.cast(zero, n.f32())) : y, type,
                 n.intAttr("saturate", 1) != 0);
  }
  n.out(blocks.joined(y));
}

static void quantizeLinear(Node &n) { quantize(n, true); }
static void quantizeInFloat32(Node &n) { quantize(n, false); }

static void dequantizeLinear(Node &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.optional(2);
  int64_t block = n.intAttr("block_size", 0);
  Blocks blocks(n, x, quantisedAxis(n, x, scale, block), block);
  if (!checkType(n, "a scale of", n.elem(scale), kFloats | kFloat8E8M0) ||
      !isScale(n, scale, Scales::finite))
    return;
  if (zero && n.elem(zero) != n.elem(x))
    return n.fail("a zero point of " + typeName(n.elem(zero)),
                  "the input's type " + typeName(n.elem(x)));
  Type result = typeAttr(n, "output_dtype", n.elem(scale), kFloats);
  if (!checkType(n, "a result of", result, kFloats))
    return;
  Value factor = blocks.spread(n.cast(scale, n.f32()));
  Value y = blocks.cut(x);
  zero = blocks.spread(zeroPoint(n));
  if (n.isFloat(x)) {
    y = n.cast(y, n.f32());
    y = n.mul(zero ? n.sub(y, n.cast(zero, n.f32())) : y, factor);
  } else {
    y = dequantized(n, y, factor, zero);
  }
  n.out(n.cast(blocks.joined(y), result));
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
      quantized(n, n.unary(UnaryKind::neg, low), divisor, Value(), u8);
  return {quantized(n, x, divisor, zeroPoint, u8), scale, zeroPoint};
}

static void dynamicQuantizeLinear(Node &n) {
  Quantized q = dynamicallyQuantized(n, n.in(0));
  n.out(0, q.values);
  n.out(1, q.scale);
  n.out(2, q.zeroPoint);
}

bool importer::areBytes(Node &n, Value x, Value zeroPoint) {
  if (n.failed())
    return false;
  if (!(typeSetOf(n.elem(x)) & (kInt8 | kUInt8)))
    return n.refuse("an operand of " + typeName(n.elem(x)), "int8 or uint8");
  if (zeroPoint && n.elem(zeroPoint) != n.elem(x))
    return n.refuse("a zero point of " + typeName(n.elem(zeroPoint)),
                    "the operand's type " + typeName(n.elem(x)));
  return true;
}

/// A zero point of one number, of one for each index of `axis` of x, or of more
/// dimensions with one element where x has `terms`, which are summed over.
static bool isCentreOf(Node &n, Value zeroPoint, Value x, int64_t axis,
                       int64_t terms) {
  if (!areBytes(n, x, zeroPoint))
    return false;
  if (!zeroPoint || n.size(zeroPoint) == 1)
    return true;
  Ints zero = n.shape(zeroPoint), whole = n.shape(x);
  int64_t last = zero.size() + terms - whole.size();
  bool isGood = n.rank(zeroPoint) == 1 ? n.rank(x) > 1 && zero[0] == whole[axis]
                                       : nn::broadcastsTo(zero, whole) &&
                                             (last < 0 || zero[last] == 1);
  if (!isGood)
    n.fail("a zero point " + str(zero), "one that broadcasts to " + str(whole));
  return isGood;
}

Value importer::integerMatmul(Node &n, Value a, Value aZero, Value b,
                              Value bZero) {
  if (n.failed())
    return {};
  int64_t aRank = n.rank(a), bRank = n.rank(b);
  if (!isCentreOf(n, aZero, a, aRank - 2, aRank - 1) ||
      !isCentreOf(n, bZero, b, bRank - 1, bRank - 2))
    return {};
  if (aZero && n.size(aZero) != 1 && n.rank(aZero) == 1)
    aZero = n.reshape(aZero, {n.size(aZero), 1});
  if (bZero && n.size(bZero) == n.dim(bZero, n.rank(bZero) - 1))
    bZero = n.reshape(bZero, {n.size(bZero)});
  return numpyMatmul(n, a, b, n.i32(), [&](Value l, Value r) {
    return nn::quantizedMatMul(n.builder(), n.loc(), {l, aZero}, {r, bZero},
                               /*transposeRhs=*/false, Value());
  });
}

/// `bias` may be null.
static Value integerConv(Node &n, Value x, Value xZero, Value w, Value wZero,
                         Value bias) {
  if (!areBytes(n, x, xZero) || !areBytes(n, w, wZero))
    return {};
  if (xZero && n.size(xZero) != 1)
    return n.refuse("a zero point " + str(n.shape(xZero)) + " of the input",
                    "one number");
  auto conv = readConvolution(n, x, w, bias, n.i32());
  if (!conv)
    return {};
  if (wZero && n.size(wZero) != 1 &&
      !n.expectShape(wZero, {n.dim(w, 0)}, "a zero point of the weights"))
    return {};
  if (bias && !n.elem(bias).isInteger(32))
    return n.refuse("a bias of " + typeName(n.elem(bias)), "int32");
  const Windows &at = conv->windows;
  return nn::quantizedConv(
      n.builder(), n.loc(), {x, xZero}, {w, wZero}, bias,
      {at.strides, at.dilations, at.padsLow, at.padsHigh, conv->groups});
}

/// An int32 sum times inScale * weightScale / outScale as the type of
/// `zeroPoint`. The weights' scale goes along `axis` unless it is one number.
static Value requantize(Node &n, Value sum, Value inScale, Value weightScale,
                        Value outScale, Value zeroPoint, int64_t axis) {
  if (!checkType(n, "a quantised type", n.elem(zeroPoint), kFullInts))
    return {};
  if (n.size(inScale) != 1 || n.size(outScale) != 1 || n.size(zeroPoint) != 1)
    return n.refuse("several scales for an input or the output", "one");
  if (!isScale(n, inScale) || !isScale(n, weightScale, Scales::finite) ||
      !isScale(n, outScale))
    return {};
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
  n.out(
      integerConv(n, n.in(0), n.optional(2), n.in(1), n.optional(3), Value()));
}

static void qLinearMatmul(Node &n) {
  Value sum = integerMatmul(n, n.in(0), n.in(2), n.in(3), n.in(5));
  n.out(requantize(n, sum, n.in(1), n.in(4), n.in(6), n.in(7),
                   std::max<int64_t>(n.rank(sum) - 1, 0)));
}

static void qLinearConv(Node &n) {
  n.out(channelsFirst(n, n.in(0), [&](Value x) -> Value {
    Value sum = integerConv(n, x, n.in(2), n.in(3), n.in(5), n.optional(8));
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
