//===- CountedRules.cpp - Operators on a run-time number of rows ----------===//
//
// Most operators treat the rows of which only a run tells the number like any
// others: their handler computes padding along with the rest. A rule names the
// counted axis of the result. Where the operator would mix padding with the
// elements that count, the rule fills it first.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Counted.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"
#include "compiler/import/ops/Reduce.h"
#include "llvm/ADT/StringMap.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
using Handler = void (*)(Node &);
/// False leaves the operator to its handler, inputs as they are.
using Rule = bool (*)(Node &, Handler);
} // namespace

static int64_t sizeOf(Node &n, const ImportValue &v) {
  return n.dim(v.all, v.axis);
}

static bool isCounted(Node &n, unsigned i) {
  return n.has(i) && n.value(i).hasRunTimeSize();
}

/// Input i with its elements one behind the other.
static ImportValue counted(Node &n, unsigned i) {
  n.replace(i, toCounted(n, n.value(i)));
  return n.value(i);
}

/// The fault for an operator that no rule covers.
static bool refuse(Node &n, const ImportValue &v, const Twine &what) {
  n.failNotConstant(v.mask ? v.mask : v.count, what);
  return true;
}

/// Runs the handler on input 0 with its padding; every result counts along
/// `axis`.
static bool keep(Node &n, Handler handler, const ImportValue &v, int64_t axis) {
  if (n.failed())
    return true;
  n.replace(0, v.all);
  handler(n);
  for (unsigned i = 0; i < n.outputs() && !n.failed(); ++i)
    if (Value y = n.results()[i].tensor)
      n.out(i, ImportValue::counted(y, axis, v.count));
  return true;
}

/// Elements that a mask selects are computed where they are, among all others.
static bool masked(Node &n, Handler handler) {
  ImportValue selection = n.computeAll();
  if (n.failed())
    return true;
  handler(n);
  if (!n.failed())
    n.out(0, selection.as(ImportValue::Picked, n.results()[0].tensor));
  return true;
}

