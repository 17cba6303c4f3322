//===- Control.cpp - If, Loop and Scan ------------------------------------===//
//
// Control flow is resolved when importing: a constant condition picks its
// branch, loops of a known or bounded trip count are unrolled.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Counted.h"
#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// More iterations are refused rather than unrolled.
static constexpr int64_t maxIterations = 4096;

static const char *unrolledNote = "unrolled: trip count constant";
static const char *loopNote = "unrolled: trip count constant, or at most one";

/// Output i as one of two values of which at least one has a run-time size, or
/// none of its elements. False where they differ in more.
static bool selectCounted(Node &n, unsigned i, Value condition, ImportValue x,
                          ImportValue y) {
  auto isEmpty = [&](const ImportValue &v) {
    return v.tensor && n.size(v.tensor) == 0;
  };
  int64_t axis = -1;
  for (ImportValue *v : {&x, &y}) {
    if (v->hasRunTimeSize())
      *v = toCounted(n, *v);
    if (v->isCounted())
      axis = v->axis;
  }
  if (n.failed() || (axis < 0 && !isEmpty(x) && !isEmpty(y)))
    return false;
  for (ImportValue *v : {&x, &y}) {
    Value given = v->isCounted() ? v->all : v->tensor;
    if (!given || n.rank(given) == 0)
      return false;
    if (axis < 0) { // that of an empty value which has no elements
      Ints s = n.shape(isEmpty(x) ? x.tensor : y.tensor);
      axis = llvm::find(s, 0) - s.begin();
    }
    if (axis >= n.rank(given))
      return false;
    if (!v->isCounted())
      *v = ImportValue::counted(given, axis,
                                n.scalar(n.i64(), double(n.dim(given, axis))));
  }
  int64_t most = std::max(n.dim(x.all, axis), n.dim(y.all, axis));
  for (ImportValue *v : {&x, &y}) {
    Ints none(n.rank(v->all), 0), more = none;
    more[axis] = most - n.dim(v->all, axis);
    v->all = n.pad(v->all, none, more);
  }
  if (n.failed() || x.axis != y.axis || x.all.getType() != y.all.getType())
    return false;
  condition = n.reshape(condition, {});
  ImportValue result =
      ImportValue::counted(n.select(condition, x.all, y.all), axis,
                           n.select(condition, x.count, y.count));
  result.count = atMost(n, result.count, most);
  n.out(i, result);
  return true;
}

/// Imports a branch that only a run takes or not. Its fault says how to leave
/// the branch out: with a known condition, a branch that is not taken does not
/// matter.
static SmallVector<ImportValue> importBranch(Node &n, Value condition,
                                             const onnx::GraphProto &graph) {
  ScopedDiagnosticHandler advise(n.context(), [&](Diagnostic &fault) {
    std::string options = n.constantsFor(condition);
    if (!options.empty() && !StringRef(fault.str()).contains("--constant"))
      fault << " (in a branch that may not be taken: bind the condition with "
            << options << ")";
    return failure(); // others report it
  });
  return n.graph().importSubgraph(n, graph, {});
}

/// Layers have no side effects, so with a condition known only at run time both
/// branches are computed and the result selected, if shapes agree.
static void conditional(Node &n) {
  Value condition = n.in(0);
  const onnx::GraphProto *thenGraph = n.graphAttr("then_branch");
  const onnx::GraphProto *elseGraph = n.graphAttr("else_branch");
  if (n.failed())
    return;
  if (n.size(condition) != 1 || !n.elem(condition).isInteger(1))
    return n.fail("a condition of " + typeName(n.elem(condition)) + " " +
                      str(n.shape(condition)),
                  "one bool");
  if (auto data = n.data(condition)) {
    auto results = n.graph().importSubgraph(
        n, data->asInt(0) ? *thenGraph : *elseGraph, {});
    if (!n.failed() && results.size() != n.outputs())
      return n.fail("a branch of " + Twine(results.size()) + " results",
                    Twine(n.outputs()));
    for (auto [i, v] : llvm::enumerate(results))
      n.out(i, v);
    return;
  }
  auto thenValues = importBranch(n, condition, *thenGraph);
  if (n.failed())
    return;
  auto elseValues = importBranch(n, condition, *elseGraph);
  if (n.failed())
    return;
  if (thenValues.size() != n.outputs() || elseValues.size() != n.outputs())
    return n.fail("branches of " + Twine(thenValues.size()) + " and " +
                      Twine(elseValues.size()) + " results",
                  Twine(n.outputs()));
  for (unsigned i = 0; i < n.outputs(); ++i) {
    Value x = thenValues[i].tensor, y = elseValues[i].tensor;
    if (x && y && x.getType() == y.getType())
      n.out(i, n.select(n.reshape(condition, {}), x, y));
    else if (!selectCounted(n, i, condition, thenValues[i], elseValues[i]))
      return n.failNotConstant(
          condition, "a condition between results of different shapes");
  }
}

