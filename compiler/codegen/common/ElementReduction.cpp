//===- ElementReduction.cpp - Layers that sum over elements ---------------===//
//
// Plain loops, for every rank and element type. The shapes and types that
// matter for speed have routines of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/ElementQuantized.h"
#include "compiler/codegen/common/Math.h"
#include "compiler/routines/WindowShape.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;

using Combine = llvm::function_ref<Value(Value, Value)>;

/// Folds term(i…) over all i below `extents` with `combine`. Where there is one
/// lane, extent `laneDim` (if not negative) goes through vectors; then `term`
/// is called with a coordinate that differs by lane.
static Value fold(ElementEmitter &e, ArrayRef<int64_t> extents, int laneDim,
                  Value identity,
                  llvm::function_ref<Value(ArrayRef<Coord>)> term,
                  Combine combine) {
  bool inner =
      e.at.lanes == 1 && e.k.VL > 1 && laneDim >= 0 && extents[laneDim] >= 4;
  int64_t lanes = inner ? e.k.VL : e.at.lanes;
  if (lanes > 1 && !isa<VectorType>(identity.getType()))
    identity = e.k.broadcast(identity, lanes);

  int innermost = inner ? laneDim : int(extents.size()) - 1;
  while (!inner && innermost > 0 && extents[innermost] == 1)
    --innermost;
  SmallVector<int64_t> outer(extents);
  if (!extents.empty())
    outer[innermost] = 1;
  int64_t length = extents.empty() ? 1 : extents[innermost];
  int64_t stride = inner ? lanes : 1, whole = length / stride;
  // The innermost loop with some independent sums, for an addition takes longer
  // than a load.
  constexpr int64_t chains = 4;
  int64_t count = whole >= 2 * chains ? chains : 1;
  auto row = [&](ArrayRef<Coord> outside, ValueRange before) {
    Values sums(before);
    // The term that is `u` strides behind i.
    auto at = [&](Index i, int64_t u) {
      Coord c(i.isConstant() ? Value() : i.value, 0, length - 1, stride);
      c.base = e.k.add(i, u * stride);
      if (inner)
        c.stride = 1;
      Coords place(outside);
      if (!place.empty())
        place[innermost] = c;
      return e.allLanes(term(place));
    };
    auto run = [&](int64_t from, int64_t to, int64_t unroll) {
      if (to <= from)
        return;
      auto body = [&](Index i, Values sums) {
        for (int64_t u = 0; u < unroll; ++u)
          sums[u] = combine(sums[u], at(i, u));
        return sums;
      };
      if (to - from == unroll)
        sums = body(Index(from * stride), sums);
      else
        sums = e.loop(
            from * stride, to * stride, unroll * stride, sums,
            [&](Value i, ValueRange s) { return body(Index(i), Values(s)); });
    };
    auto all = [&] {
      int64_t unrolled = count > 1 ? whole / chains * chains : 0;
      run(0, unrolled, chains);
      run(unrolled, whole, 1);
    };
    if (!inner) {
      all();
      return sums;
    }
    if (whole)
      e.withLanes(lanes, lanes, all);
    if (int64_t rest = length - whole * lanes)
      e.withLanes(lanes, rest, [&] {
        Value x = e.k.select(e.mask, at(Index(whole * lanes), 0), identity);
        sums[0] = combine(sums[0], x);
      });
    return sums;
  };
  Values sums = e.accumulate(outer, Values(count, identity), row);
  Value sum = sums[0];
  for (int64_t u = 1; u < count; ++u)
    sum = combine(sum, sums[u]);
  return inner ? e.k.horizontal(sum, combine) : sum;
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// The value that changes nothing.
static Value identityOf(ElementEmitter &e, nn::ReduceKind kind, Type type,
                        bool isUnsigned) {
  bool isMax = kind == nn::ReduceKind::max;
  if (!isMax && kind != nn::ReduceKind::min)
    return e.k.number(kind == nn::ReduceKind::prod ? 1 : 0, type);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(type))
    return e.k.fconst(isMax ? -infinity : infinity, type);
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isUnsigned || bits == 1)
    return e.k.iconst(isMax ? 0 : -1, type);
  return e.k.iconst(isMax ? llvm::minIntN(bits) : llvm::maxIntN(bits), type);
}

