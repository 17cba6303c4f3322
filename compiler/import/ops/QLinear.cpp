//===- QLinear.cpp - Quantised operators of ONNX Runtime ------------------===//
//
// Its quantiser and its optimiser write these operators. Operators that have a
// function of floats inside are dequantised, computed, and quantised again.
// Products are exact sums of integers that are scaled at the end.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Quantize.h"
#include "compiler/import/ops/Windows.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

//===----------------------------------------------------------------------===//
// One scale a tensor
//===----------------------------------------------------------------------===//

/// Inputs i, i + 1 and i + 2: integers, their scale and their zero point.
static Quantized quantizedAt(Node &n, unsigned i) {
  return {n.in(i), n.in(i + 1), n.optional(i + 2)};
}

/// The only number of a scale or zero point; null for null.
static Value single(Node &n, Value v, const char *what) {
  if (!v || n.failed())
    return {};
  if (n.size(v) != 1)
    return n.refuse(Twine(what) + " of shape " + str(n.shape(v)), "one number");
  return n.reshape(v, {});
}

/// The only number of a scale.
static Value singleScale(Node &n, Value v) {
  Value scale = single(n, v, "a scale");
  return isScale(n, scale) ? scale : Value();
}

Value importer::real(Node &n, const Quantized &q) {
  Value zero = single(n, q.zeroPoint, "a zero point");
  Value scale = singleScale(n, q.scale);
  if (!areBytes(n, q.values, zero))
    return {};
  return dequantized(n, q.values, scale, zero);
}

static constexpr TypeSet kBytes = kInt8 | kUInt8;

/// The type of a result with this zero point or, without one, `type`. Null
/// after a fault.
static Type resultType(Node &n, Value zero, Type type) {
  type = zero ? n.elem(zero) : type;
  if (n.failed() || typeSetOf(type) & kBytes)
    return type;
  return n.refuse("a result of " + typeName(type), typeSetNames(kBytes));
}

/// Output 0 out of float32, in the type of the zero point or, without one, in
/// `type`. Inputs i and i + 1 are its scale and zero point.
static void quantizedOut(Node &n, Value y, unsigned i, Type type) {
  Value scale = singleScale(n, n.in(i));
  Value zero = single(n, n.optional(i + 1), "a zero point");
  type = resultType(n, zero, type);
  if (!n.failed())
    n.out(quantized(n, y, scale, zero, type));
}

/// f(x) for inputs x, scale, zero point, and the result's scale and zero point.
static void quantizedUnary(Node &n, llvm::function_ref<Value(Value)> f) {
  Value x = real(n, quantizedAt(n, 0));
  if (!n.failed())
    quantizedOut(n, f(x), 3, n.elem(n.in(0)));
}

static void qLinearSigmoid(Node &n) {
  quantizedUnary(n, [&](Value x) { return n.unary(UnaryKind::sigmoid, x); });
}

static void qLinearLeakyRelu(Node &n) {
  double alpha = n.floatAttr("alpha", 0.01);
  quantizedUnary(
      n, [&](Value x) { return n.unary(UnaryKind::leaky_relu, x, {alpha}); });
}

/// Before operator set 13 it goes over all dimensions from the axis on.
static void qLinearSoftmax(Node &n) {
  int64_t opset = n.intAttr("opset");
  quantizedUnary(n, [&](Value x) -> Value {
    int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
    if (n.failed() || opset >= 13)
      return n.softmax(x, axis);
    Ints s = n.shape(x);
    return n.reshape(n.softmax(n.reshape(x, outerInner(s, axis)), 1), s);
  });
}

static void qLinearReduceMean(Node &n) {
  bool keep = n.intAttr("keepdims", 1) != 0;
  quantizedUnary(n, [&](Value x) {
    Ints axes = n.axes(n.intsAttr("axes", n.axesFrom(0, x)), n.rank(x));
    return n.reduce(ReduceKind::mean, x, axes, keep);
  });
}

