//===- QuantizedProduct.cpp - The normal form of products -----------------===//

#include "dialects/nn/QuantizedProduct.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNBuild.h"
#include "dialects/nn/NNInference.h"
#include "mlir/Dialect/Traits.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

static ArrayRef<int64_t> sizesOf(Value v) { return typeOf(v).getShape(); }

static bool isUnsigned(Value v) {
  return typeOf(v).getElementType().isUnsignedInteger();
}

/// Whether all elements of a constant are zero; so is nothing at all.
static bool isNothing(Value v) {
  if (!v)
    return true;
  auto data = ConstantData::get(v);
  return data && data->splat() == 0.0;
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

static constexpr int64_t signBit = 128;

Value nn::withFlippedSign(OpBuilder &b, Location loc, Value bytes) {
  if (Value before =
          isUnsigned(bytes) ? flippedToUnsigned(bytes) : flippedToSigned(bytes))
    return before;
  Type u8 = b.getIntegerType(8, false);
  auto type = typeOf(bytes);
  Type other = isUnsigned(bytes) ? Type(b.getI8Type()) : u8;
  assert(type.getElementType().isInteger(8) && "bytes have a sign to flip");
  auto bits = [&](Value v, Type element) {
    return b.createOrFold<BitCastOp>(loc, type.clone(element), v);
  };
  auto flip = [&](Value v) {
    Value bit = createConstant(
        b, loc, makeSplat(RankedTensorType::get({}, u8), signBit));
    return b.createOrFold<BinaryOp>(loc, v, bit, BinaryKind::bitwise_xor);
  };
  return isUnsigned(bytes) ? bits(flip(bytes), other) : flip(bits(bytes, u8));
}

/// x of x ^ 128.
static Value beforeFlip(Value v) {
  auto binary = v.getDefiningOp<BinaryOp>();
  if (!binary || binary.getKind() != BinaryKind::bitwise_xor ||
      binary.getLhs().getType() != binary.getType() || !isUnsigned(v))
    return {};
  auto bit = ConstantData::get(binary.getRhs());
  return bit && bit->splat() == double(signBit) ? binary.getLhs() : Value();
}

static Value beforeBitCast(Value v) {
  auto cast = v.getDefiningOp<BitCastOp>();
  return cast ? cast.getInput() : Value();
}

Value nn::flippedToSigned(Value bytes) {
  Value bits = beforeBitCast(bytes);
  return bits && typeOf(bits).getElementType().isUnsignedInteger(8)
             ? beforeFlip(bits)
             : Value();
}

Value nn::flippedToUnsigned(Value bytes) {
  Value bits = beforeFlip(bytes);
  Value before = bits ? beforeBitCast(bits) : Value();
  return before && typeOf(before).getElementType().isSignlessInteger(8)
             ? before
             : Value();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Where the column of an element of weights stands in its index.
struct ColumnPlace {
  int64_t columns, stride;
  int64_t of(int64_t index) const { return index / stride % columns; }
};

class ProductBuilder {
public:
  ProductBuilder(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value conv(CentredBytes x, CentredBytes w, Value bias, const ConvWindow &at,
             const ProductEnd &end);
  Value matmul(CentredBytes x, CentredBytes w, bool transposeRhs, Value bias,
               const ProductEnd &end);

private:
  Value binary(BinaryKind kind, Value l, Value r) {
    return b.createOrFold<BinaryOp>(loc, l, r, kind);
  }
  Value add(Value l, Value r) { return l ? binary(BinaryKind::add, l, r) : r; }
  Value sub(Value l, Value r) { return binary(BinaryKind::sub, l, r); }
  Value negative(Value v) { return sub(number(b.getI32Type(), 0), v); }
  Value mul(Value l, Value r) { return binary(BinaryKind::mul, l, r); }
  Value number(Type element, double value) {
    return createConstant(b, loc,
                          makeSplat(RankedTensorType::get({}, element), value));
  }
  Value cast(Value v, Type element) {
    return b.createOrFold<CastOp>(loc, typeOf(v).clone(element), v);
  }
  /// A number as i32; null for zero.
  Value wide(Value v) {
    return isNothing(v) ? Value() : cast(v, b.getI32Type());
  }
  Value reshape(Value v, ArrayRef<int64_t> shape) {
    return b.createOrFold<ReshapeOp>(
        loc, RankedTensorType::get(shape, typeOf(v).getElementType()), v);
  }
  Value scalar(Value v) {
    return v && typeOf(v).getNumElements() == 1 ? reshape(v, {}) : v;
  }
  Value ones(ArrayRef<int64_t> shape, Type element) {
    return createConstant(b, loc,
                          makeSplat(RankedTensorType::get(shape, element), 1));
  }
  /// A product of matrices alone: with ones these are sums.
  Value plain(Value lhs, Value rhs, bool transposeRhs);
  Value broadcast(Value v, ArrayRef<int64_t> shape) {
    return b.createOrFold<BroadcastOp>(
        loc, RankedTensorType::get(shape, typeOf(v).getElementType()), v);
  }
  /// As many elements as there are columns; null stays null.
  Value vector(Value v, int64_t columns) {
    return v ? broadcast(scalar(v), {columns}) : v;
  }

  CentredBytes flipped(CentredBytes bytes) {
    Value zero = bytes.zero;
    if (!zero)
      zero = number(typeOf(bytes.values).getElementType(), 0);
    return {withFlippedSign(b, loc, bytes.values),
            withFlippedSign(b, loc, zero)};
  }
  CentredBytes unsignedBytes(CentredBytes x) {
    x.zero = scalar(x.zero);
    return isUnsigned(x.values) ? x : flipped(x);
  }
  CentredBytes signedBytes(CentredBytes w, const ColumnPlace &place);
  std::optional<CentredBytes> shifted(CentredBytes w, const ColumnPlace &place);
  /// The sum of each column of weights, or of each column of each matrix of
  /// constant weights, as i32 of this shape.
  Value columnSums(const ConstantData &weights, const ColumnPlace &place,
                   ArrayRef<int64_t> shape);

  /// The same for computed weights [..., K, N], as [..., 1, N].
  Value columnSums(Value weights, bool isTransposed) {
    ArrayRef<int64_t> shape = sizesOf(weights);
    int64_t terms = shape[shape.size() - (isTransposed ? 1 : 2)];
    return plain(ones({1, terms}, b.getIntegerType(8, false)), weights,
                 isTransposed);
  }

  /// Layers for the end of a product that has no room for it. Vectors go along
  /// the result's dimension `axis`.
  Value finish(Value sum, const ProductEnd &end, int64_t axis);
  /// `end` as that of a result of ui8.
  ProductEnd unsignedEnd(ProductEnd end) {
    if (end.outZero && !isUnsigned(end.outZero))
      end.outZero = withFlippedSign(b, loc, end.outZero);
    return end;
  }
  Value asAsked(Value result, const ProductEnd &asked) {
    return asked.outZero && !isUnsigned(asked.outZero)
               ? withFlippedSign(b, loc, result)
               : result;
  }
  RankedTensorType resultType(ArrayRef<int64_t> shape, const ProductEnd &end) {
    Type element = end.outZero ? typeOf(end.outZero).getElementType()
                   : end.scale ? Type(b.getF32Type())
                               : Type(b.getI32Type());
    return RankedTensorType::get(shape, element);
  }

  OpBuilder &b;
  Location loc;
};
} // namespace

/// Constant weights less their zero points, where those are i8; nullopt where
/// one is not.
std::optional<CentredBytes> ProductBuilder::shifted(CentredBytes w,
                                                    const ColumnPlace &place) {
  auto weights = ConstantData::get(w.values);
  auto zero = ConstantData::get(w.zero);
  if (!weights || !zero || (zero->size() != 1 && zero->size() != place.columns))
    return std::nullopt;
  SmallVector<int64_t> zeros = zero->asInts();
  SmallVector<char, 0> bytes(weights->size());
  for (int64_t i = 0; i < weights->size(); ++i) {
    int64_t value =
        weights->asInt(i) - zeros[zeros.size() == 1 ? 0 : place.of(i)];
    if (value < -128 || value > 127)
      return std::nullopt;
    bytes[i] = static_cast<char>(value);
  }
  auto type = RankedTensorType::get(weights->shape(), b.getI8Type());
  return CentredBytes{createConstant(b, loc, makeConstant(type, bytes)), {}};
}

CentredBytes ProductBuilder::signedBytes(CentredBytes w,
                                         const ColumnPlace &place) {
  if (!isUnsigned(w.values) && isNothing(w.zero))
    return {w.values, {}};
  if (!w.zero)
    w.zero = number(typeOf(w.values).getElementType(), 0);
  w.zero = scalar(w.zero);
  if (auto weights = shifted(w, place))
    return *weights;
  return isUnsigned(w.values) ? flipped(w) : w;
}

Value ProductBuilder::columnSums(const ConstantData &weights,
                                 const ColumnPlace &place,
                                 ArrayRef<int64_t> shape) {
  // Unsigned numbers wrap around.
  SmallVector<uint32_t> sums(llvm::product_of(shape), 0);
  int64_t matrices = sums.size() / place.columns;
  int64_t size = weights.size() / std::max<int64_t>(matrices, 1);
  for (int64_t i = 0; i < weights.size(); ++i)
    sums[i / size * place.columns + place.of(i)] +=
        static_cast<uint32_t>(weights.asInt(i));
  return createConstant(
      b, loc,
      makeConstant(RankedTensorType::get(shape, b.getI32Type()),
                   ArrayRef<char>(reinterpret_cast<const char *>(sums.data()),
                                  sums.size() * sizeof(uint32_t))));
}

Value ProductBuilder::finish(Value sum, const ProductEnd &end, int64_t axis) {
  if (!end.scale)
    return sum;
  SmallVector<int64_t> shape(typeOf(sum).getRank() - axis, 1);
  auto along = [&](Value v) {
    shape[0] = typeOf(v).getNumElements();
    return reshape(v, shape);
  };
  Value y = mul(cast(sum, b.getF32Type()), along(end.scale));
  if (end.shift)
    y = add(y, along(end.shift));
  if (end.activation)
    y = b.createOrFold<UnaryOp>(loc, y, end.activation);
  if (!end.outZero)
    return y;
  Value scale = end.outScale ? end.outScale : number(b.getF32Type(), 1);
  return b.createOrFold<QuantizeOp>(
      loc, typeOf(y).clone(typeOf(end.outZero).getElementType()), y, scale,
      end.outZero);
}

Value ProductBuilder::conv(CentredBytes x, CentredBytes w, Value bias,
                           const ConvWindow &at, const ProductEnd &asked) {
  ProductEnd end = unsignedEnd(asked);
  int64_t outputs = sizesOf(w.values)[0];
  int64_t terms = llvm::product_of(sizesOf(w.values).drop_front());
  ColumnPlace place{outputs, std::max<int64_t>(terms, 1)};
  x = unsignedBytes(x);
  w = signedBytes(w, place);
  auto spatial =
      windows(std::nullopt, typeOf(x.values), sizesOf(w.values).drop_front(2),
              at.strides, at.dilations, at.padsLow, at.padsHigh);
  assert(succeeded(spatial) && "the caller has looked at shapes");
  SmallVector<int64_t> shape{sizesOf(x.values)[0], outputs};
  llvm::append_range(shape, *spatial);

  Value xZero = wide(x.zero), wZero = wide(w.zero);
  if (xZero) {
    auto weights = ConstantData::get(w.values);
    Value sums =
        weights ? columnSums(*weights, place, {outputs})
                : reshape(columnSums(reshape(w.values, {outputs, terms}), true),
                          {outputs});
    if (wZero)
      sums = sub(sums, mul(wZero, number(b.getI32Type(), double(terms))));
    bias = add(vector(bias, outputs), mul(xZero, negative(sums)));
  }
  bool isPadded = !llvm::all_of(at.padsLow, [](int64_t p) { return p == 0; }) ||
                  !llvm::all_of(at.padsHigh, [](int64_t p) { return p == 0; });
  Value padding = isPadded && xZero ? x.zero : Value();
  auto product = [&](Value weights, Value bias, Value rows,
                     const ProductEnd &end, ArrayRef<int64_t> shape) -> Value {
    return QConvOp::create(b, loc, resultType(shape, end), x.values, weights,
                           padding, bias, /*residual=*/Value(), rows, end.scale,
                           end.shift, end.outScale, end.outZero,
                           /*step=*/Value(), /*offset=*/Value(),
                           /*residual_scale=*/Value(),
                           /*residual_zero=*/Value(), /*final_scale=*/Value(),
                           /*final_zero=*/Value(), at.strides, at.dilations,
                           at.padsLow, at.padsHigh, at.groups, end.activation,
                           FunctionAttr());
  };
  if (!wZero)
    return asAsked(product(w.values, bias, {}, end, shape), asked);

  // Sums of x by a window of ones, one output channel a group.
  SmallVector<int64_t> window(sizesOf(w.values)), parts(shape);
  window[0] = parts[1] = at.groups;
  Value sums = product(ones(window, b.getI8Type()), {}, {}, {}, parts);
  if (at.groups == 1 && typeOf(wZero).getNumElements() == 1)
    return asAsked(
        product(w.values, bias, mul(sums, negative(wZero)), end, shape), asked);
  if (at.groups > 1) {
    parts.insert(parts.begin() + 2, 1);
    sums = reshape(sums, parts);
    parts[2] = outputs / at.groups;
    sums = reshape(broadcast(sums, parts), shape);
  }
  SmallVector<int64_t> channels(shape.size() - 1, 1);
  if (typeOf(wZero).getNumElements() != 1) {
    channels[0] = outputs;
    wZero = reshape(wZero, channels);
  }
  Value sum = sub(product(w.values, bias, {}, {}, shape), mul(sums, wZero));
  return asAsked(finish(sum, end, 1), asked);
}

static SmallVector<int64_t> matmulShape(Value lhs, Value rhs,
                                        bool transposeRhs) {
  ArrayRef<int64_t> l = sizesOf(lhs), r = sizesOf(rhs);
  SmallVector<int64_t> shape;
  [[maybe_unused]] bool isProduct =
      OpTrait::util::getBroadcastedShape(l.drop_back(2), r.drop_back(2), shape);
  assert(isProduct && "the caller has looked at shapes");
  shape.append({l[l.size() - 2], r[r.size() - (transposeRhs ? 2 : 1)]});
  return shape;
}

Value ProductBuilder::plain(Value lhs, Value rhs, bool transposeRhs) {
  return QMatMulOp::create(
      b, loc, resultType(matmulShape(lhs, rhs, transposeRhs), {}), lhs, rhs,
      Value(), Value(), Value(), Value(), Value(), Value(), Value(), Value(),
      Value(), Value(), Value(), Value(), Value(), transposeRhs, FunctionAttr(),
      FunctionAttr());
}

Value ProductBuilder::matmul(CentredBytes x, CentredBytes w, bool transposeRhs,
                             Value bias, const ProductEnd &asked) {
  ProductEnd end = unsignedEnd(asked);
  ArrayRef<int64_t> l = sizesOf(x.values), r = sizesOf(w.values);
  int64_t rank = r.size(), terms = l.back();
  int64_t columns = r[rank - (transposeRhs ? 2 : 1)];
  ColumnPlace place{std::max<int64_t>(columns, 1),
                    transposeRhs ? std::max<int64_t>(terms, 1) : 1};
  x = unsignedBytes(x);
  w = signedBytes(w, place);
  SmallVector<int64_t> shape = matmulShape(x.values, w.values, transposeRhs);
  if (terms == 0 || columns == 0) { // nothing to sum up
    Value sum = broadcast(number(b.getI32Type(), 0), shape);
    return asAsked(finish(bias ? add(sum, bias) : sum, end, shape.size() - 1),
                   asked);
  }

  Value xZero = wide(x.zero), wZero = wide(w.zero), rest;
  if (xZero) {
    // [..., 1, N], or [N] of one matrix.
    SmallVector<int64_t> row(r);
    row[rank - 2] = 1;
    row[rank - 1] = columns;
    if (rank == 2)
      row = {columns};
    auto weights = ConstantData::get(w.values);
    Value sums = weights ? columnSums(*weights, place, row)
                         : reshape(columnSums(w.values, transposeRhs), row);
    if (wZero)
      sums = sub(sums, mul(wZero, number(b.getI32Type(), double(terms))));
    // Other shapes than a vector do not fit into the product's bias.
    if (typeOf(xZero).getRank() == 0 && typeOf(sums).getRank() == 1)
      bias = add(vector(bias, columns), mul(xZero, negative(sums)));
    else
      rest = mul(xZero, sums);
  }
  Value rows;
  if (wZero) {
    Value sums = plain(x.values, ones({terms, 1}, b.getI8Type()), false);
    SmallVector<int64_t> row(shape);
    row.back() = 1;
    if (typeOf(wZero).getNumElements() == 1 && sizesOf(sums) == ArrayRef(row))
      rows = mul(sums, negative(wZero));
    else
      rest = add(rest, mul(sums, wZero));
  }
  auto product = [&](const ProductEnd &end) -> Value {
    return QMatMulOp::create(b, loc, resultType(shape, end), x.values, w.values,
                             bias, /*residual=*/Value(), rows, end.scale,
                             end.shift, end.outScale, end.outZero,
                             /*step=*/Value(), /*offset=*/Value(),
                             /*residual_scale=*/Value(),
                             /*residual_zero=*/Value(), /*final_scale=*/Value(),
                             /*final_zero=*/Value(), transposeRhs,
                             end.activation, FunctionAttr());
  };
  if (!rest)
    return asAsked(product(end), asked);
  return asAsked(finish(sub(product({}), rest), end, shape.size() - 1), asked);
}

Value nn::quantizedConv(OpBuilder &b, Location loc, CentredBytes x,
                        CentredBytes w, Value bias, const ConvWindow &window,
                        const ProductEnd &end) {
  return ProductBuilder(b, loc).conv(x, w, bias, window, end);
}

Value nn::quantizedMatMul(OpBuilder &b, Location loc, CentredBytes x,
                          CentredBytes w, bool transposeRhs, Value bias,
                          const ProductEnd &end) {
  return ProductBuilder(b, loc).matmul(x, w, transposeRhs, bias, end);
}