static BinaryKind binaryOf(nn::ReduceKind kind) {
  switch (kind) {
  case nn::ReduceKind::max:
    return BinaryKind::max;
  case nn::ReduceKind::min:
    return BinaryKind::min;
  case nn::ReduceKind::prod:
    return BinaryKind::mul;
  default:
    return BinaryKind::add;
  }
}

static Value emitReduce(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto reduce = cast<nn::ReduceOp>(op);
  Value input = reduce.getInput();
  ArrayRef<int64_t> shape = e.view(input).shape;
  Type type = computeType(e.elementType(input));
  bool isUnsigned = e.isUnsigned(input);
  SmallVector<int64_t> dims(reduce.getAxes());
  llvm::sort(dims);
  Coords at;
  size_t next = 0;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    bool reduced = llvm::is_contained(dims, d);
    at.push_back(reduced ? Coord(0) : index[next]);
    if (!reduced || reduce.getKeepDims())
      ++next;
  }
  SmallVector<int64_t> extents;
  int laneDim = -1, contiguous = e.contiguousDim(input);
  int64_t count = 1;
  for (int64_t d : dims) {
    if (d == contiguous)
      laneDim = extents.size();
    extents.push_back(shape[d]);
    count *= shape[d];
  }
  Value identity = identityOf(e, reduce.getKind(), type, isUnsigned);
  BinaryKind kind = binaryOf(reduce.getKind());
  Value result = fold(
      e, extents, laneDim, identity,
      [&](ArrayRef<Coord> i) {
        Coords source(at);
        for (size_t j = 0; j < dims.size(); ++j)
          source[dims[j]] = i[j];
        return e.element(input, source);
      },
      [&](Value x, Value y) {
        return emitBinary(e.k, kind, x, y, isUnsigned);
      });
  if (reduce.getKind() != nn::ReduceKind::mean)
    return result;
  Value divisor = e.k.number(count, result.getType());
  return emitBinary(e.k, BinaryKind::div, result, divisor, isUnsigned);
}

static Value emitArgReduce(ElementEmitter &e, Operation *op,
                           ArrayRef<Coord> index) {
  auto reduce = cast<nn::ArgReduceOp>(op);
  Value input = reduce.getInput();
  int64_t axis = reduce.getAxis(), size = e.view(input).shape[axis];
  auto i64 = cast<IntegerType>(Type(e.k.b.getI64Type()));
  if (size == 0)
    return e.k.iconst(0, i64);
  auto at = [&](Coord i) {
    Coords source(index);
    if (reduce.getKeepDims())
      source[axis] = i;
    else
      source.insert(source.begin() + axis, i);
    return e.allLanes(e.element(input, source));
  };
  bool max = reduce.getKind() == nn::ReduceKind::max,
       last = reduce.getSelectLast();
  BinaryKind better =
      max ? (last ? BinaryKind::greater_equal : BinaryKind::greater)
          : (last ? BinaryKind::less_equal : BinaryKind::less);
  Values best = {at(Coord(0)), e.allLanes(e.k.iconst(0, i64))};
  if (size > 1)
    best = e.loop(1, size, 1, best, [&](Value i, ValueRange s) {
      Coord c(i, 1, size - 1);
      Value x = at(c);
      Value place = e.allLanes(e.at.toValue(c, i64));
      Value wins = emitBinary(e.k, better, x, s[0], e.isUnsigned(input));
      return Values{e.k.select(wins, x, s[0]), e.k.select(wins, place, s[1])};
    });
  return best[1];
}

//===----------------------------------------------------------------------===//
// The end of a convolution or matrix product
//===----------------------------------------------------------------------===//

