//===- FusedAttention.cpp - Attention as ONNX Runtime's files have it -----===//
//
// The optimiser of ONNX Runtime, and exporters that aim at it, write attention
// with the products before it (Attention), without them (MultiHeadAttention),
// and with a cache that is written at positions known at run time
// (GroupQueryAttention).
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Attention.h"
#include "compiler/import/ops/Quantize.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Attribute `name` must be 0, because `what` is not built.
static bool expectZero(Node &n, const char *name, int64_t absent = 0) {
  int64_t given = n.intAttr(name, absent);
  if (!n.failed() && given != 0)
    n.fail(Twine(name) + " " + Twine(given), "0");
  return !n.failed();
}

/// Attribute `scale`; absent or 0 is one over the root of a head's size.
static double scaleOf(Node &n, int64_t headSize) {
  double given = n.floatAttr("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(double(headSize));
}

/// `past` along the length before `x`, both [batch, heads, length, size].
static Value behind(Node &n, Value past, Value x, const char *what) {
  if (!past)
    return x;
  Ints s = n.shape(x);
  if (!n.expectRank(past, 4, 4, what))
    return {};
  s[2] = n.dim(past, 2);
  return n.expectShape(past, s, what) ? n.concat({past, x}, 2) : Value();
}

/// The term for keys that are padding, which broadcasts to [batch, heads,
/// steps, keys]: zero for a key that counts, else attribute mask_filter_value.
/// The mask is one of
///   [batch]            how many keys count, from the first on
///   [2 * batch]        where those that count end, then where they begin
///   [batch, keys], [batch, steps, keys]   a number above zero for each that
///                                         counts
/// Null without a mask.
static Value paddingBias(Node &n, Value mask, int64_t batch, int64_t steps,
                         int64_t keys, Type type) {
  double filter = n.floatAttr("mask_filter_value", -10000);
  if (!mask || n.failed())
    return {};
  if (!n.elem(mask).isSignlessInteger(32))
    return n.refuse("a mask of " + typeName(n.elem(mask)), "int32");
  Ints s = n.shape(mask);
  Value counts;
  if (s == Ints{batch} || s == Ints{2 * batch}) {
    Value key =
        n.generate({1, 1, 1, keys}, n.elem(mask), [](int64_t i) { return i; });
    auto bound = [&](int64_t first) {
      return n.reshape(n.slice(mask, 0, first, batch), {batch, 1, 1, 1});
    };
    counts = n.binary(BinaryKind::less, key, bound(0));
    if (s[0] == 2 * batch)
      counts = n.binary(BinaryKind::logical_and, counts,
                        n.binary(BinaryKind::greater_equal, key, bound(batch)));
  } else if (s == Ints{batch, keys} || s == Ints{batch, steps, keys}) {
    counts = n.reshape(n.binary(BinaryKind::greater, mask, 0.0),
                       {batch, 1, s.size() == 2 ? 1 : steps, keys});
  } else {
    return n.refuse("a mask of shape " + str(s),
                    str({batch}) + ", " + str({2 * batch}) + ", " +
                        str({batch, keys}) + " or " +
                        str({batch, steps, keys}));
  }
  return n.select(counts, n.scalar(type, 0), n.scalar(type, filter));
}

/// Softmax over the keys of q times k, plus each of the terms that is given,
/// times v; q, k and v are [batch, heads, length, size]. `sinks` may be null;
/// it has numbers [heads or 1] that count as the score of one more key without
/// a value.
static Value attend(Node &n, Value scores, ArrayRef<Value> terms, Value sinks,
                    Value v) {
  Ints s = n.shape(scores);
  for (Value term : terms) {
    if (!term || n.failed())
      continue;
    if (n.broadcastShape(s, n.shape(term)) != s)
      return n.refuse("an attention bias of shape " + str(n.shape(term)),
                      "one that broadcasts to " + str(s));
    scores = n.add(scores, term);
  }
  if (n.failed())
    return {};
  if (sinks) {
    Value column = n.broadcast(n.reshape(sinks, {1, n.size(sinks), 1, 1}),
                               {s[0], s[1], s[2], 1});
    scores = n.concat({scores, column}, 3);
  }
  Value weights = n.softmax(scores, 3);
  if (sinks)
    weights = n.slice(weights, 3, 0, s[3]);
  return n.matmul(weights, v);
}

/// Zero where the query of a step may see a key, else the least number. `past`
/// keys lie before the first step. Null unless attribute unidirectional is set.
static Value causalBias(Node &n, int64_t steps, int64_t keys, int64_t past,
                        Type type) {
  if (n.intAttr("unidirectional", 0) == 0)
    return {};
  Band band;
  band.low = 0;
  Value visible = visibleKeys(n, band, steps, keys, past, Value());
  double least = type.isF16() ? -65504 : -std::numeric_limits<float>::max();
  return n.select(visible, n.scalar(type, 0), n.scalar(type, least));
}

namespace {
/// Queries, keys and values, [batch, heads, length, size] each.
struct Heads {
  Value q, k, v;
};
} // namespace

/// The core of Attention and MultiHeadAttention, after the past is in place:
/// output 0 [batch, steps, heads * size of values].
static void bidirectional(Node &n, const Heads &heads, int64_t past, Value mask,
                          Value bias) {
  int64_t batch = n.dim(heads.q, 0), steps = n.dim(heads.q, 2);
  int64_t keys = n.dim(heads.k, 2);
  Type type = n.elem(heads.q);
  Value scores =
      scaledScores(n, heads.q, heads.k, scaleOf(n, n.dim(heads.q, 3)));
  Value padding = paddingBias(n, mask, batch, steps, keys, type);
  Value causal = causalBias(n, steps, keys, past, type);
  n.out(0, joinHeads(n, attend(n, scores, {padding, causal, bias}, Value(),
                               heads.v)));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// One product makes queries, keys and values out of the input: `product()`,
/// whose operands are inputs 0 to 2. It is called once they have been looked
/// at.
static void attentionOfProduct(Node &n, llvm::function_ref<Value()> product,
                               Value past, Value mask, Value attentionBias) {
  Value x = n.in(0), weights = n.in(1), bias = n.optional(2);
  int64_t heads = n.intAttr("num_heads");
  if (!n.expectRank(x, 3, 3, "an input") ||
      !n.expectRank(weights, 2, 2, "weights") || !expectZero(n, "do_rotary") ||
      !expectZero(n, "past_present_share_buffer"))
    return;
  int64_t all = n.dim(weights, 1);
  Ints sizes = n.intsAttr("qkv_hidden_sizes", {all / 3, all / 3, all / 3});
  if (n.dim(weights, 0) != n.dim(x, 2) || sizes.size() != 3 ||
      llvm::any_of(sizes, [](int64_t size) { return size < 1; }) ||
      sizes[0] != sizes[1] || sizes[0] > all || sizes[2] > all ||
      2 * sizes[0] + sizes[2] != all)
    return n.fail("weights " + str(n.shape(weights)) + " for " +
                      str(n.shape(x)) + " and qkv_hidden_sizes " + str(sizes),
                  "columns for queries, keys and values");
  if (!n.expectShape(bias, {all}, "a bias"))
    return;
  Value y = product();
  Heads h;
  h.q = splitHeads(n, n.slice(y, 2, 0, sizes[0]), heads, "num_heads");
  h.k = splitHeads(n, n.slice(y, 2, sizes[0], sizes[1]), heads, "num_heads");
  h.v =
      splitHeads(n, n.slice(y, 2, 2 * sizes[0], sizes[2]), heads, "num_heads");
  int64_t before = 0;
  if (past) {
    if (!n.expectRank(past, 5, 5, "past"))
      return;
    before = n.dim(past, 3);
    h.k = behind(n, n.sliceAt(past, 0, 0), h.k, "past keys");
    h.v = behind(n, n.sliceAt(past, 0, 1), h.v, "past values");
  }
  if (n.wants(1)) {
    if (sizes[0] != sizes[2])
      return n.fail("output present with qkv_hidden_sizes " + str(sizes),
                    "one size");
    n.out(1, n.concat({n.unsqueeze(h.k, {0}), n.unsqueeze(h.v, {0})}, 0));
  }
  if (!n.failed())
    bidirectional(n, h, before, mask, attentionBias);
}

static void attentionOfFloats(Node &n) {
  auto product = [&] { return n.matmul(n.in(0), n.in(1), n.optional(2)); };
  if (n.expectTypeOf(0, {1, 2, 4, 5}))
    attentionOfProduct(n, product, n.optional(4), n.optional(3), n.optional(5));
}

/// The product is one of 8-bit integers; all that follows it is of floats.
static void attentionOfBytes(Node &n) {
  auto product = [&] {
    Value sum =
        integerMatmul(n, n.in(0), n.optional(6), n.in(1), n.optional(7));
    return scaledProduct(n, sum, n.in(3), n.in(4), n.in(2));
  };
  attentionOfProduct(n, product, n.optional(8), n.optional(5), Value());
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Element `index` of the next to last dimension of packed queries, keys or
/// values [batch, length, heads, count, size], as [batch, heads, length, size].
static Value unpacked(Node &n, Value packed, int64_t index) {
  return n.transpose(n.sliceAt(packed, 3, index), {0, 2, 1, 3});
}

static void multiHeadAttention(Node &n) {
  Value q = n.in(0), k = n.optional(1), v = n.optional(2);
  Value bias = n.optional(3);
  int64_t heads = n.intAttr("num_heads");
  for (unsigned i : {8u, 9u}) // a cache that is shared, and beam search
    if (n.has(i))
      return n.fail(
          "input '" + n.inputName(i) + "' (" +
              (i == 8 ? "past_sequence_length" : "cache_indirection") + ")",
          "none");
  if (!n.expectTypeOf(0, {1, 2, 3, 5, 6, 7}))
    return;
  Heads h;
  if (n.rank(q) == 5) { // [batch, length, heads, 3, size]
    if (k || v || n.dim(q, 3) != 3)
      return n.fail("packed queries " + str(n.shape(q)),
                    "[batch, length, heads, 3, size] and no key or value");
    h = {unpacked(n, q, 0), unpacked(n, q, 1), unpacked(n, q, 2)};
  } else {
    if (!n.expectRank(q, 3, 3, "a query"))
      return;
    h.q = splitHeads(n, q, heads, "num_heads");
    if (n.rank(k) == 5 && !v && n.dim(k, 3) == 2) {
      h.k = unpacked(n, k, 0);
      h.v = unpacked(n, k, 1);
    } else if (k && v) {
      if (!n.expectRank(k, 3, 4, "a key") ||
          !n.expectRank(v, n.rank(k), n.rank(k), "a value"))
        return;
      // Keys and values of rank four have a dimension of heads already.
      h.k = n.rank(k) == 4 ? k : splitHeads(n, k, heads, "num_heads");
      h.v = n.rank(v) == 4 ? v : splitHeads(n, v, heads, "num_heads");
    } else {
      return n.fail("a query " + str(n.shape(q)) + " without key and value",
                    "both, or packed ones");
    }
  }
  if (n.failed())
    return;
  Ints qs = n.shape(h.q), ks = n.shape(h.k), vs = n.shape(h.v);
  if (qs[1] != heads || ks != Ints{qs[0], heads, ks[2], qs[3]} ||
      vs != Ints{qs[0], heads, ks[2], vs[3]})
    return n.fail("queries, keys and values " + str(qs) + ", " + str(ks) +
                      " and " + str(vs) + " of " + Twine(heads) + " heads",
                  "one batch, number of heads, length and size");
  if (bias) {
    int64_t sizes[] = {qs[1] * qs[3], ks[1] * ks[3], vs[1] * vs[3]}, from = 0;
    bool joint = n.rank(k) != 4 || n.size(bias) != sizes[0];
    if (joint &&
        !n.expectShape(bias, {sizes[0] + sizes[1] + sizes[2]}, "a bias"))
      return;
    Value *parts[] = {&h.q, &h.k, &h.v};
    for (auto [x, size] : llvm::zip(parts, sizes)) {
      Value part = n.slice(bias, 0, from, size);
      *x = n.add(*x, n.reshape(part, {1, heads, 1, size / heads}));
      from += size;
      if (!joint)
        break;
    }
  }
  Value pastKey = n.optional(6), pastValue = n.optional(7);
  if (!pastKey != !pastValue)
    return n.fail("one of past_key and past_value", "both or neither");
  h.k = behind(n, pastKey, h.k, "past_key");
  h.v = behind(n, pastValue, h.v, "past_value");
  n.out(1, h.k);
  n.out(2, h.v);
  if (n.wants(3))
    return n.fail("output qk", "only the other outputs");
  if (!n.failed())
    bidirectional(n, h, pastKey ? n.dim(pastKey, 2) : 0, n.optional(4),
                  n.optional(5));
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// The first `starts` [batch] rows of `past` [batch, heads, before, size], then
/// those of `fresh`, then zeros: `length` rows in all.
static Value withFresh(Node &n, Value past, Value fresh, Value starts,
                       int64_t length) {
  Ints s = n.shape(fresh);
  if (n.failed())
    return {};
  int64_t batch = s[0], before = past ? n.dim(past, 2) : 0, steps = s[2];
  // The past, the new rows, then a row of zeros.
  Values source;
  if (past)
    source.push_back(past);
  source.push_back(fresh);
  source.push_back(n.splat({batch, s[1], 1, s[3]}, n.elem(fresh), 0));
  Value all = n.concat(source, 2);
  int64_t zeroRow = before + steps;
  Value row = n.generate({1, length}, n.i64(), [](int64_t i) { return i; });
  Value pastRow = n.generate({1, length}, n.i64(), [&](int64_t i) {
    return i < before ? i : zeroRow;
  });
  Value step = n.sub(row, n.reshape(starts, {batch, 1}));
  Value from = n.select(n.binary(BinaryKind::less, step, double(steps)),
                        n.add(step, double(before)), n.ints({1, 1}, {zeroRow}));
  from = n.select(n.binary(BinaryKind::less, step, 0.0), pastRow, from);
  Values batches;
  for (int64_t b = 0; b < batch && !n.failed(); ++b)
    batches.push_back(n.gather(n.slice(all, 0, b, 1),
                               n.reshape(n.slice(from, 0, b, 1), {length}), 2));
  return n.concat(batches, 0);
}

/// Keys and values are written into a cache behind those of the past, whose
/// number each batch knows at run time; a step sees what lies before it.
static void groupQueryAttention(Node &n) {
  Value q = n.in(0), k = n.optional(1), v = n.optional(2);
  Value pastKey = n.optional(3), pastValue = n.optional(4);
  Value lengths = n.in(5);
  Value bias = n.optional(10), sinks = n.optional(11);
  int64_t heads = n.intAttr("num_heads"), groups = n.intAttr("kv_num_heads");
  int64_t total = n.intInput(6, "total_sequence_length");
  int64_t window = n.intAttr("local_window_size", -1);
  double softcap = n.floatAttr("softcap", 0);
  bool rotary = n.intAttr("do_rotary", 0) != 0;
  bool interleaved = n.intAttr("rotary_interleaved", 0) != 0;
  bool smooth = n.intAttr("smooth_softmax", 0) > 0;
  for (const char *name : {"k_quant_type", "v_quant_type"})
    n.choice(name, "NONE", {"NONE"});
  if (!n.expectTypeOf(0, {1, 2, 3, 4, 7, 8, 10, 11}) ||
      !expectZero(n, "qk_output") || !n.expectRank(q, 3, 3, "a query"))
    return;
  if (heads < 1 || groups < 1 || heads % groups)
    return n.fail(Twine(heads) + " heads and " + Twine(groups) +
                      " heads of keys",
                  "a multiple");
  if (!k != !v)
    return n.fail("one of key and value", "both or neither");
  if (!k) { // one behind the other
    int64_t size = n.dim(q, 2) / (heads + 2 * groups);
    if (size * (heads + 2 * groups) != n.dim(q, 2))
      return n.fail("packed queries " + str(n.shape(q)),
                    "a multiple of " + Twine(heads + 2 * groups) + " heads");
    k = n.slice(q, 2, heads * size, groups * size);
    v = n.slice(q, 2, (heads + groups) * size, groups * size);
    q = n.slice(q, 2, 0, heads * size);
  }
  if (!n.expectRank(k, 3, 3, "a key") || !n.expectRank(v, 3, 3, "a value"))
    return;
  q = splitHeads(n, q, heads, "num_heads");
  k = splitHeads(n, k, groups, "kv_num_heads");
  v = splitHeads(n, v, groups, "kv_num_heads");
  Ints s = n.shape(q);
  if (n.failed())
    return;
  int64_t batch = s[0], steps = s[2], size = s[3];
  Ints fresh{batch, groups, steps, size};
  if (!n.expectShape(k, fresh, "keys by head") ||
      !n.expectShape(v, fresh, "values by head"))
    return;
  if (!pastKey != !pastValue)
    return n.fail("one of past_key and past_value", "both or neither");
  int64_t before = pastKey ? n.dim(pastKey, 2) : 0;
  Ints old{batch, groups, before, size};
  if (!n.expectShape(pastKey, old, "past_key") ||
      !n.expectShape(pastValue, old, "past_value"))
    return;
  if (n.size(lengths) != batch || !n.elem(lengths).isSignlessInteger(32))
    return n.fail("seqlens_k " + str(n.shape(lengths)) + " of " +
                      typeName(n.elem(lengths)),
                  Twine(batch) + " of int32");
  if (total < steps)
    return n.fail("total_sequence_length " + Twine(total),
                  "at least the " + Twine(steps) + " steps");
  int64_t length = std::max(before, total);

  // Where each batch's first step stands: behind its past, of which there is
  // none where all keys are new.
  Value starts = total == steps
                     ? n.splat({batch}, n.i64(), 0)
                     : n.add(n.cast(n.reshape(lengths, {batch}), n.i64()),
                             double(1 - steps));
  Value position =
      n.add(n.reshape(starts, {batch, 1}),
            n.generate({1, steps}, n.i64(), [](int64_t i) { return i; }));
  if (rotary) {
    Value cosines = n.in(7), sines = n.in(8);
    Value places = n.has(9) ? n.in(9) : position;
    if (!n.expectRank(cosines, 2, 2, "cos_cache") ||
        !n.expectShape(sines, n.shape(cosines), "sin_cache") ||
        !n.expectShape(places, {batch, steps}, "position_ids"))
      return;
    if (n.dim(cosines, 1) < 1 || 2 * n.dim(cosines, 1) > size)
      return n.fail("cos_cache " + str(n.shape(cosines)),
                    "at most half of a head of " + Twine(size));
    cosines = n.gather(cosines, places, 0);
    sines = n.gather(sines, places, 0);
    q = turned(n, q, cosines, sines, interleaved);
    k = turned(n, k, cosines, sines, interleaved);
  }
  k = withFresh(n, pastKey, k, starts, length);
  v = withFresh(n, pastValue, v, starts, length);
  n.out(1, k);
  n.out(2, v);

  Value scores = softCapped(
      n, scaledScores(n, q, repeatHeads(n, k, heads), scaleOf(n, size)),
      softcap);
  // Only keys up to the step itself are seen.
  Value key = n.generate({1, 1, length}, n.i64(), [](int64_t i) { return i; });
  Value distance = n.sub(n.reshape(position, {batch, steps, 1}), key);
  Value visible = n.binary(BinaryKind::greater_equal, distance, 0.0);
  if (window > 0)
    visible = n.binary(BinaryKind::logical_and, visible,
                       n.binary(BinaryKind::less, distance, double(window)));
  Type type = n.elem(q);
  Value hidden =
      n.select(n.unsqueeze(visible, {1}), n.scalar(type, 0),
               n.scalar(type, -std::numeric_limits<double>::infinity()));
  if (smooth && !sinks)
    sinks = n.splat({1}, type, 0);
  if (sinks && n.size(sinks) != 1 &&
      !n.expectShape(sinks, {heads}, "head_sink"))
    return;
  if (bias && !n.failed() && n.dim(bias, 3) > length)
    return n.fail("an attention bias of shape " + str(n.shape(bias)),
                  "at most " + Twine(length) + " keys");
  if (bias && n.dim(bias, 3) < length) // keys behind the last are hidden
    bias = n.pad(bias, {0, 0, 0, 0}, {0, 0, 0, length - n.dim(bias, 3)});
  n.out(0, joinHeads(n, attend(n, scores, {bias, hidden}, sinks,
                               repeatHeads(n, v, heads))));
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Positions are one for each step, or that of the first step.
static void rotaryFromTables(Node &n) {
  Value x = n.in(0), positions = n.in(1), cosines = n.in(2), sines = n.in(3);
  int64_t heads = n.intAttr("num_heads", 0);
  int64_t width = n.intAttr("rotary_embedding_dim", 0);
  bool interleaved = n.intAttr("interleaved", 0) != 0;
  double scale = n.floatAttr("scale", 1);
  if (!n.expectRank(x, 3, 4, "an input") ||
      !n.expectRank(cosines, 2, 2, "cos_cache") ||
      !n.expectShape(sines, n.shape(cosines), "sin_cache") ||
      !n.expectTypeOf(0, {2, 3}) || !expectZero(n, "is_packed_batching"))
    return;
  bool flat = n.rank(x) == 3;
  int64_t half = n.dim(cosines, 1);
  if (scale != 1)
    return n.fail("scale " + Twine(std::to_string(scale)), "1");
  if (width != 0 && width != 2 * half)
    return n.fail("rotary_embedding_dim " + Twine(width),
                  "twice the columns of cos_cache " + str(n.shape(cosines)));
  if (flat) {
    if (heads == 0 && half > 0 && n.dim(x, 2) % (2 * half))
      return n.fail("an input " + str(n.shape(x)) + " for cos_cache " +
                        str(n.shape(cosines)),
                    "whole heads of " + Twine(2 * half));
    if (heads == 0 && half > 0)
      heads = n.dim(x, 2) / (2 * half);
    x = splitHeads(n, x, heads, "num_heads");
  }
  Ints s = n.shape(x);
  if (n.failed())
    return;
  if (half < 1 || 2 * half > s[3])
    return n.fail("cos_cache " + str(n.shape(cosines)),
                  "at most half of a head of " + Twine(s[3]));
  if (n.size(positions) == 1 && n.rank(positions) == 1)
    positions = n.broadcast(n.add(n.reshape(positions, {1, 1}),
                                  n.generate({1, s[2]}, n.elem(positions),
                                             [](int64_t i) { return i; })),
                            {s[0], s[2]});
  if (!n.expectShape(positions, {s[0], s[2]}, "position_ids"))
    return;
  Value y = turned(n, x, n.gather(cosines, positions, 0),
                   n.gather(sines, positions, 0), interleaved);
  n.out(flat ? joinHeads(n, y) : y);
}

OpRows importer::fusedAttentionOps() {
  static const OpRow rows[] = {
      microsoftOp("Attention", kFloats, attentionOfFloats,
                  "no rotary embedding or shared buffer inside"),
      microsoftOp("GroupQueryAttention", kFloats, groupQueryAttention,
                  "total_sequence_length constant; no quantised cache"),
      microsoftOp("MultiHeadAttention", kFloats, multiHeadAttention,
                  "no shared buffer, beam search or output qk"),
      microsoftOp("QAttention", kInt8 | kUInt8, attentionOfBytes,
                  "no rotary embedding or shared buffer inside"),
      microsoftOp("RotaryEmbedding", kFloats, rotaryFromTables,
                  "no packed batches"),
  };
  return rows;
}
