//===- QuantizedFactors.cpp - Float layers that multiply bytes ------------===//
#include "passes/simplify/QuantizedFactors.h"

#include "dialects/nn/NNBuild.h"
#include "dialects/nn/QuantEval.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

Value nnv12::asScalar(OpBuilder &b, Value v) {
  return v ? b.createOrFold<ReshapeOp>(
                 v.getLoc(), RankedTensorType::get({}, elementOf(v)), v)
           : v;
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string describe(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// A constant vector of these numbers.
static Value vectorOf(OpBuilder &b, Location loc, ArrayRef<double> numbers,
                      Type element) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, element);
  int64_t size = storageElementSize(element);
  SmallVector<char> bytes(numbers.size() * size);
  for (auto [i, number] : llvm::enumerate(numbers))
    storeNumber(element, number, bytes.data() + i * size);
  return createConstant(b, loc, makeConstant(type, bytes));
}

/// Integers of a byte or less as bytes; null where they are larger.
static Value asBytes(OpBuilder &b, Value v) {
  auto type = dyn_cast<IntegerType>(elementOf(v));
  if (!type || type.getWidth() > 8 || type.getWidth() < 2)
    return {};
  if (type.getWidth() == 8)
    return v;
  return b.createOrFold<CastOp>(v.getLoc(), typeOf(v).clone(b.getI8Type()), v);
}

/// A number of a scale or zero point for each index of dimension `axis` of the
/// weights, as a vector or a scalar of the same numbers; null where they go
/// along others.
static Value alongOutputs(OpBuilder &b, Value v, Value weights, int64_t axis) {
  if (isSingle(v))
    return asScalar(b, v);
  auto numbers = perIndexOf(v, typeOf(weights).getShape(), axis);
  return numbers ? vectorOf(b, v.getLoc(), *numbers, elementOf(v)) : Value();
}

static int64_t numTerms(Linear layer) {
  ArrayRef<int64_t> w = typeOf(weightsOf(layer)).getShape();
  return isa<MatMulOp>(layer.getOperation()) ? numInputs(layer)
                                             : llvm::product_of(w.drop_front());
}

std::string Factors::readFactors(Linear layer, OpBuilder &b) {
  auto left = inputOf(layer).getDefiningOp<DequantizeOp>();
  auto right = weightsOf(layer).getDefiningOp<DequantizeOp>();
  if (!left && !right)
    return "";
  if (isa<ConvTransposeOp>(layer.getOperation()))
    return "transposed convolutions are not quantised";
  if (layer.getResidual() || layer.getActivationAttr())
    return "it has a residual or an activation already";
  if (!left)
    return "its input is not quantised";
  if (!right)
    return "its weights are not quantised";
  bool isConv = isa<ConvOp>(layer.getOperation());
  Value input = left.getInput(), weights = right.getInput();
  if (!elementOf(input).isInteger(8))
    return "its input has integers of type " + describe(elementOf(input)) +
           ", expected 8 bits";
  bool isByte = elementOf(weights).isInteger(8);
  if ((isConv || !isByte) && !ConstantData::get(weights))
    return "its weights are computed";
  Value bytes = asBytes(b, weights);
  if (!bytes)
    return "its weights have integers of type " + describe(elementOf(weights)) +
           ", expected at most 8 bits";
  if (!isSingle(left.getScale()) || !isSingle(left.getZero()))
    return llvm::formatv("its input has {0} scales, expected one",
                         typeOf(left.getScale()).getNumElements());
  int64_t axis = weightsAxis(layer);
  wScale = alongOutputs(b, right.getScale(), weights, axis);
  Value zero = right.getZero();
  if (zero && !isByte)
    zero = asBytes(b, zero);
  Value wZero = zero ? alongOutputs(b, zero, weights, axis) : Value();
  if (!wScale || (zero && !wZero))
    return "its weights have scales or zero points along other dimensions than "
           "the outputs";
  xScale = asScalar(b, left.getScale());
  x = {input, asScalar(b, left.getZero())};
  w = {bytes, wZero};
  return "";
}

