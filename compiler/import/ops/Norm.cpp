//===- Norm.cpp - Normalisations ------------------------------------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Quantize.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// A value of one number a channel, shaped to broadcast against x.
static Value perChannel(Node &n, Value v, Value x) {
  assert((n.failed() || n.size(v) == (n.rank(x) > 1 ? n.dim(x, 1) : 1)) &&
         "a number for each channel");
  Ints s(n.rank(x) > 1 ? n.rank(x) - 1 : 1, 1);
  s[0] = n.size(v);
  return n.reshape(v, s);
}

/// Replaces mean and variance by those of the batch itself, and gives the
/// running ones as outputs 1 and 2. Half precision is averaged in float32.
static void useBatchStatistics(Node &n, Value x, Value &mean, Value &var) {
  double momentum = n.floatAttr("momentum", 0.9);
  Ints axes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    if (axis != 1)
      axes.push_back(axis);
  Value wide = n.cast(x, n.elem(x).isF64() ? n.elem(x) : n.f32());
  Value average = n.reduce(ReduceKind::mean, wide, axes, true);
  Value spread =
      n.reduce(ReduceKind::mean, n.square(n.sub(wide, average)), axes, true);
  auto use = [&](unsigned output, Value &running, Value current) {
    current = n.cast(n.reshape(current, n.shape(running)), n.elem(running));
    n.out(output,
          n.add(n.mul(running, momentum), n.mul(current, 1 - momentum)));
    running = current;
  };
  use(1, mean, average);
  use(2, var, spread);
}

/// At inference this is one multiplication and one addition a channel.
/// Constants are computed in double.
static void batchNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3),
        var = n.in(4);
  double epsilon = n.floatAttr("epsilon", 1e-5);
  if (n.opset() < 9 && n.intAttr("spatial", 1) == 0)
    return n.fail("spatial = 0", "statistics a channel");
  if (!n.expectRank(x, 1, 64, "an input"))
    return;
  int64_t channels = n.rank(x) > 1 ? n.dim(x, 1) : 1;
  for (auto [v, what] : {std::pair(scale, "scale"), std::pair(bias, "bias"),
                         std::pair(mean, "mean"), std::pair(var, "variance")})
    if (!n.expectShape(v, {channels}, what))
      return;
  if (n.opset() >= 14 && n.intAttr("training_mode", 0))
    useBatchStatistics(n, x, mean, var);
  Type type = n.elem(x);
  auto s = n.data(scale), b = n.data(bias), m = n.data(mean), v = n.data(var);
  Value factor, shift;
  if (s && b && m && v) {
    Doubles factors(channels), shifts(channels);
    for (int64_t c = 0; c < channels; ++c) {
      factors[c] = s->asDouble(c) / std::sqrt(v->asDouble(c) + epsilon);
      shifts[c] = b->asDouble(c) - m->asDouble(c) * factors[c];
    }
    factor = n.doubles({channels}, type, factors);
    shift = n.doubles({channels}, type, shifts);
  } else {
    Value deviation =
        n.unary(UnaryKind::sqrt, n.add(n.cast(var, n.elem(scale)), epsilon));
    factor = n.div(scale, deviation);
    shift = n.sub(bias, n.mul(n.cast(mean, n.elem(scale)), factor));
    factor = n.cast(factor, type);
    shift = n.cast(shift, type);
  }
  n.out(n.add(n.mul(x, perChannel(n, factor, x)), perChannel(n, shift, x)));
}

/// Over groups of channels and all that follows; then a factor and shift a
/// channel.
static Value groupNormalize(Node &n, Value x, int64_t groups, double epsilon) {
  int64_t batch = n.dim(x, 0), each = batch * groups;
  if (n.failed())
    return {};
  assert((groups == 0 || n.dim(x, 1) % groups == 0) &&
         "channels come in whole groups");
  Value y = n.reshape(x, {batch, groups, each == 0 ? 0 : n.size(x) / each});
  return n.reshape(n.normalize(y, 2, epsilon), n.shape(x));
}

static void instanceNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  if (!n.expectRank(x, 2, 64, "an input") ||
      !n.expectShape(scale, {n.dim(x, 1)}, "scale") ||
      !n.expectShape(bias, {n.dim(x, 1)}, "bias"))
    return;
  Value y = groupNormalize(n, x, n.dim(x, 1), n.floatAttr("epsilon", 1e-5));
  n.out(n.add(n.mul(y, perChannel(n, scale, x)), perChannel(n, bias, x)));
}

