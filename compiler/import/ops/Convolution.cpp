//===- Convolution.cpp - Convolutions -------------------------------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Activation.h"
#include "compiler/import/ops/Products.h"
#include "compiler/import/ops/Windows.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// The kernel's size: from the weights; the attribute must agree.
static Ints kernelOf(Node &n, Value weights) {
  Ints kernel = n.shape(weights);
  kernel.erase(kernel.begin(),
               kernel.begin() + std::min<size_t>(2, kernel.size()));
  Ints given = n.intsAttr("kernel_shape", kernel);
  if (given != kernel)
    n.fail("kernel_shape " + str(given),
           "that of the weights " + str(n.shape(weights)));
  return kernel;
}

std::optional<ConvolutionShape> importer::readConvolution(Node &n, Value x,
                                                          Value weights,
                                                          Value bias,
                                                          Type element) {
  if (!n.expectRank(x, 3, 5, "an input") ||
      !n.expectRank(weights, n.rank(x), n.rank(x), "weights"))
    return std::nullopt;
  int64_t groups = n.intAttr("group", 1);
  int64_t channels = n.dim(x, 1), out = n.dim(weights, 0);
  if (groups < 1 || groups > channels ||
      channels != n.dim(weights, 1) * groups || out % groups) {
    n.fail("weights " + str(n.shape(weights)) + " for input " +
               str(n.shape(x)) + " in " + Twine(groups) + " groups",
           "channels that fit");
    return std::nullopt;
  }
  std::optional<Windows> w = readWindows(n, x, kernelOf(n, weights));
  if (!w || !n.expectShape(bias, {out}, "a bias"))
    return std::nullopt;
  Ints result{n.dim(x, 0), out};
  result.append(w->output);
  if (!n.type(result, element))
    return std::nullopt;
  return ConvolutionShape{std::move(*w), groups};
}

Value importer::convolution(Node &n, Value x, Value weights, Value bias) {
  auto conv = readConvolution(n, x, weights, bias, n.elem(x));
  if (!conv)
    return {};
  const Windows &w = conv->windows;
  return n.create<nn::ConvOp>(
      {x, weights, bias, Value()},
      {n.list("strides", w.strides), n.list("dilations", w.dilations),
       n.list("pads_low", w.padsLow), n.list("pads_high", w.padsHigh),
       n.attr("groups", conv->groups)});
}

static void conv(Node &n) {
  if (n.expectTypeOf(0, {1, 2}))
    n.out(convolution(n, n.in(0), n.in(1), n.optional(2)));
}

Value importer::activatedConvolution(Node &n, Value x, Value weights) {
  if (!n.expectTypeOf(0, {1, 2, 3}))
    return {};
  Value y = convolution(n, x, weights, n.optional(2));
  Value sum = n.optional(3);
  if (n.failed() || !n.expectShape(sum, n.shape(y), "a summand"))
    return {};
  return activated(n, sum ? n.add(y, sum) : y,
                   n.floatsAttr("activation_params"));
}

static void fusedConv(Node &n) {
  n.out(activatedConvolution(n, n.in(0), n.in(1)));
}

