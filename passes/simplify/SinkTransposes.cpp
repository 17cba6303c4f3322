//===- SinkTransposes.cpp - Moves transposes until they cancel ------------===//
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

using Perm = SmallVector<int64_t>;

/// Values in the order of the operand, given in that of the transposed tensor:
/// result[perm[i]] = values[i].
static Perm unpermute(ArrayRef<int64_t> values, ArrayRef<int64_t> perm) {
  return applyPermutation(values, invertPermutationVector(perm));
}

static RankedTensorType withShape(RankedTensorType type,
                                  ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

/// A layer is computed before a transpose instead of after it only if no other
/// user of the transposed tensor keeps it: else there would be two transposes.
static bool isFree(Value value) {
  return value.hasOneUse() || llvm::all_of(value.getUsers(), [](Operation *op) {
           return isa<UnaryOp, CastOp, TransposeOp, BinaryOp, ReduceOp,
                      QuantizeOp, DequantizeOp>(op);
         });
}

static TransposeOp sinkable(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  return transpose && isFree(value) ? transpose : TransposeOp();
}

static Value transposed(PatternRewriter &rewriter, Location loc, Value value,
                        ArrayRef<int64_t> perm) {
  return rewriter.createOrFold<TransposeOp>(
      loc, value, rewriter.getDenseI64ArrayAttr(perm));
}

/// Whether `op` quantises or dequantises all elements alike.
static bool hasOneScale(Operation *op) {
  return isa<QuantizeOp, DequantizeOp>(op) &&
         llvm::all_of(op->getOperands().drop_front(),
                      [](Value v) { return typeOf(v).getRank() == 0; });
}

namespace {
/// f(transpose(x)) is transpose(f(x)) for layers that work element by element
/// and keep the shape.
struct SinkThroughUnary : RewritePattern {
  explicit SinkThroughUnary(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    // A view costs nothing on either side.
    if (!isa<Elementwise>(op) || isa<View>(op) ||
        (op->getNumOperands() != 1 && !hasOneScale(op)) ||
        typeOf(op->getOperand(0)).getShape() !=
            typeOf(op->getResult(0)).getShape())
      return failure();
    auto transpose = sinkable(op->getOperand(0));
    if (!transpose)
      return failure();
    Operation *inner = rewriter.clone(*op);
    Value x = transpose.getInput();
    Type element = typeOf(op->getResult(0)).getElementType();
    rewriter.modifyOpInPlace(inner, [&] {
      inner->setOperand(0, x);
      inner->getResult(0).setType(
          RankedTensorType::get(typeOf(x).getShape(), element));
    });
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op->getResult(0).getType(),
                                             inner->getResult(0),
                                             transpose.getPermAttr());
    return success();
  }
};

struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    TransposeOp first;
    for (Value input : op.getInputs()) {
      auto transpose = input.getDefiningOp<TransposeOp>();
      if (transpose && !first)
        first = transpose;
      bool fits = transpose ? input.hasOneUse() &&
                                  transpose.getPerm() == first.getPerm()
                            : ConstantData::get(input).has_value();
      if (!fits)
        return failure();
    }
    if (!first)
      return failure();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto transpose = input.getDefiningOp<TransposeOp>();
      inputs.push_back(
          transpose ? transpose.getInput()
                    : transposed(rewriter, op.getLoc(), input,
                                 invertPermutationVector(first.getPerm())));
    }
    auto inner = ConcatOp::create(rewriter, op.getLoc(), inputs,
                                  first.getPerm()[op.getAxis()]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner,
                                             first.getPermAttr());
    return success();
  }
};

struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = sinkable(op.getInput());
    if (!transpose)
      return failure();
    ArrayRef<int64_t> perm = transpose.getPerm();
    SmallVector<int64_t> axes;
    for (int64_t axis : op.getAxes())
      axes.push_back(perm[axis]);
    llvm::sort(axes);
    // The permutation of the remaining dimensions: without keep_dims the
    // reduced ones are gone from it.
    Perm left;
    for (int64_t dim : perm) {
      if (op.getKeepDims()) {
        left.push_back(dim);
        continue;
      }
      if (llvm::is_contained(axes, dim))
        continue;
      left.push_back(
          dim - llvm::count_if(axes, [&](int64_t axis) { return axis < dim; }));
    }
    auto inner = ReduceOp::create(rewriter, op.getLoc(), transpose.getInput(),
                                  op.getKind(), axes, op.getKeepDims());
    rewriter.replaceOpWithNewOp<TransposeOp>(
        op, op.getType(), inner, rewriter.getDenseI64ArrayAttr(left));
    return success();
  }
};

/// A slice or a pad of `x`, of which `op` is that of its transpose.
Value untransposed(PatternRewriter &rewriter, SliceOp op, Value x,
                   ArrayRef<int64_t> perm) {
  return SliceOp::create(
      rewriter, op.getLoc(), x, unpermute(op.getStarts(), perm),
      unpermute(op.getSizes(), perm), unpermute(op.getSteps(), perm));
}
Value untransposed(PatternRewriter &rewriter, PadOp op, Value x,
                   ArrayRef<int64_t> perm) {
  return PadOp::create(rewriter, op.getLoc(), x, op.getValue(),
                       unpermute(op.getLow(), perm),
                       unpermute(op.getHigh(), perm), op.getMode());
}

