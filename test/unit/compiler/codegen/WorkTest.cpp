//===- WorkTest.cpp - The work that routines count ------------------------===//

#include "KernelTest.h"
#include "Reference.h"

#include "gtest/gtest.h"

using namespace nnv12;
using namespace nnv12::test;

static Work workOf(const std::string &text, llvm::StringRef routine = "") {
  std::string error;
  auto kernel = LayerKernel::compile(text, "x86-64-v3", error, routine);
  if (!kernel) {
    ADD_FAILURE() << error << text;
    return {};
  }
  return kernel->routine().work(kernel->layer());
}

static ConvCase convOf(int64_t c, int64_t o, int64_t size, int64_t k,
                       int64_t pad) {
  ConvCase x;
  x.c = c, x.o = o, x.h = x.w = size, x.kh = x.kw = k;
  x.top = x.left = x.bottom = x.right = pad;
  x.bias = false;
  return x;
}

TEST(Work, ConvolutionsCountWholeBlocksOfOutputs) {
  Work w = workOf(convOf(40, 20, 8, 3, 1).text(), "conv.direct.nChw16c");
  EXPECT_EQ(w.multiplyAdds, 64.0 * 9 * 40 * 32);
  EXPECT_EQ(w.bytes, 4.0 * (48 * 64 + 32 * 48 * 9 + 32 * 64));
  ConvCase grouped = convOf(96, 48, 8, 3, 1);
  grouped.groups = 3;
  EXPECT_EQ(workOf(grouped.text()).multiplyAdds, 64.0 * 9 * 32 * 48);
  EXPECT_EQ(
      workOf(convOf(3, 16, 8, 3, 1).text(), "conv.first.nChw16c").multiplyAdds,
      64.0 * 9 * 3 * 16);
  EXPECT_EQ(workOf(convOf(20, 1, 8, 1, 0).text(), "conv.few").multiplyAdds,
            64.0 * 32);
}

TEST(Work, SlidingWindowsSkipThePadding) {
  ConvCase x = convOf(20, 20, 8, 3, 1);
  x.groups = 20;
  EXPECT_EQ(workOf(x.text(), "conv.depthwise.nChw16c").multiplyAdds,
            double((8 * 3 - 2) * (8 * 3 - 2) * 32));
  PoolCase pool;
  pool.c = 16, pool.h = pool.w = 8, pool.k = 3, pool.stride = 1;
  pool.low = pool.high = 1;
  EXPECT_EQ(workOf(pool.text(), "pool.nChw16c").multiplyAdds,
            double((8 * 3 - 2) * (8 * 3 - 2) * 16));
}

TEST(Work, TransposedConvolution) {
  ConvCase x = convOf(24, 20, 8, 2, 0);
  x.transpose = true, x.strideH = x.strideW = 2;
  EXPECT_EQ(workOf(x.text(), "conv_transpose.phases.nChw16c").multiplyAdds,
            64.0 * 24 * 4 * 32);
}

TEST(Work, MatMul) {
  MatMulCase x;
  x.m = 5, x.n = 20, x.k = 7, x.constant = true, x.bias = false;
  Work w = workOf(x.text(), "matmul.panels");
  EXPECT_EQ(w.multiplyAdds, 5.0 * 7 * 32);
  EXPECT_EQ(w.bytes, 4.0 * (5 * 7 + 7 * 32 + 5 * 20));
  x.constant = false, x.lhsBatch = x.rhsBatch = {3}, x.transposeLhs = true;
  EXPECT_EQ(workOf(x.text(), "matmul.packing").multiplyAdds, 3.0 * 5 * 7 * 32);
}

TEST(Work, Elements) {
  auto layer = [](const std::string &in, const std::string &op,
                  const std::string &out) {
    return "func.func @main(%x: tensor<" + in + ">) -> tensor<" + out +
           "> {\n  %y = " + op + " : tensor<" + in + "> -> tensor<" + out +
           ">\n  return %y : tensor<" + out + ">\n}\n";
  };
  EXPECT_EQ(
      workOf(layer("4x8xf32", "nn.unary %x <relu>", "4x8xf32")).multiplyAdds,
      32.0);
  EXPECT_EQ(
      workOf(layer("4x8xf32", "nn.unary %x <sigmoid>", "4x8xf32")).multiplyAdds,
      320.0);
  EXPECT_EQ(workOf(layer("4x8xf32", "nn.reduce sum %x axes [1] keep_dims false",
                         "4xf32"))
                .multiplyAdds,
            32.0);
  // Only the elements that are taken count.
  Work slice = workOf(
      layer("100x8xf32", "nn.slice %x starts [3, 0] sizes [2, 8] steps [1, 1]",
            "2x8xf32"));
  EXPECT_EQ(slice.bytes, 2.0 * 2 * 8 * 4);
}
