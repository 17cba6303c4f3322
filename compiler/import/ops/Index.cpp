//===- Index.cpp - Gather, scatter and selections -------------------------===//

#include "compiler/import/Counted.h"
#include "compiler/import/OpTable.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Whether indices are int32 or int64, else a fault.
static bool checkIndices(Node &n, Value indices) {
  if (n.failed())
    return false;
  if (typeSetOf(n.elem(indices)) & (kInt32 | kInt64))
    return true;
  return n.refuse("indices of " + typeName(n.elem(indices)), "int32 or int64");
}

static void gather(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  if (checkIndices(n, indices))
    n.out(n.gather(x, indices, axis));
}

static void gatherElements(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  if (!checkIndices(n, indices) ||
      !n.expectRank(indices, n.rank(x), n.rank(x), "indices"))
    return;
  n.out(n.create<nn::GatherElementsOp>({x, indices}, {n.attr("axis", axis)}));
}

/// The mask whose selected elements are input 1's index tuples, where these
/// lead to elements of x; else null.
static Value selectingMask(Node &n, Value x) {
  if (!n.has(1) || n.value(1).kind != ImportValue::Rows || n.failed())
    return {};
  Value mask = n.value(1).mask;
  ArrayRef<int64_t> m = cast<RankedTensorType>(mask.getType()).getShape();
  Ints s = n.shape(x);
  return ArrayRef<int64_t>(s).take_front(m.size()) == m ? mask : Value();
}

/// The mask with dimensions of size one behind its own, so that it broadcasts
/// to x.
static Value maskFor(Node &n, Value mask, Value x) {
  Ints s = n.shape(mask);
  s.resize(std::max(n.rank(x), n.rank(mask)), 1);
  return n.reshape(mask, s);
}

static void gatherND(Node &n) {
  Value x = n.in(0);
  if (Value mask = selectingMask(n, x); mask && !n.intAttr("batch_dims", 0))
    return n.out(0, n.value(1).as(ImportValue::Picked, x));
  Value indices = n.in(1);
  int64_t batch = n.intAttr("batch_dims", 0);
  int64_t tuple = n.dim(indices, n.rank(indices) - 1);
  if (!checkIndices(n, indices) || !n.expectRank(indices, 1, 64, "indices"))
    return;
  if (batch < 0 || batch >= n.rank(indices) || tuple < 1 ||
      batch + tuple > n.rank(x))
    return n.fail("indices " + str(n.shape(indices)) + " with batch_dims " +
                      Twine(batch),
                  "index tuples that fit " + str(n.shape(x)));
  n.out(n.create<nn::GatherNDOp>({x, indices}, {n.attr("batch_dims", batch)}));
}

static NamedAttribute reduction(Node &n) {
  return n.kind<nn::ScatterReductionAttr>(
      "reduction",
      n.choiceOf<nn::ScatterReduction>("reduction", "none",
                                       {"none", "add", "mul", "min", "max"}));
}

static void scatterElements(Node &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  if (!checkIndices(n, indices) ||
      !n.expectRank(indices, n.rank(x), n.rank(x), "indices"))
    return;
  if (n.shape(indices) != n.shape(updates))
    return n.fail("updates " + str(n.shape(updates)),
                  "the indices' shape " + str(n.shape(indices)));
  n.out(n.create<nn::ScatterElementsOp>({x, indices, updates},
                                        {n.attr("axis", axis), reduction(n)}));
}

/// Puts the updates of selected elements where the mask selects.
static void scatterSelected(Node &n, Value x, Value mask) {
  const ImportValue &updates = n.value(2);
  Value one = commonElement(n, updates);
  if (one && n.stringAttr("reduction", "none") == "none")
    return n.out(n.select(maskFor(n, mask, x), one, x));
  if (n.stringAttr("reduction", "none") != "none" ||
      updates.kind != ImportValue::Picked || updates.mask != mask)
    return n.failNotConstant(mask, "the mask of a scatter of other elements");
  if (n.shape(updates.all) != n.shape(x))
    return n.fail("updates of " + str(n.shape(updates.all)),
                  "those of elements of " + str(n.shape(x)));
  n.out(n.select(maskFor(n, mask, x), updates.all, x));
}

static void scatterND(Node &n) {
  Value x = n.in(0);
  if (Value mask = selectingMask(n, x); mask && n.has(2))
    return scatterSelected(n, x, mask);
  Value indices = n.in(1), updates = n.in(2);
  if (!checkIndices(n, indices) || !n.expectRank(indices, 1, 64, "indices"))
    return;
  n.out(n.create<nn::ScatterNDOp>({x, indices, updates}, {reduction(n)}));
}

