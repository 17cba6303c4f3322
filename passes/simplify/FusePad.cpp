//===- FusePad.cpp - Padding into the window that reads it ----------------===//
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cassert>
#include <limits>

namespace nnv12 {
#define GEN_PASS_DEF_FUSEPAD
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether a pad adds a value around spatial dimensions alone.
static bool isSpatial(PadOp pad) {
  return pad && pad.getMode() == PadMode::constant &&
         pad.getLow().size() >= 3 && llvm::all_of(llvm::seq(2), [&](int dim) {
           return pad.getLow()[dim] == 0 && pad.getHigh()[dim] == 0;
         });
}

/// The number that such a pad of floats adds; nullopt for others.
static std::optional<double> spatialPadding(PadOp pad) {
  if (!isSpatial(pad) || !isFloatTensor(pad.getInput()))
    return std::nullopt;
  return pad.getValue() ? splatOf(pad.getValue()) : 0.0;
}

static SmallVector<int64_t> sum(ArrayRef<int64_t> pads,
                                ArrayRef<int64_t> added) {
  assert(added.size() == pads.size() + 2 &&
         "batch and channels come before the spatial dimensions");
  SmallVector<int64_t> result(pads);
  for (size_t i = 0; i < pads.size(); ++i)
    result[i] += added[i + 2];
  return result;
}

namespace {
struct PadIntoConv : CountedPattern<ConvOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    auto value = spatialPadding(pad);
    if (!value || *value != 0)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(pad.getInput());
      op.setPadsLow(sum(op.getPadsLow(), pad.getLow()));
      op.setPadsHigh(sum(op.getPadsHigh(), pad.getHigh()));
    });
    ++count;
    return success();
  }
};

/// Bytes are padded with the value that stands for zero.
struct PadIntoQConv : CountedPattern<QConvOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(QConvOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    auto isZero = [](int64_t v) { return v == 0; };
    bool isUnpadded = llvm::all_of(op.getPadsLow(), isZero) &&
                      llvm::all_of(op.getPadsHigh(), isZero);
    if (!isSpatial(pad) || (!isUnpadded && !isSame(op.getPadding(), pad)))
      return failure();
    Value value = pad.getValue();
    if (value && typeOf(value).getRank() != 0)
      value = rewriter.createOrFold<ReshapeOp>(
          op.getLoc(),
          RankedTensorType::get({}, typeOf(value).getElementType()), value);
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(pad.getInput());
      op.getPaddingMutable().clear();
      if (value)
        op.getPaddingMutable().append(value);
      op.setPadsLow(sum(op.getPadsLow(), pad.getLow()));
      op.setPadsHigh(sum(op.getPadsHigh(), pad.getHigh()));
    });
    ++count;
    return success();
  }

  static bool isSame(Value padding, PadOp pad) {
    auto known = padding ? splatOf(padding) : 0.0;
    auto added = pad.getValue() ? splatOf(pad.getValue()) : 0.0;
    return padding == pad.getValue() || (known && known == added);
  }
};

struct PadIntoPool : CountedPattern<PoolOp> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(PoolOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    auto value = spatialPadding(pad);
    if (!value)
      return failure();
    bool isMax = op.getKind() == PoolKind::max;
    if (isMax ? !isPaddingLost(op, pad, *value) : !isCounted(op, *value))
      return failure();
    SmallVector<int64_t> low = sum(op.getPadsLow(), pad.getLow());
    SmallVector<int64_t> high = sum(op.getPadsHigh(), pad.getHigh());
    // Windows that lie in the padding alone are left to the pad.
    for (size_t i = 0; i < low.size(); ++i)
      if (low[i] >= op.getKernel()[i] || high[i] >= op.getKernel()[i])
        return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (!isMax) {
        // Padding that ceil_mode added beyond still does not count.
        ArrayRef<int64_t> counted = op.getCountedPadsHigh()
                                        ? *op.getCountedPadsHigh()
                                        : op.getPadsHigh();
        op.setCountedPadsHigh(sum(counted, pad.getHigh()));
        op.setCountIncludePad(true);
      }
      op.getInputMutable().assign(pad.getInput());
      op.setPadsLow(low);
      op.setPadsHigh(high);
    });
    ++count;
    return success();
  }

  /// Whether the padding never is a window's largest element: it is -inf, as a
  /// pool's own is, or zero beside elements that are at least zero.
  static bool isPaddingLost(PoolOp op, PadOp pad, double value) {
    bool isDense =
        llvm::all_of(op.getDilations(), [](int64_t d) { return d == 1; });
    // An input without elements leaves nothing but padding in a window.
    return value == -std::numeric_limits<double>::infinity() ||
           (value == 0 && isDense &&
            typeOf(pad.getInput()).getNumElements() > 0 &&
            isNonNegative(pad.getInput()));
  }

  /// Whether the average of a window counts padding as zeros: an unpadded pool
  /// will, once told to; a padded one must do so already.
  static bool isCounted(PoolOp op, double value) {
    auto isZero = [](int64_t v) { return v == 0; };
    bool isUnpadded = llvm::all_of(op.getPadsLow(), isZero) &&
                      llvm::all_of(op.getPadsHigh(), isZero);
    return value == 0 && (isUnpadded || op.getCountIncludePad());
  }
};

struct FusePad : nnv12::impl::FusePadBase<FusePad> {
  void runOnOperation() override {
    rewriteGreedily<PadIntoConv, PadIntoQConv, PadIntoPool>(getOperation(),
                                                            fused);
  }
};
} // namespace