static void qLinearAveragePool(Node &n) {
  quantizedUnary(n, [&](Value x) {
    return channelsFirst(n, x, [&](Value y) { return averagePooled(n, y); });
  });
}

static void qLinearGlobalAveragePool(Node &n) {
  quantizedUnary(n, [&](Value x) {
    return channelsFirst(n, x, [&](Value y) -> Value {
      if (!n.expectRank(y, 3, 64, "an input"))
        return {};
      return n.reduce(ReduceKind::mean, y, n.axesFrom(2, y), true);
    });
  });
}

static void qLinearMul(Node &n) {
  Value a = real(n, quantizedAt(n, 0)), b = real(n, quantizedAt(n, 3));
  quantizedOut(n, n.mul(a, b), 6, n.elem(n.in(0)));
}

/// a * (scale of a / scale of c) + b * (scale of b / scale of c) + the rest, as
/// ONNX Runtime's kernels compute it: sums of two quantised tensors often lie
/// right between two integers, so that another order gives another one.
static void qLinearAdd(Node &n) {
  Quantized a = quantizedAt(n, 0), b = quantizedAt(n, 3);
  Value scale = singleScale(n, n.in(6));
  Value zero = single(n, n.optional(7), "a zero point");
  auto ratio = [&](const Quantized &q) {
    return n.div(singleScale(n, q.scale), scale);
  };
  auto floatZero = [&](Value v) {
    v = single(n, v, "a zero point");
    return v ? n.cast(v, n.f32()) : n.scalar(n.f32(), 0);
  };
  Value aRatio = ratio(a), bRatio = ratio(b);
  Value rest = n.sub(floatZero(n.optional(7)),
                     n.add(n.mul(aRatio, floatZero(a.zeroPoint)),
                           n.mul(bRatio, floatZero(b.zeroPoint))));
  Value y = n.add(n.mul(n.cast(a.values, n.f32()), aRatio), rest);
  y = n.add(n.mul(n.cast(b.values, n.f32()), bRatio), y);
  Type type = resultType(n, zero, n.elem(a.values));
  if (!n.failed())
    n.out(saturate(n, y, Value(), type));
}

static void qLinearWhere(Node &n) {
  Value x = real(n, quantizedAt(n, 1)), y = real(n, quantizedAt(n, 4));
  quantizedOut(n, n.select(n.in(0), x, y), 7, n.elem(n.in(1)));
}

