//===- NNFolders.cpp - Folds of layers ------------------------------------===//
//
// fold() of the nn operations: the value of a layer on constants, and folds
// without constants: a layer that changes nothing is its operand, two layers
// of one kind in a row are one. Nothing here may change a result by a single
// bit other than in the payload of a NaN.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether neither value has a layout of its own. Layers compose only then:
/// later, a layer between two layouts is there on purpose.
static bool areDense(ValueRange values) {
  return llvm::all_of(values,
                      [](Value value) { return !typeOf(value).getEncoding(); });
}

template <typename OpTy> static OpTy denseProducer(Operation *op) {
  auto producer = op->getOperand(0).template getDefiningOp<OpTy>();
  return producer && areDense({producer.getInput(), op->getOperand(0),
                               op->getResult(0)})
             ? producer
             : OpTy();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

OpFoldResult AdaptOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // Constants are held in logical order whatever the layout of their type.
  if (adaptor.getInput())
    return adaptor.getInput();
  if (auto producer = getInput().getDefiningOp<AdaptOp>())
    if (producer.getInput().getType() == getType())
      return producer.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) {
  FunctionAttr function = getFunction();
  UnaryKind kind = function.getKind();
  ArrayRef<double> params = function.getParams();
  bool sameType = getInput().getType() == getType();
  if (kind == UnaryKind::identity && sameType)
    return getInput();
  // x * 1 + -0.0 is x; x * 1 + 0.0 turns -0.0 into 0.0.
  if (kind == UnaryKind::affine && sameType && params.size() == 2 &&
      params[0] == 1 && params[1] == 0 &&
      (std::signbit(params[1]) ||
       isa<IntegerType>(typeOf(getInput()).getElementType())))
    return getInput();
  if (auto producer = getInput().getDefiningOp<UnaryOp>()) {
    UnaryKind inner = producer.getFunction().getKind();
    bool isInvolution = kind == UnaryKind::neg ||
                        kind == UnaryKind::logical_not ||
                        kind == UnaryKind::bitwise_not;
    if (isInvolution && inner == kind &&
        producer.getInput().getType() == getType())
      return producer.getInput();
    bool isIdempotent = kind == UnaryKind::abs || kind == UnaryKind::relu ||
                        kind == UnaryKind::floor || kind == UnaryKind::ceil ||
                        kind == UnaryKind::round || kind == UnaryKind::sign ||
                        kind == UnaryKind::clip;
    if (isIdempotent && producer.getFunction() == function && sameType)
      return getInput();
  }
  auto input = ConstantData::get(adaptor.getInput());
  return input ? evalUnary(function, *input, getType()) : ElementsAttr();
}

/// Whether `x KIND constant` (`constant KIND x` if `isLhs`) is x, bit by bit.
static bool isNeutral(BinaryKind kind, const ConstantData &constant,
                      bool isLhs) {
  auto splat = constant.splat();
  if (!splat)
    return false;
  double value = *splat;
  bool isFloat = constant.codec().domain == ElementCodec::Float;
  bool isBool = constant.type().getElementType().isInteger(1);
  switch (kind) {
  case BinaryKind::add:
    return value == 0 && (!isFloat || std::signbit(value));
  case BinaryKind::sub:
    return !isLhs && value == 0 && (!isFloat || !std::signbit(value));
  case BinaryKind::mul:
    return value == 1;
  case BinaryKind::div:
  case BinaryKind::pow:
    return !isLhs && value == 1;
  case BinaryKind::bitwise_or:
  case BinaryKind::bitwise_xor:
    return value == 0;
  case BinaryKind::logical_or:
  case BinaryKind::logical_xor:
    return isBool && value == 0;
  case BinaryKind::logical_and:
    return isBool && value == 1;
  case BinaryKind::shift_left:
  case BinaryKind::shift_right:
    return !isLhs && value == 0;
  default:
    return false;
  }
}

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  auto lhs = ConstantData::get(adaptor.getLhs());
  auto rhs = ConstantData::get(adaptor.getRhs());
  BinaryKind kind = getKind();
  if (lhs && rhs)
    return evalBinary(kind, *lhs, *rhs, getType());
  if (rhs && getLhs().getType() == getType() && isNeutral(kind, *rhs, false))
    return getLhs();
  if (lhs && getRhs().getType() == getType() && isNeutral(kind, *lhs, true))
    return getRhs();
  bool isIdempotent = kind == BinaryKind::min || kind == BinaryKind::max ||
                      kind == BinaryKind::bitwise_and ||
                      kind == BinaryKind::bitwise_or;
  if (isIdempotent && getLhs() == getRhs() && getLhs().getType() == getType())
    return getLhs();
  return {};
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() && getLhs().getType() == getType())
    return getLhs();
  auto condition = ConstantData::get(adaptor.getCondition());
  if (!condition)
    return {};
  if (condition->splat()) {
    Value chosen = condition->asInt(0) ? getLhs() : getRhs();
    if (chosen.getType() == getType())
      return chosen;
  }
  auto lhs = ConstantData::get(adaptor.getLhs());
  auto rhs = ConstantData::get(adaptor.getRhs());
  return lhs && rhs ? evalSelect(*condition, *lhs, *rhs, getType())
                    : ElementsAttr();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto input = ConstantData::get(adaptor.getInput());
  return input ? evalCast(*input, getType(), getSaturate(), getRounding())
               : ElementsAttr();
}

