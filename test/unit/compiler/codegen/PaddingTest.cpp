//===- PaddingTest.cpp - The padding of blocks of channels ----------------===//
//
// It is zero for every layer and for all data, because readers multiply it by
// weights of zero.
//
//===----------------------------------------------------------------------===//

#include "CheckLayer.h"

using namespace nnv12::test;

namespace {

/// 17 output channels of 20, in 9 x 7 pixels.
ConvCase conv(int64_t kernel, int64_t stride = 1) {
  ConvCase x;
  x.c = 20, x.o = 17, x.h = 9, x.w = 7, x.kh = x.kw = kernel;
  x.strideH = x.strideW = stride;
  x.top = x.left = x.bottom = x.right = kernel / 2;
  return x;
}

/// With functions that are not zero at zero: one that is computed at the sums,
/// one behind them; and with a residual.
void checkAll(ConvCase x, llvm::StringRef routine, bool comparable = true) {
  checkNotFinite(x.text(), routine, comparable);
  x.activation = "clip [1.0, 2.0]", x.residual = true;
  checkNotFinite(x.text(), routine, comparable);
  x.residualActivation = "sigmoid";
  checkNotFinite(x.text(), routine, comparable);
}

} // namespace

TEST(Padding, OfConvolutions) {
  checkAll(conv(1), "conv.gemm.nChw16c");
  checkAll(conv(3), "conv.direct.nChw16c");
  checkAll(conv(3), "conv.im2col.nChw16c");
  ConvCase x = conv(3);
  x.o = 3; // most of a block
  checkNotFinite(x.text(), "conv.direct.nChw16c");
  x.o = 90, x.n = 2; // many panels, the last one in part
  checkNotFinite(x.text(), "conv.direct.nChw16c");
  x = conv(3);
  x.c = 3;
  checkAll(x, "conv.first.nChw16c");
}

TEST(Padding, OfDilatedConvolutionsByRegions) {
  ConvCase x = conv(3);
  x.h = 13, x.w = 17, x.o = 20, x.dilationH = 9, x.top = x.bottom = 9;
  x.left = x.right = 0;
  checkAll(x, "conv.direct.nChw16c");
}

TEST(Padding, OfDepthwiseConvolutions) {
  ConvCase x = conv(3);
  x.c = x.groups = x.o;
  checkAll(x, "conv.depthwise.nChw16c");
  x.c = x.o = 20, x.groups = 5;
  checkNotFinite(x.text(), "conv.depthwise.nChw16c");
}

TEST(Padding, OfWinograd) {
  ConvCase x = conv(3);
  x.c = 32, x.o = 40, x.h = x.w = 14, x.constant = true;
  for (const char *routine :
       {"conv.winograd2.nChw16c", "conv.winograd4.nChw16c",
        "conv.winograd6.nChw16c"})
    checkAll(x, routine, /*comparable=*/false);
}

TEST(Padding, OfTransposedConvolutions) {
  ConvCase x = conv(3, 2);
  x.transpose = true, x.outputPadding = 1;
  checkAll(x, "conv_transpose.phases.nChw16c");
  x.strideH = x.strideW = 4; // phases without taps
  checkNotFinite(x.text(), "conv_transpose.phases.nChw16c");
}

/// Readers add up whole blocks.
TEST(Padding, IsReadByConvolutionsToFewChannels) {
  ConvCase x = conv(3);
  x.o = 2;
  checkAll(x, "conv.few");
  x.transpose = true;
  checkAll(x, "conv_transpose.few");
}

TEST(Padding, OfPools) {
  PoolCase x;
  x.c = 17, x.h = x.w = 9, x.k = 3;
  for (bool max : {true, false}) {
    x.max = max, x.low = x.high = 1;
    checkNotFinite(x.text(), "pool.nChw16c", /*comparable=*/!max);
    x.low = 4; // windows that see nothing
    checkNotFinite(x.text(), "pool.nChw16c", /*comparable=*/false);
  }
}
