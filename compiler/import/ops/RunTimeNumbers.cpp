//===- RunTimeNumbers.cpp - Known facts of run-time numbers ---------------===//

#include "compiler/import/ops/RunTimeNumbers.h"
#include "compiler/import/Counted.h"
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
static constexpr int maxDepth = 64;

/// Where a layer that only moves elements has taken one from; itself for
/// others.
static Place origin(Node &n, Place at) {
  for (int depth = 0; depth < maxDepth; ++depth) {
    auto [v, i] = at;
    if (n.size(v) == 1)
      i = 0;
    Operation *op = v.getDefiningOp();
    at = {v, i};
    if (!op || op->getNumOperands() == 0 || n.data(v))
      return at;
    // A cast to or from any other type may change the number.
    Type from = n.elem(op->getOperand(0)), to = n.elem(v);
    bool keepsNumber = (from.isInteger(32) || from.isInteger(64)) &&
                       (to.isInteger(32) || to.isInteger(64));
    if (isa<nn::ReshapeOp>(op) || (isa<nn::CastOp>(op) && keepsNumber)) {
      at = {op->getOperand(0), i};
      continue;
    }
    if (n.rank(v) > 1)
      return at;
    if (auto slice = dyn_cast<nn::SliceOp>(op); slice && n.rank(v) == 1) {
      at = {op->getOperand(0), slice.getStarts()[0] + i * slice.getSteps()[0]};
    } else if (auto gather = dyn_cast<nn::GatherOp>(op);
               gather && n.rank(gather.getInput()) == 1 &&
               n.size(gather.getInput()) > 0 && n.data(gather.getIndices())) {
      int64_t size = n.size(gather.getInput()),
              index = n.data(gather.getIndices())->asInt(i);
      at = {gather.getInput(),
            std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1)};
    } else if (isa<nn::ConcatOp>(op)) {
      unsigned k = 0;
      for (; i >= n.size(op->getOperand(k)); ++k)
        i -= n.size(op->getOperand(k));
      at = {op->getOperand(k), i};
    } else {
      return at;
    }
  }
  return at;
}

/// Whether operands broadcast alike: they are the result's shape, or one
/// element. If so, elements of one index belong together.
static bool broadcastAlike(Node &n, Operation *op) {
  return llvm::all_of(op->getOperands(), [&](Value x) {
    return n.size(x) == 1 || n.shape(x) == n.shape(op->getResult(0));
  });
}

static Sum decompose(Node &n, Place at, int depth) {
  at = origin(n, at);
  if (auto data = n.data(at.tensor))
    return {{}, false, data->asInt(at.index)};
  Sum opaque{at, false, 0};
  auto binary = at.tensor.getDefiningOp<nn::BinaryOp>();
  bool isSub = binary && binary.getKind() == BinaryKind::sub;
  if (!binary || (!isSub && binary.getKind() != BinaryKind::add) ||
      depth == maxDepth || !broadcastAlike(n, binary))
    return opaque;
  Sum left = decompose(n, {binary.getLhs(), at.index}, depth + 1);
  Sum right = decompose(n, {binary.getRhs(), at.index}, depth + 1);
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

std::optional<int64_t> importer::knownElement(Node &n, Value v, int64_t i) {
  if (n.failed() || n.isFloat(v))
    return std::nullopt;
  Sum sum = decompose(n, {v, i}, 0);
  return sum.base.tensor ? std::nullopt : std::optional(sum.offset);
}

std::optional<int64_t> importer::knownDistance(Node &n, Value from, Value to,
                                               int64_t i) {
  if (n.failed() || n.isFloat(from) || n.isFloat(to))
    return std::nullopt;
  Sum a = decompose(n, {from, i}, 0), b = decompose(n, {to, i}, 0);
  int64_t distance;
  bool isKnown = sameBase(a, b) && (!a.base.tensor || a.negated == b.negated);
  if (!isKnown || llvm::SubOverflow(b.offset, a.offset, distance))
    return std::nullopt;
  return distance;
}

std::optional<int64_t> importer::knownSum(Node &n, Value number, Value v,
                                          int64_t i) {
  if (n.failed() || n.isFloat(number) || n.isFloat(v))
    return std::nullopt;
  Sum a = decompose(n, {number, 0}, 0), b = decompose(n, {v, i}, 0);
  int64_t sum;
  bool isKnown = sameBase(a, b) && (!a.base.tensor || a.negated != b.negated);
  if (!isKnown || llvm::AddOverflow(a.offset, b.offset, sum))
    return std::nullopt;
  return sum;
}

static std::optional<int64_t> limitOf(Node &n, Place at, int depth) {
  Sum sum = decompose(n, at, 0);
  if (!sum.base.tensor)
    return sum.offset;
  if (sum.negated || depth == maxDepth)
    return std::nullopt;
  Operation *op = sum.base.tensor.getDefiningOp();
  auto operand = [&](unsigned k, int64_t i) {
    return limitOf(n, {op->getOperand(k), i}, depth + 1);
  };
  std::optional<int64_t> limit;
  auto atMost = [&](std::optional<int64_t> other) {
    limit = limit && other ? std::min(*limit, *other) : limit ? limit : other;
  };
  auto binary = dyn_cast_or_null<nn::BinaryOp>(op);
  auto reduce = dyn_cast_or_null<nn::ReduceOp>(op);
  if (binary && broadcastAlike(n, binary)) {
    auto left = operand(0, sum.base.index), right = operand(1, sum.base.index);
    if (binary.getKind() == BinaryKind::min) {
      limit = left;
      atMost(right);
    } else if (binary.getKind() == BinaryKind::max && left && right) {
      limit = std::max(*left, *right);
    }
  } else if (reduce && reduce.getKind() == ReduceKind::min &&
             n.size(reduce) == 1 && n.size(reduce.getInput()) <= maxDepth) {
    for (int64_t i = 0; i < n.size(reduce.getInput()); ++i)
      atMost(operand(0, i));
  }
  int64_t result;
  if (!limit || llvm::AddOverflow(*limit, sum.offset, result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> importer::knownLimit(Node &n, Value v, int64_t i) {
  if (n.failed() || n.isFloat(v))
    return std::nullopt;
  return limitOf(n, {v, i}, 0);
}

std::optional<CountedShape> importer::countedShape(Node &n, Value shape) {
  if (n.failed() || n.isFloat(shape) || n.rank(shape) != 1)
    return std::nullopt;
  CountedShape result{{}, -1, {}};
  for (int64_t i = 0; i < n.size(shape); ++i) {
    std::optional<int64_t> size = knownElement(n, shape, i);
    if (!size) {
      size = knownLimit(n, shape, i);
      if (!size || *size < 0 || result.axis >= 0)
        return std::nullopt;
      result.axis = i;
      result.count = atMost(n, n.slice(shape, 0, i, 1), *size);
    }
    result.sizes.push_back(*size);
  }
  return result.axis < 0 ? std::nullopt : std::optional(result);
}
