//===- Pooling.cpp - Pooling ----------------------------------------------===//

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Windows.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static SmallVector<NamedAttribute> attributes(Node &n, const Windows &w) {
  return {n.list("kernel", w.kernel), n.list("strides", w.strides),
          n.list("dilations", w.dilations), n.list("pads_low", w.padsLow),
          n.list("pads_high", w.padsHigh)};
}

static Value pool(Node &n, Value x, nn::PoolKind kind, const Windows &w,
                  bool countIncludePad) {
  Ints result{n.dim(x, 0), n.dim(x, 1)};
  result.append(w.output);
  if (!n.type(result, n.elem(x)))
    return {};
  SmallVector<NamedAttribute> attrs = attributes(n, w);
  attrs.push_back(n.kind<nn::PoolKindAttr>("kind", kind));
  if (countIncludePad) {
    attrs.push_back(n.flag("count_include_pad", true));
    attrs.push_back(n.list("counted_pads_high", w.countedPadsHigh));
  }
  return n.create<nn::PoolOp>({x}, attrs);
}

Value importer::averagePooled(Node &n, Value x) {
  std::optional<Windows> w = readWindows(n, x, kernelShape(n, x));
  return w ? pool(n, x, nn::PoolKind::average, *w,
                  n.intAttr("count_include_pad", 0) != 0)
           : Value();
}

static void averagePool(Node &n) { n.out(averagePooled(n, n.in(0))); }

static void maxPool(Node &n) {
  Value x = n.in(0);
  std::optional<Windows> w = readWindows(n, x, kernelShape(n, x));
  if (!w)
    return;
  n.out(pool(n, x, nn::PoolKind::max, *w, false));
  if (!n.wants(1))
    return;
  SmallVector<NamedAttribute> attrs = attributes(n, *w);
  attrs.push_back(n.flag("column_major", n.intAttr("storage_order", 0) != 0));
  n.out(1, n.create<nn::MaxPoolIndicesOp>({x}, attrs));
}

/// Channels come last.
static void nhwcMaxPool(Node &n) {
  if (!n.expectRank(n.in(0), 3, 5, "an input"))
    return;
  n.out(withChannelsFirst(n, n.in(0), [&](Value x) {
    std::optional<Windows> w = readWindows(n, x, kernelShape(n, x));
    return w ? pool(n, x, nn::PoolKind::max, *w, false) : Value();
  }));
}

/// (Σ |x|^p)^(1/p) is an average of |x|^p times the window's size, padding
/// counted as zeros.
static void lpPool(Node &n) {
  Value x = n.in(0);
  std::optional<Windows> w = readWindows(n, x, kernelShape(n, x));
  if (!w)
    return;
  double p = n.opset() < 2 ? n.floatAttr("p", 2) : double(n.intAttr("p", 2));
  // An absurd window is a fault of the pad below: until then its size must not
  // overflow. A double holds the size of any other window.
  double window = 1;
  for (int64_t k : w->kernel)
    window *= k;
  Value powers = n.binary(BinaryKind::pow, n.unary(UnaryKind::abs, x), p);
  // The average must divide by the whole window everywhere: pad first.
  Ints low{0, 0}, high{0, 0};
  low.append(w->padsLow);
  high.append(w->padsHigh);
  powers = n.pad(powers, low, high);
  w->padsLow.assign(w->kernel.size(), 0);
  w->padsHigh = w->countedPadsHigh = w->padsLow;
  Value sum = n.mul(pool(n, powers, nn::PoolKind::average, *w, false), window);
  n.out(n.binary(BinaryKind::pow, sum, 1 / p));
}

static Ints spatialAxes(Node &n, Value x) {
  return n.expectRank(x, 2, 64, "an input") ? n.axesFrom(2, x) : Ints();
}

template <ReduceKind K> static void globalPool(Node &n) {
  Value x = n.in(0);
  n.out(n.reduce(K, x, spatialAxes(n, x), true));
}