/// residual_activation(activation(x + bias) + residual).
template <typename OpTy>
static Value finish(ElementEmitter &e, OpTy op, Value x,
                    ArrayRef<Coord> biasIndex, ArrayRef<Coord> index) {
  bool isUnsigned = e.isUnsigned(op.getOutput());
  if (Value bias = op.getBias())
    x = e.binary(BinaryKind::add, x, e.element(bias, biasIndex));
  if (auto activation = op.getActivation())
    x = emitUnary(e.k, *activation, x, isUnsigned);
  if (Value residual = op.getResidual())
    x = e.binary(BinaryKind::add, x, e.element(residual, index));
  if (auto activation = op.getResidualActivation())
    x = emitUnary(e.k, *activation, x, isUnsigned);
  return x;
}

/// The product of elements of the layer's first two operands, at these indices,
/// in `type`.
static Value product(ElementEmitter &e, Operation *op, ArrayRef<Coord> left,
                     ArrayRef<Coord> right, Type type) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Value y = e.element(rhs, right), x = e.element(lhs, left);
  x = emitCast(e.k, x, e.elementType(lhs), type);
  y = emitCast(e.k, y, e.elementType(rhs), type);
  return e.binary(BinaryKind::mul, x, y);
}

/// The sum of term(i…), of `type`, over all i below `extents`: see fold().
static Value sumOf(ElementEmitter &e, ArrayRef<int64_t> extents, int laneDim,
                   Type type, llvm::function_ref<Value(ArrayRef<Coord>)> term) {
  return fold(
      e, extents, laneDim, e.k.number(0, type), term,
      [&](Value x, Value y) { return emitBinary(e.k, BinaryKind::add, x, y); });
}

/// The sum of an element of a matrix product.
static Value matmulSum(ElementEmitter &e, Operation *op, bool leftT,
                       bool rightT, ArrayRef<Coord> index, Type type) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  ArrayRef<int64_t> left = e.view(lhs).shape, right = e.view(rhs).shape;
  int64_t depth = leftT ? left[left.size() - 2] : left.back();
  Coord m = index[index.size() - 2], n = index.back();
  ArrayRef<Coord> batch = index.drop_back(2);
  // Along the sum both operands should be contiguous.
  int leftInner = left.size() - (leftT ? 2 : 1),
      rightInner = right.size() - (rightT ? 1 : 2);
  int laneDim =
      e.contiguousDim(lhs) == leftInner && e.contiguousDim(rhs) == rightInner
          ? 0
          : -1;
  return sumOf(e, {depth}, laneDim, type, [&](ArrayRef<Coord> i) {
    Coords l = e.broadcastIndex(batch, left.drop_back(2));
    Coords r = e.broadcastIndex(batch, right.drop_back(2));
    l.push_back(leftT ? i[0] : m);
    l.push_back(leftT ? m : i[0]);
    r.push_back(rightT ? n : i[0]);
    r.push_back(rightT ? i[0] : n);
    return product(e, op, l, r, type);
  });
}

static Value emitMatMul(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto matmul = cast<nn::MatMulOp>(op);
  Value sum =
      matmulSum(e, op, matmul.getTransposeLhs(), matmul.getTransposeRhs(),
                index, ElementTypes::typeOf(matmul));
  Coords biasIndex;
  if (Value bias = matmul.getBias())
    biasIndex = e.broadcastIndex(index, e.view(bias).shape);
  return finish(e, matmul, sum, biasIndex, index);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The place in the input that a window's element reads.
struct Window {
  Coords place;
  Condition inside;
};
} // namespace

/// The input's coordinate along spatial dimension `d` of the window's element
/// `tap`, for output position `index`.
template <typename OpTy>
static Coord placeOf(ElementEmitter &e, OpTy op, ArrayRef<Coord> index,
                     ArrayRef<Coord> tap, size_t d) {
  Coord i = e.at.add(e.at.mul(index[d + 2], op.getStrides()[d]),
                     e.at.mul(tap[d], op.getDilations()[d]));
  return e.at.add(i, Coord(-op.getPadsLow()[d]));
}

