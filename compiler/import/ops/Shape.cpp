//===- Shape.cpp - Shapes, and layers that only move elements -------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

/// Since operator set 15 a part of the shape can be asked for.
static void shape(Node &n) {
  Ints dims = n.shape(n.in(0));
  int64_t rank = dims.size();
  auto bound = [&](const char *name, int64_t absent) {
    int64_t v = n.intAttr(name, absent);
    return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  n.out(n.ints(
      ArrayRef<int64_t>(dims).slice(start, std::max<int64_t>(end - start, 0))));
}

static void size(Node &n) { n.out(n.ints({}, {n.size(n.in(0))})); }

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// 0 copies the input's dimension, but with allowzero; -1 is the rest.
static void reshape(Node &n) {
  Value x = n.in(0);
  Ints target = n.opset() < 5 ? n.intsAttr("shape") : n.intsInput(1, "shape");
  if (!n.intAttr("allowzero", 0))
    for (auto [i, d] : llvm::enumerate(target))
      if (d == 0) {
        if (int64_t(i) >= n.rank(x))
          return n.fail("shape " + str(target) + " for " + str(n.shape(x)),
                        "0 only where the input has a dimension");
        d = n.dim(x, i);
      }
  n.out(n.reshape(x, target));
}

static void flatten(Node &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x), axis = n.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return n.fail("axis " + Twine(axis),
                  "one in [" + Twine(-rank) + ", " + Twine(rank) + "]");
  axis += axis < 0 ? rank : 0;
  n.out(n.reshape(x, outerInner(n.shape(x), axis)));
}

static void squeeze(Node &n) {
  Value x = n.in(0);
  std::optional<Ints> given = n.intsAttrOrInput("axes", 1, 13);
  Ints s = n.shape(x), result;
  Ints axes;
  if (given)
    axes = n.axes(*given, s.size());
  for (auto [i, d] : llvm::enumerate(s)) {
    bool drop = given ? llvm::is_contained(axes, int64_t(i)) : d == 1;
    if (drop && d != 1)
      return n.fail("dimension " + Twine(i) + " of " + str(s), "size one");
    if (!drop)
      result.push_back(d);
  }
  n.out(n.reshape(x, result));
}

static void unsqueeze(Node &n) {
  std::optional<Ints> axes = n.intsAttrOrInput("axes", 1, 13);
  if (!axes && !n.failed())
    return n.fail("no axes", "them to be given");
  if (axes)
    n.out(n.unsqueeze(n.in(0), *axes));
}

//===----------------------------------------------------------------------===//
// Rearrangements
//===----------------------------------------------------------------------===//

static void transpose(Node &n) {
  Value x = n.in(0);
  Ints reversed(n.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  n.out(n.transpose(x, n.intsAttr("perm", reversed)));
}

/// The modes differ in whether the block or the depth comes first among
/// channels.
static void depthToSpace(Node &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize");
  bool crd = n.choice("mode", "DCR", {"DCR", "CRD"});
  if (!n.expectRank(x, 4, 4, "an input"))
    return;
  int64_t c = n.dim(x, 1), h = n.dim(x, 2), w = n.dim(x, 3);
  if (block < 1 || block > 65536 || c % (block * block))
    return n.fail(Twine(c) + " channels with blocks of " + Twine(block),
                  "a multiple of blocksize²");
  int64_t depth = c / (block * block);
  Ints split{n.dim(x, 0), block, block, block, h, w};
  split[crd ? 1 : 3] = depth;
  x = n.transpose(n.reshape(x, split),
                  crd ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2});
  n.out(n.reshape(x, {n.dim(x, 0), depth, h * block, w * block}));
}

/// Mode CRD came with version 28; before, there was DCR alone.
static void spaceToDepth(Node &n) {
  Value x = n.in(0);
  int64_t block = n.intAttr("blocksize");
  bool crd = n.opset() >= 28 && n.choice("mode", "DCR", {"DCR", "CRD"});
  if (!n.expectRank(x, 4, 4, "an input"))
    return;
  int64_t c = n.dim(x, 1), h = n.dim(x, 2), w = n.dim(x, 3);
  if (block < 1 || block > 65536 || h % block || w % block)
    return n.fail(str(n.shape(x)) + " with blocks of " + Twine(block),
                  "height and width to be multiples of blocksize");
  Value y = n.reshape(x, {n.dim(x, 0), c, h / block, block, w / block, block});
  y = n.transpose(y, crd ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4});
  n.out(n.reshape(y, {n.dim(x, 0), c * block * block, h / block, w / block}));
}

