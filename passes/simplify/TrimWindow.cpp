//===- TrimWindow.cpp - Taps that see nothing but padding -----------------===//
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <algorithm>

namespace nnv12 {
#define GEN_PASS_DEF_TRIMWINDOW
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
/// One spatial dimension of a convolution.
struct Dimension {
  int64_t input, output, kernel, stride, dilation, low, high;

  /// Whether the tap meets an element of the input for some output.
  bool isUsed(int64_t tap) const {
    int64_t position = tap * dilation - low; // at output 0
    int64_t skipped =
        std::max<int64_t>(0, (-position + stride - 1) / stride); // outputs
    return skipped < output && position + skipped * stride < input;
  }
};

struct TrimConv : OpRewritePattern<ConvOp> {
  TrimConv(MLIRContext *context, Pass::Statistic &trimmed)
      : OpRewritePattern(context), trimmed(trimmed) {}

  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType in = typeOf(op.getInput()), out = typeOf(op.getOutput()),
                     weights = typeOf(op.getWeights());
    if (in.getNumElements() == 0 || out.getNumElements() == 0)
      return failure();
    SmallVector<int64_t> starts(2, 0), low(op.getPadsLow()),
        high(op.getPadsHigh()), dilations(op.getDilations()),
        sizes(weights.getShape());
    for (size_t i = 0; i < low.size(); ++i) {
      Dimension d{in.getDimSize(2 + i),
                  out.getDimSize(2 + i),
                  sizes[2 + i],
                  op.getStrides()[i],
                  dilations[i],
                  low[i],
                  high[i]};
      // The padding that a tap was there for goes with it.
      int64_t first = 0, last = d.kernel - 1;
      for (; first < last && low[i] >= d.dilation && !d.isUsed(first); ++first)
        low[i] -= d.dilation;
      for (; last > first && high[i] >= d.dilation && !d.isUsed(last); --last)
        high[i] -= d.dilation;
      starts.push_back(first);
      sizes[2 + i] = last - first + 1;
      if (first == last)
        dilations[i] = 1;
    }
    if (ArrayRef<int64_t>(sizes) == weights.getShape())
      return failure();
    SmallVector<int64_t> steps(sizes.size(), 1);
    Value used =
        SliceOp::create(rewriter, op.getLoc(),
                        RankedTensorType::get(sizes, weights.getElementType()),
                        op.getWeights(), starts, sizes, steps);
    rewriter.modifyOpInPlace(op, [&] {
      op.getWeightsMutable().assign(used);
      op.setDilations(dilations);
      op.setPadsLow(low);
      op.setPadsHigh(high);
    });
    ++trimmed;
    return success();
  }

  Pass::Statistic &trimmed;
};

struct TrimWindow : nnv12::impl::TrimWindowBase<TrimWindow> {
  using TrimWindowBase::TrimWindowBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TrimConv>(&getContext(), trimmed);
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