template <typename OpTy>
static Window windowAt(ElementEmitter &e, OpTy op, ArrayRef<Coord> index,
                       ArrayRef<Coord> tap) {
  auto sizes = ArrayRef(e.view(op.getInput()).shape).drop_front(2);
  assert(index.size() == sizes.size() + 2 && tap.size() == sizes.size() &&
         "one of each a spatial dimension");
  Window w;
  w.place.append(index.begin(), index.begin() + 2);
  for (size_t d = 0; d < sizes.size(); ++d) {
    Coord i = placeOf(e, op, index, tap, d);
    w.inside = e.at.both(w.inside, e.at.within(i, 0, sizes[d]));
    w.place.push_back(e.at.bounded(i, 0, sizes[d] - 1));
  }
  return w;
}

/// The sum of an element of a convolution; `padded` gives the product of a tap
/// in the padding with the weight at an index.
template <typename OpTy>
static Value convSum(ElementEmitter &e, OpTy conv, ArrayRef<Coord> index,
                     Type type,
                     llvm::function_ref<Value(ArrayRef<Coord> weight)> padded) {
  ArrayRef<int64_t> w = e.view(conv.getWeights()).shape;
  assert(w[0] % conv.getGroups() == 0 && "groups are of one size");
  int64_t groupOutputs = w[0] / conv.getGroups();
  Coord firstInput = e.at.mul(e.at.div(index[1], groupOutputs), w[1]);
  SmallVector<int64_t> extents(w.drop_front());
  return sumOf(e, extents, -1, type, [&](ArrayRef<Coord> i) {
    Window window = windowAt(e, conv, index, i.drop_front());
    window.place[1] = e.at.add(firstInput, i[0]);
    Coords y = {index[1]};
    y.append(i.begin(), i.end());
    return e.guarded(window.inside, padded(y),
                     [&] { return product(e, conv, window.place, y, type); });
  });
}

static Value emitConv(ElementEmitter &e, Operation *op, ArrayRef<Coord> index) {
  auto conv = cast<nn::ConvOp>(op);
  Type type = ElementTypes::typeOf(conv);
  Value sum = convSum(e, conv, index, type,
                      [&](ArrayRef<Coord>) { return e.k.number(0, type); });
  return finish(e, conv, sum, index[1], index);
}

static Value emitConvTranspose(ElementEmitter &e, Operation *op,
                               ArrayRef<Coord> index) {
  auto conv = cast<nn::ConvTransposeOp>(op);
  ArrayRef<int64_t> in = e.view(conv.getInput()).shape,
                    w = e.view(conv.getWeights()).shape;
  Type type = ElementTypes::typeOf(conv);
  assert(in[1] % conv.getGroups() == 0 && "groups are of one size");
  int64_t groupInputs = in[1] / conv.getGroups(), groupOutputs = w[1];
  Coord firstInput = e.at.mul(e.at.div(index[1], groupOutputs), groupInputs);
  Coord output = e.at.rem(index[1], groupOutputs);
  SmallVector<int64_t> extents = {groupInputs};
  extents.append(w.begin() + 2, w.end());
  Value sum = sumOf(e, extents, -1, type, [&](ArrayRef<Coord> i) {
    Coord channel = e.at.add(firstInput, i[0]);
    Coords x = {index[0], channel}, y = {channel, output};
    y.append(i.begin() + 1, i.end());
    Condition inside;
    for (size_t d = 0; d + 2 < in.size(); ++d) {
      // stride * source = out + pad - dilation * tap, if that divides.
      Coord t = e.at.add(index[d + 2], Coord(conv.getPadsLow()[d]));
      t = e.at.add(t, e.at.mul(i[d + 1], -conv.getDilations()[d]));
      int64_t stride = conv.getStrides()[d];
      int64_t shift = t.lo < 0 ? (-t.lo + stride - 1) / stride : 0;
      t = e.at.add(t, Coord(shift * stride));
      inside = e.at.both(inside, e.at.less(e.at.rem(t, stride), 1));
      Coord source = e.at.add(e.at.div(t, stride), Coord(-shift));
      inside = e.at.both(inside, e.at.within(source, 0, in[d + 2]));
      x.push_back(e.at.bounded(source, 0, in[d + 2] - 1));
    }
    return e.guarded(inside, e.k.number(0, type),
                     [&] { return product(e, op, x, y, type); });
  });
  return finish(e, conv, sum, index[1], index);
}

