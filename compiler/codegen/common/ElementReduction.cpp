//===- ElementReduction.cpp - Layers that sum over elements ---------------===//
//
// Plain loops, for every rank and element type. The shapes and types that
// matter for speed have routines of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/ElementTypes.h"
#include "compiler/codegen/common/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

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
  SmallVector<int64_t> outer(extents);
  if (inner)
    outer[laneDim] = 1;
  if (lanes > 1 && !isa<VectorType>(identity.getType()))
    identity = e.k.broadcast(identity, lanes);

  // The innermost loop with some independent sums, for an addition takes longer
  // than a load.
  constexpr int64_t chains = 4;
  int64_t count = 1;
  auto step = [&](int64_t length, llvm::function_ref<Value(Coord)> at,
                  Values sums) {
    int64_t stride = inner ? lanes : 1;
    int64_t whole = length / stride;
    auto one = [&](Coord i, Value sum) {
      return combine(sum, e.allLanes(at(i)));
    };
    auto coord = [&](Index i, int64_t u) {
      Coord c(i.isConstant() ? Value() : i.value, 0, length - 1, stride);
      c.base = e.k.add(i, u * stride);
      if (inner)
        c.stride = 1;
      return c;
    };
    auto run = [&](int64_t from, int64_t to, int64_t unroll, Values sums) {
      if (to - from <= 0)
        return sums;
      auto body = [&](Index i, Values sums) {
        for (int64_t u = 0; u < unroll; ++u)
          sums[u] = one(coord(i, u), sums[u]);
        return sums;
      };
      if (to - from == unroll)
        return body(Index(from * stride), sums);
      return e.loop(
          from * stride, to * stride, unroll * stride, sums,
          [&](Value i, ValueRange s) { return body(Index(i), Values(s)); });
    };
    auto all = [&] {
      int64_t unrolled = count > 1 ? whole / chains * chains : 0;
      sums = run(0, unrolled, chains, sums);
      sums = run(unrolled, whole, 1, sums);
    };
    if (!inner) {
      all();
      return sums;
    }
    if (whole)
      e.withLanes(lanes, lanes, all);
    if (int64_t rest = length - whole * lanes)
      e.withLanes(lanes, rest, [&] {
        Value x = e.allLanes(at(coord(Index(whole * lanes), 0)));
        x = arith::SelectOp::create(e.k.b, e.mask, x, identity);
        sums[0] = combine(sums[0], x);
      });
    return sums;
  };

  int innermost = inner ? laneDim : int(extents.size()) - 1;
  while (!inner && innermost > 0 && extents[innermost] == 1)
    --innermost;
  int64_t length = extents.empty() ? 1 : extents[innermost];
  if (length / (inner ? lanes : 1) >= 2 * chains)
    count = chains;
  if (!extents.empty())
    outer[innermost] = 1;
  Values sums(count, identity);
  sums = e.accumulate(outer, sums, [&](ArrayRef<Coord> i, ValueRange s) {
    return step(
        length,
        [&](Coord c) {
          Coords at(i);
          if (!at.empty())
            at[innermost] = c;
          return term(at);
        },
        Values(s));
  });
  Value sum = sums[0];
  for (int64_t u = 1; u < count; ++u)
    sum = combine(sum, sums[u]);
  return inner ? e.horizontal(sum, combine) : sum;
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// The value that changes nothing.
static Value identityOf(ElementEmitter &e, nn::ReduceKind kind, Type type,
                        bool isUnsigned) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool isFloat = isa<FloatType>(type);
  auto integer = [&](int64_t x) { return e.k.iconst(x, type); };
  unsigned bits = type.getIntOrFloatBitWidth();
  switch (kind) {
  case nn::ReduceKind::sum:
  case nn::ReduceKind::mean:
    return isFloat ? e.k.fconst(0, type) : integer(0);
  case nn::ReduceKind::prod:
    return isFloat ? e.k.fconst(1, type) : integer(1);
  case nn::ReduceKind::max:
    if (isFloat)
      return e.k.fconst(-infinity, type);
    return integer(isUnsigned || bits == 1
                       ? 0
                       : int64_t(uint64_t(1) << 63) >> (64 - bits));
  case nn::ReduceKind::min:
    if (isFloat)
      return e.k.fconst(infinity, type);
    return integer(
        isUnsigned || bits == 1 ? -1 : int64_t(~uint64_t(0) >> (65 - bits)));
  }
  return {};
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
  Type resultType = result.getType();
  Value divisor = isa<FloatType>(type) ? e.k.fconst(double(count), resultType)
                                       : e.k.iconst(count, resultType);
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
      return Values{arith::SelectOp::create(e.k.b, wins, x, s[0]),
                    arith::SelectOp::create(e.k.b, wins, place, s[1])};
    });
  return best[1];
}