OpFoldResult BitCastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto data = ConstantData::get(adaptor.getInput());
  return data ? makeConstant(withLayout(getType(), ""), data->bytes())
              : ElementsAttr();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (adaptor.getInput())
    return evalReshape(adaptor.getInput(), getType());
  if (auto producer = denseProducer<ReshapeOp>(*this)) {
    if (producer.getInput().getType() == getType())
      return producer.getInput();
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentityPermutation(getPerm()) && getInput().getType() == getType())
    return getInput();
  if (auto input = ConstantData::get(adaptor.getInput()))
    return evalTranspose(getPerm(), *input, getType());
  auto producer = denseProducer<TransposeOp>(*this);
  if (!producer)
    return {};
  SmallVector<int64_t> perm = applyPermutation(producer.getPerm(), getPerm());
  if (isIdentityPermutation(perm))
    return producer.getInput();
  getInputMutable().assign(producer.getInput());
  setPerm(perm);
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto input = ConstantData::get(adaptor.getInput()))
    return evalBroadcast(*input, getType());
  if (auto producer = denseProducer<BroadcastOp>(*this)) {
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool isWhole = getInput().getType() == getType() &&
                 llvm::all_of(getStarts(), [](int64_t v) { return v == 0; }) &&
                 llvm::all_of(getSteps(), [](int64_t v) { return v == 1; });
  if (isWhole)
    return getInput();
  if (auto input = ConstantData::get(adaptor.getInput()))
    return evalSlice(getStarts(), getSteps(), *input, getType());
  auto producer = denseProducer<SliceOp>(*this);
  if (!producer)
    return {};
  SmallVector<int64_t> starts, steps;
  for (size_t i = 0; i < getStarts().size(); ++i) {
    int64_t size = getSizes()[i], step = producer.getSteps()[i];
    // Where no step is taken, it may be any number.
    starts.push_back(
        size == 0 ? 0
                  : producer.getStarts()[i] +
                        (getStarts()[i] == 0 ? 0 : getStarts()[i] * step));
    steps.push_back(size <= 1 ? 1 : getSteps()[i] * step);
  }
  getInputMutable().assign(producer.getInput());
  setStarts(starts);
  setSteps(steps);
  return getResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  SmallVector<Value> nonEmpty = llvm::filter_to_vector(
      getInputs(), [](Value v) { return typeOf(v).getNumElements() > 0; });
  if (nonEmpty.size() == 1 && nonEmpty.front().getType() == getType())
    return nonEmpty.front();
  SmallVector<ConstantData> constants;
  for (Attribute attr : adaptor.getInputs()) {
    auto constant = ConstantData::get(attr);
    if (!constant)
      break;
    constants.push_back(*constant);
  }
  if (!constants.empty() && constants.size() == getInputs().size())
    return evalConcat(getAxis(), constants, getType());
  if (!nonEmpty.empty() && nonEmpty.size() < getInputs().size()) {
    getInputsMutable().assign(nonEmpty);
    return getResult();
  }
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  // A pad that adds nothing.
  if (getInput().getType() == getType())
    return getInput();
  auto input = ConstantData::get(adaptor.getInput());
  if (!input || getMode() != PadMode::constant)
    return {};
  auto value = ConstantData::get(adaptor.getValue());
  if (getValue() && !value)
    return {};
  return evalPad(getLow(), *input, value ? &*value : nullptr, getType());
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  auto input = ConstantData::get(adaptor.getInput());
  auto indices = ConstantData::get(adaptor.getIndices());
  return input && indices ? evalGather(getAxis(), *input, *indices, getType())
                          : ElementsAttr();
}

OpFoldResult ScatterNDOp::fold(FoldAdaptor adaptor) {
  auto input = ConstantData::get(adaptor.getInput());
  auto indices = ConstantData::get(adaptor.getIndices());
  auto updates = ConstantData::get(adaptor.getUpdates());
  if (!input || !indices || !updates ||
      getReduction() != ScatterReduction::none)
    return {};
  return evalScatterND(*input, *indices, *updates, getType());
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  // Axes of size one, kept: any kind of reduction of one element is that.
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  if (getInput().getType() == getType() &&
      llvm::all_of(getAxes(), [&](int64_t axis) { return shape[axis] == 1; }))
    return getInput();
  auto input = ConstantData::get(adaptor.getInput());
  return input ? evalReduce(getKind(), getAxes(), *input, getType())
               : ElementsAttr();
}
