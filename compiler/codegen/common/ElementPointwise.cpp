//===- ElementPointwise.cpp - Element-wise layers -------------------------===//

#include "compiler/codegen/common/ElementTypes.h"
#include "compiler/codegen/common/Math.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/SmallTypes.h"

#include <array>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

/// The cost of one vector of a function, in cheap instructions.
static double costOf(nn::UnaryKind kind, Type type) {
  using K = nn::UnaryKind;
  FloatWay way = wayOf(kind);
  if (way.throughF64)
    return 100;
  if (way.takesBits)
    return type.isF64() ? 40 : 20;
  return llvm::is_contained({K::reciprocal, K::sqrt, K::softsign}, kind) ? 6
                                                                         : 1;
}

static Value emitUnaryLayer(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto unary = cast<nn::UnaryOp>(op);
  Value input = unary.getInput();
  Value x = e.element(input, index);
  e.addCost(costOf(unary.getFunction().getKind(), e.elementType(input)));
  return emitUnary(e.k, unary.getFunction(), x, e.isUnsigned(input));
}

static void unaryLayerTypes(ElementTypes &t, Operation *op) {
  auto unary = cast<nn::UnaryOp>(op);
  Value input = unary.getInput();
  nn::UnaryKind kind = unary.getFunction().getKind();
  if (isa<IntegerType>(t.typeOf(input)) &&
      (kind == nn::UnaryKind::is_nan || kind == nn::UnaryKind::is_inf))
    return; // no integer is
  t.read(input);
  unaryTypes(t, unary.getFunction(), t.typeOf(input),
             ElementEmitter::isUnsigned(input), t.castFrom(input));
}

static Value operandAt(ElementEmitter &e, Value operand,
                       ArrayRef<Coord> index) {
  return e.element(operand, e.broadcastIndex(index, e.view(operand).shape));
}

static Value emitBinaryLayer(ElementEmitter &e, Operation *op,
                             ArrayRef<Coord> index) {
  auto binary = cast<nn::BinaryOp>(op);
  Value lhs = operandAt(e, binary.getLhs(), index);
  Value rhs = operandAt(e, binary.getRhs(), index);
  Type left = e.elementType(binary.getLhs()),
       right = e.elementType(binary.getRhs());
  e.addCost(binary.getKind() == nn::BinaryKind::pow   ? 100
            : binary.getKind() == nn::BinaryKind::div ? 5
                                                      : 0);
  e.unify(lhs, rhs);
  if (left != right && isa<IntegerType>(left) && isa<FloatType>(right)) {
    // An integer to a real power (Pow): computed in f64.
    Type f64 = e.k.b.getF64Type();
    Value result =
        emitBinary(e.k, binary.getKind(), emitCast(e.k, lhs, left, f64),
                   emitCast(e.k, rhs, right, f64));
    return emitCast(e.k, result, f64, left);
  }
  rhs = emitCast(e.k, rhs, right, left);
  return emitBinary(e.k, binary.getKind(), lhs, rhs,
                    e.isUnsigned(binary.getLhs()));
}

/// The types after simplification of operands that are casts of integers.
static void castOperandTypes(ElementTypes &t, nn::BinaryOp binary, Type type) {
  using K = nn::BinaryKind;
  std::array<Value, 2> operands = {binary.getLhs(), binary.getRhs()};
  auto computeIn = [&](Value operand) {
    if (Type from = t.castFrom(operand))
      t.compute(from);
  };
  auto isConstant = [&](Value operand) {
    return isa_and_nonnull<nn::ConstantOp>(t.originOf(operand));
  };
  bool isReal = isa<FloatType>(type);
  switch (binary.getKind()) {
  case K::equal:
  case K::bitwise_and:
  case K::bitwise_or:
  case K::bitwise_xor:
    // If both integers are widened alike, the narrow ones are used.
    if (!isReal &&
        llvm::all_of(operands, [&](Value v) { return t.castFrom(v); }))
      for (Value v : operands)
        for (; t.castFrom(v); v = t.castBehind(v).getInput())
          computeIn(v);
    [[fallthrough]];
  case K::less:
  case K::less_equal:
  case K::greater:
  case K::greater_equal:
  case K::min:
  case K::max:
    if (isReal && llvm::any_of(operands, isConstant))
      llvm::for_each(operands, computeIn);
    return;
  // These compare with constants; powers of f32 do so as f64.
  case K::prelu:
    if (isReal)
      computeIn(operands[0]);
    return;
  case K::mod:
    if (isReal)
      computeIn(operands[1]);
    return;
  case K::pow:
    if (type.isF64())
      llvm::for_each(operands, computeIn);
    return;
  default:
    return;
  }
}