//===----------------------------------------------------------------------===//
// The end of a convolution or matrix product
//===----------------------------------------------------------------------===//

/// residual_activation(activation(x + bias) + residual).
template <typename OpTy>
static Value finish(ElementEmitter &e, OpTy op, Value x, Value bias,
                    ArrayRef<Coord> index) {
  bool isUnsigned = e.isUnsigned(op.getOutput());
  auto add = [&](Value a, Value b) {
    e.unify(a, b);
    return emitBinary(e.k, BinaryKind::add, a, b);
  };
  if (bias)
    x = add(x, bias);
  if (auto activation = op.getActivation())
    x = emitUnary(e.k, *activation, x, isUnsigned);
  if (Value residual = op.getResidual())
    x = add(x, e.element(residual, index));
  if (auto activation = op.getResidualActivation())
    x = emitUnary(e.k, *activation, x, isUnsigned);
  return x;
}

/// Finishes a convolution, whose bias has an element a channel.
template <typename OpTy>
static Value finishConv(ElementEmitter &e, OpTy conv, Value sum,
                        ArrayRef<Coord> index) {
  Value bias;
  if (conv.getBias())
    bias = e.element(conv.getBias(), index[1]);
  return finish(e, conv, sum, bias, index);
}

/// x * y of two operands' elements, in the result's element type.
static Value product(ElementEmitter &e, Value lhs, Value x, Value rhs, Value y,
                     Type result) {
  x = emitCast(e.k, x, e.elementType(lhs), result);
  y = emitCast(e.k, y, e.elementType(rhs), result);
  e.unify(x, y);
  return emitBinary(e.k, BinaryKind::mul, x, y);
}

static Value zero(ElementEmitter &e, Type type) {
  return isa<FloatType>(type) ? e.k.fconst(0, type) : e.k.iconst(0, type);
}

/// Sums of products round once a term where the target can.
static Value sumOf(ElementEmitter &e, Value x, Value y) {
  return emitBinary(e.k, BinaryKind::add, x, y);
}

static Value emitMatMul(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto matmul = cast<nn::MatMulOp>(op);
  Value lhs = matmul.getLhs(), rhs = matmul.getRhs();
  ArrayRef<int64_t> left = e.view(lhs).shape, right = e.view(rhs).shape;
  Type type = computeType(e.elementType(op->getResult(0)));
  bool leftT = matmul.getTransposeLhs(), rightT = matmul.getTransposeRhs();
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
  Value sum = fold(
      e, {depth}, laneDim, zero(e, type),
      [&](ArrayRef<Coord> i) {
        Coords l = e.broadcastIndex(batch, left.drop_back(2));
        Coords r = e.broadcastIndex(batch, right.drop_back(2));
        l.push_back(leftT ? i[0] : m);
        l.push_back(leftT ? m : i[0]);
        r.push_back(rightT ? n : i[0]);
        r.push_back(rightT ? i[0] : n);
        return product(e, lhs, e.element(lhs, l), rhs, e.element(rhs, r), type);
      },
      [&](Value x, Value y) { return sumOf(e, x, y); });
  Value bias;
  if (Value b = matmul.getBias())
    bias = e.element(b, e.broadcastIndex(index, e.view(b).shape));
  return finish(e, matmul, sum, bias, index);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The place in the input that a window's element reads, per spatial dimension.
struct Window {
  Coords spatial;
  Condition inside;
};
} // namespace