/// In 18 scale and bias are given a group, from 21 on a channel.
static void groupNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  int64_t groups = n.intAttr("num_groups");
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  int64_t channels = n.dim(x, 1);
  if (groups < 1 || channels % groups)
    return n.fail(Twine(channels) + " channels in " + Twine(groups) + " groups",
                  "a multiple");
  bool aGroup = n.opset() < 21;
  int64_t count = aGroup ? groups : channels;
  if (!n.expectShape(scale, {count}, "scale") ||
      !n.expectShape(bias, {count}, "bias"))
    return;
  auto spread = [&](Value v) {
    if (!aGroup)
      return v;
    Value wide =
        n.broadcast(n.reshape(v, {groups, 1}), {groups, channels / groups});
    return n.reshape(wide, {channels});
  };
  Value y = groupNormalize(n, x, groups, n.floatAttr("epsilon", 1e-5));
  n.out(n.add(n.mul(y, perChannel(n, spread(scale), x)),
              perChannel(n, spread(bias), x)));
}

/// Statistics are wider than half precision.
static Value widened(Node &n, Value x) {
  return n.cast(x, n.elem(x).isF64() ? n.elem(x) : n.f32());
}

/// The normalised x times `scale` plus `bias`, which may be null, as output 0;
/// where they are wanted, the mean and the reciprocal standard deviation as
/// outputs 1 and 2.
static void normalizeLayer(Node &n, Value x, Value scale, Value bias,
                           int64_t axis, double epsilon) {
  Value y = n.mul(n.normalize(x, axis, epsilon), scale);
  n.out(0, bias ? n.add(y, bias) : y);
  if (!n.wants(1) && !n.wants(2))
    return;
  Ints axes = n.axesFrom(axis, x);
  Value mean = n.reduce(ReduceKind::mean, widened(n, x), axes, true);
  Value centred = n.sub(widened(n, x), mean);
  Value var = n.reduce(ReduceKind::mean, n.square(centred), axes, true);
  n.out(1, mean);
  n.out(2, n.unary(UnaryKind::reciprocal,
                   n.unary(UnaryKind::sqrt, n.add(var, epsilon))));
}

static void layerNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.optional(2);
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
  double epsilon = n.floatAttr("epsilon", 1e-5);
  if (!n.failed())
    normalizeLayer(n, x, scale, bias, axis, epsilon);
}

/// x over the root of its mean square, times `scale`, as output 0; output
/// `inverse` is that root's reciprocal.
static void normalizeRootMeanSquare(Node &n, Value x, Value scale, int64_t axis,
                                    double epsilon, unsigned inverse) {
  Value wide = widened(n, x);
  Value square =
      n.reduce(ReduceKind::mean, n.square(wide), n.axesFrom(axis, x), true);
  Value root = n.unary(UnaryKind::sqrt, n.add(square, epsilon));
  n.out(n.mul(n.cast(n.div(wide, root), n.elem(x)), scale));
  if (n.wants(inverse))
    n.out(inverse, n.unary(UnaryKind::reciprocal, root));
}

static void rmsNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1);
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
  double epsilon = n.floatAttr("epsilon", 1e-5);
  if (!n.failed())
    normalizeRootMeanSquare(n, x, scale, axis, epsilon, 1);
}

//===----------------------------------------------------------------------===//
// Normalisations of sums
//===----------------------------------------------------------------------===//

/// input + skip + bias, of which the last may be absent, as output 3. `skip`
/// may leave out the batch.
static Value skipped(Node &n, Value bias) {
  Value x = n.in(0), skip = n.in(1);
  if (!n.expectRank(x, 2, 3, "an input") || !n.expectTypeOf(0, {1, 2, 3, 4}))
    return {};
  Ints s = n.shape(x);
  if (n.broadcastShape(s, n.shape(skip)) != s)
    return n.refuse("a skip of shape " + str(n.shape(skip)),
                    "one that broadcasts to " + str(s));
  if (!n.expectShape(bias, {s.back()}, "a bias") ||
      !n.expectShape(n.in(2), {s.back()}, "gamma"))
    return {};
  Value sum = n.add(x, skip);
  if (bias)
    sum = n.add(sum, bias);
  n.out(3, sum);
  return sum;
}

