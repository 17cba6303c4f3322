//===- WindowShape.h - Sizes of a layer with a sliding window ---*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_WINDOWSHAPE_H
#define NNV12_COMPILER_ROUTINES_WINDOWSHAPE_H

#include "compiler/routines/Work.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cassert>

namespace nnv12 {

/// Whether all operands and results are f32 and have elements.
inline bool isNonEmptyF32(mlir::Operation *layer) {
  auto fits = [](mlir::Value v) {
    return mlir::getElementTypeOrSelf(v).isF32() &&
           !llvm::is_contained(shapeOf(v), 0);
  };
  return llvm::all_of(layer->getOperands(), fits) &&
         llvm::all_of(layer->getResults(), fits);
}

/// Padding behind the input whose elements an average may count.
inline llvm::ArrayRef<int64_t> countedPadsHigh(nn::PoolOp op) {
  auto counted = op.getCountedPadsHigh();
  return counted ? *counted : op.getPadsHigh();
}

/// Neighbouring outputs of one dimension whose windows have the same taps
/// inside of the input.
struct TapRange {
  int64_t first, count;       ///< outputs
  int64_t firstTap, taps = 0; ///< may be none
};

/// All outputs of one dimension in ranges, in order; `low` is the padding in
/// front.
inline llvm::SmallVector<TapRange> tapRanges(int64_t outputs, int64_t input,
                                             int64_t kernel, int64_t stride,
                                             int64_t dilation, int64_t low) {
  llvm::SmallVector<TapRange> ranges;
  for (int64_t o = 0; o < outputs; ++o) {
    // Elements from the window's first tap to the input's first and last one.
    int64_t before = low - o * stride, reach = input - 1 + before;
    int64_t first =
        before > 0 ? std::min(kernel, (before + dilation - 1) / dilation) : 0;
    int64_t end = reach < 0 ? 0 : std::min(kernel, reach / dilation + 1);
    TapRange range{o, 1, 0, 0};
    if (first < end)
      range.firstTap = first, range.taps = end - first;
    if (!ranges.empty() && ranges.back().taps == range.taps &&
        ranges.back().firstTap == range.firstTap)
      ++ranges.back().count;
    else
      ranges.push_back(range);
  }
  return ranges;
}

/// Sizes of a layer whose window slides over one or two spatial dimensions; one
/// dimension is a height of one. DepthShape has the first of three.
struct WindowShape {
  int64_t batch, channels, height, width;
  int64_t outChannels, outHeight, outWidth;
  int64_t kernelRows, kernelCols, strideRows, strideCols, dilationRows,
      dilationCols;
  int64_t top, left, bottom, right; ///< padding

  /// For a conv, conv_transpose or pool of rank 3 to 5.
  template <typename Op> explicit WindowShape(Op op) {
    llvm::ArrayRef<int64_t> in = shapeOf(op->getOperand(0)),
                            out = shapeOf(op->getResult(0)),
                            kernel = op.getKernel();
    assert(in.size() >= 3 && in.size() <= 5 && kernel.size() + 2 == in.size() &&
           "one to three spatial dimensions");
    bool flat = in.size() == 3;
    auto row = [&](llvm::ArrayRef<int64_t> v, int64_t none) {
      return flat ? none : v[v.size() - 2];
    };
    batch = in[0], channels = in[1], height = row(in, 1), width = in.back();
    outChannels = out[1], outHeight = row(out, 1), outWidth = out.back();
    kernelRows = row(kernel, 1), kernelCols = kernel.back();
    strideRows = row(op.getStrides(), 1), strideCols = op.getStrides().back();
    dilationRows = row(op.getDilations(), 1),
    dilationCols = op.getDilations().back();
    top = row(op.getPadsLow(), 0), left = op.getPadsLow().back();
    bottom = row(op.getPadsHigh(), 0), right = op.getPadsHigh().back();
  }
  /// Input rows that `outRows` output rows span.
  int64_t inputRows(int64_t outRows) const {
    return (outRows - 1) * strideRows + (kernelRows - 1) * dilationRows + 1;
  }
  int64_t inputCols(int64_t outCols) const {
    return (outCols - 1) * strideCols + (kernelCols - 1) * dilationCols + 1;
  }
  /// All outputs of a column of the result in ranges, from the top.
  llvm::SmallVector<TapRange> rowRanges() const {
    return tapRanges(outHeight, height, kernelRows, strideRows, dilationRows,
                     top);
  }
  /// The same for a row, from the left.
  llvm::SmallVector<TapRange> colRanges() const {
    return tapRanges(outWidth, width, kernelCols, strideCols, dilationCols,
                     left);
  }
  /// Taps that fall inside the input, summed over the outputs of a channel and
  /// the batch: a kernel that skips the padding computes these.
  double insideTaps() const {
    auto sum = [](llvm::ArrayRef<TapRange> ranges) {
      double taps = 0;
      for (const TapRange &range : ranges)
        taps += double(range.count * range.taps);
      return taps;
    };
    return double(batch) * sum(rowRanges()) * sum(colRanges());
  }
  /// Whether some window reaches outside the input.
  bool isPadded() const {
    return top > 0 || left > 0 || inputRows(outHeight) - top > height ||
           inputCols(outWidth) - left > width;
  }
};

/// The first of three spatial dimensions; of fewer there is one plane.
struct DepthShape {
  int64_t in = 1, out = 1; ///< planes
  int64_t kernel = 1, stride = 1, dilation = 1, front = 0;

  /// For a conv of rank 3 to 5.
  template <typename Op> explicit DepthShape(Op op) {
    if (shapeOf(op->getOperand(0)).size() < 5)
      return;
    in = shapeOf(op->getOperand(0))[2], out = shapeOf(op->getResult(0))[2];
    kernel = op.getKernel()[0], stride = op.getStrides()[0],
    dilation = op.getDilations()[0], front = op.getPadsLow()[0];
  }
  /// Whether each plane of the result is made of the same plane of the input.
  bool isPlaneByPlane() const {
    return kernel == 1 && stride == 1 && front == 0 && in == out;
  }
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_WINDOWSHAPE_H
