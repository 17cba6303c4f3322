//===- Features.cpp - Operators of ai.onnx.ml that networks have ----------===//
//
// Converters put them before and behind a network, to prepare its features.
// Models of other kinds, trees above all, are refused.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Elements of the last dimension; a vector is a row.
static void arrayFeatureExtractor(Node &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!n.expectRank(x, 1, 64, "an input"))
    return;
  if (n.rank(x) == 1)
    x = n.unsqueeze(x, {0});
  indices = n.reshape(indices, {n.size(indices)});
  n.out(n.gather(x, indices, n.rank(x) - 1));
}

static void binarizer(Node &n) {
  Value x = n.in(0);
  double threshold = n.floatAttr("threshold", 0);
  if (!n.isFloat(x)) // so that it is one of them
    threshold = std::floor(threshold);
  Value isAbove = n.binary(BinaryKind::greater, x, threshold);
  n.out(n.cast(isAbove, n.elem(x)));
}

/// Numbers to compute with, which become the float32 that these operators give.
static Value computed(Node &n, Value x) {
  return n.cast(x, n.elem(x).isF64() ? n.elem(x) : n.f32());
}

/// (x - offset) * scale.
static void scaler(Node &n) {
  Value x = computed(n, n.in(0));
  Doubles offset = n.floatsAttr("offset"), scale = n.floatsAttr("scale");
  if (!n.expectRank(x, 1, 64, "an input"))
    return;
  int64_t features = n.dim(x, n.rank(x) - 1);
  auto each = [&](const Doubles &given, const char *what) -> Value {
    int64_t count = given.size();
    if (n.failed() || count == 1)
      return n.failed() ? Value() : n.scalar(n.elem(x), given[0]);
    if (count != features || n.rank(x) > 2)
      return n.refuse(Twine(count) + " numbers of attribute " + what + " for " +
                          str(n.shape(x)),
                      "one, or one for each column of a matrix");
    return n.doubles({count}, n.elem(x), given);
  };
  Value shifted = n.sub(x, each(offset, "offset"));
  n.out(n.cast(n.mul(shifted, each(scale, "scale")), n.f32()));
}

/// Rows over a norm of theirs. A row whose norm is zero stays.
static void normalizer(Node &n) {
  Value x = computed(n, n.in(0));
  unsigned norm = n.choice("norm", "MAX", {"MAX", "L1", "L2"});
  if (!n.expectRank(x, 1, 2, "an input"))
    return;
  Ints last{n.rank(x) - 1};
  Value size;
  if (norm == 0) // with its sign
    size = n.reduce(ReduceKind::max, x, last, true);
  else if (norm == 1)
    size = n.reduce(ReduceKind::sum, n.unary(UnaryKind::abs, x), last, true);
  else
    size = n.unary(UnaryKind::sqrt,
                   n.reduce(ReduceKind::sum, n.square(x), last, true));
  Value isZero = n.binary(BinaryKind::equal, size, 0.0);
  size = n.select(isZero, n.scalar(n.elem(x), 1), size);
  n.out(n.cast(n.div(x, size), n.f32()));
}

OpRows importer::featureOps() {
  constexpr TypeSet kFeatures = kFloat32 | kDouble | kInt64 | kInt32;
  static const OpRow rows[] = {
      mlOp("ArrayFeatureExtractor", kFeatures, arrayFeatureExtractor),
      mlOp("Binarizer", kFeatures, binarizer),
      mlOp("Normalizer", kFeatures, normalizer, "vectors and matrices"),
      mlOp("Scaler", kFeatures, scaler),
  };
  return rows;
}