static void skipLayerNormalization(Node &n) {
  Value sum = skipped(n, n.optional(4)), beta = n.optional(3);
  double epsilon = n.floatAttr("epsilon", 1e-12);
  if (n.expectShape(beta, n.shape(n.in(2)), "beta"))
    normalizeLayer(n, sum, n.in(2), beta, n.rank(sum) - 1, epsilon);
}

static void skipSimplifiedLayerNormalization(Node &n) {
  Value sum = skipped(n, n.optional(3));
  double epsilon = n.floatAttr("epsilon", 1e-12);
  if (!n.failed())
    normalizeRootMeanSquare(n, sum, n.in(2), n.rank(sum) - 1, epsilon, 2);
}

/// Rows of the tables of words, positions and, where there is one, segments are
/// added up and normalised. Output 1 counts the ones of the mask in each batch,
/// output 2 is the sum. asFloat(i, v) makes floats of v, a part of input i.
static void
embedAndNormalize(Node &n, Value positionIds,
                  llvm::function_ref<Value(unsigned i, Value v)> asFloat) {
  Value ids = n.in(0), segments = n.optional(1), words = n.in(2);
  Value positions = n.in(3), segmentTable = n.optional(4), gamma = n.in(5);
  Value beta = n.in(6), mask = n.optional(7);
  double epsilon = n.floatAttr("epsilon", 1e-12);
  if (!n.expectRank(ids, 2, 2, "input_ids") ||
      !n.expectRank(words, 2, 2, "a word_embedding"))
    return;
  Ints s = n.shape(ids);
  int64_t hidden = n.dim(words, 1);
  for (auto [table, what] : {std::pair(positions, "a position_embedding"),
                             std::pair(segmentTable, "a segment_embedding")})
    if (table && !n.expectShape(table, {n.dim(table, 0), hidden}, what))
      return;
  if (!n.expectShape(gamma, {hidden}, "gamma") ||
      !n.expectShape(beta, {hidden}, "beta") ||
      !n.expectShape(segments, s, "segment_ids") ||
      !n.expectShape(mask, s, "a mask"))
    return;
  if (!segments != !segmentTable)
    return n.fail("one of segment_ids and segment_embedding",
                  "both or neither");
  if (positionIds && n.shape(positionIds) != Ints{1, s[1]} &&
      !n.expectShape(positionIds, s, "position_ids"))
    return;
  if (!positionIds && n.dim(positions, 0) < s[1])
    return n.fail(Twine(n.dim(positions, 0)) + " positions",
                  "at least " + Twine(s[1]));
  Value place = positionIds ? n.gather(positions, positionIds, 0)
                            : n.slice(positions, 0, 0, s[1]);
  Value sum = n.add(asFloat(2, n.gather(words, ids, 0)), asFloat(3, place));
  if (segments)
    sum = n.add(sum, asFloat(4, n.gather(segmentTable, segments, 0)));
  n.out(0, n.add(n.mul(n.normalize(sum, 2, epsilon), asFloat(5, gamma)),
                 asFloat(6, beta)));
  n.out(2, sum);
  if (!n.wants(1))
    return;
  n.out(1,
        mask ? n.reduce(ReduceKind::sum,
                        n.cast(n.binary(BinaryKind::equal, mask, 1.0), n.i32()),
                        {1}, false)
             : n.splat({s[0]}, n.i32(), 0));
}

static void embedLayerNormalization(Node &n) {
  embedAndNormalize(n, n.optional(8), [](unsigned, Value v) { return v; });
}

/// Tables, gamma and beta are 8-bit integers. Scales of inputs 2 to 6 are
/// inputs 8 to 12, zero points 13 to 17.
static void qEmbedLayerNormalization(Node &n) {
  embedAndNormalize(n, Value(), [&](unsigned i, Value v) {
    return real(n, {v, n.in(i + 6), n.optional(i + 11)});
  });
}

/// (x - mean) / (standard deviation + 1e-9), as the operator's definition has
/// it.
static void meanVariance(Node &n) {
  Value x = n.in(0);
  Ints axes = n.axes(n.intsAttr("axes", {0, 2, 3}), n.rank(x));
  if (n.failed())
    return;
  Value centred = n.sub(x, n.reduce(ReduceKind::mean, x, axes, true));
  Value var = n.reduce(ReduceKind::mean, n.square(centred), axes, true);
  n.out(n.div(centred, n.add(n.unary(UnaryKind::sqrt, var), 1e-9)));
}

