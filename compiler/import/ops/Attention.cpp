//===- Attention.cpp - Attention and rotary embedding ---------------------===//

#include "compiler/import/ops/Attention.h"
#include "compiler/import/OpTable.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Added to the score of a key that a query must not see.
static constexpr double forbiddenScore =
    -std::numeric_limits<double>::infinity();

Value importer::splitHeads(Node &n, Value x, int64_t heads, const char *what) {
  if (n.failed())
    return {};
  assert(n.rank(x) == 3 && "[batch, length, heads * size]");
  int64_t hidden = n.dim(x, 2);
  if (heads < 1 || hidden % heads)
    return n.refuse(Twine(what) + " " + Twine(heads) + " for " +
                        str(n.shape(x)),
                    "a divisor of the last dimension");
  x = n.reshape(x, {n.dim(x, 0), n.dim(x, 1), heads, hidden / heads});
  return n.transpose(x, {0, 2, 1, 3});
}

/// Values of rank four have a dimension of heads already.
static Value splitHeads(Node &n, Value x, const char *headsAttribute) {
  assert((n.failed() || n.rank(x) == 3 || n.rank(x) == 4) &&
         "the caller has looked");
  return n.rank(x) == 3
             ? splitHeads(n, x, n.intAttr(headsAttribute), headsAttribute)
             : x;
}

Value importer::joinHeads(Node &n, Value x) {
  Ints s = n.shape(x);
  assert((n.failed() || s.size() == 4) && "[batch, heads, length, size]");
  return n.failed() ? Value()
                    : n.reshape(n.transpose(x, {0, 2, 1, 3}),
                                {s[0], s[2], s[1] * s[3]});
}

Value importer::repeatHeads(Node &n, Value x, int64_t heads) {
  Ints s = n.shape(x);
  assert((n.failed() || s.size() == 4) && "[batch, heads, length, size]");
  if (n.failed() || s[1] == heads)
    return x;
  if (s[1] < 1 || heads % s[1])
    return n.refuse(Twine(heads) + " query heads for " + Twine(s[1]) +
                        " key heads",
                    "a multiple");
  Value wide = n.broadcast(n.reshape(x, {s[0], s[1], 1, s[2], s[3]}),
                           {s[0], s[1], heads / s[1], s[2], s[3]});
  return n.reshape(wide, {s[0], heads, s[2], s[3]});
}

//===----------------------------------------------------------------------===//
// Which keys a query sees
//===----------------------------------------------------------------------===//

/// The keys that is_causal and the windows of version 25 leave.
static Band readBand(Node &n) {
  Band band;
  int64_t left = n.intAttr("left_window_size", -1);
  int64_t right = n.intAttr("right_window_size", -1);
  for (int64_t window : {left, right})
    if (window < -1 || window > (int64_t(1) << 40))
      n.fail("a window of " + Twine(window), "-1 or a number of keys");
  if (n.failed())
    return {};
  if (left >= 0)
    band.high = left;
  if (right >= 0)
    band.low = -right;
  if (n.intAttr("is_causal", 0) != 0)
    band.low = 0;
  return band;
}

Value importer::visibleKeys(Node &n, const Band &band, int64_t steps,
                            int64_t keys, int64_t past, Value valid) {
  if (!valid) {
    if (!band.isBounded())
      return {};
    return n.generate({steps, keys}, n.i1(), [&](int64_t i) {
      return band.has(past + i / keys - i % keys);
    });
  }
  Value count = n.reshape(valid, {n.size(valid), 1, 1, 1});
  Value key = n.generate({keys}, n.i64(), [](int64_t i) { return i; });
  Value visible = n.binary(BinaryKind::less, key, count);
  if (!band.isBounded())
    return visible;
  Value query = n.generate({steps, 1}, n.i64(),
                           [&](int64_t i) { return double(i - steps); });
  Value distance = n.sub(n.add(count, query), key);
  auto bound = [&](BinaryKind kind, std::optional<int64_t> limit) {
    if (limit)
      visible = n.binary(BinaryKind::logical_and, visible,
                         n.binary(kind, distance, n.ints({}, {*limit})));
  };
  bound(BinaryKind::greater_equal, band.low);
  bound(BinaryKind::less_equal, band.high);
  return visible;
}

/// A mask whose last dimension covers all keys. Since version 24 it may be too
/// short: missing keys are forbidden.
static Value lengthenMask(Node &n, Value mask, int64_t keys) {
  int64_t last = n.rank(mask) - 1, given = n.dim(mask, last);
  if (n.failed() || given >= keys || (n.opset() < 24 && given == 1))
    return mask;
  Ints low(last + 1, 0), high(last + 1, 0);
  high[last] = keys - given;
  double forbidden = n.elem(mask).isInteger(1) ? 0 : forbiddenScore;
  return n.pad(mask, low, high, nn::PadMode::constant,
               n.scalar(n.elem(mask), forbidden));
}

