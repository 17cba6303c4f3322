//===- NNQuantOps.cpp - Verifiers and folds of quantised layers -----------===//

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/NNInference.h"
#include "dialects/nn/QuantEval.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nnv12::nn;

static ArrayRef<int64_t> dims(Value v) { return typeOf(v).getShape(); }

//===----------------------------------------------------------------------===//
// quantize, dequantize
//===----------------------------------------------------------------------===//

/// Checks scale and zero point for tensors of integers of this type.
template <typename Op>
static LogicalResult verifyQuantisation(Op op, RankedTensorType integers,
                                        int64_t mostBits) {
  auto integer = dyn_cast<IntegerType>(integers.getElementType());
  if (!integer || integer.getWidth() < 2 || integer.getWidth() > mostBits)
    return op.emitOpError() << "found " << integers << ", expected integers of "
                            << "2 to " << mostBits << " bits";
  if (op.getInput().getType().getShape() != op.getType().getShape())
    return op.emitOpError("found shapes that differ, expected the same");
  Value zero = op.getZero();
  if (zero && getElementTypeOrSelf(zero) != integer)
    return op.emitOpError() << "found a zero point of " << zero.getType()
                            << ", expected elements of " << integer;
  for (Value v : {Value(op.getScale()), zero})
    if (v && !broadcastsTo(dims(v), integers.getShape()))
      return op.emitOpError() << "found a scale or zero point " << v.getType()
                              << ", expected one that "
                              << "broadcasts to " << str(integers.getShape());
  return success();
}

LogicalResult QuantizeOp::verify() {
  if (!getElementTypeOrSelf(getInput()).isF32())
    return emitOpError() << "found " << getInput().getType()
                         << ", expected an input of f32";
  return verifyQuantisation(*this, getType(), 16);
}

LogicalResult DequantizeOp::verify() {
  if (!getType().getElementType().isF32())
    return emitOpError() << "found " << getType()
                         << ", expected a result of f32";
  return verifyQuantisation(*this, getInput().getType(), 32);
}

OpFoldResult QuantizeOp::fold(FoldAdaptor adaptor) {
  auto input = ConstantData::get(adaptor.getInput());
  auto scale = ConstantData::get(adaptor.getScale());
  auto zero = ConstantData::get(adaptor.getZero());
  if (!input || !scale || (getZero() && !zero))
    return {};
  return evalQuantize(*input, *scale, zero ? &*zero : nullptr, getType());
}

OpFoldResult DequantizeOp::fold(FoldAdaptor) { return {}; }

//===----------------------------------------------------------------------===//
// qconv, qmatmul
//===----------------------------------------------------------------------===//

/// Checks the operands behind the sum. Columns go along dimension `axis` of the
/// result, and vectors have `columns` elements.
template <typename Op>
static LogicalResult verifyEnd(Op op, int64_t axis, int64_t columns) {
  for (Value v :
       {Value(op.getBias()), Value(op.getScale()), Value(op.getShift()),
        Value(op.getStep()), Value(op.getOffset())})
    if (v && dims(v) != ArrayRef<int64_t>(columns))
      return op.emitOpError()
             << "found a bias, scale, shift, step or offset " << v.getType()
             << ", expected " << columns << " elements";
  if (Value rows = op.getRows()) {
    SmallVector<int64_t> shape(op.getType().getShape());
    shape[axis] = 1;
    if (dims(rows) != ArrayRef(shape))
      return op.emitOpError()
             << "found rows " << rows.getType() << ", expected " << str(shape);
  }
  Type result = op.getType().getElementType();
  bool isByte = result.isInteger(8), goesOn = bool(op.getStep());
  for (Value v : {Value(op.getOutScale()), Value(op.getOutZero()),
                  Value(op.getResidualScale()), Value(op.getResidualZero()),
                  Value(op.getFinalScale()), Value(op.getFinalZero())})
    if (v && !dims(v).empty())
      return op.emitOpError()
             << "found a scale or zero point of an output or residual "
             << v.getType() << ", expected a scalar";
  if (!isByte && !(op.getScale() ? result.isF32() : result.isInteger(32)))
    return op.emitOpError()
           << "found a result of " << result << ", expected "
           << (op.getScale() ? "f32" : "i32") << " or 8-bit integers";
  if (!op.getScale() &&
      (isByte || op.getShift() || op.getActivation() || goesOn))
    return op.emitOpError("found no scale, expected one for a shift, an "
                          "activation, a step and a result of 8 bits");
  Value last = goesOn ? Value(op.getFinalZero()) : Value(op.getOutZero());
  if (!isByte &&
      (last || op.getFinalScale() || (op.getOutScale() && !op.getOutZero())))
    return op.emitOpError("found an output's scale or zero point, expected a "
                          "result of 8-bit integers");
  if (last && getElementTypeOrSelf(last) != result)
    return op.emitOpError() << "found a zero point of " << last.getType()
                            << ", expected the result's " << result;
  if (!goesOn && (op.getOffset() || op.getResidual() || op.getFinalScale() ||
                  op.getFinalZero() || op.getFinalActivation()))
    return op.emitOpError("found no step, expected one for an offset, a "
                          "residual, a final scale, zero point or activation");
  Value residual = op.getResidual();
  if (!residual)
    return op.getResidualScale() || op.getResidualZero()
               ? op.emitOpError("found no residual, expected one for its scale "
                                "and zero point")
               : success();
  Type other = getElementTypeOrSelf(residual);
  if (dims(residual) != dims(op.getOutput()) ||
      !(other.isInteger(8) || other.isF32()))
    return op.emitOpError() << "found a residual " << residual.getType()
                            << ", expected 8-bit integers or f32 of shape "
                            << str(dims(op.getOutput()));
  if (!op.getResidualScale())
    return op.emitOpError("found no scale of the residual, expected one");
  if (op.getResidualZero() &&
      getElementTypeOrSelf(op.getResidualZero()) != other)
    return op.emitOpError()
           << "found a residual's zero point of "
           << op.getResidualZero().getType() << ", expected its " << other;
  return success();
}

