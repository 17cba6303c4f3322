//===- Rnn.cpp - RNN, GRU and LSTM ----------------------------------------===//
//
// The inputs' share of the gates does not depend on earlier steps: one product
// of all time steps, before nn.recurrent runs over time. Two directions are two
// layers.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Activation.h"
#include "compiler/import/ops/Quantize.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
struct Cell {
  nn::RecurrentKind kind;
  int64_t gates;
  SmallVector<std::string> activations; ///< defaults of one direction
};

/// W [directions, gates * hidden, inputs] and R [directions, gates * hidden,
/// hidden], and how a direction's input share of the gates is computed:
/// share(x, d, bias) of x [rows, inputs] is [rows, gates * hidden].
struct Weights {
  Value w, r;
  llvm::function_ref<Value(Value x, int64_t direction, Value bias)> share;
};
} // namespace

/// The activation of that name; alpha and beta are consumed in order by those
/// that have them.
static nn::FunctionAttr activation(Node &n, StringRef name,
                                   SmallVectorImpl<double> &alphas,
                                   SmallVectorImpl<double> &betas) {
  const Activation *known = findActivation(n, name);
  if (!known)
    return {};
  SmallVector<double, 2> params = known->defaults();
  SmallVectorImpl<double> *givens[] = {&alphas, &betas};
  for (auto [param, given] : llvm::zip(params, givens)) {
    if (given->empty())
      continue;
    param = given->front();
    given->erase(given->begin());
  }
  return n.function(known->kind, params);
}

static void recurrent(Node &n, const Cell &cell, const Weights &weights) {
  using R = nn::RecurrentKind;
  Value x = n.in(0), w = weights.w, r = weights.r;
  Value bias = n.optional(3), lengths = n.optional(4), h0 = n.optional(5);
  bool isLstm = cell.kind == R::lstm;
  Value c0 = isLstm ? n.optional(6) : Value();
  Value peepholes = isLstm ? n.optional(7) : Value();
  unsigned direction =
      n.choice("direction", "forward", {"forward", "reverse", "bidirectional"});
  int64_t directions = direction == 2 ? 2 : 1;
  bool batchFirst = n.opset() >= 14 && n.intAttr("layout", 0) != 0;
  bool linearBeforeReset =
      cell.kind == R::gru && n.intAttr("linear_before_reset", 0) != 0;
  if (!n.expectTypeOf(0, {3, 5}) || (isLstm && !n.expectTypeOf(0, {6, 7})))
    return;
  if (!n.expectRank(x, 3, 3, "an input") || !n.expectRank(w, 3, 3, "W") ||
      !n.expectRank(r, 3, 3, "R"))
    return;
  if (batchFirst)
    x = n.transpose(x, {1, 0, 2});
  int64_t steps = n.dim(x, 0), batch = n.dim(x, 1), inputs = n.dim(x, 2);
  int64_t hidden = n.dim(r, 2), gates = cell.gates;
  auto expect = [&](Value v, const char *what, const Ints &shape) {
    if (v && n.shape(v) != shape)
      n.fail(Twine(what) + " " + str(n.shape(v)), str(shape));
  };
  if (hidden < 1 || hidden > (int64_t(1) << 31))
    return n.fail("a hidden size of " + Twine(hidden), "a positive one");
  expect(w, "W", {directions, gates * hidden, inputs});
  expect(r, "R", {directions, gates * hidden, hidden});
  expect(bias, "B", {directions, 2 * gates * hidden});
  expect(lengths, "sequence_lens", {batch});
  Ints state = batchFirst ? Ints{batch, directions, hidden}
                          : Ints{directions, batch, hidden};
  expect(h0, "initial_h", state);
  expect(c0, "initial_c", state);
  expect(peepholes, "P", {directions, 3 * hidden});
  if (n.hasAttr("hidden_size") && n.intAttr("hidden_size", 0) != hidden)
    n.fail("hidden_size " + Twine(n.intAttr("hidden_size", 0)),
           "that of R, " + Twine(hidden));
  // One set of activations a direction.
  SmallVector<std::string> names = n.stringsAttr("activations");
  size_t each = cell.activations.size();
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      names.append(cell.activations.begin(), cell.activations.end());
  if (n.failed())
    return;
  if (names.size() != each * directions)
    return n.fail(Twine(names.size()) + " activations",
                  Twine(each * directions));
  Doubles alphas = n.floatsAttr("activation_alpha");
  Doubles betas = n.floatsAttr("activation_beta");
  if (lengths)
    lengths = n.cast(lengths, n.i32());

  // One direction of a parameter.
  auto part = [&](Value v, int64_t d, int64_t axis = 0) {
    return v ? n.sliceAt(v, axis, d) : Value();
  };
  Values all, lastH, lastC;
  for (int64_t d = 0; d < directions; ++d) {
    Value inputBias, recurrentBias;
    if (bias) {
      Value b = part(bias, d);
      Value wb = n.slice(b, 0, 0, gates * hidden);
      Value rb = n.slice(b, 0, gates * hidden, gates * hidden);
      if (linearBeforeReset) {
        // The hidden gate's recurrent bias is multiplied by the reset gate.
        recurrentBias = n.slice(rb, 0, 2 * hidden, hidden);
        Value zero = n.splat({hidden}, n.elem(rb), 0);
        rb = n.concat({n.slice(rb, 0, 0, 2 * hidden), zero}, 0);
      }
      inputBias = n.add(wb, rb);
    }
    Value flat = n.reshape(x, {steps * batch, inputs});
    Value gate = weights.share(flat, d, inputBias);
    gate = n.reshape(gate, {steps, batch, gates * hidden});
    SmallVector<Attribute> functions;
    for (size_t i = 0; i < each; ++i)
      functions.push_back(activation(n, names[d * each + i], alphas, betas));
    if (n.failed())
      return;
    SmallVector<NamedAttribute> attrs = {
        n.kind<nn::RecurrentKindAttr>("kind", cell.kind),
        n.attr("activations", n.builder().getArrayAttr(functions)),
        n.flag("reverse", direction == 1 || d == 1),
        n.flag("linear_before_reset", linearBeforeReset),
        n.flag("input_forget", isLstm && n.intAttr("input_forget", 0) != 0)};
    if (n.hasAttr("clip"))
      attrs.push_back(n.number("clip", n.floatAttr("clip", 0)));
    Type element = n.elem(x);
    RankedTensorType sequence = n.type({steps, batch, hidden}, element);
    RankedTensorType last = n.type({batch, hidden}, element);
    if (!sequence || !last)
      return;
    int64_t stateAxis = batchFirst ? 1 : 0;
    Values results =
        n.create(nn::RecurrentOp::getOperationName(),
                 {gate, part(r, d), recurrentBias, part(h0, d, stateAxis),
                  part(c0, d, stateAxis), part(peepholes, d), lengths},
                 attrs, {sequence, last, last}, 3);
    all.push_back(n.unsqueeze(results[0], {1}));
    lastH.push_back(n.unsqueeze(results[1], {0}));
    lastC.push_back(n.unsqueeze(results[2], {0}));
  }
  if (n.failed())
    return;
  Value y = n.concat(all, 1), h = n.concat(lastH, 0);
  if (batchFirst) { // [T, D, B, H] to [B, T, D, H], [D, B, H] to [B, D, H]
    y = n.transpose(y, {2, 0, 1, 3});
    h = n.transpose(h, {1, 0, 2});
  }
  n.out(0, y);
  n.out(1, h);
  if (isLstm && n.wants(2)) {
    Value c = n.concat(lastC, 0);
    n.out(2, batchFirst ? n.transpose(c, {1, 0, 2}) : c);
  }
}

