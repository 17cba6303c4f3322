//===- Match.cpp - Facts of values that patterns match --------------------===//
#include "passes/simplify/Match.h"

#include "llvm/ADT/APFloat.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

std::optional<double> nnv12::splatOf(Value value) {
  auto constant = ConstantData::get(value);
  return constant ? constant->splat() : std::nullopt;
}

std::optional<SmallVector<double>>
nnv12::perIndexOf(Value value, ArrayRef<int64_t> shape, int64_t axis) {
  auto constant = ConstantData::get(value);
  if (!constant || constant->type().getNumElements() == 0 ||
      constant->type().getRank() > static_cast<int64_t>(shape.size()))
    return std::nullopt;
  assert(axis >= 0 && axis < static_cast<int64_t>(shape.size()) &&
         "an axis of the shape");
  int64_t extent = shape[axis];
  if (constant->isSplat())
    return SmallVector<double>(extent, constant->asDouble(0));
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
    values.push_back(constant->asDouble(varies ? i : 0));
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
  UnaryKind kind = op.getFunction().getKind();
  if (kind == UnaryKind::affine && params.size() == 2)
    return Affine{op.getInput(), params[0], params[1]};
  if (kind == UnaryKind::neg)
    return Affine{op.getInput(), -1, 0};
  return std::nullopt;
}

bool nnv12::isRepresentable(double number, Type element) {
  const ElementCodec *codec = ElementCodec::get(element);
  auto type = dyn_cast<FloatType>(element);
  if (!codec || !type)
    return false;
  alignas(8) char bytes[8];
  double stored;
  codec->storeDouble(&number, 1, bytes);
  codec->loadDouble(bytes, 0, 1, &stored);
  double least = llvm::APFloat::getSmallestNormalized(type.getFloatSemantics())
                     .convertToDouble();
  return std::isfinite(stored) && (number == 0 || std::fabs(stored) >= least);
}

bool nnv12::isPowerOfTwo(double number) {
  int exponent;
  return std::fabs(std::frexp(number, &exponent)) == 0.5;
}

static std::optional<Affine> affineOfBinary(BinaryOp op, Exactness exactness) {
  auto lhs = splatOf(op.getLhs()), rhs = splatOf(op.getRhs());
  if (lhs.has_value() == rhs.has_value())
    return std::nullopt;
  Value input = lhs ? op.getRhs() : op.getLhs();
  double number = lhs ? *lhs : *rhs;
  if (!std::isfinite(number))
    return std::nullopt;
  // An affine without a shift is a product: x + 0 makes 0 of -0, and so does
  // 0 - x of 0.
  bool isPositiveZero = number == 0 && !std::signbit(number);
  switch (op.getKind()) {
  case BinaryKind::add:
    if (isPositiveZero)
      return std::nullopt;
    return Affine{input, 1, number};
  case BinaryKind::sub:
    if (number == 0 && isPositiveZero == lhs.has_value())
      return std::nullopt;
    return lhs ? Affine{input, -1, number} : Affine{input, 1, -number};
  case BinaryKind::mul:
    return Affine{input, number, 0};
  case BinaryKind::div:
    if (lhs || number == 0 ||
        (exactness == Exactness::asSpelled && !isPowerOfTwo(number)) ||
        !isRepresentable(1 / number, typeOf(op).getElementType()))
      return std::nullopt;
    return Affine{input, 1 / number, 0};
  default:
    return std::nullopt;
  }
}

std::optional<Affine> nnv12::affineOf(Operation *op, Exactness exactness) {
  std::optional<Affine> affine;
  if (auto unary = dyn_cast_or_null<UnaryOp>(op))
    affine = affineOfUnary(unary);
  else if (auto binary = dyn_cast_or_null<BinaryOp>(op))
    affine = affineOfBinary(binary, exactness);
  if (affine && affine->input.getType() == op->getResult(0).getType() &&
      isFloatTensor(affine->input))
    return affine;
  return std::nullopt;
}

Affine nnv12::affineOf(Value value, Exactness exactness) {
  auto affine = affineOf(value.getDefiningOp(), exactness);
  return affine ? *affine : Affine{value};
}

bool nnv12::cancel(double first, double second) {
  return first != 0 && second != 0 &&
         std::fabs(first + second) < 1e-3 * std::fabs(second);
}

std::optional<Affine> nnv12::compose(const Affine &outer, const Affine &inner,
                                     Exactness exactness) {
  Type element = typeOf(inner.input).getElementType();
  double scale = outer.scale * inner.scale;
  double shift = outer.scale * inner.shift + outer.shift;
  if (!isRepresentable(scale, element) || !isRepresentable(shift, element) ||
      (scale == 0 && outer.scale != 0 && inner.scale != 0))
    return std::nullopt;
  // Exact factors change no rounding.
  if ((isPowerOfTwo(outer.scale) && outer.shift == 0) ||
      (isPowerOfTwo(inner.scale) && inner.shift == 0))
    return Affine{inner.input, scale, shift};
  // A product and a sum are rounded once instead of twice.
  bool isProductAndSum = inner.shift == 0 && outer.scale == 1;
  if (exactness == Exactness::asSpelled && !isProductAndSum)
    return std::nullopt;
  if (cancel(outer.scale * inner.shift, outer.shift) ||
      std::fabs(outer.scale * inner.shift) > largestShift)
    return std::nullopt;
  return Affine{inner.input, scale, shift};
}

Affine nnv12::affineChainOf(Value value) {
  Affine chain{value};
  while (auto inner = affineOf(chain.input.getDefiningOp(), Exactness::any)) {
    auto longer = compose(chain, *inner, Exactness::any);
    if (!longer)
      break;
    chain = *longer;
  }
  return chain;
}

static FunctionAttr lastActivation(Operation *op) {
  if (auto unary = dyn_cast_or_null<UnaryOp>(op))
    return unary.getFunction();
  if (auto conv = dyn_cast_or_null<ConvOp>(op))
    return conv.getResidual() || conv.getResidualActivation()
               ? conv.getResidualActivationAttr()
               : conv.getActivationAttr();
  return {};
}

bool nnv12::isNonNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto affine = affineOf(op); affine && affine->shift > 0)
    return affine->scale >= 0 && isNonNegative(affine->input);
  if (auto binary = dyn_cast_or_null<BinaryOp>(op))
    return binary.getKind() == BinaryKind::mul &&
           binary.getLhs() == binary.getRhs();
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
    return typeOf(reduce.getInput()).getNumElements() > 0 &&
           isNonNegative(reduce.getInput());
  FunctionAttr function = lastActivation(op);
  if (!function)
    return false;
  ArrayRef<double> params = function.getParams();
  switch (function.getKind()) {
  case UnaryKind::relu:
  case UnaryKind::sigmoid:
  case UnaryKind::hard_sigmoid:
  case UnaryKind::abs:
  case UnaryKind::exp:
    return true;
  case UnaryKind::clip:
    return params.size() == 2 && params[0] >= 0 && params[1] >= 0;
  default:
    return false;
  }
}

static double nearestHalf(double number) {
  llvm::APFloat half(number);
  bool losesInfo;
  half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  return half.convertToDouble();
}

bool nnv12::isClose(double found, double wanted) {
  auto agree = [](double a, double b) {
    return std::isfinite(a) && std::isfinite(b) &&
           std::fabs(a - b) <= 2e-6 * std::max(std::fabs(a), std::fabs(b));
  };
  return agree(found, wanted) || agree(found, nearestHalf(wanted)) ||
         agree(1 / found, nearestHalf(1 / wanted));
}
