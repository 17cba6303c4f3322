//===- ElementQuantized.cpp - quantize and dequantize ---------------------===//

#include "compiler/codegen/common/ElementQuantized.h"

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/Reciprocal.h"
#include "dialects/nn/ConstantData.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;
using nn::UnaryKind;

namespace {
/// The integers that a type of at most 16 bits holds.
struct IntegerRange {
  int least, most;
};
} // namespace

static IntegerRange rangeOf(Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  assert(width <= 16 && "f32 has all of its integers");
  int most = (1 << width) - 1, half = 1 << (width - 1);
  return type.isUnsignedInteger() ? IntegerRange{0, most}
                                  : IntegerRange{-half, half - 1};
}

/// x, or the bound that it is beyond; `low` for NaN.
static Value emitWithin(ElementEmitter &e, Value x, Value low, Value high) {
  for (auto [bound, isWithin] : {std::pair(low, arith::CmpFPredicate::OGT),
                                 {high, arith::CmpFPredicate::OLT}}) {
    e.unify(x, bound);
    Value keeps = arith::CmpFOp::create(e.k.b, isWithin, x, bound);
    x = e.k.select(keeps, x, bound);
  }
  return x;
}

static nn::FunctionAttr rounding(MLIRContext *context) {
  return nn::FunctionAttr::get(context, UnaryKind::round);
}

Value codegen::emitSaturated(ElementEmitter &e, Value x, Value zero,
                             ArrayRef<Coord> index, Type type) {
  Type f32 = e.k.b.getF32Type();
  x = emitUnary(e.k, rounding(type.getContext()), x);
  if (zero)
    x = e.binary(BinaryKind::add, x,
                 emitCast(e.k, e.element(zero, index), type, f32));
  IntegerRange range = rangeOf(type);
  x = emitWithin(e, x, e.k.fconst(range.least, f32),
                 e.k.fconst(range.most, f32));
  return emitCast(e.k, x, f32, type);
}

Value codegen::emitRounded(ElementEmitter &e, Value x, Value zero, Type type) {
  Type f32 = e.k.b.getF32Type();
  x = emitUnary(e.k, rounding(type.getContext()), x);
  auto limit = [&](int bound) {
    Value number = e.k.fconst(bound, f32);
    return zero ? e.binary(BinaryKind::sub, number, zero) : number;
  };
  // Among integers there is one zero.
  x = e.binary(BinaryKind::add, x, e.k.fconst(0, f32));
  IntegerRange range = rangeOf(type);
  return emitWithin(e, x, limit(range.least), limit(range.most));
}

void codegen::saturatedTypes(ElementTypes &t, Type type) {
  Type f32 = Float32Type::get(type.getContext());
  unaryTypes(t, rounding(type.getContext()), f32);
  t.compute(f32);
  castTypes(t, type, f32);
  castTypes(t, f32, type);
}

static Value broadcastElement(ElementEmitter &e, Value operand,
                              ArrayRef<Coord> index) {
  return e.element(operand, e.broadcastIndex(index, e.view(operand).shape));
}

static Value emitQuotient(ElementEmitter &e, nn::QuantizeOp quantize,
                          ArrayRef<Coord> index) {
  e.addCost(10);
  return e.binary(BinaryKind::div, e.element(quantize.getInput(), index),
                  broadcastElement(e, quantize.getScale(), index));
}

namespace {
/// The reciprocal and the zero point of a quantize that are known now.
struct ByReciprocal {
  Reciprocal reciprocal;
  int zero;
};
} // namespace

static std::optional<ByReciprocal> byReciprocal(const ElementEmitter &e,
                                                nn::QuantizeOp quantize) {
  auto splat = [](Value value) {
    auto constant = nn::ConstantData::get(value);
    return constant ? constant->splat() : std::nullopt;
  };
  Type type = e.elementType(quantize.getOutput());
  unsigned width = type.getIntOrFloatBitWidth();
  std::optional<double> scale = splat(quantize.getScale()), zero = 0;
  if (quantize.getZero())
    zero = splat(quantize.getZero());
  if (!e.k.fuses || !scale || !zero || (width != 8 && width != 16))
    return std::nullopt;
  IntegerRange range = rangeOf(type);
  int middle = int(*zero);
  auto reciprocal =
      reciprocalOf(float(*scale), range.least - middle, range.most - middle);
  if (!reciprocal)
    return std::nullopt;
  return ByReciprocal{*reciprocal, middle};
}

/// Added to a number below 2^22, it leaves the nearest integer in the low bits.
static constexpr double roundsToInteger = 0x1.8p23;

