//===- Conv.cpp - Convolutions --------------------------------------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Convolution.h"
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

static bool checkBias(Node &n, Value bias, int64_t channels) {
  if (!bias || n.shape(bias) == Ints{channels})
    return !n.failed();
  n.fail("a bias of shape " + str(n.shape(bias)), str({channels}));
  return false;
}

Value importer::convolution(Node &n, Value x, Value weights, Value bias) {
  if (!n.expectRank(x, 3, 5, "an input") ||
      !n.expectRank(weights, n.rank(x), n.rank(x), "weights"))
    return {};
  int64_t groups = n.intAttr("group", 1);
  int64_t channels = n.dim(x, 1), out = n.dim(weights, 0);
  if (groups < 1 || groups > channels ||
      channels != n.dim(weights, 1) * groups || out % groups)
    return n.fail("weights " + str(n.shape(weights)) + " for input " +
                      str(n.shape(x)) + " in " + Twine(groups) + " groups",
                  "channels that fit"),
           Value();
  std::optional<Windows> w = readWindows(n, x, kernelOf(n, weights));
  if (!w || !checkBias(n, bias, out))
    return {};
  Ints result{n.dim(x, 0), out};
  result.append(w->output);
  if (!n.type(result, n.elem(x)))
    return {};
  return n.create<nn::ConvOp>(
      {x, weights, bias, Value()},
      {n.list("strides", w->strides), n.list("dilations", w->dilations),
       n.list("pads_low", w->padsLow), n.list("pads_high", w->padsHigh),
       n.attr("groups", groups)});
}

static void conv(Node &n) {
  n.out(convolution(n, n.in(0), n.in(1), n.optional(2)));
}

/// auto_pad and output_shape give the pads of which the output has that size.
static void convTranspose(Node &n) {
  Value x = n.in(0), weights = n.in(1), bias = n.optional(2);
  if (!n.expectRank(x, 3, 5, "an input") ||
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
  if (strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || outputPadding.size() != rank ||
      (!outputShape.empty() && outputShape.size() != rank) ||
      !windowNumbers(kernel, 1) || !windowNumbers(strides, 1) ||
      !windowNumbers(dilations, 1) || !windowNumbers(pads, 0) ||
      !windowNumbers(outputPadding, 0) || !windowNumbers(outputShape, 1))
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
  if (!n.type(result, n.elem(x)) || !checkBias(n, bias, result[1]))
    return;
  n.out(n.create<nn::ConvTransposeOp>(
      {x, weights, bias, Value()},
      {n.list("strides", strides), n.list("dilations", dilations),
       n.list("pads_low", low), n.list("pads_high", high),
       n.list("output_padding", outputPadding), n.attr("groups", groups)}));
}

OpRows importer::convOps() {
  constexpr int L = kLatestOpset;
  static const OpRow rows[] = {
      {"Conv", 1, L, kFloats, conv, "1 to 3 spatial dimensions"},
      {"ConvTranspose", 1, L, kFloats, convTranspose,
       "1 to 3 spatial dimensions"},
  };
  return rows;
}