/// Whether the kind gives false for all truth values.
static bool isAlwaysFalse(nn::BinaryKind kind) {
  using K = nn::BinaryKind;
  return kind == K::mod || kind == K::fmod || kind == K::shift_left ||
         kind == K::shift_right;
}

static void binaryLayerTypes(ElementTypes &t, Operation *op) {
  auto binary = cast<nn::BinaryOp>(op);
  Value lhs = binary.getLhs(), rhs = binary.getRhs();
  Type left = ElementEmitter::elementType(lhs),
       right = ElementEmitter::elementType(rhs), type = computeType(left);
  if (type.isInteger(1) && isAlwaysFalse(binary.getKind()))
    return;
  t.read(lhs);
  t.read(rhs);
  if (left != right && isa<IntegerType>(left) && isa<FloatType>(right)) {
    type = Float64Type::get(type.getContext());
    castTypes(t, left, type);
    castTypes(t, right, type);
    castTypes(t, type, left);
    t.computeIn(lhs); // powers compare the base with constants
  } else {
    castTypes(t, right, left);
  }
  binaryTypes(t, binary.getKind(), type, left.isUnsignedInteger());
  castOperandTypes(t, binary, type);
}

static Value emitSelectLayer(ElementEmitter &e, Operation *op,
                             ArrayRef<Coord> index) {
  auto select = cast<nn::SelectOp>(op);
  Value condition = operandAt(e, select.getCondition(), index);
  Value lhs = operandAt(e, select.getLhs(), index);
  Value rhs = operandAt(e, select.getRhs(), index);
  return e.select(condition, lhs, rhs);
}

static void selectTypes(ElementTypes &t, Operation *op) {
  for (Value operand : op->getOperands())
    t.read(operand);
  t.computeIn(op->getResult(0));
}

static Value emitCastLayer(ElementEmitter &e, Operation *op,
                           ArrayRef<Coord> index) {
  auto cast = llvm::cast<nn::CastOp>(op);
  Type from = e.elementType(cast.getInput()),
       to = e.elementType(cast.getOutput());
  if (nn::smallFloat(from) || nn::smallFloat(to))
    e.addCost(10);
  return emitCast(e.k, e.element(cast.getInput(), index), from, to,
                  cast.getSaturate(), cast.getRounding());
}

static void castLayerTypes(ElementTypes &t, Operation *op) {
  Value input = op->getOperand(0);
  Type to = ElementEmitter::elementType(op->getResult(0));
  auto isPlain = [](Type type) {
    return !nn::isSmall(type) && !type.isInteger(1);
  };
  // Numbers that became wider before are cast in one step.
  while (nn::CastOp inner = t.castBehind(input)) {
    Type first = ElementEmitter::elementType(inner.getInput()),
         wide = ElementEmitter::elementType(input);
    auto width = [](Type type) {
      return computeType(type).getIntOrFloatBitWidth();
    };
    auto isFloat = [](Type type) { return isa<FloatType>(type); };
    bool becomesWider =
        !nn::isSmall(first) && isPlain(wide) &&
        (isFloat(first) ? isFloat(wide) && width(first) < width(wide)
                        : isFloat(wide) || width(first) < width(wide));
    if (!becomesWider || !isPlain(to) || isFloat(to) != isFloat(wide) ||
        width(to) >= width(wide))
      break;
    input = inner.getInput();
  }
  t.read(input);
  Type from = ElementEmitter::elementType(input);
  castTypes(t, from, to);
  // Truth values are compared with zero, and chosen by as integers of integers.
  if (Type before = t.castFrom(input)) {
    if (to.isInteger(1))
      t.compute(before);
    else if (before.isInteger(1) && isa<IntegerType>(from) &&
             isa<IntegerType>(to))
      t.compute(computeType(to));
  }
  // A cast to 8 bits becomes shifts of the 16 bits that the value gets.
  if (t.castBehind(input) && from.isInteger(8) && to.isInteger(16))
    t.compute(computeType(to));
}

