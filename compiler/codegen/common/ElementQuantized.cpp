//===- ElementQuantized.cpp - quantize and dequantize ---------------------===//

#include "compiler/codegen/common/ElementQuantized.h"

#include "compiler/codegen/common/Math.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;
using nn::UnaryKind;

static nn::FunctionAttr clipTo(Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  assert(width <= 16 && "f32 has all of its integers");
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  return nn::FunctionAttr::get(type.getContext(), UnaryKind::clip, {low, high});
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
  return emitCast(e.k, emitUnary(e.k, clipTo(type), x), f32, type);
}

void codegen::saturatedTypes(ElementTypes &t, Type type) {
  Type f32 = Float32Type::get(type.getContext());
  unaryTypes(t, rounding(type.getContext()), f32);
  unaryTypes(t, clipTo(type), f32);
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

static Value emitQuantize(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  auto quantize = cast<nn::QuantizeOp>(op);
  Value zero = quantize.getZero();
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
  Value x = emitUnary(e.k, rounding(type.getContext()),
                      emitQuotient(e, quantize, index));
  auto limit = [&](double bound) {
    Value number = e.k.fconst(bound, f32);
    return zero ? e.binary(BinaryKind::sub, number, zero) : number;
  };
  double most = std::ldexp(1.0, int(type.getIntOrFloatBitWidth())) - 1;
  auto nearer = [&](Value bound, arith::CmpFPredicate isWithin) {
    e.unify(x, bound);
    Value keeps = arith::CmpFOp::create(e.k.b, isWithin, x, bound);
    x = e.k.select(keeps, x, bound);
  };
  // Among integers there is one zero.
  x = e.binary(BinaryKind::add, x, e.k.fconst(0, f32));
  // NaN becomes the least number, as it does where it becomes an unsigned one.
  nearer(limit(0), arith::CmpFPredicate::OGT);
  nearer(limit(most), arith::CmpFPredicate::OLT);
  return x;
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