/// One-hot is indices == 0…depth-1 along a new axis. Negative indices count
/// from the end; others outside of the range give no hot element.
static void oneHot(Node &n) {
  Value indices = n.in(0), values = n.in(2);
  int64_t depth = n.intInput(1, "depth");
  if (n.failed())
    return;
  if (depth < 1 || depth > (int64_t(1) << 31))
    return n.fail("depth " + Twine(depth), "a positive one");
  if (n.shape(values) != Ints{2})
    return n.fail("values " + str(n.shape(values)), "[2]");
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(indices) + 1);
  indices = n.cast(indices, n.i64());
  Value isNegative = n.binary(BinaryKind::less, indices, 0.0);
  indices = n.select(isNegative, n.add(indices, double(depth)), indices);
  indices = n.unsqueeze(indices, {axis});
  Ints classShape(n.rank(indices), 1);
  if (n.failed())
    return;
  classShape[axis] = depth;
  Value classes = n.generate(classShape, n.i64(), [](int64_t i) { return i; });
  Value off = n.sliceAt(values, 0, 0), on = n.sliceAt(values, 0, 1);
  n.out(n.select(n.binary(BinaryKind::equal, indices, classes), on, off));
}

/// The result's shape depends on the values. Where they are not constant, the
/// result is known by its mask alone.
static void nonZero(Node &n) {
  if (Value given = n.in(0); given && !n.data(given) && n.rank(given) > 0)
    return n.out(0, select(n, given));
  auto x = n.constantInput(0, "X");
  if (!x)
    return;
  Ints shape(x->type().getShape());
  int64_t rank = shape.size();
  SmallVector<Ints> columns(rank);
  for (int64_t i = 0; i < x->size(); ++i) {
    if (x->asDouble(i) == 0)
      continue;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      columns[d].push_back(rest % shape[d]);
      rest /= shape[d];
    }
  }
  Ints flat;
  for (Ints &column : columns)
    flat.append(column);
  n.out(n.ints({rank, rank ? int64_t(columns[0].size()) : 0}, flat));
}

/// With a constant condition, the result is a gather.
static void compress(Node &n) {
  Value x = n.in(0), given = n.in(1);
  int64_t axis = 0;
  if (n.hasAttr("axis"))
    axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  else
    x = n.reshape(x, {n.size(x)});
  if (!n.failed() && !n.data(given) && n.rank(given) == 1) {
    int64_t size = std::min(n.size(given), n.dim(x, axis));
    return n.out(0, compact(n, n.slice(x, axis, 0, size),
                            n.slice(given, 0, 0, size), axis));
  }
  auto condition = n.constantInput(1, "condition");
  if (!condition)
    return;
  Ints indices;
  for (int64_t i = 0; i < std::min(condition->size(), n.dim(x, axis)); ++i)
    if (condition->asInt(i))
      indices.push_back(i);
  n.out(n.gather(x, n.ints(indices), axis));
}

/// A number that stands for element `i` and orders like it, equal where the
/// elements are. Exact for 64-bit integers, which are no doubles. Zeros are
/// equal; so are NaNs, which come last, as in numpy.unique.
static uint64_t orderedKey(const nn::ConstantData &data, int64_t i) {
  constexpr uint64_t sign = uint64_t(1) << 63;
  Type type = data.type().getElementType();
  if (!isa<FloatType>(type)) {
    bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
    return static_cast<uint64_t>(data.asInt(i)) ^ (isUnsigned ? 0 : sign);
  }
  double value = data.asDouble(i);
  if (std::isnan(value))
    return std::numeric_limits<uint64_t>::max();
  if (value == 0)
    return sign;
  // The bits order positive numbers, and negative ones backwards.
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  return bits & sign ? ~bits : bits | sign;
}