/// Stacks one value an iteration along `axis`.
static Value stack(Node &n, ArrayRef<Value> values, int64_t axis) {
  Values rows;
  if (!values.empty())
    axis = n.axis(axis, n.rank(values[0]) + 1);
  for (Value v : values)
    rows.push_back(n.unsqueeze(v, {axis}));
  if (n.failed())
    return {};
  if (rows.empty())
    return n.refuse("a loop without iterations that gathers results",
                    "at least one iteration");
  return n.concat(rows, axis);
}

/// A loop is unrolled. Where a run says how often it goes round, all iterations
/// are computed that are possible, and those that are not taken leave the
/// carried values as they are.
static void loop(Node &n) {
  const onnx::GraphProto *body = n.graphAttr("body");
  int64_t trips = std::numeric_limits<int64_t>::max();
  Value count, active; // null: constant, and always
  if (Value given = n.optional(0)) {
    std::optional<int64_t> most;
    if (n.size(given) == 1)
      most = knownLimit(n, given, 0);
    trips = most ? *most : n.intInput(0, "M");
    if (!n.data(given))
      count = n.reshape(given, {});
  }
  bool running = true;
  if (Value condition = n.optional(1)) {
    if (n.data(condition) || trips > maxIterations)
      running = n.intInput(1, "cond") != 0;
    else
      active = n.reshape(condition, {});
  }
  if (n.failed())
    return;
  unsigned carried = n.inputs() < 2 ? 0 : n.inputs() - 2;
  if (n.outputs() < carried)
    return n.fail(Twine(n.outputs()) + " outputs",
                  "at least the " + Twine(carried) + " carried values");
  SmallVector<ImportValue> state;
  for (unsigned i = 0; i < carried; ++i)
    state.push_back(n.value(i + 2));
  SmallVector<Values> gathered(n.outputs() - carried);
  auto isWanted = [&](unsigned k) { return n.wants(carried + k); };
  auto iterate = [&](int64_t i) {
    SmallVector<ImportValue> inputs = {n.ints({}, {i}), n.scalar(n.i1(), 1)};
    inputs.append(state);
    auto results = n.graph().importSubgraph(n, *body, inputs);
    if (!n.failed() && results.size() != 1 + carried + gathered.size())
      n.fail("a body of " + Twine(results.size()) + " results",
             Twine(1 + carried + gathered.size()));
    return n.failed() ? SmallVector<ImportValue>() : results;
  };
  for (int64_t i = 0; running && i < trips; ++i) {
    if (i == maxIterations)
      return n.fail("more than " + Twine(maxIterations) + " iterations",
                    "few enough to unroll");
    auto both = [&](Value more) {
      active = active ? n.binary(BinaryKind::logical_and, active, more) : more;
    };
    if (count)
      both(n.binary(BinaryKind::less, n.scalar(n.elem(count), double(i)),
                    count));
    auto results = iterate(i);
    if (n.failed())
      return;
    for (unsigned k = 0; k < carried; ++k) {
      ImportValue &next = results[1 + k];
      if (active) {
        Value before = state[k].tensor, after = next.tensor;
        if (!before || !after || before.getType() != after.getType())
          return n.failNotConstant(active,
                                   "the end of a loop that changes shapes");
        next = n.select(active, after, before);
      }
      state[k] = next;
    }
    Value condition = results[0].tensor;
    if (auto known = n.data(condition); known && known->size() == 1)
      running = known->asInt(0) != 0;
    else if (trips > maxIterations || n.size(condition) != 1)
      return n.failNotConstant(condition, "a loop condition");
    else
      both(n.reshape(condition, {}));
    for (auto [k, values] : llvm::enumerate(gathered)) {
      const ImportValue &value = results[1 + carried + k];
      if ((active || count) && isWanted(k))
        return n.failNotConstant(active ? active : count,
                                 "the number of rows that a loop gathers");
      if (!value.tensor)
        return n.fail("a sequence among gathered results", "tensors");
      values.push_back(value.tensor);
    }
  }
  for (auto [i, v] : llvm::enumerate(state))
    n.out(i, v);
  bool isEmpty =
      llvm::any_of(llvm::seq<unsigned>(gathered.size()), [&](unsigned k) {
        return isWanted(k) && gathered[k].empty();
      });
  if (isEmpty) { // an iteration that is not taken says shapes
    auto results = iterate(0);
    for (auto [k, value] :
         llvm::enumerate(llvm::drop_begin(results, 1 + carried))) {
      Ints s = n.shape(value.tensor);
      s.insert(s.begin(), 0);
      if (isWanted(k))
        n.out(carried + k, n.splat(s, n.elem(value.tensor), 0));
    }
    return;
  }
  for (auto [k, values] : llvm::enumerate(gathered))
    if (isWanted(k))
      n.out(carried + k, stack(n, values, 0));
}

