//===- Reduce.cpp - Reductions and scans along an axis --------------------===//

#include "compiler/import/OpTable.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Axes became an input with 18 (ReduceSum: 13). None means all, or, with
/// noop_with_empty_axes, no reduction: nullopt.
static std::optional<Ints> reduceAxes(Node &n, Value x) {
  int64_t inputSince = n.op() == "ReduceSum" ? 13 : 18;
  std::optional<Ints> given = n.intsAttrOrInput("axes", 1, inputSince);
  if (given && !given->empty())
    return n.axes(*given, n.rank(x));
  if (n.intAttr("noop_with_empty_axes", 0) && n.opset() >= inputSince)
    return std::nullopt;
  return n.axesFrom(0, x);
}

/// ONNX knows 0 and 1; for any other number ONNX Runtime drops the dimensions.
static bool keepDims(Node &n) { return n.intAttr("keepdims", 1) == 1; }

/// The value of an empty maximum or minimum: an infinity, or the type's
/// smallest or largest integer. The largest ones of 64 bits are no doubles: the
/// power of two above stands for them, and makeSplat() clamps it.
static double limit(Type type, bool isMax) {
  if (isa<FloatType>(type))
    return isMax ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1 || type.isUnsignedInteger())
    return isMax ? 0 : std::ldexp(1.0, width) - (width < 64);
  return isMax ? -std::ldexp(1.0, width - 1)
               : std::ldexp(1.0, width - 1) - (width < 64);
}

template <ReduceKind K>
static Value reduceOrEmpty(Node &n, Value x, const Ints &axes, bool keep) {
  if (n.failed() || axes.empty())
    return x;
  if (n.size(x) != 0)
    return n.reduce(K, x, axes, keep);
  // Nothing to reduce: the neutral element.
  Ints s = n.shape(x), result;
  for (auto [i, d] : llvm::enumerate(s))
    if (!llvm::is_contained(axes, int64_t(i)))
      result.push_back(d);
    else if (keep)
      result.push_back(1);
  double neutral = K == ReduceKind::prod  ? 1
                   : K == ReduceKind::max ? limit(n.elem(x), true)
                   : K == ReduceKind::min ? limit(n.elem(x), false)
                                          : 0;
  return n.splat(result, n.elem(x), neutral);
}

static Value itself(Node &, Value x) { return x; }
static Value absolute(Node &n, Value x) { return n.unary(UnaryKind::abs, x); }
static Value squared(Node &n, Value x) { return n.square(x); }
static Value logarithm(Node &n, Value x) { return n.unary(UnaryKind::log, x); }
static Value asByte(Node &n, Value x) {
  return n.cast(x, n.builder().getIntegerType(8, false));
}
static Value asBool(Node &n, Value x) { return n.cast(x, n.i1()); }

/// Square roots of integers go through doubles and truncate.
static Value root(Node &n, Value x) {
  if (n.isFloat(x))
    return n.unary(UnaryKind::sqrt, x);
  Type type = n.elem(x);
  return n.cast(n.unary(UnaryKind::sqrt, n.cast(x, n.builder().getF64Type())),
                type);
}

/// The reduction between functions of its input and of its result.
template <ReduceKind K, Value (*before)(Node &, Value) = itself,
          Value (*after)(Node &, Value) = itself>
static void reduceWith(Node &n) {
  Value x = n.in(0);
  std::optional<Ints> axes = reduceAxes(n, x);
  bool keep = keepDims(n);
  if (n.failed())
    return;
  x = before(n, x);
  n.out(after(n, axes ? reduceOrEmpty<K>(n, x, *axes, keep) : x));
}

/// Since 20: maximum of bools is "any", minimum is "all". As unsigned numbers
/// they have the right answer for nothing as well: false and true.
template <ReduceKind K> static void reduce(Node &n) {
  if (n.opset() < 20 || !n.elem(n.in(0)).isInteger(1))
    return reduceWith<K>(n);
  reduceWith<K, asByte, asBool>(n);
}

/// log Σ exp x = m + log Σ exp (x - m), with the maximum m, which must be
/// finite.
static void reduceLogSumExp(Node &n) {
  Value x = n.in(0);
  std::optional<Ints> axes = reduceAxes(n, x);
  bool keep = keepDims(n);
  if (n.failed())
    return;
  if (!axes)
    return n.out(x);
  Value max = reduceOrEmpty<ReduceKind::max>(n, x, *axes, true);
  Value finite = n.logicalNot(n.unary(UnaryKind::is_inf, max, {1, 1}));
  max = n.select(finite, max, n.scalar(n.elem(x), 0));
  Value sum = reduceOrEmpty<ReduceKind::sum>(
      n, n.unary(UnaryKind::exp, n.sub(x, max)), *axes, true);
  Value y = n.add(n.unary(UnaryKind::log, sum), max);
  Ints s = n.shape(y), result;
  for (auto [i, d] : llvm::enumerate(s))
    if (keep || !llvm::is_contained(*axes, int64_t(i)))
      result.push_back(d);
  n.out(n.reshape(y, result));
}