Value nnv12::withoutDequantize(OpBuilder &b, Value v) {
  auto op = v.getDefiningOp<DequantizeOp>();
  if (!op)
    return v;
  auto input = ConstantData::get(op.getInput());
  auto scale = ConstantData::get(op.getScale());
  auto zero = ConstantData::get(op.getZero());
  if (!input || !scale || (op.getZero() && !zero))
    return v;
  ElementsAttr value =
      evalDequantize(*input, *scale, zero ? &*zero : nullptr, op.getType());
  return value ? createConstant(b, op.getLoc(), value) : v;
}

/// Whether two scales are one, but for rounding.
static bool agree(double found, double wanted) {
  return std::fabs(found - wanted) <= 1e-6 * std::fabs(wanted);
}

/// Says why its integers are not steps of the sums, if they are not.
std::string Factors::readIntegers(DequantizeOp given, Linear layer,
                                  OpBuilder &b) {
  int64_t columns = numOutputs(layer);
  ArrayRef<int64_t> shape = given.getType().getShape();
  auto numbersOf = [&](Value v) {
    return v ? perIndexOf(v, shape, shape.size() - 1)
             : std::optional(SmallVector<double>(columns, 0));
  };
  auto integers = numbersOf(given.getInput());
  auto scales = numbersOf(given.getScale()), zeros = numbersOf(given.getZero());
  auto inScale = splatOf(xScale);
  auto weightScales = ConstantData::get(wScale);
  if (!integers || !scales || !zeros || !inScale || !weightScales)
    return "found a scale that is computed";
  double most = 0;
  for (int64_t i = 0; i < columns; ++i) {
    double wanted =
        *inScale * weightScales->asDouble(weightScales->size() == 1 ? 0 : i);
    if ((*zeros)[i] != 0)
      return "found a zero point of " + describe((*zeros)[i]) + ", expected 0";
    if (!agree((*scales)[i], wanted))
      return "found a scale of " + describe((*scales)[i]) + ", expected " +
             describe(wanted) + ", the input's times the weights'";
    most = std::max(most, std::fabs((*integers)[i]));
  }
  if (mostSum(layer) + most >= 0x1p31)
    return "found " + describe(most) + ", with which sums may leave 32 bits";
  bias = vectorOf(b, given.getLoc(), *integers, b.getI32Type());
  return "";
}

void Factors::readBias(Linear layer, OpBuilder &b) {
  Value given = layer.getBias();
  if (!given)
    return;
  // The bias of a matmul may have any shape that broadcasts.
  int64_t columns = numOutputs(layer);
  bool isVector = typeOf(given).getNumElements() == columns &&
                  typeOf(given).getRank() > 0 &&
                  typeOf(given).getShape().back() == columns;
  if (!isVector) {
    rest = given;
    return;
  }
  if (auto dequantize = given.getDefiningOp<DequantizeOp>();
      dequantize && elementOf(dequantize.getInput()).isInteger(32)) {
    floatBias = readIntegers(dequantize, layer, b);
    if (bias)
      return;
  }
  shift = b.createOrFold<ReshapeOp>(
      layer.getLoc(), RankedTensorType::get({columns}, elementOf(given)),
      withoutDequantize(b, given));
}

double Factors::mostSum(Linear layer) const {
  // With a zero point a weight is between -255 and 255.
  return double(numTerms(layer)) * 255 * (w.zero ? 255 : 128);
}

std::string Factors::read(Linear layer, OpBuilder &b) {
  std::string reason = readFactors(layer, b);
  if (!reason.empty() || !x.values)
    return reason;
  if (mostSum(layer) + mostSteps >= 0x1p31)
    return llvm::formatv("its sums of {0} products may leave 32 bits",
                         numTerms(layer));
  readBias(layer, b);
  return "";
}
