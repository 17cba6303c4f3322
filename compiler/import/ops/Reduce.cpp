//===- Reduce.cpp - Reductions and scans along an axis --------------------===//

#include "compiler/import/ops/Reduce.h"
#include "compiler/import/Counted.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<Ints> importer::reduceAxes(Node &n, Value x) {
  int64_t inputSince = n.op() == "ReduceSum" ? 13 : 18;
  std::optional<Ints> given = n.intsAttrOrInput("axes", 1, inputSince);
  if (given && !given->empty())
    return n.axes(*given, n.rank(x));
  if (n.intAttr("noop_with_empty_axes", 0) && n.opset() >= inputSince)
    return std::nullopt;
  return n.axesFrom(0, x);
}

bool importer::keepDims(Node &n) { return n.intAttr("keepdims", 1) == 1; }

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
                   : K == ReduceKind::max ? emptyMaximum(n.elem(x))
                   : K == ReduceKind::min ? emptyMaximum(n.elem(x), false)
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

/// Where only a run tells K or the size of the axis, the result has room for
/// all that can be, and K of them count. Padding is no better than any element,
/// and behind all of them.
static void topK(Node &n) {
  bool isCounted = n.has(0) && n.value(0).hasRunTimeSize();
  ImportValue given = isCounted ? toCounted(n, n.value(0)) : ImportValue();
  Value x = isCounted ? given.all : n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
  bool largest = n.intAttr("largest", 1) != 0;
  Value count; // null: K is known
  int64_t k = 0;
  if (n.opset() < 10) {
    k = n.intAttr("k");
  } else if (Value asked = n.in(1);
             asked && !n.data(asked) && n.size(asked) == 1) {
    k = std::clamp<int64_t>(knownLimit(n, asked, 0).value_or(n.dim(x, axis)), 0,
                            n.dim(x, axis));
    count = atMost(n, asked, k);
  } else {
    k = n.intInput(1, "K");
  }
  if (n.failed())
    return;
  if (isCounted && given.axis == axis)
    x = fill(n, given, emptyMaximum(n.elem(x), largest));
  else if (isCounted && count)
    return n.failNotConstant(count, "K beside the size of another dimension");
  if (k < 0 || k > n.dim(x, axis))
    return n.fail("k " + Twine(k), "at most dimension " + Twine(axis) + " of " +
                                       str(n.shape(x)));
  Values results = n.create(
      nn::TopKOp::getOperationName(), {x},
      {n.attr("k", k), n.attr("axis", axis), n.flag("largest", largest)}, {},
      2);
  for (unsigned i = 0; i < 2; ++i) {
    if (count)
      n.out(i, ImportValue::counted(results[i], axis, count));
    else if (isCounted && given.axis != axis)
      n.out(i, ImportValue::counted(results[i], given.axis, given.count));
    else
      n.out(i, results[i]);
  }
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
      {"TopK", 1, kNumbers, topK, "always sorted"},
  };
  return rows;
}
