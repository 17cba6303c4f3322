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

static Value emitQuantize(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  auto quantize = cast<nn::QuantizeOp>(op);
  Value zero = quantize.getZero();
  Value x = e.element(quantize.getInput(), index);
  e.addCost(10);
  x = e.binary(BinaryKind::div, x,
               broadcastElement(e, quantize.getScale(), index));
  Coords zeroIndex;
  if (zero)
    zeroIndex = e.broadcastIndex(index, e.view(zero).shape);
  return emitSaturated(e, x, zero, zeroIndex,
                       e.elementType(quantize.getOutput()));
}

static Value emitDequantize(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto dequantize = cast<nn::DequantizeOp>(op);
  Type i32 = e.k.b.getI32Type(), integer = e.elementType(dequantize.getInput());
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
