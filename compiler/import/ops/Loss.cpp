//===- Loss.cpp - Losses --------------------------------------------------===//

#include "compiler/import/OpTable.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// -weight[target] * input[n, target, d…], then reduced. Elements whose target
/// is ignore_index weigh nothing.
static Value negativeLogLikelihood(Node &n, Value x, Value target,
                                   Value weight) {
  unsigned reduction = n.choice("reduction", "mean", {"none", "sum", "mean"});
  if (!n.expectRank(x, 2, 64, "an input"))
    return {};
  Ints expected = n.shape(x);
  int64_t classes = expected[1];
  expected.erase(expected.begin() + 1);
  if (n.shape(target) != expected)
    return n.refuse("targets " + str(n.shape(target)), str(expected));
  if (weight && n.shape(weight) != Ints{classes})
    return n.refuse("weights " + str(n.shape(weight)), str({classes}));

  Value ignored;
  Type type = n.elem(x);
  if (n.hasAttr("ignore_index")) {
    ignored = n.binary(BinaryKind::equal, target,
                       double(n.intAttr("ignore_index", 0)));
    target = n.select(ignored, n.scalar(n.elem(target), 0), target);
  }
  Value picked = n.create<nn::GatherElementsOp>({x, n.unsqueeze(target, {1})},
                                                {n.attr("axis", int64_t(1))});
  Value loss = n.unary(UnaryKind::neg, n.reshape(picked, expected));
  Value weights = weight ? n.gather(weight, target, 0) : Value();
  if (ignored) {
    Value zero = n.scalar(type, 0);
    weights =
        n.select(ignored, zero, weights ? weights : n.splat(expected, type, 1));
    loss = n.select(ignored, zero, loss); // not 0 * infinity
  }
  if (weights)
    loss = n.mul(loss, weights);
  if (n.failed() || reduction == 0)
    return loss;
  Ints all = n.axesFrom(0, loss);
  if (reduction == 2 && !weights)
    return n.reduce(ReduceKind::mean, loss, all, false);
  loss = n.reduce(ReduceKind::sum, loss, all, false);
  if (reduction == 2)
    loss = n.div(loss, n.reduce(ReduceKind::sum, weights, all, false));
  return loss;
}

static void negativeLogLikelihoodLoss(Node &n) {
  n.out(negativeLogLikelihood(n, n.in(0), n.in(1), n.optional(2)));
}

static void softmaxCrossEntropyLoss(Node &n) {
  Value x = n.in(0);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  Value logProbabilities = n.softmax(x, 1, /*log=*/true);
  n.out(0, negativeLogLikelihood(n, logProbabilities, n.in(1), n.optional(2)));
  n.out(1, logProbabilities);
}

OpRows importer::lossOps() {
  static const OpRow rows[] = {
      {"NegativeLogLikelihoodLoss", 12, kFloats, negativeLogLikelihoodLoss},
      {"SoftmaxCrossEntropyLoss", 12, kFloats, softmaxCrossEntropyLoss},
  };
  return rows;
}