namespace {
/// How a Scan walks: the same for every batch of version 8.
struct ScanRules {
  const onnx::GraphProto *body;
  Ints inputAxes, outputAxes, inputBackwards, outputBackwards;
  unsigned states;
};
} // namespace

/// Final states, then stacked outputs; empty after a fault.
static Values runScan(Node &n, const ScanRules &rules, Values state,
                      ArrayRef<Value> scanned) {
  unsigned outputs = n.outputs() - rules.states;
  assert(state.size() == rules.states &&
         scanned.size() == rules.inputAxes.size() &&
         scanned.size() == rules.inputBackwards.size() &&
         outputs == rules.outputAxes.size() &&
         outputs == rules.outputBackwards.size() &&
         "an axis and a direction for each input and output");
  int64_t steps = -1;
  for (auto [k, v] : llvm::enumerate(scanned)) {
    int64_t d = n.dim(v, rules.inputAxes[k]);
    if (steps >= 0 && d != steps)
      return n.refuse("scan inputs of " + Twine(steps) + " and " + Twine(d) +
                          " steps",
                      "one number");
    steps = d;
  }
  if (steps > maxIterations)
    return n.refuse(Twine(steps) + " steps", "few enough to unroll");
  SmallVector<Values> gathered(outputs);
  for (int64_t i = 0; i < steps; ++i) {
    SmallVector<ImportValue> inputs(state.begin(), state.end());
    for (auto [k, v] : llvm::enumerate(scanned)) {
      int64_t at = rules.inputBackwards[k] ? steps - 1 - i : i;
      inputs.push_back(n.sliceAt(v, rules.inputAxes[k], at));
    }
    if (n.failed())
      return {};
    auto results = n.graph().importSubgraph(n, *rules.body, inputs);
    if (n.failed())
      return {};
    if (results.size() != n.outputs())
      return n.refuse("a body of " + Twine(results.size()) + " results",
                      Twine(n.outputs()));
    for (auto [k, value] : llvm::enumerate(results)) {
      if (!value.tensor)
        return n.refuse("a sequence as a result of the body", "a tensor");
      if (k < rules.states)
        state[k] = value.tensor;
      else
        gathered[k - rules.states].push_back(value.tensor);
    }
  }
  for (auto [k, values] : llvm::enumerate(gathered)) {
    if (rules.outputBackwards[k])
      std::reverse(values.begin(), values.end());
    state.push_back(stack(n, values, rules.outputAxes[k]));
  }
  return n.failed() ? Values() : state;
}

