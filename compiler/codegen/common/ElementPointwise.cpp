//===- ElementPointwise.cpp - Element-wise layers -------------------------===//

#include "compiler/codegen/common/Element.h"
#include "compiler/codegen/common/Math.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

/// The cost of one vector of a function, in cheap instructions.
static double costOf(nn::UnaryKind kind, Type type) {
  using K = nn::UnaryKind;
  double wide = type.isF64() ? 2 : 1;
  switch (kind) {
  case K::exp:
  case K::log:
  case K::sigmoid:
  case K::swish:
  case K::erf:
  case K::tanh:
  case K::gelu:
  case K::gelu_tanh:
  case K::elu:
  case K::celu:
  case K::selu:
  case K::mish:
  case K::softplus:
    return 20 * wide;
  case K::sin:
  case K::cos:
  case K::tan:
  case K::asin:
  case K::acos:
  case K::atan:
  case K::sinh:
  case K::cosh:
  case K::asinh:
  case K::acosh:
  case K::atanh:
    return 100;
  case K::reciprocal:
  case K::sqrt:
  case K::softsign:
    return 6;
  default:
    return 1;
  }
}

static Value emitUnaryLayer(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto unary = cast<nn::UnaryOp>(op);
  Value input = unary.getInput();
  Value x = e.element(input, index);
  e.addCost(costOf(unary.getFunction().getKind(), e.elementType(input)));
  return emitUnary(e.k, unary.getFunction(), x, e.isUnsigned(input));
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

static Value emitSelectLayer(ElementEmitter &e, Operation *op,
                             ArrayRef<Coord> index) {
  auto select = cast<nn::SelectOp>(op);
  Value condition = operandAt(e, select.getCondition(), index);
  Value lhs = operandAt(e, select.getLhs(), index);
  Value rhs = operandAt(e, select.getRhs(), index);
  e.unify(lhs, rhs);
  if (isa<VectorType>(condition.getType())) {
    lhs = e.allLanes(lhs);
    rhs = e.allLanes(rhs);
  }
  return arith::SelectOp::create(e.k.b, condition, lhs, rhs);
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

static Value emitBitCastLayer(ElementEmitter &e, Operation *op,
                              ArrayRef<Coord> index) {
  auto cast = llvm::cast<nn::BitCastOp>(op);
  Type from = e.elementType(cast.getInput()),
       to = e.elementType(cast.getOutput());
  Value bits = toStorage(e.k, e.element(cast.getInput(), index), from);
  Type stored = storageType(to);
  if (auto vector = dyn_cast<VectorType>(bits.getType()))
    stored = VectorType::get(vector.getShape(), stored);
  return toCompute(e.k, arith::BitcastOp::create(e.k.b, stored, bits), to);
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

ArrayRef<ElementFunction> codegen::pointwiseFunctions() {
  static const ElementFunction functions[] = {
      {"nn.unary", emitUnaryLayer},     {"nn.binary", emitBinaryLayer},
      {"nn.select", emitSelectLayer},   {"nn.cast", emitCastLayer},
      {"nn.bitcast", emitBitCastLayer}, {"nn.adapt", emitAdapt},
      {"nn.broadcast", emitBroadcast},  {"nn.constant", emitConstant},
  };
  return functions;
}