/// Window element `tap` of output position `out`.
static Window windowAt(ElementEmitter &e, ArrayRef<Coord> out,
                       ArrayRef<Coord> tap, ArrayRef<int64_t> strides,
                       ArrayRef<int64_t> dilations, ArrayRef<int64_t> padsLow,
                       ArrayRef<int64_t> sizes) {
  assert(out.size() == sizes.size() && tap.size() == sizes.size() &&
         "one of each a spatial dimension");
  Window w;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Coord i =
        e.at.add(e.at.mul(out[d], strides[d]), e.at.mul(tap[d], dilations[d]));
    i = e.at.add(i, Coord(-padsLow[d]));
    w.inside = e.at.both(w.inside, e.at.within(i, 0, sizes[d]));
    w.spatial.push_back(e.at.bounded(i, 0, sizes[d] - 1));
  }
  return w;
}

static Value emitConv(ElementEmitter &e, Operation *op, ArrayRef<Coord> index) {
  auto conv = cast<nn::ConvOp>(op);
  Value input = conv.getInput(), weights = conv.getWeights();
  ArrayRef<int64_t> in = e.view(input).shape, w = e.view(weights).shape;
  Type type = computeType(e.elementType(op->getResult(0)));
  assert(w[0] % conv.getGroups() == 0 && "groups are of one size");
  int64_t groupOutputs = w[0] / conv.getGroups();
  Coord firstInput = e.at.mul(e.at.div(index[1], groupOutputs), w[1]);
  SmallVector<int64_t> extents(w.drop_front());
  Value sum = fold(
      e, extents, -1, zero(e, type),
      [&](ArrayRef<Coord> i) {
        Window window =
            windowAt(e, index.drop_front(2), i.drop_front(), conv.getStrides(),
                     conv.getDilations(), conv.getPadsLow(), in.drop_front(2));
        Coords x = {index[0], e.at.add(firstInput, i[0])}, y = {index[1]};
        x.append(window.spatial);
        y.append(i.begin(), i.end());
        return e.guarded(window.inside, zero(e, type), [&] {
          return product(e, input, e.element(input, x), weights,
                         e.element(weights, y), type);
        });
      },
      [&](Value x, Value y) { return sumOf(e, x, y); });
  return finishConv(e, conv, sum, index);
}