LogicalResult QConvOp::verify() {
  auto t = getInput().getType(), w = getWeights().getType();
  int64_t groups = getGroups();
  if (t.getRank() < 3 || w.getRank() != t.getRank() || groups < 1 ||
      w.getDimSize(0) % groups || t.getDimSize(1) != w.getDimSize(1) * groups)
    return emitOpError() << "found input " << str(t.getShape()) << ", weights "
                         << str(w.getShape()) << " and " << groups
                         << " groups, expected channels = weights[1] * groups";
  auto out = windows(getLoc(), t, w.getShape().drop_front(2), getStrides(),
                     getDilations(), getPadsLow(), getPadsHigh());
  if (failed(out))
    return failure();
  SmallVector<int64_t> shape{t.getDimSize(0), w.getDimSize(0)};
  llvm::append_range(shape, *out);
  if (getType().getShape() != ArrayRef(shape))
    return emitOpError() << "found a result " << str(getType().getShape())
                         << ", expected " << str(shape);
  if (Value padding = getPadding())
    if (padding.getType() != RankedTensorType::get({}, t.getElementType()))
      return emitOpError() << "found padding " << padding.getType()
                           << ", expected a scalar of " << t.getElementType();
  return verifyEnd(*this, 1, w.getDimSize(0));
}

LogicalResult QMatMulOp::verify() {
  ArrayRef<int64_t> l = dims(getLhs()), r = dims(getRhs());
  if (l.size() < 2 || r.size() < 2)
    return emitOpError() << "found ranks " << l.size() << " and " << r.size()
                         << ", expected at least 2";
  int64_t k = r[r.size() - (getTransposeRhs() ? 1 : 2)],
          n = r[r.size() - (getTransposeRhs() ? 2 : 1)];
  SmallVector<int64_t> shape;
  if (l.back() != k || !OpTrait::util::getBroadcastedShape(
                           l.drop_back(2), r.drop_back(2), shape))
    return emitOpError() << "found shapes " << str(l) << " and " << str(r)
                         << ", expected a matrix product";
  shape.append({l[l.size() - 2], n});
  if (getType().getShape() != ArrayRef(shape))
    return emitOpError() << "found a result " << str(getType().getShape())
                         << ", expected " << str(shape);
  return verifyEnd(*this, shape.size() - 1, n);
}

//===----------------------------------------------------------------------===//
// bits_matmul
//===----------------------------------------------------------------------===//

LogicalResult BitsMatMulOp::verify() {
  ArrayRef<int64_t> l = dims(getLhs());
  int64_t bits = getBits(), block = getBlock();
  if ((bits != 4 && bits != 8) || block < 2 || block % 2)
    return emitOpError() << "found " << bits << " bits in blocks of " << block
                         << ", expected 4 or 8 in blocks of an even number";
  if (l.size() < 2 || dims(getCodes()).size() != 2)
    return emitOpError() << "found shapes " << str(l) << " and "
                         << str(dims(getCodes()))
                         << ", expected ranks of at least 2, and 2";
  int64_t k = l.back(), n = dims(getCodes())[0];
  int64_t blocks = llvm::divideCeil(k, block);
  if (dims(getCodes()) !=
      ArrayRef<int64_t>({n, int64_t(llvm::divideCeil(k * bits, 8))}))
    return emitOpError() << "found codes " << str(dims(getCodes())) << " for "
                         << k << " columns of " << bits
                         << " bits, expected as many bytes as they take";
  for (Value v : {Value(getScales()), Value(getZeros())})
    if (v && dims(v) != ArrayRef<int64_t>({n, blocks}))
      return emitOpError() << "found scales or zeros " << v.getType()
                           << ", expected " << str({n, blocks});
  if (getBias() && dims(getBias()) != ArrayRef<int64_t>(n))
    return emitOpError() << "found a bias " << getBias().getType()
                         << ", expected " << n << " elements";
  SmallVector<int64_t> shape(l);
  bool isBytes = typeOf(getLhs()).getElementType().isUnsignedInteger(8);
  if (isBytes != bool(getLhsScales()) ||
      (!isBytes && !typeOf(getLhs()).getElementType().isF32()))
    return emitOpError() << "found a left matrix " << getLhs().getType()
                         << (getLhsScales() ? " with" : " without")
                         << " scales, expected f32, or ui8 with scales";
  shape.back() = k / block;
  if (isBytes && (k % block || dims(getLhsScales()) != ArrayRef(shape)))
    return emitOpError() << "found scales " << getLhsScales().getType()
                         << " for a left matrix " << getLhs().getType()
                         << ", expected one for each block of " << block;
  shape.back() = n;
  if (dims(getOutput()) != ArrayRef<int64_t>(shape) ||
      !getType().getElementType().isF32())
    return emitOpError() << "found a result " << getType()
                         << ", expected f32 of " << str(shape);
  return success();
}
