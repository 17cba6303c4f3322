//===- Attention.cpp - Attention and rotary embedding ---------------------===//

#include "compiler/import/OpTable.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// [batch, length, heads * size] as [batch, heads, length, size]; values of
/// rank four have that shape already.
static Value splitHeads(Node &n, Value x, const char *headsAttribute) {
  if (n.rank(x) != 3)
    return x;
  int64_t heads = n.intAttr(headsAttribute), hidden = n.dim(x, 2);
  if (n.failed())
    return {};
  if (heads < 1 || hidden % heads)
    return n.fail(Twine(headsAttribute) + " " + Twine(heads) + " for " +
                      str(n.shape(x)),
                  "a divisor of the last dimension"),
           Value();
  x = n.reshape(x, {n.dim(x, 0), n.dim(x, 1), heads, hidden / heads});
  return n.transpose(x, {0, 2, 1, 3});
}

/// Several query heads share one key or value head: repeat each.
static Value repeatHeads(Node &n, Value x, int64_t heads) {
  Ints s = n.shape(x);
  if (n.failed() || s[1] == heads)
    return x;
  if (s[1] < 1 || heads % s[1])
    return n.fail(Twine(heads) + " query heads for " + Twine(s[1]) +
                      " key heads",
                  "a multiple"),
           Value();
  Value wide = n.broadcast(n.reshape(x, {s[0], s[1], 1, s[2], s[3]}),
                           {s[0], s[1], heads / s[1], s[2], s[3]});
  return n.reshape(wide, {s[0], heads, s[2], s[3]});
}

/// Adds the mask to the scores: a bool one forbids where it is false. Positions
/// after a mask that is too short are forbidden.
static Value applyMask(Node &n, Value scores, Value mask) {
  if (!n.expectRank(mask, 1, 4, "a mask"))
    return {};
  Type type = n.elem(scores);
  Value forbidden = n.scalar(type, -std::numeric_limits<double>::infinity());
  if (n.elem(mask).isInteger(1))
    mask = n.select(mask, n.scalar(type, 0), forbidden);
  int64_t last = n.rank(mask) - 1,
          missing = n.dim(scores, 3) - n.dim(mask, last);
  if (missing > 0 && n.dim(mask, last) != 1) {
    Ints low(last + 1, 0), high(last + 1, 0);
    high[last] = missing;
    mask = n.pad(mask, low, high, nn::PadMode::constant, forbidden);
  }
  return n.add(scores, mask);
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
  if (Value past = n.optional(4))
    k = n.concat({past, k}, 2);
  if (Value past = n.optional(5))
    v = n.concat({past, v}, 2);
  n.out(1, k);
  n.out(2, v);
  if (n.failed())
    return;
  int64_t heads = n.dim(q, 1), steps = n.dim(q, 2), keys = n.dim(k, 2);
  double scale = n.floatAttr("scale", 1 / std::sqrt(double(n.dim(q, 3))));
  double softcap = n.floatAttr("softcap", 0);
  int64_t mode = n.intAttr("qk_matmul_output_mode", 0);
  Type type = n.elem(q);

  k = repeatHeads(n, k, heads);
  v = repeatHeads(n, v, heads);
  Value scores = n.mul(n.matmul(q, k, Value(), false, true), scale);
  Value shown = scores;
  if (n.intAttr("is_causal", 0)) {
    Value mask = n.generate({steps, keys}, n.i1(), [&](int64_t i) {
      return i % keys <= i / keys ? 1.0 : 0.0;
    });
    scores = applyMask(n, scores, mask);
  }
  if (Value mask = n.optional(3))
    scores = applyMask(n, scores, mask);
  shown = mode == 1 ? scores : shown;
  if (softcap != 0)
    scores = n.mul(n.unary(UnaryKind::tanh, n.div(scores, softcap)), softcap);
  shown = mode == 2 ? scores : shown;
  if (n.hasAttr("softmax_precision")) {
    Type precision =
        elementType(int32_t(std::clamp<int64_t>(
                        n.intAttr("softmax_precision", 1), 0, 1000)),
                    n.context());
    if (!precision || !isa<FloatType>(precision))
      return n.fail("softmax_precision " +
                        Twine(n.intAttr("softmax_precision", 1)),
                    "a float type");
    scores = n.cast(scores, precision);
  }
  Value weights = n.cast(n.softmax(scores, 3), type);
  n.out(3, mode == 3 ? weights : shown);
  Value y = n.matmul(weights, v);
  if (flat) {
    y = n.transpose(y, {0, 2, 1, 3});
    y = n.reshape(y, {n.dim(y, 0), steps, heads * n.dim(y, 3)});
  }
  n.out(0, y);
}

/// Pairs of numbers of a head are turned by an angle that grows with the
/// position.
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
  cosines = n.unsqueeze(cosines, {1});
  sines = n.unsqueeze(sines, {1});
  int64_t half = rotated / 2, step = interleaved ? 2 : 1;
  Value a = n.slice(x, 3, 0, half, step);
  Value b = n.slice(x, 3, interleaved ? 1 : half, half, step);
  Value real = n.sub(n.mul(cosines, a), n.mul(sines, b));
  Value imaginary = n.add(n.mul(sines, a), n.mul(cosines, b));
  Value y;
  if (interleaved) {
    Ints s = n.shape(x);
    s[3] = rotated;
    y = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    y = n.reshape(y, s);
  } else {
    y = n.concat({real, imaginary}, 3);
  }
  if (rotated < size)
    y = n.concat({y, n.slice(x, 3, rotated, size - rotated)}, 3);
  if (flat)
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}), n.shape(n.in(0)));
  n.out(y);
}

OpRows importer::attentionOps() {
  constexpr int L = kLatestOpset;
  static const OpRow rows[] = {
      {"Attention", 23, L, kFloats, attention},
      {"RotaryEmbedding", 23, L, kFloats, rotaryEmbedding},
  };
  return rows;
}