/// The numbers of each dimension move with it.
template <typename Op> struct SinkThroughBounds : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().template getDefiningOp<TransposeOp>();
    if (!transpose || !op.getInput().hasOneUse())
      return failure();
    Value inner =
        untransposed(rewriter, op, transpose.getInput(), transpose.getPerm());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner,
                                             transpose.getPermAttr());
    return success();
  }
};

/// A transpose that only moves dimensions of size one is a reshape.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    int64_t last = -1;
    for (int64_t dim : op.getPerm()) {
      if (typeOf(op.getInput()).getDimSize(dim) == 1)
        continue;
      if (dim < last)
        return failure();
      last = dim;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

/// A matrix product reads a transposed operand as such.
struct TransposeIntoMatMul : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  static TransposeOp swapOfLastTwo(Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    if (!transpose || transpose.getPerm().size() < 2)
      return {};
    Perm expected =
        llvm::to_vector<4>(llvm::seq<int64_t>(0, transpose.getPerm().size()));
    std::swap(expected[expected.size() - 1], expected[expected.size() - 2]);
    return transpose.getPerm() == ArrayRef<int64_t>(expected) ? transpose
                                                              : TransposeOp();
  }

  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    auto left = swapOfLastTwo(op.getLhs()), right = swapOfLastTwo(op.getRhs());
    if (!left && !right)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (left) {
        op.getLhsMutable().assign(left.getInput());
        op.setTransposeLhs(!op.getTransposeLhs());
      }
      if (right) {
        op.getRhsMutable().assign(right.getInput());
        op.setTransposeRhs(!op.getTransposeRhs());
      }
    });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The dimensions that are not of size one, in order.
SmallVector<int64_t> properDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      dims.push_back(i);
  return dims;
}

/// A reshape that only adds or removes dimensions of size one.
ReshapeOp definingUnitReshape(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  auto properSizes = [](Value tensor) {
    return llvm::make_filter_range(typeOf(tensor).getShape(),
                                   [](int64_t size) { return size != 1; });
  };
  return llvm::equal(properSizes(reshape.getInput()), properSizes(value))
             ? reshape
             : ReshapeOp();
}

struct ReshapeBelowUnary : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape || !op.getInput().hasOneUse())
      return failure();
    auto inner = UnaryOp::create(rewriter, op.getLoc(), reshape.getInput(),
                                 op.getFunction());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner);
    return success();
  }
};

/// transpose(reshape(x)) as reshape(transpose(x)), if the reshape only adds or
/// removes dimensions of size one: transposes meet through it.
struct UnitReshapeBelowTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = definingUnitReshape(op.getInput());
    if (!reshape || !op.getInput().hasOneUse())
      return failure();
    Value x = reshape.getInput();
    ArrayRef<int64_t> from = typeOf(x).getShape();
    auto before = properDims(from);
    auto after = properDims(typeOf(op.getInput()).getShape());
    Perm perm;
    for (auto [i, size] : llvm::enumerate(from))
      if (size == 1)
        perm.push_back(i);
    for (int64_t dim : op.getPerm())
      if (auto *it = llvm::find(after, dim); it != after.end())
        perm.push_back(before[it - after.begin()]);
    rewriter.replaceOpWithNewOp<ReshapeOp>(
        op, op.getType(), transposed(rewriter, op.getLoc(), x, perm));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Both, through functions of two operands
//===----------------------------------------------------------------------===//

/// Whether a function of two values so moved may be computed before.
bool areAlike(TransposeOp left, TransposeOp right) {
  return left.getPerm() == right.getPerm();
}
bool areAlike(ReshapeOp left, ReshapeOp right) {
  return left.getInput().getType() == right.getInput().getType() &&
         left.getType() == right.getType() && left->hasOneUse() &&
         right->hasOneUse();
}