static void lpNormalization(Node &n) {
  Value x = n.in(0);
  int64_t axis = n.axis(n.intAttr("axis", -1), n.rank(x));
  int64_t p = n.intAttr("p", 2);
  if (p != 1 && p != 2)
    return n.fail("p " + Twine(p), "1 or 2");
  Value norm =
      p == 1
          ? n.reduce(ReduceKind::sum, n.unary(UnaryKind::abs, x), {axis}, true)
          : n.unary(UnaryKind::sqrt,
                    n.reduce(ReduceKind::sum, n.square(x), {axis}, true));
  // Zero vectors stay zero.
  Value isZero = n.binary(BinaryKind::equal, norm, 0.0);
  n.out(n.div(x, n.select(isZero, n.scalar(n.elem(x), 1), norm)));
}

/// x / (bias + alpha / size * Σ x²)^beta, the sum over `size` channels around
/// each: an average pool along the channels.
static void lrn(Node &n) {
  Value x = n.in(0);
  int64_t size = n.intAttr("size");
  double alpha = n.floatAttr("alpha", 1e-4), beta = n.floatAttr("beta", 0.75),
         bias = n.floatAttr("bias", 1);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  if (size < 1 || size > (1 << 20))
    return n.fail("size " + Twine(size), "a positive one");
  int64_t channels = n.dim(x, 1), batch = n.dim(x, 0);
  if (n.size(x) == 0)
    return n.out(x);
  Value squares = n.reshape(
      n.square(x), {batch, 1, channels, n.size(x) / (batch * channels)});
  squares = n.pad(squares, {0, 0, (size - 1) / 2, 0}, {0, 0, size / 2, 0});
  Value mean = n.create<nn::PoolOp>(
      {squares}, {n.kind<nn::PoolKindAttr>("kind", nn::PoolKind::average),
                  n.list("kernel", {size, 1}), n.list("strides", {1, 1}),
                  n.list("dilations", {1, 1}), n.list("pads_low", {0, 0}),
                  n.list("pads_high", {0, 0})});
  Value base = n.add(n.mul(n.reshape(mean, n.shape(x)), alpha), bias);
  n.out(n.div(x, n.binary(BinaryKind::pow, base, beta)));
}

/// At inference nothing is dropped; the mask is all true.
static void dropout(Node &n) {
  Value x = n.in(0);
  bool mayTrain = n.opset() >= 12 && n.has(2);
  double ratio = 0.5;
  if (mayTrain && n.has(1) && n.data(n.in(1)))
    ratio = n.floatInput(1, "ratio");
  // With ratio 0 it does not matter whether the model is in training.
  bool training = mayTrain && ratio != 0 && n.intInput(2, "training_mode") != 0;
  if (training && n.has(1))
    ratio = n.floatInput(1, "ratio");
  if (training && ratio != 0)
    return n.fail("training_mode with ratio " + Twine(std::to_string(ratio)),
                  "a model for inference, or ratio 0");
  n.out(0, x);
  // The mask had the input's type up to 9.
  n.out(1, n.splat(n.shape(x), n.opset() < 10 ? n.elem(x) : n.i1(), 1));
}

OpRows importer::normOps() {
  static const OpRow rows[] = {
      {"BatchNormalization", 1, kFloats, batchNormalization},
      {"Dropout", 1, kFloats, dropout, "inference only, or ratio 0"},
      microsoftOp("EmbedLayerNormalization", 0, embedLayerNormalization),
      {"GroupNormalization", 18, kFloats, groupNormalization},
      {"InstanceNormalization", 1, kFloats, instanceNormalization},
      {"LRN", 1, kFloats, lrn},
      {"LayerNormalization", 1, kFloats, layerNormalization,
       "before 17 as ONNX Runtime writes it"},
      {"LpNormalization", 1, kFloats, lpNormalization},
      {"MeanVarianceNormalization", 9, kFloats, meanVariance},
      microsoftOp("QEmbedLayerNormalization", 0, qEmbedLayerNormalization),
      {"RMSNormalization", 23, kFloats, rmsNormalization},
      {"SimplifiedLayerNormalization", 1, kFloats, rmsNormalization,
       "as ONNX Runtime writes it"},
      microsoftOp("SkipLayerNormalization", kFloats, skipLayerNormalization),
      microsoftOp("SkipSimplifiedLayerNormalization", kFloats,
                  skipSimplifiedLayerNormalization),
  };
  return rows;
}
