//===- SimplifySlices.cpp - Reads from where a value is made --------------===//
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_SIMPLIFYSLICES
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// The part of `value` that begins at `start` of `axis` and has `size` elements
/// there, `step` apart; all of the other dimensions.
static Value sliceAlong(PatternRewriter &rewriter, Location loc, Value value,
                        int64_t axis, int64_t start, int64_t size,
                        int64_t step) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1),
      sizes(type.getShape());
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return rewriter.createOrFold<SliceOp>(loc, value, starts, sizes, steps);
}

namespace {
/// gather with constant, evenly spaced indices.
struct GatherToSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto indices = ConstantData::get(op.getIndices());
    if (!indices || indices->type().getRank() > 1 ||
        indices->type().getNumElements() == 0)
      return failure();
    int64_t axis = op.getAxis(), n = indices->type().getNumElements();
    int64_t extent = typeOf(op.getInput()).getDimSize(axis);
    SmallVector<int64_t> values;
    for (int64_t i = 0; i < n; ++i) {
      int64_t index = indices->asInt(i);
      values.push_back(index < 0 ? index + extent : index);
      if (values.back() < 0 || values.back() >= extent)
        return failure();
    }
    int64_t step = n > 1 ? values[1] - values[0] : 1;
    for (int64_t i = 1; i < n; ++i)
      if (step == 0 || values[i] - values[i - 1] != step)
        return failure();
    Value slice = sliceAlong(rewriter, op.getLoc(), op.getInput(), axis,
                             values[0], n, step);
    if (slice.getType() != op.getType())
      slice = ReshapeOp::create(rewriter, op.getLoc(), op.getType(), slice);
    rewriter.replaceOp(op, slice);
    return success();
  }
};

/// The one dimension in which a slice is not whole; nullopt if there are more
/// or none.
std::optional<int64_t> slicedAxis(SliceOp op) {
  std::optional<int64_t> axis;
  ArrayRef<int64_t> shape = typeOf(op.getInput()).getShape();
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (op.getStarts()[i] == 0 && op.getSizes()[i] == size &&
        op.getSteps()[i] == 1)
      continue;
    if (axis)
      return std::nullopt;
    axis = i;
  }
  return axis;
}

/// slice(concat(a, b)) as slices of the operands it covers.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    auto sliced = slicedAxis(op);
    if (!concat || !sliced ||
        *sliced != static_cast<int64_t>(concat.getAxis()) ||
        typeOf(op.getResult()).getNumElements() == 0)
      return failure();
    int64_t axis = *sliced, step = op.getSteps()[axis];
    int64_t first = op.getStarts()[axis];
    int64_t last = first + (op.getSizes()[axis] - 1) * step;
    int64_t low = std::min(first, last), high = std::max(first, last);
    SmallVector<Value> parts;
    int64_t begin = 0;
    for (Value input : concat.getInputs()) {
      int64_t end = begin + typeOf(input).getDimSize(axis);
      bool isWithin = low >= begin && high < end;
      if (isWithin) {
        rewriter.replaceOp(op, sliceAlong(rewriter, op.getLoc(), input, axis,
                                          first - begin, op.getSizes()[axis],
                                          step));
        return success();
      }
      if (low < end && high >= begin) {
        if (step != 1)
          return failure();
        int64_t from = std::max(low, begin), to = std::min(high + 1, end);
        // Cut operands would be read twice: by the concat and on their own.
        if (to - from != end - begin)
          return failure();
        parts.push_back(input);
      }
      begin = end;
    }
    assert(!parts.empty() && "elements come from somewhere");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts, axis);
    return success();
  }
};

/// Fails if these are its inputs already.
LogicalResult replaceInputs(PatternRewriter &rewriter, ConcatOp op,
                            ArrayRef<Value> inputs) {
  if (llvm::equal(inputs, op.getInputs()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
  return success();
}

/// concat(a, concat(b, c)) as concat(a, b, c).
struct ConcatOfConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && input.hasOneUse() && inner.getAxis() == op.getAxis())
        llvm::append_range(inputs, inner.getInputs());
      else
        inputs.push_back(input);
    }
    return replaceInputs(rewriter, op, inputs);
  }
};

/// concat(x[0:2], x[2:5]) as x[0:5].
struct ConcatOfSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto axis = static_cast<int64_t>(op.getAxis());
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      Value merged = inputs.empty() ? Value()
                                    : merge(rewriter, inputs.back(), input,
                                            axis, op.getLoc());
      if (merged)
        inputs.back() = merged;
      else
        inputs.push_back(input);
    }
    return replaceInputs(rewriter, op, inputs);
  }

  static Value merge(PatternRewriter &rewriter, Value first, Value second,
                     int64_t axis, Location loc) {
    auto a = first.getDefiningOp<SliceOp>();
    auto b = second.getDefiningOp<SliceOp>();
    if (!a || !b || a.getInput() != b.getInput() || slicedAxis(a) != axis ||
        slicedAxis(b) != axis || a.getSteps()[axis] != 1 ||
        b.getSteps()[axis] != 1 ||
        a.getStarts()[axis] + a.getSizes()[axis] != b.getStarts()[axis])
      return {};
    return sliceAlong(rewriter, loc, a.getInput(), axis, a.getStarts()[axis],
                      a.getSizes()[axis] + b.getSizes()[axis], 1);
  }
};

/// A resize to the size that the tensor has, a pool of windows of one element.
struct IdentityResize : OpRewritePattern<ResizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ResizeOp op,
                                PatternRewriter &rewriter) const override {
    // A nearest coordinate with an offset of its own may miss its element.
    if (op.getInput().getType() != op.getType() ||
        op.getCoordinates() == CoordinateMode::tf_crop_and_resize ||
        op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn ||
        !llvm::all_of(op.getScales(), [](double s) { return s == 1; }))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

struct IdentityPool : OpRewritePattern<PoolOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PoolOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInput().getType() != op.getType() ||
        !llvm::all_of(op.getKernel(), [](int64_t k) { return k == 1; }) ||
        !llvm::all_of(op.getStrides(), [](int64_t s) { return s == 1; }) ||
        !llvm::all_of(op.getPadsLow(), [](int64_t p) { return p == 0; }))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

struct SimplifySlices : nnv12::impl::SimplifySlicesBase<SimplifySlices> {
  void runOnOperation() override {
    removed += rewriteGreedily<GatherToSlice, SliceOfConcat, ConcatOfConcat,
                               ConcatOfSlices, IdentityResize, IdentityPool>(
        getOperation());
  }
};
} // namespace