/// One count for all inputs that have one, dimensions aligned from the last.
static bool aligned(Node &n, Handler handler) {
  int64_t fromEnd = 0, size = 0;
  ImportValue first;
  for (unsigned i = 0; i < n.inputs(); ++i) {
    if (!isCounted(n, i))
      continue;
    ImportValue v = counted(n, i);
    if (n.failed())
      return true;
    int64_t place = n.rank(v.all) - v.axis;
    if (!first.all) {
      first = v;
      fromEnd = place;
      size = sizeOf(n, v);
    } else if (place != fromEnd) {
      return refuse(n, v,
                    "sizes of two dimensions, that of input '" +
                        n.inputName(i) + "' among them,");
    }
    size = std::min(size, sizeOf(n, v));
  }
  int64_t rank = 0;
  for (unsigned i = 0; i < n.inputs(); ++i) {
    if (!n.has(i))
      continue;
    if (isCounted(n, i)) {
      const ImportValue &v = n.value(i);
      n.replace(i, n.slice(v.all, v.axis, 0, size));
    } else if (Value x = n.in(i); x && n.rank(x) >= fromEnd &&
                                  n.dim(x, n.rank(x) - fromEnd) != 1) {
      return refuse(n, first,
                    "the size of a dimension that input '" + n.inputName(i) +
                        "' has as well,");
    }
    if (Value x = n.in(i))
      rank = std::max(rank, n.rank(x));
  }
  if (n.failed())
    return true;
  handler(n);
  bool keepsMark = n.op() == "Identity" || n.op() == "Cast";
  for (unsigned i = 0; i < n.outputs() && !n.failed(); ++i)
    if (Value y = n.results()[i].tensor) {
      ImportValue result = ImportValue::counted(y, rank - fromEnd, first.count);
      result.isMarked = keepsMark && first.isMarked;
      n.out(i, result);
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static bool shapeRule(Node &n, Handler) {
  ImportValue v = counted(n, 0);
  Ints dims = n.shape(v.all);
  int64_t rank = dims.size();
  auto bound = [&](const char *name, int64_t absent) {
    int64_t x = n.intAttr(name, absent);
    return std::clamp<int64_t>(x < 0 ? x + rank : x, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  Values parts;
  for (int64_t i = start; i < end; ++i)
    parts.push_back(i == v.axis ? n.reshape(v.count, {1})
                                : n.ints(Ints{dims[i]}));
  n.out(parts.empty() ? n.ints(Ints{}) : n.concat(parts, 0));
  return true;
}

static bool sizeRule(Node &n, Handler) {
  ImportValue v = counted(n, 0);
  int64_t others = n.size(v.all) / std::max<int64_t>(sizeOf(n, v), 1);
  n.out(n.mul(v.count, double(others)));
  return true;
}

/// Reshapes v to `target`, in which one dimension is -1: the one that counts.
static bool reshapeCounted(Node &n, const ImportValue &v, Ints target) {
  if (n.failed())
    return true;
  Ints s = n.shape(v.all);
  int64_t size = sizeOf(n, v);
  int64_t outer = llvm::product_of(ArrayRef<int64_t>(s).take_front(v.axis)),
          inner = llvm::product_of(ArrayRef<int64_t>(s).drop_front(v.axis + 1));
  int64_t at = llvm::find(target, -1) - target.begin();
  auto known = ArrayRef<int64_t>(target);
  int64_t before = llvm::product_of(known.take_front(at)),
          behind = llvm::product_of(known.drop_front(at + 1));
  Value count = v.count;
  bool fits = before == outer && behind > 0 && inner > 0;
  if (fits && inner % behind == 0) {
    target[at] = size * (inner / behind);
    count = n.mul(count, double(inner / behind));
  } else if (fits && behind % inner == 0 && size % (behind / inner) == 0) {
    target[at] = size / (behind / inner);
    count = n.div(count, double(behind / inner));
  } else {
    return refuse(n, v,
                  "the size of a dimension among others that " + n.op() +
                      " puts together or takes apart,");
  }
  Value y = n.reshape(v.all, target);
  n.out(0, ImportValue::counted(y, at, atMost(n, count, target[at])));
  return true;
}

static bool reshapeRule(Node &n, Handler) {
  if (n.opset() < 5 || !isCounted(n, 0) || isCounted(n, 1))
    return false;
  ImportValue v = counted(n, 0);
  Value given = n.in(1);
  if (n.failed() || n.isFloat(given) || n.rank(given) != 1)
    return false;
  bool copies = !n.intAttr("allowzero", 0);
  Ints target;
  for (int64_t i = 0; i < n.size(given); ++i) {
    int64_t d = knownElement(n, given, i).value_or(-1);
    if (d == 0 && copies && i < n.rank(v.all))
      d = i == v.axis ? -1 : n.dim(v.all, i);
    target.push_back(d);
  }
  // The counted size may be given beside a -1 for another dimension.
  if (llvm::count(target, -1) == 2) {
    for (int64_t i = 0; i < n.size(given); ++i) {
      if (target[i] != -1 || knownElement(n, given, i) != -1)
        continue;
      int64_t rest = n.size(v.all) / std::max<int64_t>(sizeOf(n, v), 1);
      for (int64_t d : target)
        rest /= d > 0 ? d : 1;
      target[i] = rest;
    }
  }
  if (llvm::count(target, -1) != 1)
    return refuse(n, v, "a size among others of shape " + str(target));
  return reshapeCounted(n, v, target);
}

static bool flattenRule(Node &n, Handler) {
  ImportValue v = counted(n, 0);
  Ints s = n.shape(v.all);
  int64_t rank = s.size(), axis = n.intAttr("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (n.failed() || axis < 0 || axis > rank)
    return false;
  Ints target = outerInner(s, axis);
  target[v.axis < axis ? 0 : 1] = -1;
  return reshapeCounted(n, v, target);
}

static bool squeezeRule(Node &n, Handler) {
  ImportValue v = counted(n, 0);
  std::optional<Ints> given = n.intsAttrOrInput("axes", 1, 13);
  Ints s = n.shape(v.all), axes, target;
  if (given)
    axes = n.axes(*given, s.size());
  for (auto [i, d] : llvm::enumerate(s)) {
    int64_t axis = i;
    bool drops = given ? llvm::is_contained(axes, axis) : d == 1;
    if (drops && axis == v.axis && given)
      return refuse(n, v, "the size of dimension " + Twine(axis));
    if (axis == v.axis)
      target.push_back(-1);
    else if (!drops)
      target.push_back(d);
  }
  return reshapeCounted(n, v, target);
}

static bool unsqueezeRule(Node &n, Handler handler) {
  ImportValue v = counted(n, 0);
  std::optional<Ints> given = n.intsAttrOrInput("axes", 1, 13);
  if (!given || n.failed())
    return false;
  Ints axes = n.axes(*given, n.rank(v.all) + given->size());
  int64_t axis = 0, left = v.axis;
  for (;; ++axis)
    if (!llvm::is_contained(axes, axis) && left-- == 0)
      break;
  return keep(n, handler, v, axis);
}

static bool transposeRule(Node &n, Handler handler) {
  ImportValue given = n.value(0);
  Ints perm = n.intsAttr("perm");
  bool swaps = perm.empty() || perm == Ints{1, 0};
  if (given.kind == ImportValue::Columns && swaps)
    return n.out(0, given.as(ImportValue::Rows)), true;
  if (given.kind == ImportValue::Rows && swaps)
    return n.out(0, given.as(ImportValue::Columns)), true;
  ImportValue v = counted(n, 0);
  int64_t rank = n.rank(v.all);
  int64_t axis = perm.empty() ? rank - 1 - v.axis
                              : llvm::find(perm, v.axis) - perm.begin();
  return keep(n, handler, v, axis);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// Negative indices count from the end: from the last element that counts.
static Value fromEnd(Node &n, Value indices, Value count) {
  indices = n.cast(indices, n.i64());
  return n.select(n.binary(BinaryKind::less, indices, 0.0),
                  n.add(indices, count), indices);
}

/// Input i, counted or not: its elements are `all`.
static ImportValue elements(Node &n, unsigned i) {
  if (isCounted(n, i))
    return counted(n, i);
  ImportValue v = n.value(i);
  v.all = n.in(i);
  return v;
}

static bool gatherRule(Node &n, Handler handler) {
  ImportValue x = elements(n, 0), indices = elements(n, 1);
  if (n.failed())
    return true;
  bool isDataCounted = x.isCounted(), areIndicesCounted = indices.isCounted();
  Value data = x.all, places = indices.all;
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(data));
  bool within = isDataCounted && x.axis == axis;
  if (isDataCounted && areIndicesCounted && !within)
    return refuse(n, x, "the sizes of two dimensions of a result");
  n.replace(0, data);
  n.replace(1, within ? fromEnd(n, places, x.count) : places);
  int64_t rank = n.rank(places);
  if (n.failed())
    return true;
  handler(n);
  if (n.failed())
    return true;
  Value y = n.results()[0].tensor;
  if (areIndicesCounted)
    n.out(0, ImportValue::counted(y, axis + indices.axis, indices.count));
  else if (!within)
    n.out(0, ImportValue::counted(y, x.axis < axis ? x.axis : x.axis + rank - 1,
                                  x.count));
  return true;
}

static bool gatherElementsRule(Node &n, Handler handler) {
  if (!isCounted(n, 1))
    return false;
  ImportValue indices = counted(n, 1);
  if (isCounted(n, 0)) {
    ImportValue x = counted(n, 0);
    int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x.all));
    n.replace(0, x.all);
    if (x.axis == axis)
      indices.all = fromEnd(n, indices.all, x.count);
  }
  n.replace(1, indices.all);
  handler(n);
  if (!n.failed())
    n.out(0, ImportValue::counted(n.results()[0].tensor, indices.axis,
                                  indices.count));
  return true;
}

static bool gatherNDRule(Node &n, Handler handler) {
  const ImportValue &given = n.value(1);
  bool isBatched = n.intAttr("batch_dims", 0) != 0;
  if (given.kind == ImportValue::Rows && !isCounted(n, 0) && !isBatched) {
    // A mask over the first dimensions selects: GatherND itself knows that.
    Ints s = n.shape(n.in(0)), m = n.shape(given.mask);
    if (ArrayRef<int64_t>(s).take_front(m.size()) == ArrayRef<int64_t>(m))
      return false;
  }
  if (isBatched)
    return false;
  ImportValue x = elements(n, 0), indices = elements(n, 1);
  if (n.failed())
    return true;
  bool isDataCounted = x.isCounted(), areIndicesCounted = indices.isCounted();
  Value places = indices.all;
  int64_t rank = n.rank(places), tuple = n.dim(places, rank - 1);
  bool within = isDataCounted && x.axis < tuple;
  if ((isDataCounted && areIndicesCounted && !within) ||
      (areIndicesCounted && indices.axis == rank - 1))
    return refuse(n, indices, "the sizes of two dimensions of a result");
  n.replace(0, x.all);
  n.replace(1, places);
  handler(n);
  if (n.failed())
    return true;
  Value y = n.results()[0].tensor;
  if (areIndicesCounted)
    n.out(0, ImportValue::counted(y, indices.axis, indices.count));
  else if (!within)
    n.out(0, ImportValue::counted(y, rank - 1 + x.axis - tuple, x.count));
  return true;
}

/// Parts of other axes are the handler's.
static bool sliceRule(Node &n, Handler handler) {
  if (n.opset() < 10)
    return false;
  ImportValue v = counted(n, 0);
  Value starts = n.in(1), ends = n.in(2);
  if (n.failed() || n.rank(starts) != 1 || n.shape(ends) != n.shape(starts) ||
      n.size(starts) > n.rank(v.all))
    return false;
  int64_t parts = n.size(starts);
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(parts)), steps(parts, 1);
  if (n.has(3))
    axes = n.axes(n.intsInput(3, "axes"), n.rank(v.all));
  if (n.has(4))
    steps = n.intsInput(4, "steps");
  if (n.failed() || int64_t(axes.size()) != parts ||
      int64_t(steps.size()) != parts)
    return false;
  int64_t part = llvm::find(axes, v.axis) - axes.begin();
  if (part == parts)
    return keep(n, handler, v, v.axis);
  auto start = knownElement(n, starts, part), end = knownElement(n, ends, part);
  if (steps[part] != 1 || !start || *start < 0)
    return refuse(n, v,
                  "the part that a slice takes of dimension " + Twine(v.axis));
  int64_t size = sizeOf(n, v), from = std::min(*start, size);
  int64_t to = size;
  Value stop = n.cast(n.sliceAt(ends, 0, part), n.i64());
  if (end && *end >= 0)
    to = std::clamp(*end, from, size);
  else if (auto most = knownLimit(n, ends, part); !end && most && *most >= 0)
    to = std::clamp(*most, from, size);
  stop = n.binary(BinaryKind::min, fromEnd(n, stop, v.count), v.count);
  Value left = n.binary(BinaryKind::max, n.sub(stop, double(from)), 0.0);
  v.all = n.slice(v.all, v.axis, from, to - from);
  v.count = atMost(n, left, to - from);
  // The handler takes the whole of this axis.
  auto with = [&](Value bounds, int64_t value) {
    Value i = n.generate({parts}, n.i1(),
                         [&](int64_t i) { return double(i == part); });
    return n.select(i, n.scalar(n.elem(bounds), double(value)), bounds);
  };
  if (parts == 1) {
    n.out(0, v);
    return true;
  }
  n.replace(1, with(starts, 0));
  n.replace(2, with(ends, size));
  return keep(n, handler, v, v.axis);
}

static bool splitRule(Node &n, Handler handler) {
  ImportValue v = counted(n, 0);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(v.all));
  if (axis == v.axis)
    return refuse(n, v, "the size of the dimension that is split,");
  return keep(n, handler, v, v.axis);
}

static bool concatRule(Node &n, Handler handler) {
  ImportValue first;
  Values parts, masks;
  for (unsigned i = 0; i < n.inputs(); ++i) {
    if (isCounted(n, i)) {
      ImportValue v = counted(n, i);
      if (first.all && v.axis != first.axis)
        return refuse(n, v, "the sizes of two dimensions of a result");
      first = first.all ? first : v;
    }
  }
  int64_t rank = n.rank(first.all);
  int64_t axis =
      n.axis(n.opset() < 4 ? n.intAttr("axis", 1) : n.intAttr("axis"), rank);
  if (n.failed())
    return true;
  if (axis != first.axis)
    return aligned(n, handler);
  for (unsigned i = 0; i < n.inputs(); ++i) {
    if (!n.has(i))
      continue;
    ImportValue v = n.value(i);
    if (!v.isCounted()) {
      Value x = n.in(i);
      v = ImportValue::counted(x, axis,
                               n.scalar(n.i64(), double(n.dim(x, axis))));
    }
    if (n.failed() || n.rank(v.all) != rank)
      return false;
    parts.push_back(v.all);
    masks.push_back(n.reshape(countingMask(n, v), {sizeOf(n, v)}));
  }
  n.out(0, compact(n, n.concat(parts, axis), n.concat(masks, 0), axis));
  return true;
}

/// To a shape whose size along the counted axis is the count.
static bool expandRule(Node &n, Handler) {
  if (!isCounted(n, 0) || isCounted(n, 1))
    return false;
  ImportValue v = counted(n, 0);
  Value given = n.in(1);
  auto open = countedShape(n, given);
  if (n.failed() || (!open && !n.data(given)))
    return false;
  Ints target = open ? open->sizes : n.intsInput(1, "shape");
  int64_t fromEnd = n.rank(v.all) - v.axis,
          rank = std::max<int64_t>(n.rank(v.all), target.size());
  int64_t at = int64_t(target.size()) - fromEnd;
  if ((open && open->axis != at) || (!open && at >= 0 && target[at] != 1))
    return refuse(n, v, "the size of dimension " + Twine(v.axis));
  if (open) {
    int64_t size = std::min(sizeOf(n, v), target[at]);
    v.all = n.slice(v.all, v.axis, 0, size);
    target[at] = size;
  }
  Value y = n.broadcast(v.all, n.broadcastShape(n.shape(v.all), target));
  if (!n.failed())
    n.out(0, ImportValue::counted(y, rank - fromEnd, v.count));
  return true;
}

/// Indices along a dimension of `size` elements: negative ones count from its
/// end, and those of padding lead to one element behind it.
static Value targets(Node &n, const ImportValue &indices, int64_t size) {
  ImportValue v = indices;
  v.all = fromEnd(n, indices.all, n.scalar(n.i64(), double(size)));
  return fill(n, v, double(size));
}

/// Updates of padding go to one more slice. It is cut off afterwards.
static bool scatterRule(Node &n, Handler handler) {
  bool areTuples = n.op() == "ScatterND";
  if (!isCounted(n, 1)) {
    if (!isCounted(n, 0) || isCounted(n, 2))
      return false;
    ImportValue v = counted(n, 0);
    return keep(n, handler, v, v.axis);
  }
  if (areTuples && n.value(1).kind == ImportValue::Rows && n.has(2) &&
      (n.value(2).kind == ImportValue::Picked || commonElement(n, n.value(2))))
    return false;
  ImportValue data = elements(n, 0), indices = counted(n, 1),
              updates = elements(n, 2);
  Value x = data.all;
  if (n.failed())
    return true;
  int64_t rank = n.rank(indices.all);
  int64_t axis = areTuples ? 0 : n.axis(n.intAttr("axis", 0), n.rank(x));
  if (!updates.isCounted() || updates.axis != indices.axis ||
      (areTuples && indices.axis == rank - 1))
    return refuse(n, indices, "the number of indices without that of updates");
  int64_t size = n.dim(x, axis);
  int64_t count = std::min(sizeOf(n, indices), sizeOf(n, updates));
  indices.all = n.slice(indices.all, indices.axis, 0, count);
  n.replace(2, n.slice(updates.all, updates.axis, 0, count));
  if (areTuples) {
    // The first dimension of a tuple leads behind the others.
    int64_t tuple = n.dim(indices.all, rank - 1);
    ImportValue first = indices;
    first.all = n.slice(indices.all, rank - 1, 0, 1);
    n.replace(1, n.concat({targets(n, first, size),
                           n.slice(n.cast(indices.all, n.i64()), rank - 1, 1,
                                   tuple - 1)},
                          rank - 1));
  } else {
    n.replace(1, targets(n, indices, size));
  }
  Ints none(n.rank(x), 0), more = none;
  if (n.failed())
    return true;
  more[axis] = 1;
  n.replace(0, n.pad(x, none, more));
  handler(n);
  if (n.failed())
    return true;
  Value y = n.slice(n.results()[0].tensor, axis, 0, size);
  n.out(0,
        data.isCounted() ? ImportValue::counted(y, data.axis, data.count) : y);
  return true;
}

/// The result's size is known where the pads make up what the count leaves.
static bool padRule(Node &n, Handler handler) {
  if (n.opset() < 11 || n.stringAttr("mode", "constant") != "constant")
    return false;
  ImportValue v = counted(n, 0);
  Value pads = n.in(1);
  int64_t rank = n.rank(v.all);
  Ints axes = n.opset() >= 18 && n.has(3) ? n.axes(n.intsInput(3, "axes"), rank)
                                          : n.axesFrom(0, v.all);
  int64_t part = llvm::find(axes, v.axis) - axes.begin(), parts = axes.size();
  if (n.failed() || n.rank(pads) != 1 || n.size(pads) != 2 * parts)
    return false;
  Ints known(2 * parts, 0);
  for (int64_t i = 0; i < 2 * parts; ++i) {
    if (i % parts == part)
      continue;
    auto pad = knownElement(n, pads, i);
    if (!pad)
      return refuse(n, v, "input '" + n.inputName(1) + "' (pads)");
    known[i] = *pad;
  }
  n.replace(1, n.ints(known));
  bool isTouched = part < parts;
  auto low =
      isTouched ? knownElement(n, pads, part) : std::optional<int64_t>(0);
  auto high = isTouched ? knownElement(n, pads, parts + part)
                        : std::optional<int64_t>(0);
  if (low == 0 && high == 0)
    return keep(n, handler, v, v.axis);
  auto total = knownSum(n, v.count, pads, parts + part);
  if (low != 0 || !total || *total < 0)
    return refuse(n, v, "the size of a dimension with its padding");
  Value value = n.has(2) ? n.in(2) : n.scalar(n.elem(v.all), 0);
  if (n.size(value) == 1)
    value = n.reshape(value, {});
  Value x = fill(n, v, value);
  Ints none(rank, 0), more(rank, 0);
  more[v.axis] = *total - sizeOf(n, v);
  n.replace(0, n.pad(x, none, more, nn::PadMode::constant, value));
  handler(n);
  return true;
}

static bool nonZeroRule(Node &n, Handler) {
  ImportValue v = counted(n, 0);
  Value mask = fill(n, v, 0.0);
  n.out(0, select(n, mask));
  return true;
}

//===----------------------------------------------------------------------===//
// Along axes
//===----------------------------------------------------------------------===//

static bool reduceRule(Node &n, Handler handler) {
  if (!isCounted(n, 0))
    return false;
  ImportValue v = counted(n, 0);
  std::optional<Ints> axes = reduceAxes(n, v.all);
  if (n.failed())
    return true;
  if (!axes || !llvm::is_contained(*axes, v.axis)) {
    int64_t axis = v.axis;
    if (axes && !keepDims(n))
      axis -= llvm::count_if(*axes, [&](int64_t a) { return a < v.axis; });
    return keep(n, handler, v, axis);
  }
  StringRef op = n.op();
  Type type = n.elem(v.all);
  if (op == "ReduceMean" && !isa<FloatType>(type))
    return refuse(n, v, "the number of integers of a mean");
  double neutral = op == "ReduceMax"    ? emptyMaximum(type)
                   : op == "ReduceMin"  ? emptyMaximum(type, false)
                   : op == "ReduceProd" ? 1
                                        : 0;
  if (op == "ReduceLogSumExp")
    neutral = emptyMaximum(type);
  n.replace(0, fill(n, v, neutral));
  handler(n);
  if (op != "ReduceMean" || n.failed())
    return true;
  // The handler divided by the number of all elements.
  Value mean = n.results()[0].tensor;
  Value count = n.cast(v.count, type);
  n.out(n.div(n.mul(mean, double(sizeOf(n, v))), count));
  return true;
}

static bool argReduceRule(Node &n, Handler handler) {
  ImportValue v = counted(n, 0);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(v.all));
  if (n.failed())
    return true;
  if (axis != v.axis)
    return keep(n, handler, v, v.axis - (axis < v.axis && !keepDims(n)));
  n.replace(0, fill(n, v, emptyMaximum(n.elem(v.all), n.op() == "ArgMax")));
  handler(n);
  return true;
}

