//===- Distance.cpp - Known differences of run-time numbers ---------------===//

#include "compiler/import/ops/Distance.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// Element `index` of `base` plus `offset`; just `offset` without a base.
struct Sum {
  Value base;
  int64_t index = 0, offset = 0;
};
} // namespace

/// Chains of more layers are no arithmetic of positions.
static constexpr int maxDepth = 64;

/// Element i of an integer tensor in row-major order; an element of a tensor
/// with one stands for all.
static Sum decompose(Node &n, Value v, int64_t i, int depth) {
  if (n.size(v) == 1)
    i = 0;
  if (auto data = n.data(v))
    return {Value(), 0, data->asInt(i)};
  Sum opaque{v, i, 0};
  Operation *op = v.getDefiningOp();
  if (!op || depth == maxDepth)
    return opaque;
  auto operand = [&](unsigned k, int64_t at) {
    return decompose(n, op->getOperand(k), at, depth + 1);
  };
  if (isa<nn::ReshapeOp>(op))
    return operand(0, i);
  if (isa<nn::CastOp>(op) && !n.isFloat(op->getOperand(0)))
    return operand(0, i);
  if (auto slice = dyn_cast<nn::SliceOp>(op); slice && n.rank(v) == 1)
    return operand(0, slice.getStarts()[0] + i * slice.getSteps()[0]);
  if (isa<nn::ConcatOp>(op) && n.rank(v) == 1) {
    for (unsigned k = 0; k < op->getNumOperands(); ++k) {
      int64_t size = n.size(op->getOperand(k));
      if (i < size)
        return operand(k, i);
      i -= size;
    }
    return opaque;
  }
  auto binary = dyn_cast<nn::BinaryOp>(op);
  bool isSub = binary && binary.getKind() == BinaryKind::sub;
  if (!binary || (!isSub && binary.getKind() != BinaryKind::add))
    return opaque;
  // Operands broadcast alike: they are the result's shape, or one element.
  for (Value x : op->getOperands())
    if (n.size(x) != 1 && n.shape(x) != n.shape(v))
      return opaque;
  Sum left = operand(0, i), right = operand(1, i);
  if (right.base && (left.base || isSub))
    return opaque;
  Sum sum = left.base ? left : right;
  int64_t added;
  bool overflows = isSub ? llvm::SubOverflow(left.offset, right.offset, added)
                         : llvm::AddOverflow(left.offset, right.offset, added);
  sum.offset = added;
  return overflows ? opaque : sum;
}

std::optional<int64_t> importer::knownElement(Node &n, Value v, int64_t i) {
  if (n.failed() || n.isFloat(v))
    return std::nullopt;
  Sum sum = decompose(n, v, i, 0);
  return sum.base ? std::nullopt : std::optional(sum.offset);
}

std::optional<int64_t> importer::knownDistance(Node &n, Value from, Value to,
                                               int64_t i) {
  if (n.failed() || n.isFloat(from) || n.isFloat(to))
    return std::nullopt;
  Sum a = decompose(n, from, i, 0), b = decompose(n, to, i, 0);
  int64_t distance;
  if (a.base != b.base || a.index != b.index ||
      llvm::SubOverflow(b.offset, a.offset, distance))
    return std::nullopt;
  return distance;
}