static Value emitBitCastLayer(ElementEmitter &e, Operation *op,
                              ArrayRef<Coord> index) {
  auto cast = llvm::cast<nn::BitCastOp>(op);
  Type from = e.elementType(cast.getInput()),
       to = e.elementType(cast.getOutput());
  Value bits = toStorage(e.k, e.element(cast.getInput(), index), from);
  Type stored = withElement(bits.getType(), storageType(to));
  return toCompute(e.k, arith::BitcastOp::create(e.k.b, stored, bits), to);
}

static void bitCastTypes(ElementTypes &t, Operation *op) {
  Value input = op->getOperand(0), output = op->getResult(0);
  t.read(input);
  storeTypes(t, ElementEmitter::elementType(input));
  loadTypes(t, ElementEmitter::elementType(output));
  Type from = storageType(ElementEmitter::elementType(input)),
       to = storageType(ElementEmitter::elementType(output));
  if (from == to)
    return;
  t.compute(from);
  t.compute(to);
}

static Value emitAdapt(ElementEmitter &e, Operation *op,
                       ArrayRef<Coord> index) {
  return e.element(op->getOperand(0), index);
}

static Value emitBroadcast(ElementEmitter &e, Operation *op,
                           ArrayRef<Coord> index) {
  return operandAt(e, op->getOperand(0), index);
}

/// A constant inside a nn.fuse: one value everywhere, or a table.
static Value emitConstant(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  Value output = op->getResult(0);
  auto data = nn::ConstantData::get(output);
  Type element = e.elementType(output), compute = computeType(element);
  bool coded = nn::smallFloat(element);
  if (data->size() > 0 && data->splat()) {
    if (coded)
      return e.k.iconst(data->bytes().front(), compute);
    if (isa<FloatType>(element))
      return e.k.fconst(data->asDouble(0), compute);
    return e.k.iconst(data->asInt(0), compute);
  }
  SmallVector<double> values;
  if (coded)
    values.assign(data->bytes().begin(), data->bytes().end());
  else
    values = data->asDoubles();
  bool isReal = isa<FloatType>(compute);
  Value table = e.table(values, isReal ? compute : storageType(element));
  Value x = e.load(table, e.linearize(index, e.view(output).shape));
  return isReal ? x : toCompute(e.k, x, element);
}

static void constantTypes(ElementTypes &t, Operation *op) {
  Value output = op->getResult(0);
  auto data = nn::ConstantData::get(output);
  Type element = ElementEmitter::elementType(output),
       compute = computeType(element);
  if (data->size() > 0 && data->splat())
    return t.compute(compute);
  bool isReal = isa<FloatType>(compute);
  t.addTable(isReal ? compute : storageType(element));
  if (!isReal)
    loadTypes(t, element);
}

ArrayRef<ElementFunction> codegen::pointwiseFunctions() {
  static const ElementFunction functions[] = {
      {"nn.unary", emitUnaryLayer, unaryLayerTypes},
      {"nn.binary", emitBinaryLayer, binaryLayerTypes},
      {"nn.select", emitSelectLayer, selectTypes},
      {"nn.cast", emitCastLayer, castLayerTypes},
      {"nn.bitcast", emitBitCastLayer, bitCastTypes},
      {"nn.adapt", emitAdapt, ElementTypes::moved},
      {"nn.broadcast", emitBroadcast, ElementTypes::moved},
      {"nn.constant", emitConstant, constantTypes},
  };
  return functions;
}