/// Padding comes behind, and changes no sum before it.
static bool cumulateRule(Node &n, Handler handler) {
  ImportValue v = counted(n, 0);
  v.all = fill(n, v, n.op() == "CumProd" ? 1 : 0);
  return keep(n, handler, v, v.axis);
}

static bool softmaxRule(Node &n, Handler handler) {
  ImportValue v = counted(n, 0);
  int64_t rank = n.rank(v.all),
          axis = n.intAttr("axis", n.opset() < 13 ? 1 : -1);
  axis = n.axis(axis, rank);
  if (n.failed())
    return true;
  bool isAlong = n.opset() < 13 ? v.axis >= axis : v.axis == axis;
  if (isAlong)
    v.all = fill(n, v, emptyMaximum(n.elem(v.all)));
  return keep(n, handler, v, v.axis);
}

/// Each region has a row of the result.
static bool roiAlignRule(Node &n, Handler handler) {
  if (isCounted(n, 0) || !isCounted(n, 1) || !isCounted(n, 2))
    return false;
  ImportValue rois = counted(n, 1), images = counted(n, 2);
  if (n.failed() || rois.axis != 0 || images.axis != 0)
    return false;
  int64_t size = std::min(sizeOf(n, rois), sizeOf(n, images));
  n.replace(1, n.slice(rois.all, 0, 0, size));
  n.replace(2, n.slice(images.all, 0, 0, size));
  handler(n);
  if (!n.failed())
    n.out(0, ImportValue::counted(n.results()[0].tensor, 0, rois.count));
  return true;
}

