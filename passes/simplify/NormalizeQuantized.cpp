//===- NormalizeQuantized.cpp - Unsigned bytes, moved as bytes ------------===//
#include "dialects/nn/NNBuild.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/QuantizedFactors.h"
#include "passes/simplify/Rewrite.h"

#include <cmath>

namespace nnv12 {
#define GEN_PASS_DEF_NORMALIZEQUANTIZED
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

static bool isSigned(Value v) { return elementOf(v).isSignlessInteger(8); }
static bool isByte(Value v) { return elementOf(v).isInteger(8); }

/// A zero point for bytes of the other sign.
static Value flippedZero(OpBuilder &b, Location loc, Value zero, Type bytes) {
  if (!zero)
    zero = createConstant(
        b, loc,
        makeSplat(RankedTensorType::get({}, getElementTypeOrSelf(bytes)), 0));
  return withFlippedSign(b, loc, zero);
}

/// The number of a scale of one positive number that no product with a byte
/// brings out of the range of f32.
static std::optional<double> plainScale(Value scale) {
  auto number = isSingle(scale) ? splatOf(scale) : std::nullopt;
  return number && *number > 0x1p-100 && *number < 0x1p100 ? number
                                                           : std::nullopt;
}

static bool isSame(Value l, Value r) {
  if (l == r)
    return true;
  if (!l || !r)
    return splatOf(l ? l : r) == 0.0;
  auto left = splatOf(l), right = splatOf(r);
  return isSingle(l) && isSingle(r) && left && left == right;
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

namespace {
struct UnsignedQuantize : CountedPattern<QuantizeOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    bool isInternal = llvm::any_of(op->getUsers(), [](Operation *user) {
      return !user->hasTrait<OpTrait::IsTerminator>();
    });
    if (!isSigned(op) || !isInternal)
      return failure();
    Type u8 = rewriter.getIntegerType(8, false);
    Value zero = flippedZero(rewriter, op.getLoc(), op.getZero(), op.getType());
    Value bytes =
        QuantizeOp::create(rewriter, op.getLoc(), op.getType().clone(u8),
                           op.getInput(), op.getScale(), zero);
    rewriter.replaceOp(op, withFlippedSign(rewriter, op.getLoc(), bytes));
    ++count;
    return success();
  }
};

struct DequantizeFlipped : OpRewritePattern<DequantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    Value bytes = flippedToSigned(op.getInput());
    if (!bytes)
      return failure();
    Value zero = flippedZero(rewriter, op.getLoc(), op.getZero(),
                             op.getInput().getType());
    rewriter.replaceOpWithNewOp<DequantizeOp>(op, op.getType(), bytes,
                                              op.getScale(), zero);
    return success();
  }
};

/// Two flips of a sign.
template <typename Op> struct CancelFlips : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isByte(op))
      return failure();
    Value once = isSigned(op) ? flippedToSigned(op) : flippedToUnsigned(op);
    if (!once)
      return failure();
    Value twice =
        isSigned(op) ? flippedToUnsigned(once) : flippedToSigned(once);
    if (!twice)
      return failure();
    rewriter.replaceOp(op, twice);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// How many of the first operands of a layer that copies elements to other
/// places are those elements; none of another layer.
unsigned numMoved(Operation *op) {
  if (isa<ConcatOp>(op))
    return op->getNumOperands();
  if (auto pool = dyn_cast<PoolOp>(op))
    return pool.getKind() == PoolKind::max;
  return isa<ReshapeOp, TransposeOp, SliceOp, PadOp, GatherOp, BroadcastOp>(op);
}

/// `op` with other elements to move, and with `padding`, if it adds any.
Value moved(PatternRewriter &rewriter, Operation *op, ArrayRef<Value> inputs,
            Value padding) {
  SmallVector<Value> operands(inputs);
  auto pad = dyn_cast<PadOp>(op);
  if (!pad)
    llvm::append_range(operands, op->getOperands().drop_front(inputs.size()));
  else if (padding)
    operands.push_back(padding);
  Type element = typeOf(inputs[0]).getElementType();
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(typeOf(op->getResult(0)).clone(element));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *layer = rewriter.create(state);
  SmallVector<Value> folded;
  if (succeeded(rewriter.tryFold(layer, folded)) && !folded.empty()) {
    rewriter.eraseOp(layer);
    return folded[0];
  }
  return layer->getResult(0);
}