static void scan(Node &n) {
  ScanRules rules;
  rules.body = n.graphAttr("body");
  bool batched = n.opset() < 9;
  if (batched && n.has(0))
    return n.fail("sequence_lens", "sequences of one length");
  // Before 9 there are directions alone, and the axis is the one behind the
  // batch. Nobody knows how attributes of later versions would be meant there.
  for (const char *later : {"scan_input_axes", "scan_output_axes",
                            "scan_input_directions", "scan_output_directions"})
    if (batched && n.hasAttr(later))
      return n.fail("attribute '" + Twine(later) + "' in operator set " +
                        Twine(n.opset()),
                    "none before operator set 9");
  unsigned first = batched ? 1 : 0;
  int64_t scans = n.intAttr("num_scan_inputs");
  if (n.failed())
    return;
  int64_t given = int64_t(n.inputs()) - first;
  if (scans < 1 || scans > given || given - scans > int64_t(n.outputs()))
    return n.fail("num_scan_inputs " + Twine(scans), "at most the inputs");
  rules.states = given - scans;
  unsigned outputs = n.outputs() - rules.states;
  rules.inputAxes = n.intsAttr("scan_input_axes", Ints(scans, 0));
  rules.outputAxes = n.intsAttr("scan_output_axes", Ints(outputs, 0));
  rules.inputBackwards = n.intsAttr(
      batched ? "directions" : "scan_input_directions", Ints(scans, 0));
  rules.outputBackwards =
      n.intsAttr("scan_output_directions", Ints(outputs, 0));
  if (int64_t(rules.inputAxes.size()) != scans ||
      int64_t(rules.inputBackwards.size()) != scans ||
      rules.outputAxes.size() != outputs ||
      rules.outputBackwards.size() != outputs)
    return n.fail("scan axes or directions of another number",
                  "one an input or output");
  Values states, scanned;
  for (int64_t i = 0; i < given; ++i)
    (i < int64_t(rules.states) ? states : scanned).push_back(n.in(first + i));
  if (n.failed())
    return;
  if (!batched) {
    for (auto [axis, v] : llvm::zip(rules.inputAxes, scanned))
      axis = n.axis(axis, n.rank(v));
    if (n.failed())
      return;
    for (auto [i, v] : llvm::enumerate(runScan(n, rules, states, scanned)))
      n.out(i, v);
    return;
  }
  // Version 8 has a batch in front of everything, and the steps behind it.
  for (Value v : scanned)
    if (!n.expectRank(v, 2, 64, "a scan input"))
      return;
  int64_t batches = n.dim(scanned[0], 0);
  if (batches > maxIterations)
    return n.fail(Twine(batches) + " batches", "few enough to unroll");
  SmallVector<Values> results(n.outputs());
  auto at = [&](Value v, int64_t b) -> Value {
    Ints s = n.shape(v);
    if (s.empty() || s[0] != batches)
      return n.refuse("shape " + str(s), "a batch of " + Twine(batches));
    return n.sliceAt(v, 0, b);
  };
  for (int64_t b = 0; b < batches; ++b) {
    Values s, x;
    for (Value v : states)
      s.push_back(at(v, b));
    for (Value v : scanned)
      x.push_back(at(v, b));
    if (n.failed())
      return;
    for (auto [i, v] : llvm::enumerate(runScan(n, rules, s, x)))
      results[i].push_back(v);
    if (n.failed())
      return;
  }
  for (auto [i, values] : llvm::enumerate(results))
    n.out(i, stack(n, values, 0));
}

OpRows importer::controlOps() {
  static const OpRow rows[] = {
      {"If", 1, kBool, conditional,
       "condition constant, or results of one shape"},
      {"Loop", 1, 0, loop, loopNote},
      {"Scan", 8, 0, scan, unrolledNote},
  };
  return rows;
}