/// The term that is added to the scores: zero where a query may see a key,
/// minus infinity where not, and the mask if it has numbers. Null for none.
static Value scoreBias(Node &n, Value visible, Value mask, int64_t keys,
                       Type type) {
  if (mask) {
    if (!n.expectRank(mask, 1, 4, "a mask"))
      return {};
    bool isBool = n.elem(mask).isInteger(1);
    mask = lengthenMask(n, isBool ? mask : n.cast(mask, type), keys);
    if (isBool) {
      visible =
          visible ? n.binary(BinaryKind::logical_and, visible, mask) : mask;
      mask = Value();
    }
  }
  if (!visible)
    return mask;
  Value bias =
      n.select(visible, n.scalar(type, 0), n.scalar(type, forbiddenScore));
  return mask ? n.add(mask, bias) : bias;
}

/// Zeros for queries that see no key, whose softmax is undefined.
static Value zeroBlindQueries(Node &n, Value weights, Value bias) {
  Value best = n.reduce(ReduceKind::max, bias, {n.rank(bias) - 1}, true);
  Value blind =
      n.binary(BinaryKind::equal, best, n.scalar(n.elem(bias), forbiddenScore));
  if (n.failed())
    return {};
  auto known = n.data(blind);
  if (known && known->size() > 0 && known->splat() && !known->asInt(0))
    return weights;
  return n.select(blind, n.scalar(n.elem(weights), 0), weights);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Attribute softmax_precision, `absent` without one.
static Type softmaxPrecision(Node &n, Type absent) {
  if (!n.hasAttr("softmax_precision"))
    return absent;
  int64_t given = n.intAttr("softmax_precision", 1);
  Type type = elementType(given, n.context());
  if (!type || !(typeSetOf(type) & kFloats))
    return n.fail("softmax_precision " + Twine(given), typeSetNames(kFloats)),
           absent;
  return type;
}

Value importer::scaledScores(Node &n, Value q, Value k, double scale) {
  return n.unary(UnaryKind::affine, n.matmul(q, k, Value(), false, true),
                 {scale, -0.0});
}

Value importer::softCapped(Node &n, Value scores, double softcap) {
  if (softcap == 0)
    return scores;
  return n.mul(n.unary(UnaryKind::tanh, n.div(scores, softcap)), softcap);
}

static void attention(Node &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  bool flat = n.rank(q) == 3;
  if (!n.expectRank(q, 3, 4, "Q") ||
      !n.expectRank(k, n.rank(q), n.rank(q), "K") ||
      !n.expectRank(v, n.rank(q), n.rank(q), "V"))
    return;
  q = splitHeads(n, q, "q_num_heads");
  k = splitHeads(n, k, "kv_num_heads");
  v = splitHeads(n, v, "kv_num_heads");
  Value pastKey = n.optional(4), pastValue = n.optional(5);
  Value valid = n.opset() >= 24 ? n.optional(6) : Value();
  if (!pastKey != !pastValue)
    return n.fail("one of past_key and past_value", "both or neither");
  if (pastKey && valid)
    return n.fail("nonpad_kv_seqlen beside past_key", "one of them");
  if (pastKey) {
    k = n.concat({pastKey, k}, 2);
    v = n.concat({pastValue, v}, 2);
  }
  n.out(1, k);
  n.out(2, v);
  if (n.failed())
    return;
  int64_t heads = n.dim(q, 1), steps = n.dim(q, 2), keys = n.dim(k, 2);
  if (!n.expectShape(valid, {n.dim(q, 0)}, "nonpad_kv_seqlen"))
    return;
  double scale = n.floatAttr("scale", 1 / std::sqrt(double(n.dim(q, 3))));
  double softcap = n.floatAttr("softcap", 0);
  int64_t mode = n.intAttr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return n.fail("qk_matmul_output_mode " + Twine(mode), "0 to 3");
  Type type = n.elem(q), precision = softmaxPrecision(n, type);
  Band band = readBand(n);

  k = repeatHeads(n, k, heads);
  v = repeatHeads(n, v, heads);
  Value shown[4]; // by mode
  shown[0] = scaledScores(n, q, k, scale);
  Value scores = shown[1] = softCapped(n, shown[0], softcap);
  Value visible =
      visibleKeys(n, band, steps, keys, pastKey ? n.dim(pastKey, 2) : 0, valid);
  Value bias = scoreBias(n, visible, n.optional(3), keys, type);
  if (bias)
    scores = n.add(scores, bias);
  if (!n.failed() && n.shape(scores) != n.shape(shown[0]))
    return n.fail("a mask of shape " + str(n.shape(n.in(3))),
                  "one that broadcasts to " + str(n.shape(shown[0])));
  shown[2] = scores;
  Value weights = n.cast(n.softmax(n.cast(scores, precision), 3), type);
  if (bias)
    weights = zeroBlindQueries(n, weights, bias);
  shown[3] = weights;
  n.out(3, shown[mode]);
  Value y = n.matmul(weights, n.cast(v, type));
  n.out(0, flat ? joinHeads(n, y) : y);
}

/// Attention whose scores and weights a graph each may change.
static void flexAttention(Node &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!n.expectRank(q, 4, 4, "Q") || !n.expectRank(k, 4, 4, "K") ||
      !n.expectRank(v, 4, 4, "V"))
    return;
  int64_t heads = n.dim(q, 1);
  double scale = n.floatAttr("scale", 1 / std::sqrt(double(n.dim(q, 3))));
  Type type = n.elem(q);
  Type precision = softmaxPrecision(n, type.isF64() ? type : n.f32());
  auto modified = [&](Value x, const char *attribute) -> Value {
    if (n.failed() || !n.hasAttr(attribute))
      return x;
    const onnx::GraphProto *graph = n.graphAttr(attribute);
    if (!graph)
      return Value();
    auto results = n.graph().importSubgraph(n, *graph, {x});
    if (n.failed())
      return Value();
    Value y = results.size() == 1 ? results[0].tensor : Value();
    if (!y || y.getType() != x.getType())
      return n.refuse("a result of " + Twine(attribute) +
                          " that is no tensor like its input",
                      typeName(n.elem(x)) + " " + str(n.shape(x)));
    return y;
  };
  k = repeatHeads(n, k, heads);
  v = repeatHeads(n, v, heads);
  Value scores = n.cast(scaledScores(n, q, k, scale), precision);
  scores = modified(scores, "score_mod");
  Value weights = modified(n.softmax(scores, 3), "prob_mod");
  n.out(n.cast(n.matmul(weights, n.cast(v, precision)), n.elem(v)));
}