bool isConstantPad(Operation *op) {
  auto pad = dyn_cast<PadOp>(op);
  return pad && pad.getMode() == PadMode::constant;
}

/// Layers that move bytes whose sign has been flipped move them before that.
struct FlipMoved : RewritePattern {
  explicit FlipMoved(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    unsigned n = numMoved(op);
    if (n == 0 || !isSigned(op->getResult(0)))
      return failure();
    auto operands = op->getOperands().take_front(n);
    if (llvm::none_of(operands, flippedToSigned) ||
        !llvm::all_of(operands, [](Value v) {
          return flippedToSigned(v) || ConstantData::get(v);
        }))
      return failure();
    SmallVector<Value> inputs;
    for (Value v : operands)
      inputs.push_back(withFlippedSign(rewriter, op->getLoc(), v));
    Value padding;
    if (isConstantPad(op))
      padding = flippedZero(rewriter, op->getLoc(), cast<PadOp>(op).getValue(),
                            op->getResult(0).getType());
    rewriter.replaceOp(op,
                       withFlippedSign(rewriter, op->getLoc(),
                                       moved(rewriter, op, inputs, padding)));
    return success();
  }
};

/// Layers that move dequantised bytes of one scale move the bytes.
struct MoveBytes : RewritePattern {
  MoveBytes(MLIRContext *context, Pass::Statistic &count)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), count(count) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    unsigned n = numMoved(op);
    if (n == 0)
      return failure();
    auto first = op->getOperand(0).getDefiningOp<DequantizeOp>();
    SmallVector<Value> inputs;
    for (Value v : op->getOperands().take_front(n)) {
      auto dequantize = v.getDefiningOp<DequantizeOp>();
      if (!dequantize || !isByte(dequantize.getInput()) ||
          !isSingle(dequantize.getScale()) || !isSingle(dequantize.getZero()) ||
          typeOf(dequantize.getInput()).getElementType() !=
              typeOf(first.getInput()).getElementType() ||
          !isSame(dequantize.getScale(), first.getScale()) ||
          !isSame(dequantize.getZero(), first.getZero()))
        return failure();
      inputs.push_back(dequantize.getInput());
    }
    // The order of bytes is that of numbers.
    if (isa<PoolOp>(op) && !plainScale(first.getScale()))
      return failure();
    Value scale = asScalar(rewriter, first.getScale());
    Value zero = asScalar(rewriter, first.getZero()), padding;
    if (isConstantPad(op)) {
      Value value = cast<PadOp>(op).getValue();
      if (value && splatOf(value) != 0.0)
        return failure();
      padding = zero;
    }
    Value bytes = moved(rewriter, op, inputs, padding);
    rewriter.replaceOpWithNewOp<DequantizeOp>(op, op->getResult(0).getType(),
                                              bytes, scale, zero);
    ++count;
    return success();
  }

  Pass::Statistic &count;
};

/// Weights whose scales go along an axis are transposed with them.
struct TransposeWeights : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto dequantize = op.getInput().getDefiningOp<DequantizeOp>();
    if (!dequantize || !ConstantData::get(dequantize.getInput()))
      return failure();
    int64_t rank = typeOf(op).getRank();
    auto transposed = [&](Value v) -> Value {
      return !v || typeOf(v).getRank() != rank
                 ? v
                 : rewriter.createOrFold<TransposeOp>(op.getLoc(), v,
                                                      op.getPermAttr());
    };
    for (Value v : {dequantize.getScale(), dequantize.getZero()})
      if (!isSingle(v) && typeOf(v).getRank() != rank)
        return failure();
    rewriter.replaceOpWithNewOp<DequantizeOp>(
        op, op.getType(), transposed(dequantize.getInput()),
        transposed(dequantize.getScale()), transposed(dequantize.getZero()));
    return success();
  }
};