static void concat(Node &n) {
  Values operands = n.variadic();
  int64_t axis = n.opset() < 4 ? n.intAttr("axis", 1) : n.intAttr("axis");
  if (operands.empty())
    return n.fail("no inputs", "at least one");
  n.out(n.concat(operands, n.axis(axis, n.rank(operands[0]))));
}

/// Sizes from the attribute (before 13), the input, or num_outputs (from 18).
static void split(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  int64_t total = n.dim(x, axis), parts = n.outputs();
  Ints sizes;
  if (std::optional<Ints> given = n.intsAttrOrInput("split", 1, 13)) {
    sizes = *given;
  } else if (n.opset() >= 18 && n.hasAttr("num_outputs")) {
    if (n.intAttr("num_outputs", parts) != parts || parts < 1)
      return n.fail("num_outputs " + Twine(n.intAttr("num_outputs", parts)),
                    Twine(parts));
    int64_t each = (total + parts - 1) / parts, left = total;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::min(each, left));
      left -= sizes.back();
    }
  } else {
    if (n.failed())
      return;
    if (parts < 1 || total % parts)
      return n.fail("dimension " + Twine(total) + " into " + Twine(parts) +
                        " equal parts",
                    "a multiple");
    sizes.assign(parts, total / parts);
  }
  if (n.failed())
    return;
  int64_t sum = 0;
  bool bad = sizes.size() < n.outputs();
  for (int64_t s : sizes) {
    bad |= s < 0 || s > total - sum;
    sum += bad ? 0 : s;
  }
  if (bad || sum != total)
    return n.fail("parts " + str(sizes) + " of dimension " + Twine(total),
                  "one an output, which add up");
  int64_t start = 0;
  for (unsigned i = 0; i < n.outputs(); ++i) {
    n.out(i, n.slice(x, axis, start, sizes[i]));
    start += sizes[i];
  }
}

/// Bounds were attributes up to operator set 9. They are clamped as in NumPy.
/// Elements of x along `axis` from a start on that a run tells, `count` of them
/// in steps. A negative start counts from the end. Indices outside of x are
/// those at its edge.
static Value sliceFrom(Node &n, Value x, int64_t axis, Value start,
                       int64_t count, int64_t step) {
  int64_t size = n.dim(x, axis);
  start = n.cast(n.reshape(start, {1}), n.i64());
  start = n.select(n.binary(BinaryKind::less, start, 0.0),
                   n.add(start, double(size)), start);
  Value places = n.add(start, n.generate({count}, n.i64(), [&](int64_t i) {
    return double(i * step);
  }));
  places = n.binary(BinaryKind::min, n.binary(BinaryKind::max, places, 0.0),
                    double(size - 1));
  return n.gather(x, places, axis);
}

namespace {
/// Elements begin, begin + step, … of a dimension.
struct Extent {
  int64_t begin, size, step;
};
} // namespace

/// The elements that ONNX's limits leave of a dimension: a negative step starts
/// at an element, where NumPy may start before all of them, and ends before
/// element 0.
static Extent rangeOf(int64_t start, int64_t end, int64_t step,
                      int64_t dimension) {
  int64_t high = step > 0 ? dimension : dimension - 1;
  auto clamp = [&](int64_t v, int64_t low) {
    return std::max(std::min(v < 0 ? v + dimension : v, high), low);
  };
  int64_t from = clamp(start, 0), to = clamp(end, step > 0 ? 0 : -1);
  int64_t distance = step > 0 ? to - from : from - to;
  if (dimension == 0 || distance <= 0)
    return {0, 0, 1};
  uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
  int64_t size = int64_t((uint64_t(distance) - 1) / stride + 1);
  return {from, size, size == 1 ? 1 : step};
}