/// auto_pad and output_shape give the pads of which the output has that size.
static void convTranspose(Node &n) {
  Value x = n.in(0), weights = n.in(1), bias = n.optional(2);
  if (!n.expectTypeOf(0, {1, 2}) || !n.expectRank(x, 3, 5, "an input") ||
      !n.expectRank(weights, n.rank(x), n.rank(x), "weights"))
    return;
  size_t rank = n.rank(x) - 2;
  int64_t groups = n.intAttr("group", 1);
  if (groups < 1 || groups > n.dim(x, 1) || n.dim(x, 1) != n.dim(weights, 0) ||
      n.dim(x, 1) % groups)
    return n.fail("weights " + str(n.shape(weights)) + " for input " +
                      str(n.shape(x)) + " in " + Twine(groups) + " groups",
                  "channels that fit");
  Ints kernel = kernelOf(n, weights);
  Ints strides = n.intsAttr("strides", Ints(rank, 1));
  Ints dilations = n.intsAttr("dilations", Ints(rank, 1));
  Ints pads = n.intsAttr("pads", Ints(2 * rank, 0));
  Ints outputPadding = n.intsAttr("output_padding", Ints(rank, 0));
  Ints outputShape = n.intsAttr("output_shape");
  unsigned autoPad = n.choice("auto_pad", "NOTSET",
                              {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"});
  // Some exporters give the whole shape.
  if (outputShape.size() == rank + 2)
    outputShape.erase(outputShape.begin(), outputShape.begin() + 2);
  if (n.failed())
    return;
  if (!windowNumbers(kernel, rank, 1) || !windowNumbers(strides, rank, 1) ||
      !windowNumbers(dilations, rank, 1) || !windowNumbers(pads, 2 * rank, 0) ||
      !windowNumbers(outputPadding, rank, 0) ||
      (!outputShape.empty() && !windowNumbers(outputShape, rank, 1)))
    return n.fail("strides " + str(strides) + ", dilations " + str(dilations) +
                      ", pads " + str(pads) + ", output_padding " +
                      str(outputPadding),
                  "numbers for " + Twine(rank) + " spatial dimensions");
  Ints low(pads.begin(), pads.begin() + rank);
  Ints high(pads.begin() + rank, pads.end());
  Ints result{n.dim(x, 0), n.dim(weights, 1) * groups};
  for (size_t i = 0; i < rank; ++i) {
    int64_t full = strides[i] * (n.dim(x, i + 2) - 1) + outputPadding[i] +
                   dilations[i] * (kernel[i] - 1) + 1;
    if (!outputShape.empty() || autoPad >= 2) {
      int64_t target =
          outputShape.empty() ? n.dim(x, i + 2) * strides[i] : outputShape[i];
      int64_t total = full - target;
      // A larger output is padded at its end.
      if (total < 0) {
        outputPadding[i] -= total;
        total = 0;
      }
      low[i] = autoPad == 2 ? total / 2 : total - total / 2;
      high[i] = total - low[i];
      full = target + low[i] + high[i];
    } else if (autoPad == 1) {
      low[i] = high[i] = 0;
    }
    result.push_back(full - low[i] - high[i]);
    if (result.back() < 0)
      return n.fail("pads " + str(pads), "less than the output");
  }
  if (!n.type(result, n.elem(x)) || !n.expectShape(bias, {result[1]}, "a bias"))
    return;
  n.out(n.create<nn::ConvTransposeOp>(
      {x, weights, bias, Value()},
      {n.list("strides", strides), n.list("dilations", dilations),
       n.list("pads_low", low), n.list("pads_high", high),
       n.list("output_padding", outputPadding), n.attr("groups", groups)}));
}

/// A convolution whose kernel's elements each look, for each element of the
/// result, somewhere else: they are sampled, then multiplied with the weights.
static void deformConv(Node &n) {
  Value x = n.in(0), weights = n.in(1), offset = n.in(2);
  if (!n.expectRank(x, 4, 4, "an input") ||
      !n.expectRank(weights, 4, 4, "weights") ||
      !n.expectRank(offset, 4, 4, "an offset"))
    return;
  int64_t groups = n.intAttr("group", 1), sets = n.intAttr("offset_group", 1);
  Ints in = n.shape(x), w = n.shape(weights), kernel = kernelOf(n, weights);
  Ints strides = n.intsAttr("strides", {1, 1}),
       pads = n.intsAttr("pads", Ints(4, 0));
  Ints dilations = n.intsAttr("dilations", {1, 1});
  if (n.failed())
    return;
  if (groups < 1 || sets < 1 || in[1] < 1 || in[1] != w[1] * groups ||
      w[0] % groups || in[1] % sets)
    return n.fail("weights " + str(w) + " for input " + str(in) + " in " +
                      Twine(groups) + " groups with " + Twine(sets) +
                      " groups of offsets",
                  "channels that fit");
  if (!windowNumbers(kernel, 2, 1) || !windowNumbers(strides, 2, 1) ||
      !windowNumbers(dilations, 2, 1) || !windowNumbers(pads, 4, 0))
    return n.fail("strides " + str(strides) + ", dilations " + str(dilations) +
                      ", pads " + str(pads),
                  "numbers for 2 spatial dimensions");
  int64_t batch = in[0], taps = kernel[0] * kernel[1], out[2];
  for (int d = 0; d < 2; ++d) {
    int64_t room =
        in[d + 2] + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1;
    out[d] = room < 0 ? 0 : room / strides[d] + 1;
  }
  Value bias = n.optional(3), mask = n.optional(4);
  if (!n.expectShape(offset, {batch, sets * taps * 2, out[0], out[1]},
                     "an offset") ||
      !n.expectShape(mask, {batch, sets * taps, out[0], out[1]}, "a mask") ||
      !n.expectShape(bias, {w[0]}, "a bias") ||
      !n.type({batch, in[1], taps, out[0], out[1]}, n.elem(x)))
    return;

  // Places in the input [batch * sets, taps, out, out], first without offset,
  // then as the grid counts them: -1 and 1 are the image's edges.
  // Half precision is too coarse for places.
  Type wide = n.elem(x).isF64() ? n.elem(x) : n.f32();
  Value moved =
      n.reshape(n.cast(offset, wide), {batch * sets, taps, 2, out[0], out[1]});
  Values place(2);
  for (int d = 0; d < 2; ++d) {
    Value still = n.generate({taps, out[0], out[1]}, wide, [&](int64_t i) {
      int64_t tap = i / (out[0] * out[1]), at = i % (out[0] * out[1]);
      int64_t k = d ? tap % kernel[1] : tap / kernel[1];
      int64_t o = d ? at % out[1] : at / out[1];
      return o * strides[d] - pads[d] + k * dilations[d];
    });
    Value at = n.add(n.reshape(n.slice(moved, 2, d, 1),
                               {batch * sets, taps, out[0], out[1]}),
                     still);
    // (2 * at + 1) / size - 1, rounded once.
    double size = double(in[d + 2]);
    at = n.unary(UnaryKind::affine, at, {2 / size, 1 / size - 1});
    place[1 - d] = // x comes first
        n.reshape(at, {batch * sets, taps * out[0], out[1], 1});
  }
  Value image = n.reshape(x, {batch * sets, in[1] / sets, in[2], in[3]});
  Value sampled = n.create<nn::GridSampleOp>(
      {image, n.concat(place, 3)},
      {n.kind<nn::ResizeModeAttr>("mode", nn::ResizeMode::linear),
       n.attr("padding", n.builder().getStringAttr("zeros")),
       n.flag("align_corners", false)});
  if (mask)
    sampled = n.mul(
        n.reshape(sampled, {batch, sets, in[1] / sets, taps, out[0], out[1]}),
        n.reshape(mask, {batch, sets, 1, taps, out[0], out[1]}));
  Value y = n.matmul(
      n.reshape(weights, {1, groups, w[0] / groups, w[1] * taps}),
      n.reshape(sampled, {batch, groups, w[1] * taps, out[0] * out[1]}));
  y = n.reshape(y, {batch, w[0], out[0], out[1]});
  n.out(bias ? n.add(y, n.reshape(bias, {w[0], 1, 1})) : y);
}

OpRows importer::convOps() {
  static const OpRow rows[] = {
      {"Conv", 1, kFloats, conv, "1 to 3 spatial dimensions"},
      {"ConvTranspose", 1, kFloats, convTranspose, "1 to 3 spatial dimensions"},
      {"DeformConv", 19, kFloats, deformConv, "2 spatial dimensions"},
      microsoftOp("FusedConv", kFloats, fusedConv, "1 to 3 spatial dimensions"),
  };
  return rows;
}