static Value emitConvTranspose(ElementEmitter &e, Operation *op,
                               ArrayRef<Coord> index) {
  auto conv = cast<nn::ConvTransposeOp>(op);
  Value input = conv.getInput(), weights = conv.getWeights();
  ArrayRef<int64_t> in = e.view(input).shape, w = e.view(weights).shape;
  Type type = computeType(e.elementType(op->getResult(0)));
  assert(in[1] % conv.getGroups() == 0 && "groups are of one size");
  int64_t groupInputs = in[1] / conv.getGroups(), groupOutputs = w[1];
  Coord firstInput = e.at.mul(e.at.div(index[1], groupOutputs), groupInputs);
  Coord output = e.at.rem(index[1], groupOutputs);
  SmallVector<int64_t> extents = {groupInputs};
  extents.append(w.begin() + 2, w.end());
  Value sum = fold(
      e, extents, -1, zero(e, type),
      [&](ArrayRef<Coord> i) {
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
        return e.guarded(inside, zero(e, type), [&] {
          return product(e, input, e.element(input, x), weights,
                         e.element(weights, y), type);
        });
      },
      [&](Value x, Value y) { return sumOf(e, x, y); });
  return finishConv(e, conv, sum, index);
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
  BinaryKind kind = average ? BinaryKind::add : BinaryKind::max;
  auto at = [&](ArrayRef<Coord> tap) {
    return windowAt(e, index.drop_front(2), tap, pool.getStrides(),
                    pool.getDilations(), pool.getPadsLow(), in.drop_front(2));
  };
  Value result = fold(
      e, kernel, -1, identity,
      [&](ArrayRef<Coord> tap) {
        Window window = at(tap);
        Coords x(index.take_front(2));
        x.append(window.spatial);
        return e.guarded(window.inside, identity,
                         [&] { return e.element(input, x); });
      },
      [&](Value x, Value y) {
        return emitBinary(e.k, kind, x, y, isUnsigned);
      });
  if (!average)
    return result;
  // How many elements count.
  ArrayRef<int64_t> high = pool.getPadsHigh();
  if (auto counted = pool.getCountedPadsHigh())
    high = *counted;
  Value one = isa<FloatType>(type) ? e.k.fconst(1, type) : e.k.iconst(1, type);
  Value none = zero(e, type);
  Value count = fold(
      e, kernel, -1, none,
      [&](ArrayRef<Coord> tap) -> Value {
        Condition counts;
        for (size_t d = 0; d < tap.size(); ++d) {
          int64_t low = pool.getCountIncludePad() ? pool.getPadsLow()[d] : 0;
          int64_t end = in[d + 2] + (pool.getCountIncludePad() ? high[d] : 0);
          Coord i = e.at.add(e.at.mul(index[d + 2], pool.getStrides()[d]),
                             e.at.mul(tap[d], pool.getDilations()[d]));
          i = e.at.add(i, Coord(-pool.getPadsLow()[d]));
          counts = e.at.both(counts, e.at.within(i, -low, end));
        }
        return e.select(counts, one, none);
      },
      [&](Value x, Value y) { return emitBinary(e.k, BinaryKind::add, x, y); });
  e.unify(result, count);
  return emitBinary(e.k, BinaryKind::div, result, count, isUnsigned);
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
        Window window =
            windowAt(e, index.drop_front(2), tap, pool.getStrides(),
                     pool.getDilations(), pool.getPadsLow(), in.drop_front(2));
        if (window.inside.never)
          return Values(s);
        Coords x(index.take_front(2));
        x.append(window.spatial);
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
            arith::CmpIOp::create(e.k.b, arith::CmpIPredicate::slt, s[1],
                                  e.k.iconst(0, s[1].getType()));
        wins = arith::OrIOp::create(e.k.b, wins, first);
        if (!window.inside.always()) {
          Value inside = e.allLanes(e.at.toMask(window.inside));
          wins = arith::AndIOp::create(e.k.b, wins, inside);
        }
        return Values{arith::SelectOp::create(e.k.b, wins, value, s[0]),
                      arith::SelectOp::create(e.k.b, wins, place, s[1])};
      });
  return arith::MaxSIOp::create(e.k.b, best[1], e.allLanes(e.k.iconst(0, i64)));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void foldedTypes(ElementTypes &t, Operation *op) {
  t.read(op->getOperand(0));
  t.computeIn(op->getOperand(0));
}

static int64_t sizeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
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
  if (cast<RankedTensorType>(reduce.getInput().getType())
          .getShape()[reduce.getAxis()] > 1)
    foldedTypes(t, op);
  t.computeIn(op->getResult(0));
}

static void maxPoolIndicesTypes(ElementTypes &t, Operation *op) {
  foldedTypes(t, op);
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

ArrayRef<ElementFunction> codegen::reductionFunctions() {
  static const ElementFunction functions[] = {
      {"nn.reduce", emitReduce, reduceTypes},
      {"nn.arg_reduce", emitArgReduce, argReduceTypes},
      {"nn.matmul", emitMatMul, linearTypes<nn::MatMulOp>},
      {"nn.conv", emitConv, linearTypes<nn::ConvOp>},
      {"nn.conv_transpose", emitConvTranspose,
       linearTypes<nn::ConvTransposeOp>},
      {"nn.pool", emitPool, foldedTypes},
      {"nn.max_pool_indices", emitMaxPoolIndices, maxPoolIndicesTypes},
  };
  return functions;
}
