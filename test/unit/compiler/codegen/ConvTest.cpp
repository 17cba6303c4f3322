//===- ConvTest.cpp - Convolutions against brute force --------------------===//

#include "CheckLayer.h"

using namespace nnv12::test;

namespace {

ConvCase conv(int64_t c, int64_t o, int64_t h, int64_t w, int64_t k,
              int64_t stride, int64_t pad) {
  ConvCase x;
  x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = k;
  x.strideH = x.strideW = stride;
  x.top = x.left = x.bottom = x.right = pad;
  return x;
}

} // namespace

TEST(ConvGemm, Sizes) {
  check(conv(16, 16, 5, 5, 1, 1, 0).text(), "conv.gemm.nChw16c");
  check(conv(40, 72, 7, 9, 1, 1, 0).text(), "conv.gemm.nChw16c");
  check(conv(5, 3, 4, 4, 1, 1, 0).text(), "conv.gemm.nChw16c");
  check(conv(64, 128, 14, 14, 1, 1, 0).text(), "conv.gemm.nChw16c");
  ConvCase x = conv(32, 64, 5, 5, 1, 1, 0);
  x.groups = 2, x.n = 2, x.residual = true, x.activation = "relu";
  check(x.text(), "conv.gemm.nChw16c");
}

TEST(ConvDirect, Window) {
  check(conv(32, 32, 9, 9, 1, 2, 0).text(), "conv.direct.nChw16c");
  check(conv(32, 32, 5, 5, 1, 1, 1).text(), "conv.direct.nChw16c");
  check(conv(32, 48, 14, 14, 3, 1, 1).text(), "conv.direct.nChw16c");
  check(conv(24, 40, 7, 7, 3, 1, 1).text(), "conv.direct.nChw16c");
  check(conv(16, 16, 13, 11, 3, 2, 1).text(), "conv.direct.nChw16c");
  check(conv(16, 32, 12, 12, 5, 1, 2).text(), "conv.direct.nChw16c");
  check(conv(20, 16, 10, 10, 3, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(64, 64, 40, 40, 3, 1, 1).text(), "conv.direct.nChw16c");
}

TEST(ConvDirect, Odd) {
  ConvCase x = conv(16, 16, 9, 12, 3, 1, 0);
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2, x.n = 2;
  check(x.text(), "conv.direct.nChw16c");
  x.strideW = 2, x.dilationW = 2, x.bottom = 2, x.c = 7, x.o = 19;
  check(x.text(), "conv.direct.nChw16c");
  x.bias = false;
  check(x.text(), "conv.direct.nChw16c");
  x.top = 9, x.left = 12; // padding wider than the window
  check(x.text(), "conv.direct.nChw16c");
}

/// Regions with the same taps inside of the input, one by one.
TEST(ConvDirect, DilatedIntoThePadding) {
  ConvCase x = conv(32, 64, 20, 20, 3, 1, 12);
  x.dilationH = x.dilationW = 12;
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "relu", x.residual = true, x.n = 2, x.groups = 2;
  check(x.text(), "conv.direct.nChw16c");
  // Rows and columns alike only in their names; all three ranges of one tap.
  x = conv(24, 20, 13, 17, 3, 1, 0);
  x.dilationH = 9, x.top = 9, x.bottom = 9;
  check(x.text(), "conv.direct.nChw16c");
  x = conv(16, 16, 11, 18, 3, 1, 0);
  x.dilationW = 10, x.left = 10, x.right = 9;
  check(x.text(), "conv.direct.nChw16c");
  // Strides, and a window of two.
  x = conv(16, 40, 24, 24, 3, 2, 8);
  x.dilationH = x.dilationW = 8, x.kw = 2;
  check(x.text(), "conv.direct.nChw16c");
  // Four dense channels.
  x = conv(4, 16, 20, 20, 3, 1, 12);
  x.dilationH = x.dilationW = 12;
  check(x.text(), "conv.first.nChw16c");
}

TEST(ConvDirect, Epilogue) {
  ConvCase x = conv(16, 24, 7, 7, 3, 1, 1);
  x.activation = "relu";
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "clip [-0.5, 1.0]", x.residual = true;
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "", x.residualActivation = "relu";
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "sigmoid"; // a long one
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "hard_swish [0.16666666666666666, 0.5]", x.residual = false;
  check(x.text(), "conv.direct.nChw16c");
  x = conv(16, 16, 9, 9, 3, 1, 1);
  x.groups = 16, x.activation = "sigmoid";
  check(x.text(), "conv.depthwise.nChw16c");
}

TEST(ConvDirect, Groups) {
  ConvCase x = conv(48, 96, 8, 8, 3, 1, 1);
  x.groups = 3, x.n = 2;
  check(x.text(), "conv.direct.nChw16c");
}

TEST(ConvIm2col, Window) {
  check(conv(32, 48, 14, 14, 3, 1, 1).text(), "conv.im2col.nChw16c");
  check(conv(24, 40, 7, 7, 3, 1, 1).text(), "conv.im2col.nChw16c");
  check(conv(16, 16, 13, 11, 3, 2, 1).text(), "conv.im2col.nChw16c");
  check(conv(20, 16, 10, 10, 3, 1, 0).text(), "conv.im2col.nChw16c");
  check(conv(64, 64, 40, 40, 5, 2, 2).text(),
        "conv.im2col.nChw16c"); // row blocks
}

TEST(ConvIm2col, OneByOne) {
  check(conv(32, 32, 9, 9, 1, 2, 0).text(), "conv.im2col.nChw16c");
  check(conv(19, 40, 13, 11, 1, 3, 0).text(), "conv.im2col.nChw16c");
  check(conv(32, 32, 5, 5, 1, 1, 1).text(), "conv.im2col.nChw16c");
}

TEST(ConvIm2col, Odd) {
  ConvCase x = conv(16, 16, 9, 12, 3, 1, 0);
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2, x.n = 2;
  check(x.text(), "conv.im2col.nChw16c");
  x.strideW = 2, x.dilationW = 2, x.bottom = 2, x.c = 7, x.o = 19;
  check(x.text(), "conv.im2col.nChw16c");
  x.bias = false;
  check(x.text(), "conv.im2col.nChw16c");
  x.top = 9, x.left = 12; // padding wider than the window
  check(x.text(), "conv.im2col.nChw16c");
  x = conv(16, 24, 1, 1, 1, 1, 0); // one pixel
  x.kh = x.kw = 3, x.top = x.left = x.bottom = x.right = 1;
  check(x.text(), "conv.im2col.nChw16c");
}

TEST(ConvIm2col, GroupsAndEpilogue) {
  ConvCase x = conv(48, 96, 8, 8, 3, 1, 1);
  x.groups = 3, x.n = 2;
  check(x.text(), "conv.im2col.nChw16c");
  x = conv(16, 24, 7, 7, 3, 1, 1);
  x.activation = "clip [-0.5, 1.0]", x.residual = true;
  check(x.text(), "conv.im2col.nChw16c");
  x.activation = "", x.residualActivation = "sigmoid"; // a long one
  check(x.text(), "conv.im2col.nChw16c");
}

/// Variants compute the same as the plain routine.
TEST(ConvVariants, Panels) {
  for (std::string suffix : {".p1", ".p4", ".fine"}) {
    check(conv(40, 72, 7, 9, 1, 1, 0).text(), "conv.gemm.nChw16c" + suffix);
    ConvCase x = conv(24, 136, 17, 19, 3, 1, 1);
    x.residual = true, x.activation = "relu";
    check(x.text(), "conv.direct.nChw16c" + suffix);
    check(x.text(), "conv.im2col.nChw16c" + suffix);
    x.strideH = x.strideW = 2, x.residual = false;
    check(x.text(), "conv.im2col.nChw16c" + suffix);
    check(conv(3, 72, 28, 27, 3, 2, 1).text(), "conv.first.nChw16c" + suffix);
  }
}

TEST(ConvFirst, Window) {
  check(conv(3, 32, 28, 28, 3, 2, 1).text(), "conv.first.nChw16c");
  check(conv(3, 64, 30, 30, 7, 2, 3).text(), "conv.first.nChw16c");
  check(conv(1, 8, 28, 28, 5, 1, 2).text(), "conv.first.nChw16c");
  check(conv(4, 20, 10, 11, 3, 1, 0).text(), "conv.first.nChw16c");
  check(conv(2, 20, 10, 11, 1, 1, 0).text(), "conv.first.nChw16c");
}

TEST(ConvDepthwise, Window) {
  for (int64_t stride : {1, 2})
    for (int64_t kernel : {3, 5}) {
      ConvCase x = conv(40, 40, 17, 31, kernel, stride, kernel / 2);
      x.groups = 40, x.n = 2, x.activation = "relu";
      check(x.text(), "conv.depthwise.nChw16c");
    }
  ConvCase x = conv(16, 16, 7, 7, 3, 1, 1);
  x.groups = 16, x.residual = true, x.residualActivation = "relu";
  check(x.text(), "conv.depthwise.nChw16c");
  x = conv(16, 16, 4, 70, 1, 1, 0);
  x.groups = 16, x.bias = false;
  check(x.text(), "conv.depthwise.nChw16c");
}

TEST(ConvDepthwise, Odd) {
  ConvCase x = conv(20, 20, 9, 12, 3, 1, 0);
  x.groups = 20;
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2;
  check(x.text(), "conv.depthwise.nChw16c");
  x.strideW = 2, x.strideH = 3, x.dilationW = 2, x.bottom = 2;
  check(x.text(), "conv.depthwise.nChw16c");
  x.top = 7, x.left = 12; // padding wider than the window
  check(x.text(), "conv.depthwise.nChw16c");
  x = conv(16, 16, 20, 20, 13, 1, 6);
  x.groups = 16;
  check(x.text(), "conv.depthwise.nChw16c");
}

TEST(ConvDepthwise, SmallGroups) {
  for (int64_t group : {2, 4, 8}) {
    ConvCase x = conv(32, 32, 9, 17, 3, 1, 1);
    x.groups = 32 / group;
    check(x.text(), "conv.depthwise.nChw16c");
  }
}

TEST(ConvTranspose, Usual) {
  for (auto [kernel, stride, pad, outputPadding] :
       std::vector<std::array<int64_t, 4>>{
           {2, 2, 0, 0}, {4, 2, 1, 0}, {3, 2, 1, 1}, {3, 1, 1, 0}}) {
    ConvCase x = conv(24, 20, 9, 15, kernel, stride, pad);
    x.transpose = true, x.outputPadding = outputPadding, x.n = 2,
    x.activation = "relu";
    check(x.text(), "conv_transpose.phases.nChw16c");
  }
}

TEST(ConvTranspose, Odd) {
  ConvCase x = conv(16, 16, 5, 6, 2, 3, 0); // phases without taps
  x.transpose = true;
  check(x.text(), "conv_transpose.phases.nChw16c");
  x = conv(20, 16, 5, 6, 3, 2, 0);
  x.transpose = true, x.dilationH = 2, x.dilationW = 3, x.top = 2, x.left = 1;
  check(x.text(), "conv_transpose.phases.nChw16c");
  x = conv(32, 64, 7, 7, 4, 2, 1);
  x.transpose = true, x.groups = 2, x.bias = false;
  check(x.text(), "conv_transpose.phases.nChw16c");
  x = conv(64, 64, 28, 28, 4, 2, 1);
  x.transpose = true, x.residual = true;
  check(x.text(), "conv_transpose.phases.nChw16c");
}

TEST(ConvFew, Forward) {
  for (int64_t channels : {1, 2, 3}) {
    ConvCase x = conv(40, channels, 9, 21, 3, 1, 1);
    x.activation = "sigmoid", x.n = 2;
    check(x.text(), "conv.few");
    x = conv(24, channels, 11, 18, 1, 2, 0);
    x.residual = true, x.residualActivation = "relu";
    check(x.text(), "conv.few");
  }
  ConvCase x = conv(16, 1, 40, 40, 5, 2, 1);
  x.dilationH = 2, x.left = 4, x.bias = false;
  check(x.text(), "conv.few");
}

TEST(ConvFew, Transpose) {
  for (int64_t channels : {1, 3}) {
    ConvCase x = conv(24, channels, 9, 21, 2, 2, 0);
    x.transpose = true, x.activation = "sigmoid";
    check(x.text(), "conv_transpose.few");
    x = conv(24, channels, 9, 21, 4, 2, 1);
    x.transpose = true, x.n = 2, x.residual = true;
    check(x.text(), "conv_transpose.few");
    x = conv(16, channels, 5, 6, 2, 3, 0); // phases without taps
    x.transpose = true;
    check(x.text(), "conv_transpose.few");
  }
}

/// A window that lies in the padding alone, and strides that leave most of the
/// padding unread.
TEST(ConvPadding, BeyondTheInput) {
  auto far = [](ConvCase x, int64_t low, int64_t high) {
    x.top = x.left = low, x.bottom = x.right = high;
    return x;
  };
  for (auto [routine, channels, outChannels, groups] :
       std::vector<std::tuple<const char *, int64_t, int64_t, int64_t>>{
           {"conv.direct.nChw16c", 16, 16, 1},
           {"conv.im2col.nChw16c", 16, 16, 1},
           {"conv.first.nChw16c", 3, 16, 1},
           {"conv.few", 16, 2, 1},
           {"conv.depthwise.nChw16c", 16, 16, 16}})
    for (auto [size, kernel, stride, low, high] :
         std::vector<std::array<int64_t, 5>>{{1, 1, 8, 5, 0},
                                             {1, 1, 7, 0, 9},
                                             {2, 3, 7, 9, 8},
                                             {1, 2, 3, 4, 20}}) {
      ConvCase x = conv(channels, outChannels, size, size, kernel, stride, 0);
      x.groups = groups;
      check(far(x, low, high).text(), routine);
    }
  ConvCase x = conv(16, 16, 1, 1, 1, 100, 0);
  x.left = 10;
  check(x.text(), "conv.direct.nChw16c");
  for (auto [routine, outChannels] :
       std::vector<std::pair<const char *, int64_t>>{
           {"conv_transpose.phases.nChw16c", 16}, {"conv_transpose.few", 1}})
    for (auto [kernel, stride, low, outputPadding] :
         std::vector<std::array<int64_t, 4>>{
             {1, 1, 10, 10}, {3, 1, 9, 8}, {2, 3, 14, 12}}) {
      ConvCase x = conv(16, outChannels, 2, 2, kernel, stride, 0);
      x.transpose = true, x.outputPadding = outputPadding;
      check(far(x, low, 0).text(), routine);
    }
}