/// The result's scale and zero point, then triples.
static void qLinearConcat(Node &n) {
  Values parts;
  for (unsigned i = 2; i + 1 < n.inputs() && !n.failed(); i += 3)
    parts.push_back(real(n, quantizedAt(n, i)));
  if (parts.empty())
    return n.fail("no inputs to join", "at least one");
  int64_t axis = n.axis(n.intAttr("axis"), n.rank(parts[0]));
  quantizedOut(n, n.concat(parts, axis), 0, n.elem(n.in(2)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value importer::scaledProduct(Node &n, Value sum, Value aScale, Value bScale,
                              Value bias) {
  Value factor = spread(n, n.cast(bScale, n.f32()), sum,
                        std::max<int64_t>(n.rank(sum) - 1, 0), 0);
  if (!isScale(n, aScale) || !isScale(n, bScale, Scales::finite))
    return {};
  factor = n.mul(factor, single(n, aScale, "a scale of A"));
  Value y = n.mul(n.cast(sum, n.f32()), factor);
  return bias ? n.add(y, bias) : y;
}

static void matmulIntegerToFloat(Node &n) {
  Value sum = integerMatmul(n, n.in(0), n.optional(4), n.in(1), n.optional(5));
  n.out(scaledProduct(n, sum, n.in(2), n.in(3), n.optional(6)));
}

static void dynamicQuantizeMatmul(Node &n) {
  Quantized a = dynamicallyQuantized(n, n.in(0));
  Value sum = integerMatmul(n, a.values, a.zeroPoint, n.in(1), n.optional(3));
  n.out(scaledProduct(n, sum, a.scale, n.in(2), n.optional(4)));
}

/// alpha * A' * B' + C, where C counts in units of the product. Without a scale
/// of the result it is float32.
static void qGemm(Node &n) {
  Value a = n.in(0), b = n.in(3), c = n.optional(6);
  if (!n.expectRank(a, 2, 2, "A") || !n.expectRank(b, 2, 2, "B"))
    return;
  if (n.intAttr("transA", 0) != 0)
    a = n.transpose(a, {1, 0});
  Value bZero = n.optional(5);
  if (n.intAttr("transB", 0) != 0)
    b = n.transpose(b, {1, 0});
  Value sum = integerMatmul(n, a, n.optional(2), b, bZero);
  if (c && !n.failed() &&
      n.broadcastShape(n.shape(c), n.shape(sum)) != n.shape(sum))
    return n.fail("C of shape " + str(n.shape(c)),
                  "one that broadcasts to " + str(n.shape(sum)));
  if (c)
    sum = n.add(sum, c);
  Value scale = n.mul(n.in(1), n.floatAttr("alpha", 1));
  Value y = scaledProduct(n, sum, scale, n.in(4), Value());
  if (n.has(7))
    quantizedOut(n, y, 7, n.elem(a));
  else
    n.out(y);
}

//===----------------------------------------------------------------------===//
// Weights of few bits
//===----------------------------------------------------------------------===//

/// The numbers of `bits` bits that lie one behind the other in each row of
/// `bytes` [rows, ...], the lowest bits first, `count` of a row: unsigned
/// integers of that many bits, or of eight [rows, count].
static Value unpackedBits(Node &n, const nn::ConstantData &bytes, int64_t rows,
                          int64_t rowBytes, int64_t count, int64_t bits) {
  assert(count * bits <= rowBytes * 8 && "the caller has looked");
  Type type = n.builder().getIntegerType(bits == 2 || bits == 4 ? bits : 8,
                                         /*isSigned=*/false);
  return n.generate({rows, count}, type, [&](int64_t i) {
    int64_t at = i % count * bits, byte = i / count * rowBytes + at / 8;
    unsigned low = unsigned(bytes.asInt(byte)) & 255;
    if (at % 8 + bits > 8)
      low |= (unsigned(bytes.asInt(byte + 1)) & 255) << 8;
    return double(low >> (at % 8) & ((1u << bits) - 1));
  });
}

/// The number [k] of the block whose scale and zero point each element of a row
/// has, where input g_idx names another than its own. Null without it.
static Value groupIndices(Node &n, int64_t k, int64_t blocks) {
  if (!n.has(4))
    return {};
  auto given = n.constantInput(4, "g_idx");
  if (n.failed())
    return {};
  Ints groups = given->asInts();
  if (int64_t(groups.size()) < k)
    return n.refuse("g_idx of shape " + str(given->shape()), str({k}));
  groups.resize(k); // there may be some for the end of the last block
  for (int64_t group : groups)
    if (group < 0 || group >= blocks)
      return n.refuse("group " + Twine(group) + " in g_idx",
                      "0 to " + Twine(blocks - 1));
  return n.ints(groups);
}

/// Each block of the rows of x [M, K] in 8 bits: round(x / scale) + 128, where
/// the scale [M, K / block] makes 127 of the block's largest number.
static Quantized quantizedBlocks(Node &n, Value x, int64_t block) {
  int64_t rows = n.dim(x, 0), blocks = n.dim(x, 1) / block;
  Value cut = n.reshape(x, {rows, blocks, block});
  Value high = n.reduce(ReduceKind::max, cut, {2}, true);
  Value low = n.reduce(ReduceKind::min, cut, {2}, true);
  Value most = n.binary(BinaryKind::max, high, n.unary(UnaryKind::neg, low));
  // A block of zeros has any scale.
  Value scale = n.div(n.binary(BinaryKind::max, most, 0x1p-100), 127);
  Type u8 = n.builder().getIntegerType(8, /*isSigned=*/false);
  Value bytes = quantized(n, cut, scale, n.scalar(u8, 128), u8);
  return {n.reshape(bytes, {rows, blocks * block}),
          n.reshape(scale, {rows, blocks}), Value()};
}

/// MatMulNBits whose codes take bytes or halves of them, as they are in the
/// file; `zero` is a float, or one a block.
static Value productWithCodes(Node &n, const nn::ConstantData &packed,
                              Value zero, int64_t bits, int64_t block) {
  Value x = n.in(0);
  Ints s = n.shape(x);
  int64_t depth = s.back(), columns = n.intAttr("N");
  int64_t blocks = llvm::divideCeil(depth, block);
  auto perBlock = [&](Value v) { return n.reshape(v, {columns, blocks}); };
  int64_t bytes = llvm::divideCeil(depth * bits, int64_t(8));
  Value codes = n.slice(n.reshape(n.in(1), {columns, packed.size() / columns}),
                        1, 0, bytes);
  double common = 0;
  auto zeros = n.data(zero);
  if (zeros && zeros->splat()) {
    common = *zeros->splat();
    zero = Value();
  } else if (n.size(zero) != 1) {
    zero = perBlock(zero);
  } else {
    zero = n.broadcast(n.reshape(zero, {1, 1}), {columns, blocks});
  }
  Value bias = n.optional(5);
  Value scales = perBlock(n.cast(n.in(2), n.f32()));
  Value rows = n.reshape(n.cast(x, n.f32()), {n.size(x) / depth, depth});
  if (n.failed())
    return {};
  Quantized q = {rows, Value(), Value()};
  if (n.intAttr("accuracy_level", 0) == 4 && depth % block == 0)
    q = quantizedBlocks(n, rows, block);
  Value y = n.create<nn::BitsMatMulOp>(
      {q.values, codes, scales, zero, q.scale,
       bias ? n.cast(bias, n.f32()) : Value()},
      {n.attr("bits", bits), n.attr("block", block), n.number("zero", common)},
      RankedTensorType::get({n.size(x) / depth, columns}, n.f32()));
  s.back() = columns;
  return n.reshape(n.cast(y, n.elem(x)), s);
}

/// A [.., K] times the transpose of a matrix [N, K] of integers of few bits,
/// with a scale and a zero point for each block of a row.
static void matmulNBits(Node &n) {
  Value x = n.in(0), scales = n.in(2), zeros = n.optional(3);
  Value bias = n.optional(5);
  int64_t k = n.intAttr("K"), columns = n.intAttr("N");
  int64_t bits = n.intAttr("bits", 4), block = n.intAttr("block_size");
  auto packed = n.constantInput(1, "B");
  if (n.failed())
    return;
  if (!(typeSetOf(n.elem(n.in(1))) & kUInt8))
    return n.fail("B of " + typeName(n.elem(n.in(1))), "uint8");
  if (zeros && !(typeSetOf(n.elem(zeros)) & (kUInt8 | kFloats)))
    return n.fail("zero_points of " + typeName(n.elem(zeros)),
                  "uint8 or a type of floats");
  if (bits < 2 || bits > 8)
    return n.fail("bits " + Twine(bits), "2 to 8");
  constexpr int64_t kMost = int64_t(1) << 31;
  if (k < 1 || columns < 1 || k > kMost || columns > kMost || block < 16 ||
      block > kMost || (block & (block - 1)))
    return n.fail("K " + Twine(k) + ", N " + Twine(columns) +
                      " and block_size " + Twine(block),
                  "positive sizes, and a power of two from 16 on");
  if (n.rank(x) < 1 || n.dim(x, n.rank(x) - 1) != k)
    return n.fail("A of shape " + str(n.shape(x)), "K " + Twine(k) + " last");
  int64_t blocks = llvm::divideCeil(k, block), rowBytes;
  rowBytes = blocks * (block * bits / 8);
  if (n.size(n.in(1)) != columns * rowBytes)
    return n.fail("B of shape " + str(n.shape(n.in(1))),
                  str({columns, blocks, block * bits / 8}));
  if (n.size(scales) != columns * blocks)
    return n.fail("scales of shape " + str(n.shape(scales)),
                  str({columns, blocks}));
  if (!n.expectShape(bias, {columns}, "a bias"))
    return;
  Type type = n.elem(x);
  Value groups = groupIndices(n, k, blocks);
  if (n.failed())
    return;
  auto eachBlock = [&](Value v) { // [N, K] out of one number a block
    if (groups)
      return n.gather(n.reshape(v, {columns, blocks}), groups, 1);
    v = n.broadcast(n.reshape(v, {columns, blocks, 1}),
                    {columns, blocks, block});
    return n.slice(n.reshape(v, {columns, blocks * block}), 1, 0, k);
  };
  Value zero;
  if (zeros && n.isFloat(zeros)) {
    if (n.size(zeros) != columns * blocks)
      return n.fail("zero_points of shape " + str(n.shape(zeros)),
                    str({columns, blocks}));
    zero = n.cast(zeros, n.f32());
  } else if (zeros) {
    auto data = n.constantInput(3, "zero_points");
    int64_t zeroBytes = llvm::divideCeil(blocks * bits, int64_t(8));
    if (!data)
      return;
    if (data->size() != columns * zeroBytes)
      return n.fail("zero_points of shape " + str(n.shape(zeros)),
                    str({columns, zeroBytes}));
    zero = n.cast(unpackedBits(n, *data, columns, zeroBytes, blocks, bits),
                  n.f32());
  } else {
    zero = n.scalar(n.f32(), double(int64_t(1) << (bits - 1)));
  }
  if ((bits == 4 || bits == 8) && !groups)
    return n.out(productWithCodes(n, *packed, zero, bits, block));
  if (n.size(zero) != 1)
    zero = eachBlock(zero);
  Value weights =
      n.cast(unpackedBits(n, *packed, columns, rowBytes, k, bits), n.f32());
  weights = n.mul(n.sub(weights, zero), eachBlock(n.cast(scales, n.f32())));
  Ints s = n.shape(x), result = s;
  if (n.failed())
    return;
  result.back() = columns;
  Value rows = n.reshape(x, {n.size(x) / k, k});
  n.out(n.reshape(n.matmul(rows, n.cast(weights, type), bias, false, true),
                  result));
}

OpRows importer::qLinearOps() {
  static const OpRow rows[] = {
      microsoftOp("DynamicQuantizeMatMul", kFloat32, dynamicQuantizeMatmul),
      microsoftOp("MatMulIntegerToFloat", kBytes, matmulIntegerToFloat),
      microsoftOp("MatMulNBits", kFloats, matmulNBits,
                  "B, integer zero points and g_idx constant"),
      microsoftOp("QGemm", kBytes, qGemm),
      microsoftOp("QLinearAdd", kBytes, qLinearAdd),
      microsoftOp("QLinearAveragePool", kBytes, qLinearAveragePool),
      microsoftOp("QLinearConcat", 0, qLinearConcat),
      microsoftOp("QLinearGlobalAveragePool", kBytes, qLinearGlobalAveragePool),
      microsoftOp("QLinearLeakyRelu", kBytes, qLinearLeakyRelu),
      microsoftOp("QLinearMul", kBytes, qLinearMul),
      microsoftOp("QLinearReduceMean", kBytes, qLinearReduceMean),
      microsoftOp("QLinearSigmoid", kBytes, qLinearSigmoid),
      microsoftOp("QLinearSoftmax", kBytes, qLinearSoftmax),
      microsoftOp("QLinearWhere", kBool, qLinearWhere),
  };
  return rows;
}
