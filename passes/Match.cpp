//===- Match.cpp - What patterns ask of values ----------------------------===//
#include "passes/Match.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

std::optional<ConstantOperand> nnv12::constantOf(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  return constant ? ConstantOperand::get(constant.getValue()) : std::nullopt;
}

std::optional<double> nnv12::splatOf(Value value) {
  auto constant = constantOf(value);
  if (!constant || constant->type().getNumElements() == 0 ||
      !constant->allEqual())
    return std::nullopt;
  return constant->doubleAt(0);
}

std::optional<SmallVector<double>>
nnv12::perIndexOf(Value value, ArrayRef<int64_t> shape, int64_t axis) {
  auto constant = constantOf(value);
  if (!constant || constant->type().getNumElements() == 0 ||
      constant->type().getRank() > static_cast<int64_t>(shape.size()))
    return std::nullopt;
  assert(axis >= 0 && axis < static_cast<int64_t>(shape.size()) &&
         "an axis of the shape");
  int64_t extent = shape[axis];
  if (constant->isSplat())
    return SmallVector<double>(extent, constant->doubleAt(0));
  // The axis, counted in the constant's own dimensions: shapes align at the
  // end.
  int64_t own =
      axis - (static_cast<int64_t>(shape.size()) - constant->type().getRank());
  for (auto [i, size] : llvm::enumerate(constant->shape()))
    if (size != 1 && static_cast<int64_t>(i) != own)
      return std::nullopt;
  bool varies = own >= 0 && constant->shape()[own] != 1;
  assert((!varies || constant->shape()[own] == extent) &&
         "the constant broadcasts to the shape");
  SmallVector<double> values;
  for (int64_t i = 0; i < extent; ++i)
    values.push_back(constant->doubleAt(varies ? i : 0));
  return values;
}

UnaryOp nnv12::definingUnary(Value value, ArrayRef<UnaryKind> kinds) {
  auto op = value.getDefiningOp<UnaryOp>();
  return op && llvm::is_contained(kinds, op.getFunction().getKind())
             ? op
             : UnaryOp();
}

BinaryOp nnv12::definingBinary(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

static std::optional<Affine> affineOfUnary(UnaryOp op) {
  ArrayRef<double> params = op.getFunction().getParams();
  switch (op.getFunction().getKind()) {
  case UnaryKind::affine:
    if (params.size() == 2)
      return Affine{op.getInput(), params[0], params[1]};
    return std::nullopt;
  case UnaryKind::neg:
    return Affine{op.getInput(), -1, 0};
  default:
    return std::nullopt;
  }
}

static std::optional<Affine> affineOfBinary(BinaryOp op) {
  auto lhs = splatOf(op.getLhs()), rhs = splatOf(op.getRhs());
  if (lhs.has_value() == rhs.has_value())
    return std::nullopt;
  Value input = lhs ? op.getRhs() : op.getLhs();
  double number = lhs ? *lhs : *rhs;
  if (!std::isfinite(number))
    return std::nullopt;
  switch (op.getKind()) {
  case BinaryKind::add:
    return Affine{input, 1, number};
  case BinaryKind::sub:
    return lhs ? Affine{input, -1, number} : Affine{input, 1, -number};
  case BinaryKind::mul:
    return Affine{input, number, 0};
  case BinaryKind::div:
    if (lhs || number == 0)
      return std::nullopt;
    return Affine{input, 1 / number, 0};
  default:
    return std::nullopt;
  }
}

std::optional<Affine> nnv12::affineOf(Operation *op) {
  std::optional<Affine> affine;
  if (auto unary = dyn_cast_or_null<UnaryOp>(op))
    affine = affineOfUnary(unary);
  else if (auto binary = dyn_cast_or_null<BinaryOp>(op))
    affine = affineOfBinary(binary);
  if (affine && affine->input.getType() == op->getResult(0).getType() &&
      isFloatTensor(affine->input))
    return affine;
  return std::nullopt;
}

Affine nnv12::affineOf(Value value) {
  auto affine = affineOf(value.getDefiningOp());
  return affine ? *affine : Affine{value};
}

int64_t nnv12::layerCount(func::FuncOp function) {
  return llvm::count_if(function.getOps(), [](Operation &op) {
    return !isa<ConstantOp>(op);
  });
}

bool nnv12::isClose(double a, double b) {
  return std::isfinite(a) && std::isfinite(b) &&
         std::fabs(a - b) <= 2e-6 * std::max(std::fabs(a), std::fabs(b));
}
