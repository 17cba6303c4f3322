//===- NNOps.cpp - Verifiers and assembly of layers -----------------------===//

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nnv12::nn;

// A constant's type is its value's; only a layout makes them differ:
//   dense<1.0> : tensor<2x16xf32> -> tensor<2x16xf32, #nn.layout<"aB16b">>
static ParseResult parseTypedValue(OpAsmParser &parser, ElementsAttr &value,
                                   Type &type) {
  if (parser.parseAttribute(value))
    return failure();
  type = value.getShapedType();
  return succeeded(parser.parseOptionalArrow()) ? parser.parseType(type)
                                                : success();
}

static void printTypedValue(OpAsmPrinter &printer, Operation *,
                            ElementsAttr value, Type type) {
  printer << value;
  if (type != value.getShapedType())
    printer << " -> " << type;
}

#define GET_OP_CLASSES
#include "dialects/nn/NNOps.cpp.inc"

LogicalResult ConstantOp::verify() {
  if (equalIgnoringLayout(getValue().getShapedType(), getType()))
    return success();
  return emitOpError() << "found a value of type " << getValue().getShapedType()
                       << ", expected " << getType();
}

LogicalResult AdaptOp::verify() {
  if (equalIgnoringLayout(getInput().getType(), getType()))
    return success();
  return emitOpError("found types that differ in more than their layout");
}

LogicalResult CastOp::verify() {
  if (getInput().getType().getShape() != getType().getShape())
    return emitOpError("found shapes that differ, expected the same");
  Type element = getType().getElementType();
  if (getRounding() != Rounding::nearest && !isa<Float8E8M0FNUType>(element))
    return emitOpError() << "found rounding "
                         << stringifyRounding(getRounding()) << " to "
                         << element << ", expected f8E8M0FNU";
  return success();
}

