//===- Sequence.cpp - Sequences and optionals -----------------------------===//
//
// They exist while importing only, as lists of tensors. So a model's uses of
// them must be known at compile time, but for the tensors' elements.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

using List = std::vector<ImportValue>;

/// More parts are refused: each is a layer.
static constexpr int64_t maxParts = 4096;

/// The elements of input i, which must be a sequence.
static List sequenceInput(Node &n, unsigned i) {
  if (n.failed())
    return {};
  if (!n.has(i) || n.value(i).kind != ImportValue::Sequence)
    return n.fail("no sequence as input " + Twine(i), "one"), List();
  return n.value(i).list;
}

static void outSequence(Node &n, List list) {
  n.out(0, {ImportValue::Sequence, std::move(list)});
}

/// A position in a list of `size`, negative ones from the end.
static int64_t position(Node &n, unsigned input, int64_t size, bool atEnd) {
  int64_t p = n.intInput(input, "position");
  int64_t limit = atEnd ? size : size - 1;
  if (!n.failed() && (p < -size || p > limit))
    n.fail("position " + Twine(p),
           "one in [" + Twine(-size) + ", " + Twine(limit) + "]");
  return n.failed() ? 0 : p < 0 ? p + size : p;
}

static void construct(Node &n) {
  Values values = n.variadic();
  outSequence(n, List(values.begin(), values.end()));
}

static void empty(Node &n) { outSequence(n, {}); }

static void at(Node &n) {
  List list = sequenceInput(n, 0);
  int64_t p = position(n, 1, list.size(), false);
  if (!n.failed())
    n.out(0, list[p]);
}

static void length(Node &n) {
  n.out(n.ints({}, {int64_t(sequenceInput(n, 0).size())}));
}

static void insert(Node &n) {
  List list = sequenceInput(n, 0);
  Value x = n.in(1);
  int64_t p =
      n.has(2) ? position(n, 2, list.size(), true) : int64_t(list.size());
  if (n.failed())
    return;
  list.insert(list.begin() + p, ImportValue(x));
  outSequence(n, std::move(list));
}

static void erase(Node &n) {
  List list = sequenceInput(n, 0);
  int64_t last = int64_t(list.size()) - 1;
  int64_t p = n.has(1) ? position(n, 1, list.size(), false) : last;
  if (n.failed())
    return;
  if (list.empty())
    return n.fail("an empty sequence", "an element to erase");
  list.erase(list.begin() + p);
  outSequence(n, std::move(list));
}

static void concatFromSequence(Node &n) {
  Values values;
  for (const ImportValue &v : sequenceInput(n, 0))
    values.push_back(v.tensor);
  bool isNew = n.intAttr("new_axis", 0) != 0;
  if (n.failed())
    return;
  if (values.empty() || llvm::is_contained(values, Value()))
    return n.fail("no tensors to concatenate", "at least one");
  int64_t axis = n.axis(n.intAttr("axis"), n.rank(values[0]) + isNew);
  if (isNew)
    for (Value &v : values)
      v = n.unsqueeze(v, {axis});
  n.out(n.concat(values, axis));
}

static void splitToSequence(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  int64_t total = n.dim(x, axis);
  // Other than in reductions, ONNX Runtime keeps for any number but 0.
  bool keep = n.has(1) || n.intAttr("keepdims", 1) != 0;
  Ints sizes{1};
  if (n.has(1))
    sizes = n.intsInput(1, "split");
  if (n.failed())
    return;
  if (!n.has(1) || n.rank(n.in(1)) == 0) {
    // Parts of one size, the last may be smaller.
    int64_t each = sizes[0];
    if (each < 1 || total / each > maxParts)
      return n.fail("parts of " + Twine(each) + " of dimension " + Twine(total),
                    "one to " + Twine(maxParts) + " parts");
    sizes.clear();
    for (int64_t left = total; left > 0; left -= sizes.back())
      sizes.push_back(std::min(each, left));
  }
  List list;
  int64_t start = 0;
  for (int64_t s : sizes) {
    if (n.failed())
      return;
    if (s < 0 || s > total - start)
      return n.fail("parts " + str(sizes),
                    "ones that add up to " + Twine(total));
    list.push_back(keep ? n.slice(x, axis, start, s)
                        : n.sliceAt(x, axis, start));
    start += s;
  }
  if (start != total)
    return n.fail("parts " + str(sizes), "ones that add up to " + Twine(total));
  outSequence(n, std::move(list));
}

/// The body sees one element of every sequence, and every other input whole.
static void sequenceMap(Node &n) {
  const onnx::GraphProto *body = n.graphAttr("body");
  size_t count = sequenceInput(n, 0).size();
  std::vector<List> results(n.outputs());
  for (size_t i = 0; i < count && !n.failed(); ++i) {
    SmallVector<ImportValue> inputs;
    for (unsigned k = 0; k < n.inputs(); ++k) {
      const ImportValue &v = n.value(k);
      if (v.kind == ImportValue::Sequence && v.list.size() != count)
        return n.fail("a sequence of " + Twine(v.list.size()), Twine(count));
      inputs.push_back(v.kind == ImportValue::Sequence ? v.list[i] : v);
    }
    auto outputs = n.graph().importSubgraph(n, *body, inputs);
    if (n.failed())
      return;
    if (outputs.size() != n.outputs())
      return n.fail("a body of " + Twine(outputs.size()) + " results",
                    Twine(n.outputs()));
    for (auto [k, v] : llvm::enumerate(outputs))
      results[k].push_back(v);
  }
  for (auto [k, list] : llvm::enumerate(results))
    n.out(k, {ImportValue::Sequence, std::move(list)});
}

static void optional(Node &n) {
  n.out(0, {ImportValue::Optional, n.has(0) ? List{n.value(0)} : List()});
}

/// Since 18 a tensor or sequence stands for an optional that holds it.
static void optionalHasElement(Node &n) {
  bool has = n.has(0) && (n.value(0).kind != ImportValue::Optional ||
                          !n.value(0).list.empty());
  n.out(n.scalar(n.i1(), has));
}

static void optionalGetElement(Node &n) {
  if (!n.has(0))
    return n.fail("no input", "an optional");
  const ImportValue &value = n.value(0);
  if (value.kind != ImportValue::Optional)
    return n.out(0, value);
  if (value.list.empty())
    return n.fail("an empty optional", "one with an element");
  n.out(0, value.list[0]);
}

OpRows importer::sequenceOps() {
  constexpr const char *resolvedNote = "resolved at compile time";
  static const OpRow rows[] = {
      {"ConcatFromSequence", 11, 0, concatFromSequence, resolvedNote},
      {"Optional", 15, 0, optional, resolvedNote},
      {"OptionalGetElement", 15, 0, optionalGetElement, resolvedNote},
      {"OptionalHasElement", 15, 0, optionalHasElement, resolvedNote},
      {"SequenceAt", 11, 0, at, resolvedNote},
      {"SequenceConstruct", 11, kAll, construct, resolvedNote},
      {"SequenceEmpty", 11, 0, empty, resolvedNote},
      {"SequenceErase", 11, 0, erase, resolvedNote},
      {"SequenceInsert", 11, 0, insert, resolvedNote},
      {"SequenceLength", 11, 0, length, resolvedNote},
      {"SequenceMap", 17, 0, sequenceMap, resolvedNote},
      {"SplitToSequence", 11, kAll, splitToSequence, resolvedNote},
  };
  return rows;
}