static Value emitPool(ElementEmitter &e, Operation *op, ArrayRef<Coord> index) {
  auto pool = cast<nn::PoolOp>(op);
  Value input = pool.getInput();
  ArrayRef<int64_t> in = e.view(input).shape, kernel = pool.getKernel();
  Type type = computeType(e.elementType(input));
  bool isUnsigned = e.isUnsigned(input);
  bool average = pool.getKind() == nn::PoolKind::average;
  Value identity = identityOf(
      e, average ? nn::ReduceKind::sum : nn::ReduceKind::max, type, isUnsigned);
  auto combine = [&](Value x, Value y) {
    return emitBinary(e.k, average ? BinaryKind::add : BinaryKind::max, x, y,
                      isUnsigned);
  };
  Value result = fold(
      e, kernel, -1, identity,
      [&](ArrayRef<Coord> tap) {
        Window window = windowAt(e, pool, index, tap);
        return e.guarded(window.inside, identity,
                         [&] { return e.element(input, window.place); });
      },
      combine);
  if (!average)
    return result;
  // How many elements count.
  ArrayRef<int64_t> high = countedPadsHigh(pool);
  Value one = e.k.number(1, type), none = e.k.number(0, type);
  Value count = fold(
      e, kernel, -1, none,
      [&](ArrayRef<Coord> tap) -> Value {
        Condition counts;
        for (size_t d = 0; d < tap.size(); ++d) {
          int64_t low = pool.getCountIncludePad() ? pool.getPadsLow()[d] : 0;
          int64_t end = in[d + 2] + (pool.getCountIncludePad() ? high[d] : 0);
          counts = e.at.both(
              counts, e.at.within(placeOf(e, pool, index, tap, d), -low, end));
        }
        return e.select(counts, one, none);
      },
      combine);
  return e.binary(BinaryKind::div, result, count, isUnsigned);
}

static Value emitMaxPoolIndices(ElementEmitter &e, Operation *op,
                                ArrayRef<Coord> index) {
  auto pool = cast<nn::MaxPoolIndicesOp>(op);
  Value input = pool.getInput();
  ArrayRef<int64_t> in = e.view(input).shape;
  Type type = computeType(e.elementType(input));
  auto i64 = cast<IntegerType>(Type(e.k.b.getI64Type()));
  Value lowest =
      e.allLanes(identityOf(e, nn::ReduceKind::max, type, e.isUnsigned(input)));
  Values best = {lowest, e.allLanes(e.k.iconst(-1, i64))};
  best = e.accumulate(
      pool.getKernel(), best, [&](ArrayRef<Coord> tap, ValueRange s) {
        Window window = windowAt(e, pool, index, tap);
        if (window.inside.never)
          return Values(s);
        const Coords &x = window.place;
        Value value = e.allLanes(e.guarded(
            window.inside, lowest, [&] { return e.element(input, x); }));
        Coord flat = e.linearize(x, in);
        if (pool.getColumnMajor()) {
          Coords order(x.begin(), x.begin() + 2);
          SmallVector<int64_t> shape(in.begin(), in.begin() + 2);
          for (size_t d = in.size(); d-- > 2;) {
            order.push_back(x[d]);
            shape.push_back(in[d]);
          }
          flat = e.linearize(order, shape);
        }
        Value place = e.allLanes(e.at.toValue(flat, i64));
        Value wins = emitBinary(e.k, BinaryKind::greater, value, s[0],
                                e.isUnsigned(input));
        Value first =
            e.k.compare(Order::slt, s[1], e.k.iconst(0, s[1].getType()));
        wins = e.k.bitOr(wins, first);
        if (!window.inside.always()) {
          Value inside = e.allLanes(e.at.toMask(window.inside));
          wins = e.k.bitAnd(wins, inside);
        }
        return Values{e.k.select(wins, value, s[0]),
                      e.k.select(wins, place, s[1])};
      });
  return arith::MaxSIOp::create(e.k.b, best[1], e.allLanes(e.k.iconst(0, i64)));
}