/// A quantize comes next to the layer that computes its input.
struct QuantizeBeforeMove : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    Operation *move = op.getInput().getDefiningOp();
    if (!isa_and_nonnull<ReshapeOp, TransposeOp>(move) ||
        !op.getInput().hasOneUse() || !isSingle(op.getScale()) ||
        !isSingle(op.getZero()) || !move->getOperand(0).getDefiningOp())
      return failure();
    Location loc = op.getLoc();
    Value x = move->getOperand(0);
    Value bytes = QuantizeOp::create(
        rewriter, loc, typeOf(x).clone(op.getType().getElementType()), x,
        asScalar(rewriter, op.getScale()), asScalar(rewriter, op.getZero()));
    rewriter.replaceOp(op, moved(rewriter, move, bytes, Value()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

/// Bytes that are dequantised and quantised alike do not change.
struct SameBytes : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto dequantize = op.getInput().getDefiningOp<DequantizeOp>();
    if (!dequantize || !isByte(op) ||
        dequantize.getInput().getType() != op.getType() ||
        !plainScale(op.getScale()) || !plainScale(dequantize.getScale()) ||
        !isSame(op.getScale(), dequantize.getScale()) ||
        !isSame(op.getZero(), dequantize.getZero()))
      return failure();
    rewriter.replaceOp(op, dequantize.getInput());
    return success();
  }
};

/// The f32 that is rounded to 16 bits and widened again; null for others.
Value beforeHalf(Value v) {
  auto wide = v.getDefiningOp<CastOp>();
  auto half = wide ? wide.getInput().getDefiningOp<CastOp>() : CastOp();
  bool isRounding =
      half && typeOf(v).getElementType().isF32() &&
      isa<Float16Type, BFloat16Type>(typeOf(half).getElementType()) &&
      half.getInput().getType() == v.getType();
  return isRounding ? half.getInput() : Value();
}

/// Layers of f16 read dequantised bytes and biases in f32, as widen-half makes
/// it between them.
struct DequantizeInF32 : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    Value x = beforeHalf(op);
    auto dequantize = x ? x.getDefiningOp<DequantizeOp>() : DequantizeOp();
    if (!dequantize || (!isByte(dequantize.getInput()) &&
                        !ConstantData::get(dequantize.getInput())))
      return failure();
    rewriter.replaceOp(op, x);
    return success();
  }
};

/// A quotient of f16 whose dividend was computed in f32 is not rounded to f16,
/// neither before nor after the division.
struct QuantizeInF32 : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    Value quotient = beforeHalf(op.getInput());
    if (!quotient || splatOf(op.getScale()) != 1.0 || !isByte(op))
      return failure();
    // recognize-functions makes factors of divisions by powers of two.
    auto div = definingBinary(quotient, BinaryKind::div);
    auto affine = affineOf(quotient.getDefiningOp());
    bool isFactor = affine && affine->shift == 0 && affine->scale > 0 &&
                    isPowerOfTwo(affine->scale);
    Value x = div        ? beforeHalf(div.getLhs())
              : isFactor ? beforeHalf(affine->input)
                         : Value();
    if (!x || x.getType() != op.getInput().getType())
      return failure();
    Value scale =
        div ? div.getRhs()
            : createConstant(rewriter, op.getLoc(),
                             makeSplat(RankedTensorType::get({}, elementOf(x)),
                                       1 / affine->scale));
    rewriter.replaceOpWithNewOp<QuantizeOp>(op, op.getType(), x, scale,
                                            op.getZero());
    return success();
  }
};

struct NormalizeQuantized
    : nnv12::impl::NormalizeQuantizedBase<NormalizeQuantized> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<UnsignedQuantize>(context, unsignedBytes);
    patterns.add<MoveBytes>(context, moved);
    patterns.add<DequantizeFlipped, CancelFlips<BinaryOp>,
                 CancelFlips<BitCastOp>, FlipMoved, TransposeWeights,
                 QuantizeBeforeMove, SameBytes, DequantizeInF32, QuantizeInF32>(
        context);
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
