//===- TrimWindow.cpp - Taps that see nothing but padding -----------------===//
#include "compiler/routines/WindowShape.h"
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
/// The first and the last tap that meet an element of the input for some
/// output; the first is behind the last if there is none.
std::pair<int64_t, int64_t> usedTaps(ArrayRef<TapRange> ranges,
                                     int64_t kernel) {
  int64_t first = kernel - 1, last = 0;
  for (const TapRange &range : ranges)
    if (range.taps > 0) {
      first = std::min(first, range.firstTap);
      last = std::max(last, range.firstTap + range.taps - 1);
    }
  return {first, last};
}

struct TrimConv : CountedPattern<ConvOp> {
  using CountedPattern::CountedPattern;
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
      int64_t kernel = sizes[2 + i], dilation = dilations[i];
      auto [first, last] =
          usedTaps(tapRanges(out.getDimSize(2 + i), in.getDimSize(2 + i),
                             kernel, op.getStrides()[i], dilation, low[i]),
                   kernel);
      // The padding that a tap was there for goes with it.
      first = std::min(first, low[i] / dilation);
      last = std::max({first, last, kernel - 1 - high[i] / dilation});
      low[i] -= first * dilation;
      high[i] -= (kernel - 1 - last) * dilation;
      starts.push_back(first);
      sizes[2 + i] = last - first + 1;
      if (first == last)
        dilations[i] = 1;
    }
    if (ArrayRef<int64_t>(sizes) == weights.getShape())
      return failure();
    SmallVector<int64_t> steps(sizes.size(), 1);
    Value used = SliceOp::create(rewriter, op.getLoc(), op.getWeights(), starts,
                                 sizes, steps);
    rewriter.modifyOpInPlace(op, [&] {
      op.getWeightsMutable().assign(used);
      op.setDilations(dilations);
      op.setPadsLow(low);
      op.setPadsHigh(high);
    });
    ++count;
    return success();
  }
};

struct TrimWindow : nnv12::impl::TrimWindowBase<TrimWindow> {
  void runOnOperation() override {
    rewriteGreedily<TrimConv>(getOperation(), trimmed);
  }
};
} // namespace
