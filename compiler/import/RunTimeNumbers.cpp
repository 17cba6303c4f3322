//===- RunTimeNumbers.cpp - Known facts of run-time numbers ---------------===//

#include "compiler/import/RunTimeNumbers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// An element of a tensor.
struct Place {
  Value tensor;
  int64_t index;
};
/// The element at `base`, with its sign changed if `negated`, plus `offset`;
/// just `offset` without a base.
struct Sum {
  Place base = {};
  bool negated = false;
  int64_t offset = 0;
};
} // namespace

/// Chains of more layers are no arithmetic of positions.
static constexpr int maxChain = 64;

/// The element that layers which only move elements have taken; the element
/// itself where another layer made it.
static Place origin(LayerBuilder &b, Place at) {
  for (int depth = 0; depth < maxChain; ++depth) {
    auto [v, i] = at;
    if (b.size(v) == 1)
      i = 0;
    Operation *op = v.getDefiningOp();
    at = {v, i};
    if (!op || op->getNumOperands() == 0 || b.data(v))
      return at;
    // A cast to or from any other type may change the number.
    Type from = b.elem(op->getOperand(0)), to = b.elem(v);
    bool keepsNumber = (from.isInteger(32) || from.isInteger(64)) &&
                       (to.isInteger(32) || to.isInteger(64));
    if (isa<nn::ReshapeOp>(op) || (isa<nn::CastOp>(op) && keepsNumber)) {
      at = {op->getOperand(0), i};
      continue;
    }
    if (b.rank(v) > 1)
      return at;
    if (auto slice = dyn_cast<nn::SliceOp>(op); slice && b.rank(v) == 1) {
      at = {op->getOperand(0), slice.getStarts()[0] + i * slice.getSteps()[0]};
    } else if (auto gather = dyn_cast<nn::GatherOp>(op);
               gather && b.rank(gather.getInput()) == 1 &&
               b.size(gather.getInput()) > 0 && b.data(gather.getIndices())) {
      int64_t size = b.size(gather.getInput()),
              index = b.data(gather.getIndices())->asInt(i);
      at = {gather.getInput(),
            std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1)};
    } else if (isa<nn::ConcatOp>(op)) {
      unsigned k = 0;
      for (; i >= b.size(op->getOperand(k)); ++k)
        i -= b.size(op->getOperand(k));
      at = {op->getOperand(k), i};
    } else {
      return at;
    }
  }
  return at;
}

/// Whether operands broadcast alike: they are the result's shape, or one
/// element. If so, elements of one index belong together.
static bool broadcastAlike(LayerBuilder &b, Operation *op) {
  return llvm::all_of(op->getOperands(), [&](Value x) {
    return b.size(x) == 1 || b.shape(x) == b.shape(op->getResult(0));
  });
}

static Sum decompose(LayerBuilder &b, Place at, int depth) {
  at = origin(b, at);
  if (auto data = b.data(at.tensor))
    return {{}, false, data->asInt(at.index)};
  Sum opaque{at, false, 0};
  auto binary = at.tensor.getDefiningOp<nn::BinaryOp>();
  bool isSub = binary && binary.getKind() == BinaryKind::sub;
  if (!binary || (!isSub && binary.getKind() != BinaryKind::add) ||
      depth == maxChain || !broadcastAlike(b, binary))
    return opaque;
  Sum left = decompose(b, {binary.getLhs(), at.index}, depth + 1);
  Sum right = decompose(b, {binary.getRhs(), at.index}, depth + 1);
  if (left.base.tensor && right.base.tensor)
    return opaque;
  right.negated ^= isSub;
  Sum sum = left.base.tensor ? left : right;
  bool overflows =
      isSub ? llvm::SubOverflow(left.offset, right.offset, sum.offset)
            : llvm::AddOverflow(left.offset, right.offset, sum.offset);
  return overflows ? opaque : sum;
}