LogicalResult BitCastOp::verify() {
  auto in = getInput().getType(), out = getType();
  Type from = in.getElementType(), to = out.getElementType();
  // A bool has a byte to itself, of which one bit counts.
  if (in.getShape() == out.getShape() && !from.isInteger(1) &&
      !to.isInteger(1) &&
      from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
    return success();
  return emitOpError() << "found " << in << " to " << out
                       << ", expected one shape and elements of one width";
}

LogicalResult ReshapeOp::verify() {
  auto in = getInput().getType(), out = getType();
  if (in.getElementType() == out.getElementType() &&
      in.getNumElements() == out.getNumElements())
    return success();
  return emitOpError() << "found " << in << " to " << out
                       << ", expected the same number and type of elements";
}

LogicalResult BroadcastOp::verify() {
  auto in = getInput().getType(), out = getType();
  if (in.getElementType() == out.getElementType() &&
      broadcastsTo(in.getShape(), out.getShape()))
    return success();
  return emitOpError() << "found " << in << " to " << out
                       << ", expected dimensions of size one to grow";
}

LogicalResult ResizeOp::verify() {
  auto in = getInput().getType(), out = getType();
  if (isSmall(in.getElementType()))
    return emitOpError() << "found elements of " << in.getElementType()
                         << ", expected a type to compute with";
  if (in.getRank() != out.getRank() ||
      (int64_t)getScales().size() != in.getRank())
    return emitOpError() << "found " << getScales().size() << " scales for "
                         << in << " to " << out
                         << ", expected one for each dimension";
  if (getRoi() && (int64_t)getRoi()->size() != 2 * in.getRank())
    return emitOpError() << "found " << getRoi()->size()
                         << " roi values, expected " << 2 * in.getRank();
  // Coordinates, which they are multiplied to, stay exact in f64.
  constexpr double mostRoi = 1 << 20;
  if (std::optional<ArrayRef<double>> roi = getRoi())
    for (double value : *roi)
      if (!(std::abs(value) <= mostRoi))
        return emitOpError()
               << "found a roi of " << value << ", expected from -" << mostRoi
               << " to " << mostRoi;
  if (in.getNumElements() == 0 && out.getNumElements() != 0)
    return emitOpError("found an empty input, expected elements");
  return success();
}

LogicalResult RecurrentOp::verify() {
  auto gates = getGates().getType(), r = getRecurrentWeights().getType();
  for (Type element : {gates.getElementType(), r.getElementType()})
    if (isSmall(element))
      return emitOpError() << "found elements of " << element
                           << ", expected a type to compute with";
  int64_t multiple = getKind() == RecurrentKind::lstm  ? 4
                     : getKind() == RecurrentKind::gru ? 3
                                                       : 1;
  if (gates.getRank() != 3 || r.getRank() != 2 ||
      r.getDimSize(0) != multiple * r.getDimSize(1) ||
      gates.getDimSize(2) != r.getDimSize(0))
    return emitOpError() << "found gates " << gates << " and recurrent weights "
                         << r << ", expected [T, B, " << multiple << "*H] and ["
                         << multiple << "*H, H]";
  int64_t t = gates.getDimSize(0), b = gates.getDimSize(1), h = r.getDimSize(1);
  auto is = [](Value v, ArrayRef<int64_t> shape) {
    return !v || cast<RankedTensorType>(v.getType()).getShape() == shape;
  };
  if (!is(getRecurrentBias(), {h}) || !is(getInitialH(), {b, h}) ||
      !is(getInitialC(), {b, h}) || !is(getPeepholes(), {3 * h}) ||
      !is(getLengths(), {b}) || !is(getAll(), {t, b, h}) ||
      !is(getLastH(), {b, h}) || !is(getLastC(), {b, h}))
    return emitOpError() << "found operands or results that do not fit " << t
                         << " steps, batch " << b << ", hidden size " << h;
  Type element = gates.getElementType();
  for (Value v :
       {Value(getRecurrentWeights()), Value(getRecurrentBias()),
        Value(getInitialH()), Value(getInitialC()), Value(getPeepholes()),
        Value(getAll()), Value(getLastH()), Value(getLastC())})
    if (v && getElementTypeOrSelf(v) != element)
      return emitOpError() << "found an operand or result of " << v.getType()
                           << ", expected elements of " << element
                           << ", as the gates";
  if (Value lengths = getLengths())
    if (!getElementTypeOrSelf(lengths).isInteger(32))
      return emitOpError() << "found lengths of "
                           << getElementTypeOrSelf(lengths) << ", expected i32";
  size_t functions = getKind() == RecurrentKind::lstm  ? 3
                     : getKind() == RecurrentKind::gru ? 2
                                                       : 1;
  if (getActivations().size() != functions ||
      !llvm::all_of(getActivations(), llvm::IsaPred<FunctionAttr>))
    return emitOpError() << "found " << getActivations().size()
                         << " activations, expected " << functions;
  return success();
}

//===----------------------------------------------------------------------===//
// nn.fuse (%arg = %value, …) : types -> type { … }
//===----------------------------------------------------------------------===//

ParseResult FuseOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto one = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  SmallVector<Type> types;
  Type output;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon())
    return failure();
  auto type = [&]() -> ParseResult {
    return parser.parseType(types.emplace_back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, type) ||
      parser.parseArrow() || parser.parseType(output) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  for (auto [argument, t] : llvm::zip(arguments, types))
    argument.type = t;
  result.addTypes(output);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FuseOp::print(OpAsmPrinter &p) {
  p << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), p,
                        [&](auto pair) {
                          p.printOperand(std::get<0>(pair));
                          p << " = ";
                          p.printOperand(std::get<1>(pair));
                        });
  p << ")";
  p.printOptionalAttrDict((*this)->getAttrs());
  p << " : (";
  llvm::interleaveComma(getInputs().getTypes(), p);
  p << ") -> " << getOutput().getType() << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult FuseOp::verify() {
  Block &block = getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), getInputs().getTypes()))
    return emitOpError("found block arguments that differ from the operands");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 ||
      yield.getValues()[0].getType() != getType())
    return emitOpError("expected to yield one value of the result's type");
  return success();
}