static void globalLpPool(Node &n) {
  Value x = n.in(0);
  double p = n.opset() < 2 ? n.floatAttr("p", 2) : double(n.intAttr("p", 2));
  Value powers = n.binary(BinaryKind::pow, n.unary(UnaryKind::abs, x), p);
  Value sum = n.reduce(ReduceKind::sum, powers, spatialAxes(n, x), true);
  n.out(n.binary(BinaryKind::pow, sum, 1 / p));
}

/// Values go to their flat indices, everything else is zero. The indices count
/// in the input of the pooling that they come from; where that is unknown, in
/// the smallest tensor that the attributes allow. With another output_shape,
/// each value moves to the same coordinates.
static void maxUnpool(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  Ints kernel = kernelShape(n, x);
  size_t rank = kernel.size();
  Ints strides = n.intsAttr("strides", Ints(rank, 1));
  Ints pads = n.intsAttr("pads", Ints(2 * rank, 0));
  if (n.failed())
    return;
  if (strides.size() != rank || pads.size() != 2 * rank ||
      n.shape(indices) != n.shape(x))
    return n.fail("strides " + str(strides) + ", pads " + str(pads),
                  "numbers for " + Twine(rank) + " spatial dimensions");
  Ints inferred{n.dim(x, 0), n.dim(x, 1)};
  for (size_t i = 0; i < rank; ++i) {
    __int128 d = __int128(n.dim(x, i + 2) - 1) * strides[i] + kernel[i] -
                 pads[i] - pads[i + rank];
    if (d < 0 || d > (int64_t(1) << 40))
      return n.fail("strides " + str(strides), "smaller ones");
    inferred.push_back(int64_t(d));
  }
  Ints output = n.has(2) ? n.intsInput(2, "output_shape") : inferred;
  if (n.failed())
    return;
  if (output.size() != inferred.size())
    return n.fail("output_shape " + str(output),
                  Twine(inferred.size()) + " dimensions");
  if (auto pooling = indices.getDefiningOp<nn::MaxPoolIndicesOp>())
    inferred = n.shape(pooling->getOperand(0));
  RankedTensorType type = n.type(inferred, n.elem(x));
  if (!type)
    return;
  Value flat = n.splat({type.getNumElements()}, n.elem(x), 0);
  flat = n.create<nn::ScatterElementsOp>(
      {flat, n.reshape(indices, {n.size(x)}), n.reshape(x, {n.size(x)})},
      {n.attr("axis", int64_t(0)),
       n.kind<nn::ScatterReductionAttr>("reduction",
                                        nn::ScatterReduction::none)});
  Ints low(output.size(), 0), high;
  for (auto [o, i] : llvm::zip(output, inferred))
    high.push_back(o < 0 || o > (int64_t(1) << 40) ? -i - 1 : o - i);
  n.out(n.pad(n.reshape(flat, inferred), low, high));
}

OpRows importer::poolOps() {
  constexpr TypeSet kPooled = kFloats | kInt8 | kUInt8;
  static const OpRow rows[] = {
      {"AveragePool", 1, kFloats, averagePool},
      nchwcOp("AveragePool", averagePool),
      {"GlobalAveragePool", 1, kFloats, globalPool<ReduceKind::mean>},
      nchwcOp("GlobalAveragePool", globalPool<ReduceKind::mean>),
      {"GlobalLpPool", 1, kFloats, globalLpPool},
      {"GlobalMaxPool", 1, kFloats, globalPool<ReduceKind::max>},
      nchwcOp("GlobalMaxPool", globalPool<ReduceKind::max>),
      {"LpPool", 1, kFloats, lpPool},
      {"MaxPool", 1, kPooled, maxPool},
      nchwcOp("MaxPool", maxPool),
      microsoftOp("NhwcMaxPool", kPooled, nhwcMaxPool),
      {"MaxUnpool", 9, kFloats, maxUnpool, "output_shape constant"},
  };
  return rows;
}