/// Slices some of whose starts only a run tells, while their ends are known
/// distances behind them. False where that is not so.
static bool sliceAtRunTime(Node &n) {
  Value x = n.in(0), starts = n.in(1), ends = n.in(2);
  int64_t rank = n.rank(x), count = n.size(starts);
  if (n.failed() || (n.data(starts) && n.data(ends)) || n.rank(starts) != 1 ||
      n.shape(ends) != n.shape(starts) || count > rank)
    return false;
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(count)), steps(count, 1);
  if (n.has(3))
    axes = n.intsInput(3, "axes");
  if (n.has(4))
    steps = n.intsInput(4, "steps");
  axes = n.axes(axes, rank);
  if (n.failed() || int64_t(axes.size()) != count ||
      int64_t(steps.size()) != count)
    return false;
  Value y = x;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t step = steps[i], size = n.dim(x, axis);
    auto from = knownElement(n, starts, i), to = knownElement(n, ends, i);
    if (from && to && step != 0) {
      Extent r = rangeOf(*from, *to, step, size);
      y = n.slice(y, axis, r.begin, r.size, r.step);
      continue;
    }
    std::optional<int64_t> distance = knownDistance(n, starts, ends, i);
    if (!distance || step < 1 || *distance < 1 || *distance > size)
      return false;
    y = sliceFrom(n, y, axis, n.slice(starts, 0, i, 1),
                  (*distance - 1) / step + 1, step);
  }
  n.out(y);
  return true;
}