/// The integer that quantize makes of an element, less the zero point, plus
/// roundsToInteger.
static Value emitByReciprocal(ElementEmitter &e, nn::QuantizeOp quantize,
                              const Reciprocal &reciprocal,
                              ArrayRef<Coord> index) {
  BuilderBase &k = e.k;
  e.addCost(5);
  Value x = e.element(quantize.getInput(), index);
  auto c = [&](double number) { return k.fconst(number, x.getType()); };
  x = emitWithin(e, x, c(reciprocal.smallest), c(reciprocal.largest));
  x = k.fma(x, c(reciprocal.high),
            arith::MulFOp::create(k.b, x, c(reciprocal.low)));
  return arith::AddFOp::create(k.b, x, c(roundsToInteger));
}

static Value emitQuantize(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  auto quantize = cast<nn::QuantizeOp>(op);
  Value zero = quantize.getZero();
  if (auto by = byReciprocal(e, quantize)) {
    BuilderBase &k = e.k;
    Value x = emitByReciprocal(e, quantize, by->reciprocal, index);
    Type ints = withElement(x.getType(), k.b.getI32Type());
    x = arith::BitcastOp::create(k.b, ints, x);
    if (by->zero)
      x = arith::AddIOp::create(k.b, x, k.iconst(by->zero, ints));
    Type type = computeType(e.elementType(quantize.getOutput()));
    return arith::TruncIOp::create(k.b, withElement(ints, type), x);
  }
  Value x = emitQuotient(e, quantize, index);
  Coords zeroIndex;
  if (zero)
    zeroIndex = e.broadcastIndex(index, e.view(zero).shape);
  return emitSaturated(e, x, zero, zeroIndex,
                       e.elementType(quantize.getOutput()));
}

/// The integer that `quantize` makes of an element, less the zero point `zero`,
/// as a whole number of f32: it is never an integer in between.
static Value emitRounded(ElementEmitter &e, nn::QuantizeOp quantize, Value zero,
                         ArrayRef<Coord> index) {
  Type type = e.elementType(quantize.getOutput()), f32 = e.k.b.getF32Type();
  if (auto by = byReciprocal(e, quantize))
    return e.binary(BinaryKind::sub,
                    emitByReciprocal(e, quantize, by->reciprocal, index),
                    e.k.fconst(roundsToInteger, f32));
  return emitRounded(e, emitQuotient(e, quantize, index), zero, type);
}

/// The quantize that this kernel computes before a dequantize of the same zero
/// point, of unsigned integers; or null.
static nn::QuantizeOp quantizeBefore(ElementEmitter &e,
                                     nn::DequantizeOp dequantize) {
  Value input = dequantize.getInput();
  auto quantize = input.getDefiningOp<nn::QuantizeOp>();
  return quantize && !e.isLeaf(input) && e.isUnsigned(input) &&
                 quantize.getZero() == dequantize.getZero()
             ? quantize
             : nn::QuantizeOp();
}

static Value emitDequantize(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto dequantize = cast<nn::DequantizeOp>(op);
  Type i32 = e.k.b.getI32Type(), integer = e.elementType(dequantize.getInput());
  if (nn::QuantizeOp quantize = quantizeBefore(e, dequantize)) {
    Value zero = quantize.getZero();
    if (zero)
      zero = emitCast(e.k, broadcastElement(e, zero, index), integer,
                      e.k.b.getF32Type());
    Value x = emitRounded(e, quantize, zero, index);
    return e.binary(BinaryKind::mul, x,
                    broadcastElement(e, dequantize.getScale(), index));
  }
  Value x =
      emitCast(e.k, e.element(dequantize.getInput(), index), integer, i32);
  e.addCost(3);
  if (Value zero = dequantize.getZero())
    x = e.binary(BinaryKind::sub, x,
                 emitCast(e.k, broadcastElement(e, zero, index), integer, i32));
  x = emitCast(e.k, x, i32, e.k.b.getF32Type());
  return e.binary(BinaryKind::mul, x,
                  broadcastElement(e, dequantize.getScale(), index));
}

template <typename OpTy>
static void readQuantisation(ElementTypes &t, OpTy op) {
  for (Value operand : op->getOperands())
    t.read(operand);
  t.computeIn(op.getScale());
}

static void quantizeTypes(ElementTypes &t, Operation *op) {
  auto quantize = cast<nn::QuantizeOp>(op);
  readQuantisation(t, quantize);
  saturatedTypes(t, ElementEmitter::elementType(quantize.getOutput()));
}

static void dequantizeTypes(ElementTypes &t, Operation *op) {
  auto dequantize = cast<nn::DequantizeOp>(op);
  Type i32 = IntegerType::get(op->getContext(), 32);
  readQuantisation(t, dequantize);
  t.compute(i32);
  castTypes(t, ElementEmitter::elementType(dequantize.getInput()), i32);
  castTypes(t, i32, Float32Type::get(op->getContext()));
}

ArrayRef<ElementFunction> codegen::quantizedFunctions() {
  static const ElementFunction functions[] = {
      {"nn.quantize", emitQuantize, quantizeTypes},
      {"nn.dequantize", emitDequantize, dequantizeTypes},
  };
  return functions;
}