/// A constant as it is before the transpose, for broadcasting with tensors of
/// the same rank; null where the transpose stays.
Value constantBefore(PatternRewriter &rewriter, TransposeOp transpose,
                     Value constant, Location loc) {
  if (!isFree(transpose.getResult()))
    return {};
  RankedTensorType type = typeOf(constant);
  if (type.getNumElements() == 1)
    return constant;
  ArrayRef<int64_t> perm = transpose.getPerm();
  assert(type.getRank() <= static_cast<int64_t>(perm.size()) &&
         "the constant broadcasts to the transposed tensor");
  SmallVector<int64_t> shape(perm.size() - type.getRank(), 1);
  shape.append(type.getShape().begin(), type.getShape().end());
  Value whole =
      rewriter.createOrFold<ReshapeOp>(loc, withShape(type, shape), constant);
  return transposed(rewriter, loc, whole, invertPermutationVector(perm));
}
/// The constant for broadcasting with the operand of the reshape, null if the
/// reshape does more than add and remove dimensions of size one.
Value constantBefore(PatternRewriter &rewriter, ReshapeOp reshape,
                     Value constant, Location) {
  if (!reshape->hasOneUse())
    return {};
  RankedTensorType type = typeOf(constant);
  if (type.getNumElements() == 1)
    return type.getRank() <= typeOf(reshape.getInput()).getRank() ? constant
                                                                  : Value();
  if (!definingUnitReshape(reshape.getResult()))
    return {};
  ArrayRef<int64_t> from = typeOf(reshape.getInput()).getShape();
  ArrayRef<int64_t> to = typeOf(reshape.getResult()).getShape();
  int64_t missing = static_cast<int64_t>(to.size()) - type.getRank();
  assert(missing >= 0 && "the constant broadcasts to the reshaped tensor");
  SmallVector<int64_t> shape(from.size(), 1);
  for (auto [before, after] : llvm::zip(properDims(from), properDims(to)))
    if (after >= missing)
      shape[before] = type.getDimSize(after - missing);
  return rewriter.createOrFold<ReshapeOp>(constant.getLoc(),
                                          withShape(type, shape), constant);
}

/// f(move(x), y) as move(f(x, y)), where y is moved alike or a constant.
template <typename Move> struct SinkThroughBinary : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op,
                                PatternRewriter &rewriter) const override {
    auto left = op.getLhs().getDefiningOp<Move>();
    auto right = op.getRhs().getDefiningOp<Move>();
    auto move = left ? left : right;
    if (!move || (left && right && !areAlike(left, right)))
      return failure();
    Value lhs = left ? left.getInput() : op.getLhs();
    Value rhs = right ? right.getInput() : op.getRhs();
    if (!left || !right) {
      Value &constant = left ? rhs : lhs;
      if (!ConstantData::get(constant) || typeOf(move.getResult()).getShape() !=
                                              typeOf(op.getResult()).getShape())
        return failure();
      constant = constantBefore(rewriter, move, constant, op.getLoc());
      if (!constant)
        return failure();
    }
    auto inner =
        BinaryOp::create(rewriter, op.getLoc(), lhs, rhs, op.getKind());
    if constexpr (std::is_same_v<Move, TransposeOp>)
      rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner,
                                               move.getPermAttr());
    else
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner);
    return success();
  }
};

/// reshape(transpose(reshape(x))) that merges the last dimensions of x, leaves
/// them last, and takes them apart again, as channels are shuffled in pictures
/// of so many pixels. They stay apart: pixels keep their rows and columns.
struct KeepLastApart : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose || !transpose->hasOneUse())
      return failure();
    auto first = transpose.getInput().getDefiningOp<ReshapeOp>();
    if (!first)
      return failure();
    ArrayRef<int64_t> from = typeOf(first.getInput()).getShape(),
                      merged = typeOf(first.getResult()).getShape(),
                      to = typeOf(op.getResult()).getShape(),
                      perm = transpose.getPerm();
    auto rank = static_cast<int64_t>(merged.size());
    if (rank == 0 || perm.back() != rank - 1)
      return failure();
    size_t count = 0;
    int64_t product = 1;
    while (count < from.size() && product < merged.back())
      product *= from[from.size() - ++count];
    if (count < 2 || product != merged.back() || to.size() < count ||
        to.take_back(count) != from.take_back(count))
      return failure();
    SmallVector<int64_t> shape(merged.drop_back()), apart(perm.drop_back());
    llvm::append_range(shape, from.take_back(count));
    for (size_t i = 0; i < count; ++i)
      apart.push_back(rank - 1 + static_cast<int64_t>(i));
    Value x = rewriter.createOrFold<ReshapeOp>(
        first.getLoc(), withShape(typeOf(first.getInput()), shape),
        first.getInput());
    rewriter.replaceOpWithNewOp<ReshapeOp>(
        op, op.getType(), transposed(rewriter, transpose.getLoc(), x, apart));
    return success();
  }
};

struct SinkTransposes : nnv12::impl::SinkTransposesBase<SinkTransposes> {
  void runOnOperation() override {
    auto countTransposes = [&] {
      auto transposes = getOperation().getOps<TransposeOp>();
      return std::distance(transposes.begin(), transposes.end());
    };
    int64_t before = countTransposes();
    rewriteGreedily<
        SinkThroughUnary, SinkThroughBinary<TransposeOp>, SinkThroughConcat,
        SinkThroughReduce, SinkThroughBounds<SliceOp>, SinkThroughBounds<PadOp>,
        TransposeToReshape, TransposeIntoMatMul, ReshapeBelowUnary,
        SinkThroughBinary<ReshapeOp>, UnitReshapeBelowTranspose, KeepLastApart>(
        getOperation());
    removed += std::max<int64_t>(before - countTransposes(), 0);
  }
};
} // namespace
