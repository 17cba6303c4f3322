//===- LinearAttention.cpp - Layers that carry a state --------------------===//
//
// Linear attention and the short causal convolution before it: their state has
// one size, however long the past is.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Longer sequences are refused rather than unrolled.
static constexpr int64_t maxSteps = 4096;

//===----------------------------------------------------------------------===//
// Linear attention
//===----------------------------------------------------------------------===//

namespace {
/// A sequence of `heads` vectors a step, packed as [batch, steps, heads *
/// size].
struct Packed {
  Value value;
  int64_t heads = 1;
};
} // namespace

/// Step `t` of a packed sequence as float32 [batch, heads, size].
static Value stepOf(Node &n, const Packed &x, int64_t t) {
  Value step = n.slice(x.value, 1, t, 1);
  return n.reshape(n.cast(step, n.f32()),
                   {n.dim(x.value, 0), x.heads, n.dim(x.value, 2) / x.heads});
}

/// An operand that some update rules need and the others must not have.
static Packed gate(Node &n, unsigned input, bool isNeeded, const char *name,
                   ArrayRef<Ints> shapes, int64_t heads) {
  if (n.failed() || n.has(input) != isNeeded) {
    if (isNeeded)
      n.fail("no " + Twine(name), "it, which the update rule needs");
    else
      n.fail(Twine(name), "none with this update rule");
    return {};
  }
  if (!isNeeded)
    return {};
  Value x = n.in(input);
  if (!n.failed() && !llvm::is_contained(shapes, n.shape(x)))
    n.fail(Twine(name) + " of shape " + str(n.shape(x)),
           str(shapes[0]) + " or " + str(shapes[1]));
  return {x, std::min(heads, n.dim(x, 2))};
}

/// Each step writes a key and a value into the state and reads it with its
/// queries. Computed in float32.
static void linearAttention(Node &n) {
  unsigned rule = n.choice("update_rule", "gated_delta",
                           {"linear", "gated", "delta", "gated_delta"});
  bool gated = rule & 1, delta = rule & 2;
  int64_t queryHeads = n.intAttr("q_num_heads");
  int64_t heads = n.intAttr("kv_num_heads");
  Packed query{n.in(0), queryHeads}, key{n.in(1), heads}, value{n.in(2), heads};
  for (const Packed &x : {query, key, value})
    if (!n.expectRank(x.value, 3, 3, "a query, key or value"))
      return;
  if (heads < 1 || queryHeads < 1 || queryHeads % heads)
    return n.fail(Twine(queryHeads) + " query heads for " + Twine(heads) +
                      " key heads",
                  "a multiple");
  int64_t batch = n.dim(query.value, 0), steps = n.dim(query.value, 1);
  int64_t keySize = n.dim(query.value, 2) / queryHeads;
  int64_t valueSize = n.dim(value.value, 2) / heads;
  auto check = [&](const Packed &x, int64_t size, const char *name) {
    n.expectShape(x.value, {batch, steps, x.heads * size}, name);
  };
  check(query, keySize, "query");
  check(key, keySize, "key");
  check(value, valueSize, "value");
  // Decay that is one number a head tells how many heads it has.
  if (keySize < 1)
    return n.fail("a key size of " + Twine(keySize), "a positive one");
  Packed decay = gate(
      n, 4, gated, "decay",
      {Ints{batch, steps, heads}, Ints{batch, steps, heads * keySize}}, heads);
  Packed beta = gate(n, 5, delta, "beta",
                     {Ints{batch, steps, heads}, Ints{batch, steps, 1}}, heads);
  if (n.failed())
    return;
  if (steps > maxSteps)
    return n.fail(Twine(steps) + " steps", "few enough to unroll");

  Ints stateShape{batch, heads, keySize, valueSize};
  Value past = n.optional(3);
  if (!n.expectShape(past, stateShape, "past_state"))
    return;
  Type type = n.elem(query.value), stateType = past ? n.elem(past) : type;
  Value state = past ? n.cast(past, n.f32()) : n.splat(stateShape, n.f32(), 0);
  double scale = n.floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(keySize));

  Values outputs;
  for (int64_t t = 0; t < steps && !n.failed(); ++t) {
    Value k = n.unsqueeze(stepOf(n, key, t), {3}); // [batch, heads, keySize, 1]
    Value v = n.unsqueeze(stepOf(n, value, t), {2}); // [batch, heads, 1, size]
    if (gated)
      state = n.mul(state, n.unary(UnaryKind::exp,
                                   n.unsqueeze(stepOf(n, decay, t), {3})));
    if (delta) {
      Value known = n.matmul(k, state, Value(), /*transposeLhs=*/true);
      v = n.mul(n.sub(v, known), n.unsqueeze(stepOf(n, beta, t), {3}));
    }
    state = n.add(state, n.mul(k, v));
    // The queries of one key head are rows of one product.
    Value q = n.reshape(stepOf(n, query, t),
                        {batch, heads, queryHeads / heads, keySize});
    Value y = n.mul(n.matmul(q, state), scale);
    outputs.push_back(n.reshape(y, {batch, 1, queryHeads * valueSize}));
  }
  if (n.failed())
    return;
  Value y = outputs.empty()
                ? n.splat({batch, 0, queryHeads * valueSize}, n.f32(), 0)
                : n.concat(outputs, 1);
  n.out(0, n.cast(y, type));
  n.out(1, n.cast(state, stateType));
}

//===----------------------------------------------------------------------===//
// Causal convolution
//===----------------------------------------------------------------------===//

/// A depthwise convolution [batch, channels, length] that sees, before the
/// first element, the state that the last call left.
static void causalConvWithState(Node &n) {
  Value x = n.in(0), weights = n.in(1);
  bool swish = n.choice("activation", "none", {"none", "silu", "swish"}) != 0;
  if (!n.expectRank(x, 3, 3, "an input") ||
      !n.expectRank(weights, 3, 3, "weights"))
    return;
  int64_t batch = n.dim(x, 0), channels = n.dim(x, 1),
          kernel = n.dim(weights, 2);
  if (n.shape(weights) != Ints{channels, 1, kernel} || kernel < 1)
    return n.fail("weights of shape " + str(n.shape(weights)),
                  "[" + Twine(channels) + ", 1, k]");
  Value bias = n.optional(2), past = n.optional(3);
  if (!n.expectTypeOf(0, {1, 2, 3}) ||
      !n.expectShape(bias, {channels}, "a bias") ||
      !n.expectShape(past, {batch, channels, kernel - 1}, "past_state"))
    return;
  Value padded =
      past ? n.concat({past, x}, 2) : n.pad(x, {0, 0, kernel - 1}, {0, 0, 0});
  Value y =
      n.create<nn::ConvOp>({padded, weights, bias, Value()},
                           {n.list("strides", {1}), n.list("dilations", {1}),
                            n.list("pads_low", {0}), n.list("pads_high", {0}),
                            n.attr("groups", channels)});
  n.out(0, swish ? n.unary(UnaryKind::swish, y, {1}) : y);
  n.out(1, n.slice(padded, 2, n.dim(x, 2), kernel - 1));
}

OpRows importer::linearAttentionOps() {
  constexpr TypeSet kTypes = kFloat32 | kFloat16 | kBFloat16;
  static const OpRow rows[] = {
      {"CausalConvWithState", 27, kTypes, causalConvWithState},
      {"LinearAttention", 27, kTypes, linearAttention,
       "unrolled: at most 4096 steps"},
  };
  return rows;
}