template <ReduceKind K> static void argReduce(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  bool last = n.intAttr("select_last_index", 0) != 0;
  n.out(n.argReduce(K, x, axis, keepDims(n), last));
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

template <bool Product> static void cumulate(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intInput(1, "axis"), n.rank(x));
  n.out(n.create<nn::CumSumOp>(
      {x}, {n.attr("axis", axis), n.flag("product", Product),
            n.flag("exclusive", n.intAttr("exclusive", 0) != 0),
            n.flag("reverse", n.intAttr("reverse", 0) != 0)}));
}

static void topK(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
  int64_t k = n.opset() < 10 ? n.intAttr("k") : n.intInput(1, "K");
  if (n.failed())
    return;
  if (k < 0 || k > n.dim(x, axis))
    return n.fail("k " + Twine(k), "at most dimension " + Twine(axis) + " of " +
                                       str(n.shape(x)));
  Values results = n.create(nn::TopKOp::getOperationName(), {x},
                            {n.attr("k", k), n.attr("axis", axis),
                             n.flag("largest", n.intAttr("largest", 1) != 0)},
                            {}, 2);
  n.out(0, results[0]);
  n.out(1, results[1]);
}

/// Before 13 the input becomes a matrix: the dimensions before axis, and those
/// from there on.
static Value along(Node &n, Value (*layer)(Node &, Value, int64_t)) {
  Value x = n.in(0);
  if (n.opset() >= 13) {
    int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
    return n.failed() ? Value() : layer(n, x, axis);
  }
  int64_t rank = n.rank(x), axis = n.intAttr("axis", 1);
  if (axis != rank)
    axis = n.axis(axis, rank);
  if (n.failed())
    return {};
  if (axis == rank - 1)
    return layer(n, x, axis);
  Ints s = n.shape(x);
  return n.reshape(layer(n, n.reshape(x, outerInner(s, axis)), 1), s);
}

static void softmax(Node &n) {
  n.out(along(
      n, [](Node &n, Value x, int64_t axis) { return n.softmax(x, axis); }));
}

static void logSoftmax(Node &n) {
  n.out(along(n, [](Node &n, Value x, int64_t axis) {
    return n.softmax(x, axis, true);
  }));
}

/// One at the first maximum, zero elsewhere.
static void hardmax(Node &n) {
  n.out(along(n, [](Node &n, Value x, int64_t axis) {
    Value best = n.argReduce(ReduceKind::max, x, axis, true, false);
    Ints s(n.rank(x), 1);
    s[axis] = n.dim(x, axis);
    Value places = n.generate(s, n.i64(), [](int64_t i) { return i; });
    Type type = n.elem(x);
    return n.select(n.binary(BinaryKind::equal, best, places),
                    n.scalar(type, 1), n.scalar(type, 0));
  }));
}

OpRows importer::reduceOps() {
  using K = ReduceKind;
  static const OpRow rows[] = {
      {"ArgMax", 1, kNumbers, argReduce<K::max>},
      {"ArgMin", 1, kNumbers, argReduce<K::min>},
      {"CumProd", 26, kNumbers, cumulate<true>, "axis constant"},
      {"CumSum", 11, kNumbers, cumulate<false>, "axis constant"},
      {"Hardmax", 1, kFloats, hardmax},
      {"LogSoftmax", 1, kFloats, logSoftmax},
      {"ReduceL1", 1, kNumbers, reduceWith<K::sum, absolute>, "axes constant"},
      {"ReduceL2", 1, kNumbers, reduceWith<K::sum, squared, root>,
       "axes constant"},
      {"ReduceLogSum", 1, kFloats, reduceWith<K::sum, itself, logarithm>,
       "axes constant"},
      {"ReduceLogSumExp", 1, kFloats, reduceLogSumExp, "axes constant"},
      {"ReduceMax", 1, kAll, reduce<K::max>, "axes constant"},
      {"ReduceMean", 1, kNumbers, reduce<K::mean>, "axes constant"},
      {"ReduceMin", 1, kAll, reduce<K::min>, "axes constant"},
      {"ReduceProd", 1, kNumbers, reduce<K::prod>, "axes constant"},
      {"ReduceSum", 1, kNumbers, reduce<K::sum>, "axes constant"},
      {"ReduceSumSquare", 1, kNumbers, reduceWith<K::sum, squared>,
       "axes constant"},
      {"Softmax", 1, kFloats, softmax},
      {"TopK", 1, kNumbers, topK, "K constant; always sorted"},
  };
  return rows;
}