/// The result's shape depends on the values: they must be constant. Slices
/// along an axis compare as sequences of numbers.
static void unique(Node &n) {
  Value x = n.in(0);
  auto data = n.constantInput(0, "X");
  if (!data)
    return;
  bool sorted = n.intAttr("sorted", 1) != 0;
  int64_t axis = 0;
  bool flat = !n.hasAttr("axis");
  if (!flat)
    axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  if (n.failed())
    return;
  Ints s = flat ? Ints{n.size(x)} : n.shape(x);
  int64_t outer = 1, inner = 1, count = s[axis];
  for (int64_t i = 0; i < int64_t(s.size()); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : s[i];
  assert(data->size() == outer * count * inner && "slices make up the input");
  std::map<std::vector<uint64_t>, int64_t> seen; // slice to index in `firsts`
  Ints firsts, inverse, counts;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<uint64_t> slice;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < inner; ++k)
        slice.push_back(orderedKey(*data, (o * count + i) * inner + k));
    auto [it, isNew] = seen.try_emplace(slice, int64_t(firsts.size()));
    if (isNew) {
      firsts.push_back(i);
      counts.push_back(0);
    }
    ++counts[it->second];
    inverse.push_back(it->second);
  }
  Ints order = sorted ? llvm::to_vector(llvm::make_second_range(seen))
                      : llvm::to_vector(llvm::seq<int64_t>(0, firsts.size()));
  Ints place(firsts.size());
  assert(order.size() == firsts.size() && "each slice has a place");
  for (auto [i, o] : llvm::enumerate(order))
    place[o] = i;
  Ints orderedFirsts, orderedCounts;
  for (int64_t o : order) {
    orderedFirsts.push_back(firsts[o]);
    orderedCounts.push_back(counts[o]);
  }
  for (int64_t &i : inverse)
    i = place[i];
  Value y = flat ? n.reshape(x, {n.size(x)}) : x;
  n.out(0, n.gather(y, n.ints(orderedFirsts), axis));
  n.out(1, n.ints(orderedFirsts));
  n.out(2, n.ints(inverse));
  n.out(3, n.ints(orderedCounts));
}

/// A copy of the cache with an update along `axis`, which begins at another
/// place in each batch, and past the end, in mode circular, goes on at the
/// start.
static void tensorScatter(Node &n) {
  Value cache = n.in(0), update = n.in(1);
  bool circular = n.choice("mode", "linear", {"linear", "circular"});
  int64_t axis = n.axis(n.intAttr("axis", -2), n.rank(cache));
  if (n.failed())
    return;
  if (axis == 0)
    return n.fail("axis 0", "another dimension than the batch");
  Ints shape = n.shape(cache), part = n.shape(update), expected = shape;
  if (part.size() == shape.size() && part[axis] <= shape[axis])
    expected[axis] = part[axis];
  if (part != expected)
    return n.fail("an update of shape " + str(part),
                  "that of the cache " + str(shape) + ", or less along axis " +
                      Twine(axis));
  if (!n.has(2)) // at the start
    return n.out(n.concat(
        {update, n.slice(cache, axis, part[axis], shape[axis] - part[axis])},
        axis));
  Value starts = n.in(2);
  if (!n.expectShape(starts, {shape[0]}, "write_indices"))
    return;
  // Where each slice of the update goes, as indices of dimensions 0 to axis.
  Ints grid(part.begin(), part.begin() + axis + 1), ones(axis + 1, 1);
  auto counted = [&](int64_t dim) {
    Ints s = ones;
    s[dim] = grid[dim];
    return n.generate(s, n.i64(), [](int64_t i) { return i; });
  };
  Ints batch = ones;
  batch[0] = shape[0];
  Value place = n.add(n.reshape(n.cast(starts, n.i64()), batch), counted(axis));
  if (circular)
    place = n.binary(BinaryKind::mod, place, n.ints({}, {shape[axis]}));
  Values indices;
  for (int64_t d = 0; d <= axis; ++d)
    indices.push_back(
        n.unsqueeze(n.broadcast(d == axis ? place : counted(d), grid), {-1}));
  n.out(
      n.create<nn::ScatterNDOp>({cache, n.concat(indices, axis + 1), update},
                                {n.kind<nn::ScatterReductionAttr>(
                                    "reduction", nn::ScatterReduction::none)}));
}

OpRows importer::indexOps() {
  static const OpRow rows[] = {
      {"Compress", 9, kAll, compress,
       "zeros behind the elements that a run-time condition selects, and "
       "OUTPUT.count"},
      {"Gather", 1, kAny, gather},
      {"GatherElements", 11, kAll, gatherElements},
      {"GatherND", 11, kAll, gatherND},
      {"NonZero", 9, kAll, nonZero,
       "zeros behind the elements that a run-time input selects, and "
       "OUTPUT.count"},
      {"OneHot", 9, kNumbers, oneHot, "depth constant"},
      {"Scatter", 9, kAll, scatterElements, "", 10},
      {"ScatterElements", 11, kAll, scatterElements},
      {"ScatterND", 11, kAll, scatterND},
      {"TensorScatter", 24, kAll, tensorScatter},
      {"Unique", 11, kAll, unique, "constant input"},
  };
  return rows;
}