//===----------------------------------------------------------------------===//
// Products of quantised numbers
//===----------------------------------------------------------------------===//

/// The floats that a qconv or qmatmul with a step makes of y / out_scale.
template <typename OpTy>
static Value goOn(ElementEmitter &e, OpTy op, Value x, ArrayRef<Coord> index,
                  const Coord &column) {
  Type i32 = e.k.b.getI32Type(), f32 = e.k.b.getF32Type();
  auto floats = [&](Value v, Coords at) {
    Type type = e.elementType(v);
    Value number = e.element(v, at);
    return type.isF32()
               ? number
               : emitCast(e.k, emitCast(e.k, number, type, i32), i32, f32);
  };
  if (Value zero = op.getOutZero())
    x = emitRounded(e, x, floats(zero, {}), e.elementType(zero));
  x = e.binary(BinaryKind::mul, x, e.element(op.getStep(), column));
  if (Value offset = op.getOffset())
    x = e.binary(BinaryKind::add, x, e.element(offset, column));
  if (Value residual = op.getResidual()) {
    Value r = floats(residual, Coords(index.begin(), index.end()));
    if (Value zero = op.getResidualZero())
      r = e.binary(BinaryKind::sub, r, floats(zero, {}));
    r = e.binary(BinaryKind::mul, r, e.element(op.getResidualScale(), {}));
    x = e.binary(BinaryKind::add, x, r);
  }
  if (auto activation = op.getFinalActivation())
    x = emitUnary(e.k, *activation, x);
  if (Value scale = op.getFinalScale())
    x = e.binary(BinaryKind::div, x, e.element(scale, {}));
  return x;
}

/// All that follows the sum of a qconv or qmatmul.
template <typename OpTy>
static Value finishQuantized(ElementEmitter &e, OpTy op, Value x,
                             ArrayRef<Coord> index, size_t axis) {
  const Coord &column = index[axis];
  auto vectorAt = [&](Value v) { return e.element(v, column); };
  if (Value bias = op.getBias())
    x = e.binary(BinaryKind::add, x, vectorAt(bias));
  if (Value rows = op.getRows()) {
    Coords row(index.begin(), index.end());
    row[axis] = Coord(0);
    x = e.binary(BinaryKind::add, x, e.element(rows, row));
  }
  if (!op.getScale())
    return x;
  Type f32 = e.k.b.getF32Type();
  x = emitCast(e.k, x, e.k.b.getI32Type(), f32);
  x = e.binary(BinaryKind::mul, x, vectorAt(op.getScale()));
  if (Value shift = op.getShift())
    x = e.binary(BinaryKind::add, x, vectorAt(shift));
  if (auto activation = op.getActivation())
    x = emitUnary(e.k, *activation, x);
  Type result = e.elementType(op.getOutput());
  if (Value scale = op.getOutScale())
    x = e.binary(BinaryKind::div, x, e.element(scale, {}));
  if (op.getStep())
    x = goOn(e, op, x, index, column);
  if (result.isF32())
    return x;
  return emitSaturated(e, x, op.getStep() ? op.getFinalZero() : op.getOutZero(),
                       {}, result);
}