Value importer::turned(Node &n, Value x, Value cosines, Value sines,
                       bool interleaved) {
  Ints s = n.shape(x);
  int64_t half = n.dim(cosines, 2);
  if (n.failed())
    return {};
  assert(s.size() == 4 && 2 * half <= s[3] && "the caller has looked");
  int64_t step = interleaved ? 2 : 1, rest = s[3] - 2 * half;
  cosines = n.unsqueeze(cosines, {1});
  sines = n.unsqueeze(sines, {1});
  Value a = n.slice(x, 3, 0, half, step);
  Value b = n.slice(x, 3, interleaved ? 1 : half, half, step);
  Value real = n.sub(n.mul(cosines, a), n.mul(sines, b));
  Value imaginary = n.add(n.mul(sines, a), n.mul(cosines, b));
  Value y;
  if (interleaved) {
    y = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    y = n.reshape(y, {s[0], s[1], s[2], 2 * half});
  } else {
    y = n.concat({real, imaginary}, 3);
  }
  return rest ? n.concat({y, n.slice(x, 3, 2 * half, rest)}, 3) : y;
}

static void rotaryEmbedding(Node &n) {
  Value x = n.in(0), cosines = n.in(1), sines = n.in(2);
  bool interleaved = n.intAttr("interleaved", 0) != 0, flat = n.rank(x) == 3;
  if (!n.expectRank(x, 3, 4, "an input"))
    return;
  x = splitHeads(n, x, "num_heads"); // [batch, heads, length, size]
  int64_t size = n.dim(x, 3), rotated = n.intAttr("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  if (n.failed())
    return;
  if (rotated < 2 || rotated > size || rotated % 2)
    return n.fail("rotary_embedding_dim " + Twine(rotated),
                  "an even number up to " + Twine(size));
  if (Value positions = n.optional(3)) {
    cosines = n.gather(cosines, positions, 0);
    sines = n.gather(sines, positions, 0);
  }
  Ints expected{n.dim(x, 0), n.dim(x, 2), rotated / 2};
  if (n.failed())
    return;
  if (n.shape(cosines) != expected || n.shape(sines) != expected)
    return n.fail("caches for " + str(n.shape(cosines)), str(expected));
  Value y = turned(n, x, cosines, sines, interleaved);
  n.out(flat ? joinHeads(n, y) : y);
}

OpRows importer::attentionOps() {
  static const OpRow rows[] = {
      {"Attention", 23, kFloats, attention},
      {"FlexAttention", 1, kFloats, flexAttention, "", 1, "ai.onnx.preview"},
      {"RotaryEmbedding", 23, kFloats, rotaryEmbedding},
  };
  return rows;
}