static Cell lstmCell() {
  return {nn::RecurrentKind::lstm, 4, {"Sigmoid", "Tanh", "Tanh"}};
}

static void ofFloats(Node &n, const Cell &cell) {
  auto share = [&](Value x, int64_t direction, Value bias) {
    return n.matmul(x, n.sliceAt(n.in(1), 0, direction), bias, false, true);
  };
  if (n.expectTypeOf(0, {1, 2}))
    recurrent(n, cell, {n.in(1), n.in(2), share});
}

/// Weights are 8-bit integers [directions, size, gates * hidden], with a scale
/// and zero point for each direction, or each column of each. The input is
/// quantised by its range. The state of a step is not, though ONNX Runtime
/// quantises it: recurrent weights are floats here.
static void ofBytes(Node &n) {
  Quantized w{n.in(1), n.in(8), n.in(9)}, r{n.in(2), n.in(10), n.in(11)};
  for (auto [q, what] : {std::pair(w, "W"), std::pair(r, "R")}) {
    if (!n.expectRank(q.values, 3, 3, what))
      return;
    if (!(typeSetOf(n.elem(q.values)) & (kInt8 | kUInt8)) ||
        n.elem(q.zeroPoint) != n.elem(q.values))
      return n.fail(Twine(what) + " of " + typeName(n.elem(q.values)) +
                        " with zero points of " + typeName(n.elem(q.zeroPoint)),
                    "both int8 or both uint8");
    int64_t directions = n.dim(q.values, 0), columns = n.dim(q.values, 2);
    for (Value v : {q.scale, q.zeroPoint})
      if (n.shape(v) != Ints{directions} &&
          !n.expectShape(v, {directions, columns}, "a scale or zero point"))
        return;
  }
  // [directions, 1, columns or 1]
  auto eachColumn = [&](Value v) {
    return n.unsqueeze(n.rank(v) == 1 ? n.unsqueeze(v, {1}) : v, {1});
  };
  auto asFloat = [&](const Quantized &q) {
    Value centre = n.sub(n.cast(q.values, n.i32()),
                         eachColumn(n.cast(q.zeroPoint, n.i32())));
    return n.transpose(n.mul(n.cast(centre, n.f32()), eachColumn(q.scale)),
                       {0, 2, 1});
  };
  auto share = [&](Value x, int64_t direction, Value bias) {
    auto part = [&](Value v) { return n.sliceAt(v, 0, direction); };
    Quantized a = dynamicallyQuantized(n, x);
    Value sum = integerMatmul(n, a.values, a.zeroPoint, part(w.values),
                              part(w.zeroPoint));
    return scaledProduct(n, sum, a.scale, part(w.scale), bias);
  };
  recurrent(n, lstmCell(), {asFloat(w), asFloat(r), share});
}

OpRows importer::recurrentOps() {
  using R = nn::RecurrentKind;
  static const OpRow rows[] = {
      microsoftOp("DynamicQuantizeLSTM", kFloat32, ofBytes,
                  "the state is not quantised"),
      {"GRU", 7, kFloats,
       [](Node &n) { ofFloats(n, {R::gru, 3, {"Sigmoid", "Tanh"}}); }},
      {"LSTM", 7, kFloats, [](Node &n) { ofFloats(n, lstmCell()); }},
      {"RNN", 7, kFloats, [](Node &n) { ofFloats(n, {R::rnn, 1, {"Tanh"}}); }},
  };
  return rows;
}