static Value emitQMatMul(ElementEmitter &e, Operation *op,
                         ArrayRef<Coord> index) {
  auto matmul = cast<nn::QMatMulOp>(op);
  Value sum = matmulSum(e, op, false, matmul.getTransposeRhs(), index,
                        e.k.b.getI32Type());
  return finishQuantized(e, matmul, sum, index, index.size() - 1);
}

static Value emitBitsMatMul(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto matmul = cast<nn::BitsMatMulOp>(op);
  Type f32 = e.k.b.getF32Type(), i32 = e.k.b.getI32Type();
  Coord column = index.back();
  int64_t codesOfByte = 8 / matmul.getBits();
  int64_t depth = e.view(matmul.getLhs()).shape.back();
  Value sum = sumOf(e, {depth}, -1, f32, [&](ArrayRef<Coord> i) {
    Coords place = {column, e.at.div(i[0], codesOfByte)};
    Type byte = e.elementType(matmul.getCodes());
    Value code = e.element(matmul.getCodes(), place);
    code = e.binary(BinaryKind::bitwise_and, emitCast(e.k, code, byte, i32),
                    e.k.iconst(255, i32));
    if (codesOfByte == 2) {
      Value isHigh =
          e.at.toValue(e.at.mul(e.at.rem(i[0], 2), 4), cast<IntegerType>(i32));
      code = e.binary(BinaryKind::shift_right, code, isHigh, true);
      code = e.binary(BinaryKind::bitwise_and, code, e.k.iconst(15, i32));
    }
    Value weight = emitCast(e.k, code, i32, f32);
    place = {column, e.at.div(i[0], matmul.getBlock())};
    Value zeros = matmul.getZeros();
    weight =
        e.binary(BinaryKind::sub, weight,
                 zeros ? e.element(zeros, place)
                       : e.k.fconst(matmul.getZero().convertToDouble(), f32));
    weight =
        e.binary(BinaryKind::mul, weight, e.element(matmul.getScales(), place));
    Coords row(index.begin(), index.end());
    row.back() = i[0];
    Value x = e.element(matmul.getLhs(), row);
    if (Value scales = matmul.getLhsScales()) {
      x = emitCast(e.k, x, e.elementType(matmul.getLhs()), i32);
      x = e.binary(BinaryKind::sub, x, e.k.iconst(128, i32));
      row.back() = place[1];
      x = e.binary(BinaryKind::mul, emitCast(e.k, x, i32, f32),
                   e.element(scales, row));
    }
    return e.binary(BinaryKind::mul, x, weight);
  });
  if (Value bias = matmul.getBias())
    sum = e.binary(BinaryKind::add, sum, e.element(bias, column));
  if (auto activation = matmul.getActivation())
    sum = emitUnary(e.k, *activation, sum);
  return sum;
}