/// Rows of the first operand are rows of the result.
static bool rowsRule(Node &n, Handler handler) {
  for (unsigned i = 1; i < n.inputs(); ++i)
    if (isCounted(n, i))
      return refuse(n, counted(n, i),
                    "the size of input '" + n.inputName(i) + "'");
  ImportValue v = counted(n, 0);
  bool isMatMul = n.op() == "MatMul";
  bool isRow = isMatMul ? v.axis == n.rank(v.all) - 2 : v.axis == 0;
  if (!isRow || n.intAttr("transA", 0) ||
      (isMatMul && n.rank(n.in(1)) > n.rank(v.all)))
    return refuse(n, v, "the size of dimension " + Twine(v.axis));
  return keep(n, handler, v, v.axis);
}

//===----------------------------------------------------------------------===//
// Rules by operator
//===----------------------------------------------------------------------===//

static Rule ruleOf(StringRef op) {
  static const llvm::StringMap<Rule> rules = [] {
    llvm::StringMap<Rule> rules = {{"ArgMax", argReduceRule},
                                   {"ArgMin", argReduceRule},
                                   {"Concat", concatRule},
                                   {"CumProd", cumulateRule},
                                   {"CumSum", cumulateRule},
                                   {"Expand", expandRule},
                                   {"Flatten", flattenRule},
                                   {"Gather", gatherRule},
                                   {"GatherElements", gatherElementsRule},
                                   {"GatherND", gatherNDRule},
                                   {"LogSoftmax", softmaxRule},
                                   {"NonZero", nonZeroRule},
                                   {"Pad", padRule},
                                   {"Reshape", reshapeRule},
                                   {"RoiAlign", roiAlignRule},
                                   {"ScatterElements", scatterRule},
                                   {"ScatterND", scatterRule},
                                   {"Shape", shapeRule},
                                   {"Size", sizeRule},
                                   {"Slice", sliceRule},
                                   {"Softmax", softmaxRule},
                                   {"Split", splitRule},
                                   {"Squeeze", squeezeRule},
                                   {"Transpose", transposeRule},
                                   {"Unsqueeze", unsqueezeRule}};
    for (const char *op :
         {"AveragePool", "BatchNormalization", "Conv", "Gemm",
          "GlobalAveragePool", "GlobalMaxPool", "MatMul", "MaxPool"})
      rules[op] = rowsRule;
    for (const char *op :
         {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
          "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
          "ReduceSumSquare"})
      rules[op] = reduceRule;
    return rules;
  }();
  return rules.lookup(op);
}

bool importer::importCounted(Node &n, const OpRow &row) {
  bool isElementwise =
      llvm::is_contained(llvm::make_pointer_range(elementwiseOps()), &row);
  bool isMasked =
      llvm::all_of(llvm::seq<unsigned>(0, n.inputs()), [&](unsigned i) {
        return !n.value(i).hasRunTimeSize() ||
               n.value(i).kind == ImportValue::Picked;
      });
  Rule rule = isElementwise ? (isMasked ? masked : aligned)
              : *row.domain ? nullptr
                            : ruleOf(row.name);
  return rule && (rule(n, row.handler) || n.failed());
}