static void slice(Node &n) {
  if (n.opset() >= 10 && sliceAtRunTime(n))
    return;
  Value x = n.in(0);
  int64_t rank = n.rank(x);
  Ints starts, ends, axes, steps;
  if (n.opset() < 10) {
    starts = n.intsAttr("starts");
    ends = n.intsAttr("ends");
    axes = n.intsAttr("axes");
  } else {
    starts = n.intsInput(1, "starts");
    ends = n.intsInput(2, "ends");
    if (n.has(3))
      axes = n.intsInput(3, "axes");
    if (n.has(4))
      steps = n.intsInput(4, "steps");
  }
  bool givenAxes = n.opset() < 10 ? n.hasAttr("axes") : n.has(3);
  if (!givenAxes) {
    axes.resize(std::min<size_t>(starts.size(), rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (n.opset() < 10 || !n.has(4))
    steps.assign(starts.size(), 1);
  if (n.failed())
    return;
  if (starts.size() != ends.size() || starts.size() != axes.size() ||
      starts.size() != steps.size())
    return n.fail("starts " + str(starts) + ", ends " + str(ends) + ", axes " +
                      str(axes) + ", steps " + str(steps),
                  "lists of one length, at most the rank");
  axes = n.axes(axes, rank);
  Ints begin(rank, 0), sizes = n.shape(x), by(rank, 1);
  for (auto [i, a] : llvm::enumerate(axes)) {
    if (steps[i] == 0)
      return n.fail("step 0", "another");
    Extent r = rangeOf(starts[i], ends[i], steps[i], sizes[a]);
    begin[a] = r.begin;
    sizes[a] = r.size;
    by[a] = r.step;
  }
  n.out(n.slice(x, begin, sizes, by));
}

static void expand(Node &n) {
  Value x = n.in(0);
  if (auto counted = n.has(1) ? countedShape(n, n.in(1)) : std::nullopt) {
    Value y = n.broadcast(x, n.broadcastShape(n.shape(x), counted->sizes));
    int64_t more = n.rank(y) - int64_t(counted->sizes.size());
    return n.out(0,
                 ImportValue::counted(y, counted->axis + more, counted->count));
  }
  Ints target = n.intsInput(1, "shape");
  n.out(n.broadcast(x, n.broadcastShape(n.shape(x), target)));
}

/// Each dimension d repeated r times is [1, d] broadcast to [r, d].
static void tile(Node &n) {
  Value x = n.in(0);
  Ints repeats;
  if (n.opset() < 6) {
    int64_t times = n.intInput(1, "tiles"), axis = n.intInput(2, "axis");
    repeats.assign(n.rank(x), 1);
    axis = n.axis(axis, n.rank(x));
    if (n.failed())
      return;
    repeats[axis] = times;
  } else {
    repeats = n.intsInput(1, "repeats");
  }
  if (n.failed())
    return;
  if (int64_t(repeats.size()) != n.rank(x) ||
      llvm::any_of(repeats, [](int64_t r) { return r < 0; }))
    return n.fail("repeats " + str(repeats),
                  "one a dimension of " + str(n.shape(x)));
  Ints split, repeated, merged;
  for (auto [d, r] : llvm::zip(n.shape(x), repeats)) {
    int64_t product;
    if (llvm::MulOverflow(d, r, product))
      return n.fail("repeats " + str(repeats), "smaller ones");
    merged.push_back(product);
    if (r != 1) {
      split.push_back(1);
      repeated.push_back(r);
    }
    split.push_back(d);
    repeated.push_back(d);
  }
  n.out(n.reshape(n.broadcast(n.reshape(x, split), repeated), merged));
}

/// Pads were an attribute up to operator set 10; axes came with 18, wrap
/// with 19.
static void pad(Node &n) {
  Value x = n.in(0), value;
  int64_t rank = n.rank(x);
  auto mode = n.choiceOf<nn::PadMode>("mode", "constant",
                                      {"constant", "reflect", "edge", "wrap"});
  if (mode == nn::PadMode::wrap && n.opset() < 19)
    return n.fail("mode wrap in operator set " + Twine(n.opset()),
                  "19 or later");
  Ints pads;
  if (n.opset() < 11) {
    pads = n.intsAttr(n.opset() < 2 ? "paddings" : "pads");
    if (n.floatAttr("value", 0) != 0)
      value = n.scalar(n.elem(x), n.floatAttr("value", 0));
  } else {
    pads = n.intsInput(1, "pads");
    value = n.optional(2);
  }
  Ints axes = n.opset() >= 18 && n.has(3) ? n.axes(n.intsInput(3, "axes"), rank)
                                          : n.axesFrom(0, x);
  if (n.failed())
    return;
  if (pads.size() != 2 * axes.size())
    return n.fail("pads " + str(pads),
                  "two for each of " + Twine(axes.size()) + " axes");
  if (value && n.size(value) != 1)
    return n.fail("a padding value of shape " + str(n.shape(value)),
                  "a scalar");
  Ints low(rank, 0), high(rank, 0);
  for (auto [i, a] : llvm::enumerate(axes)) {
    low[a] = pads[i];
    high[a] = pads[i + axes.size()];
  }
  n.out(n.pad(x, low, high, mode, value));
}

/// Keeps the upper (or lower) triangle of the last two dimensions.
static void trilu(Node &n) {
  Value x = n.in(0);
  bool upper = n.intAttr("upper", 1) != 0;
  int64_t k = n.has(1) ? n.intInput(1, "k") : 0;
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  int64_t rows = n.dim(x, n.rank(x) - 2), columns = n.dim(x, n.rank(x) - 1);
  if (rows * columns == 0)
    return n.out(x);
  k = std::clamp<int64_t>(k, -rows - 1, columns + 1);
  Value mask = n.generate({rows, columns}, n.i1(), [&](int64_t i) {
    int64_t diagonal = i % columns - i / columns;
    return upper ? diagonal >= k : diagonal <= k;
  });
  n.out(n.select(mask, x, n.scalar(n.elem(x), 0)));
}

static void reverseSequence(Node &n) {
  Value x = n.in(0), lengths = n.in(1);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  n.out(n.create<nn::ReverseSequenceOp>(
      {x, lengths},
      {n.attr("batch_axis", n.axis(n.intAttr("batch_axis", 1), n.rank(x))),
       n.attr("time_axis", n.axis(n.intAttr("time_axis", 0), n.rank(x)))}));
}

OpRows importer::shapeOps() {
  static const OpRow rows[] = {
      {"Concat", 1, kAny, concat},
      {"DepthToSpace", 1, kAll, depthToSpace},
      {"Expand", 8, kAny, expand, "shape constant but for one limited size"},
      {"Flatten", 1, kAny, flatten},
      {"Pad", 1, kAny, pad, "pads and axes constant"},
      {"Reshape", 1, kAny, reshape, "shape constant"},
      {"ReverseSequence", 10, kAll, reverseSequence},
      {"Shape", 1, kAny, shape},
      {"Size", 1, kAny, size},
      {"Slice", 1, kAny, slice,
       "axes, steps constant; starts constant, or ends a constant behind them"},
      {"SpaceToDepth", 1, kAll, spaceToDepth},
      {"Split", 1, kAny, split, "split constant"},
      {"Squeeze", 1, kAny, squeeze, "axes constant"},
      {"Tile", 1, kAny, tile, "repeats constant"},
      {"Transpose", 1, kAny, transpose},
      {"Trilu", 14, kAll, trilu, "k constant"},
      microsoftOp("Trilu", kAll, trilu, "k constant"),
      {"Unsqueeze", 1, kAny, unsqueeze, "axes constant"},
  };
  return rows;
}
