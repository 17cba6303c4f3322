//===- Constant.cpp - Operators that make values --------------------------===//

#include "compiler/import/Counted.h"
#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"
#include "compiler/import/TensorData.h"
#include "dialects/nn/Layout.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static void constant(Node &n) {
  if (const onnx::TensorProto *t = n.tensorAttr("value"))
    return n.out(n.graph().tensorConstant(*t, n));
  if (const onnx::AttributeProto *a = n.find("sparse_value"))
    return n.out(
        n.constant(decodeSparse(a->sparse_tensor(), n.graph().external(), n)));
  if (n.hasAttr("value_int"))
    return n.out(n.ints({}, {n.intAttr("value_int", 0)}));
  if (n.hasAttr("value_ints"))
    return n.out(n.ints(n.intsAttr("value_ints")));
  if (n.hasAttr("value_float"))
    return n.out(n.scalar(n.f32(), n.floatAttr("value_float", 0)));
  if (n.hasAttr("value_floats")) {
    Doubles values = n.floatsAttr("value_floats");
    return n.out(n.doubles({int64_t(values.size())}, n.f32(), values));
  }
  if (n.hasAttr("value_string") || n.hasAttr("value_strings"))
    return n.fail("a string", "numbers");
  n.fail("no value", "an attribute with one");
}

static void constantOfShape(Node &n) {
  auto counted = countedShape(n, n.in(0));
  Ints shape = counted ? counted->sizes : n.intsInput(0, "shape");
  auto give = [&](Value y) {
    n.out(0,
          counted ? ImportValue::counted(y, counted->axis, counted->count) : y);
  };
  const onnx::TensorProto *proto = n.tensorAttr("value");
  if (!proto)
    return give(n.splat(shape, n.f32(), 0));
  Value value = n.graph().tensorConstant(*proto, n);
  if (n.failed())
    return;
  if (n.size(value) != 1)
    return n.fail("a value of " + Twine(n.size(value)) + " elements", "one");
  auto data = n.data(value);
  bool exact = std::abs(data->asDouble(0)) < 9007199254740992.0; // 2^53
  if (exact || n.isFloat(value))
    return give(n.splat(shape, n.elem(value), data->asDouble(0)));
  // All bits of an int64.
  give(n.broadcast(n.reshape(value, {}), shape));
}

/// The number of steps is max(ceil((limit - start) / delta), 0).
/// From a start on that a run tells to a limit a known distance behind it.
/// False where that is not so.
static bool rangeAtRunTime(Node &n) {
  Value start = n.in(0), limit = n.in(1);
  auto delta = n.data(n.in(2));
  if (n.failed() || n.data(start) || !delta || n.isFloat(start) ||
      n.size(start) != 1 || delta->size() != 1 || delta->asInt(0) == 0 ||
      n.elem(limit) != n.elem(start) || n.elem(n.in(2)) != n.elem(start))
    return false;
  std::optional<int64_t> distance = knownDistance(n, start, limit, 0);
  if (!distance)
    return false;
  int64_t step = delta->asInt(0);
  double steps = std::ceil(double(*distance) / double(step));
  if (!(steps < 1e12))
    return false;
  n.out(n.add(n.reshape(start, {1}),
              n.generate({int64_t(std::max(0.0, steps))}, n.elem(start),
                         [&](int64_t i) { return double(i * step); })));
  return true;
}

/// 0, 1… to a limit that only a run tells. False where that is not so.
static bool countedRange(Node &n) {
  Value start = n.in(0), limit = n.in(1), delta = n.in(2);
  if (n.failed() || n.data(limit) || n.isFloat(limit) || n.size(limit) != 1 ||
      n.size(start) != 1 || n.size(delta) != 1 ||
      knownElement(n, start, 0) != 0 || knownElement(n, delta, 0) != 1)
    return false;
  auto counted = countedShape(n, n.reshape(limit, {1}));
  if (!counted)
    return false;
  Value y = n.generate(counted->sizes, n.elem(start),
                       [](int64_t i) { return double(i); });
  n.out(0, ImportValue::counted(y, 0, counted->count));
  return true;
}

static void range(Node &n) {
  if (rangeAtRunTime(n) || countedRange(n))
    return;
  auto start = n.constantInput(0, "start");
  auto limit = n.constantInput(1, "limit");
  auto delta = n.constantInput(2, "delta");
  if (n.failed())
    return;
  Type type = n.elem(n.in(0));
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1 ||
      n.elem(n.in(1)) != type || n.elem(n.in(2)) != type)
    return n.fail("start, limit and delta of different kinds", "three scalars");
  double step = delta->asDouble(0);
  if (step == 0 || std::isnan(step))
    return n.fail("delta " + Twine(std::to_string(step)), "another than zero");
  double count = std::ceil((limit->asDouble(0) - start->asDouble(0)) / step);
  if (!(count < 1e12))
    return n.fail("a range of too many steps", "fewer");
  int64_t size = std::max(0.0, count);
  if (n.isFloat(n.in(0))) {
    // Computed in doubles, which is at least as exact as any stash_type.
    double from = start->asDouble(0);
    return n.out(
        n.generate({size}, type, [&](int64_t i) { return from + i * step; }));
  }
  RankedTensorType wide = n.type({size}, n.i64());
  if (!wide)
    return;
  Ints values(size);
  uint64_t from = start->asInt(0), by = delta->asInt(0);
  for (int64_t i = 0; i < size; ++i)
    values[i] = int64_t(from + uint64_t(i) * by);
  n.out(n.cast(n.ints(values), type));
}

static void eyeLike(Node &n) {
  Value x = n.in(0);
  Type type = n.hasAttr("dtype")
                  ? elementType(n.intAttr("dtype", 0), n.context())
                  : n.elem(x);
  int64_t k = n.intAttr("k", 0);
  if (!(typeSetOf(type) & kAll))
    return n.fail("dtype " + dataTypeName(n.intAttr("dtype", 0)),
                  typeSetNames(kAll));
  if (!n.expectRank(x, 2, 2, "an input"))
    return;
  int64_t columns = n.dim(x, 1);
  n.out(n.generate(n.shape(x), type, [&](int64_t i) {
    return i % columns - i / columns == k ? 1.0 : 0.0;
  }));
}

OpRows importer::constantOps() {
  static const OpRow rows[] = {
      {"Constant", 1, 0, constant, "no strings"},
      {"ConstantOfShape", 9, kInt64, constantOfShape,
       "shape constant but for one limited size"},
      {"EyeLike", 9, kAll, eyeLike},
      {"Range", 11, kNumbers, range,
       "inputs constant, or limit a constant behind start, or 0, 1… to a "
       "limited one"},
  };
  return rows;
}