static Value emitQConv(ElementEmitter &e, Operation *op,
                       ArrayRef<Coord> index) {
  auto conv = cast<nn::QConvOp>(op);
  Type type = e.k.b.getI32Type();
  Value sum = convSum(e, conv, index, type, [&](ArrayRef<Coord> weight) {
    Value padding = conv.getPadding();
    if (!padding)
      return e.k.number(0, type);
    auto asSum = [&](Value tensor, ArrayRef<Coord> at) {
      return emitCast(e.k, e.element(tensor, at), e.elementType(tensor), type);
    };
    return e.binary(BinaryKind::mul, asSum(padding, {}),
                    asSum(conv.getWeights(), weight));
  });
  return finishQuantized(e, conv, sum, index, 1);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void foldedTypes(ElementTypes &t, Operation *op) {
  t.read(op->getOperand(0));
  t.computeIn(op->getOperand(0));
  t.computeIn(op->getResult(0));
}

static int64_t sizeOf(Value tensor) {
  return nn::typeOf(tensor).getNumElements();
}

static void reduceTypes(ElementTypes &t, Operation *op) {
  Value input = op->getOperand(0), output = op->getResult(0);
  // A fold of one element computes nothing, one of no element reads nothing.
  if (sizeOf(input) == sizeOf(output))
    t.read(input);
  else if (sizeOf(input) > 0)
    foldedTypes(t, op);
  else
    t.computeIn(output);
}

static void argReduceTypes(ElementTypes &t, Operation *op) {
  auto reduce = cast<nn::ArgReduceOp>(op);
  // The place of an only element is known.
  if (nn::typeOf(reduce.getInput()).getDimSize(reduce.getAxis()) > 1)
    foldedTypes(t, op);
  else
    t.computeIn(op->getResult(0));
}

/// Sums of products of the first two operands, and the layer's epilogue.
template <typename OpTy>
static void linearTypes(ElementTypes &t, Operation *op) {
  auto linear = cast<OpTy>(op);
  Value output = op->getResult(0);
  OperandRange factors = op->getOperands().take_front(2);
  bool hasTerms = llvm::all_of(factors, [](Value v) { return sizeOf(v) > 0; });
  for (Value factor : factors)
    if (hasTerms) {
      t.read(factor);
      castTypes(t, ElementEmitter::elementType(factor), t.typeOf(output));
    }
  for (Value operand : op->getOperands().drop_front(2))
    t.read(operand);
  t.computeIn(output);
  for (nn::FunctionAttr function :
       {linear.getActivationAttr(), linear.getResidualActivationAttr()})
    if (function)
      unaryTypes(t, function, t.typeOf(output),
                 ElementEmitter::isUnsigned(output));
}

template <typename OpTy>
static void quantizedTypes(ElementTypes &t, Operation *op) {
  auto product = cast<OpTy>(op);
  MLIRContext *context = op->getContext();
  Type i32 = IntegerType::get(context, 32), f32 = Float32Type::get(context);
  Type result = ElementEmitter::elementType(op->getResult(0));
  for (Value operand : op->getOperands()) {
    t.read(operand);
    if (Type from = ElementEmitter::elementType(operand); from.isInteger(8))
      castTypes(t, from, i32);
  }
  t.compute(i32);
  if (!product.getScale())
    return;
  castTypes(t, i32, f32);
  t.compute(f32);
  for (nn::FunctionAttr function :
       {product.getActivationAttr(), product.getFinalActivationAttr()})
    if (function)
      unaryTypes(t, function, f32);
  if (Value zero = product.getOutZero())
    saturatedTypes(t, ElementEmitter::elementType(zero));
  if (!result.isF32())
    saturatedTypes(t, result);
}

static void bitsMatMulTypes(ElementTypes &t, Operation *op) {
  Type i32 = IntegerType::get(op->getContext(), 32);
  for (Value operand : op->getOperands()) {
    t.read(operand);
    if (Type from = ElementEmitter::elementType(operand); from.isInteger(8))
      castTypes(t, from, i32);
  }
  t.compute(i32);
  castTypes(t, i32, Float32Type::get(op->getContext()));
  t.computeIn(op->getResult(0));
  if (auto function = cast<nn::BitsMatMulOp>(op).getActivationAttr())
    unaryTypes(t, function, Float32Type::get(op->getContext()));
}

ArrayRef<ElementFunction> codegen::reductionFunctions() {
  static const ElementFunction functions[] = {
      {"nn.reduce", emitReduce, reduceTypes},
      {"nn.arg_reduce", emitArgReduce, argReduceTypes},
      {"nn.matmul", emitMatMul, linearTypes<nn::MatMulOp>},
      {"nn.conv", emitConv, linearTypes<nn::ConvOp>},
      {"nn.bits_matmul", emitBitsMatMul, bitsMatMulTypes},
      {"nn.qmatmul", emitQMatMul, quantizedTypes<nn::QMatMulOp>},
      {"nn.qconv", emitQConv, quantizedTypes<nn::QConvOp>},
      {"nn.conv_transpose", emitConvTranspose,
       linearTypes<nn::ConvTransposeOp>},
      {"nn.pool", emitPool, foldedTypes},
      {"nn.max_pool_indices", emitMaxPoolIndices, foldedTypes},
  };
  return functions;
}