static bool sameBase(const Sum &a, const Sum &b) {
  return a.base.tensor == b.base.tensor && a.base.index == b.base.index;
}

std::optional<int64_t> importer::knownElement(LayerBuilder &b, Value v,
                                              int64_t i) {
  if (b.failed() || b.isFloat(v))
    return std::nullopt;
  Sum sum = decompose(b, {v, i}, 0);
  return sum.base.tensor ? std::nullopt : std::optional(sum.offset);
}

std::optional<int64_t> importer::knownDistance(LayerBuilder &b, Value from,
                                               Value to, int64_t i) {
  if (b.failed() || b.isFloat(from) || b.isFloat(to))
    return std::nullopt;
  Sum x = decompose(b, {from, i}, 0), y = decompose(b, {to, i}, 0);
  int64_t distance;
  bool isKnown = sameBase(x, y) && (!x.base.tensor || x.negated == y.negated);
  if (!isKnown || llvm::SubOverflow(y.offset, x.offset, distance))
    return std::nullopt;
  return distance;
}

std::optional<int64_t> importer::knownSum(LayerBuilder &b, Value number,
                                          Value v, int64_t i) {
  if (b.failed() || b.isFloat(number) || b.isFloat(v))
    return std::nullopt;
  Sum x = decompose(b, {number, 0}, 0), y = decompose(b, {v, i}, 0);
  int64_t sum;
  bool isKnown = sameBase(x, y) && (!x.base.tensor || x.negated != y.negated);
  if (!isKnown || llvm::AddOverflow(x.offset, y.offset, sum))
    return std::nullopt;
  return sum;
}

/// Whether a tensor has zeros and ones, of bools.
static bool areBools(LayerBuilder &b, Value v) {
  Operation *op = v.getDefiningOp();
  while (isa_and_nonnull<nn::ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<nn::CastOp>(op) &&
         b.elem(op->getOperand(0)).isInteger(1);
}

static std::optional<int64_t> limitOf(LayerBuilder &b, Place at, int depth) {
  Sum sum = decompose(b, at, 0);
  if (!sum.base.tensor)
    return sum.offset;
  if (sum.negated || depth == maxChain)
    return std::nullopt;
  Operation *op = sum.base.tensor.getDefiningOp();
  auto operand = [&](unsigned k, int64_t i) {
    return limitOf(b, {op->getOperand(k), i}, depth + 1);
  };
  std::optional<int64_t> limit;
  auto atMost = [&](std::optional<int64_t> other) {
    limit = limit && other ? std::min(*limit, *other) : limit ? limit : other;
  };
  auto binary = dyn_cast_or_null<nn::BinaryOp>(op);
  auto reduce = dyn_cast_or_null<nn::ReduceOp>(op);
  if (binary && broadcastAlike(b, binary)) {
    auto left = operand(0, sum.base.index), right = operand(1, sum.base.index);
    if (binary.getKind() == BinaryKind::min) {
      limit = left;
      atMost(right);
    } else if (binary.getKind() == BinaryKind::max && left && right) {
      limit = std::max(*left, *right);
    }
  } else if (reduce && reduce.getKind() == ReduceKind::min &&
             b.size(reduce) == 1 && b.size(reduce.getInput()) <= maxChain) {
    for (int64_t i = 0; i < b.size(reduce.getInput()); ++i)
      atMost(operand(0, i));
  } else if (reduce && reduce.getKind() == ReduceKind::sum &&
             b.size(reduce) > 0 && areBools(b, reduce.getInput())) {
    limit = b.size(reduce.getInput()) / b.size(reduce);
  }
  int64_t result;
  if (!limit || llvm::AddOverflow(*limit, sum.offset, result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> importer::knownLimit(LayerBuilder &b, Value v,
                                            int64_t i) {
  if (b.failed() || b.isFloat(v))
    return std::nullopt;
  return limitOf(b, {v, i}, 0);
}
