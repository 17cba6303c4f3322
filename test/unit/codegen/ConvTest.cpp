//===- ConvTest.cpp - Convolutions against brute force --------------------===//

#include "KernelTest.h"
#include "Reference.h"

#include "dialects/nn/NNDialect.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace nnv12::test;

namespace {

/// Runs the layer on every target and compares with the reference.
void check(const std::string &text, llvm::StringRef routine) {
  for (const std::string &target : testTargets()) {
    SCOPED_TRACE(target + ": " + text);
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    ASSERT_TRUE(kernel) << error;
    std::vector<Floats> operands;
    std::vector<Bytes> bytes;
    for (mlir::Value operand : kernel->layer()->getOperands()) {
      auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
      operands.push_back(randomFloats(type.getNumElements(), operands.size() + 1));
      bytes.push_back(toBytes(operands.back()));
    }
    Floats expected = reference(kernel->layer(), operands);
    Floats actual = toFloats(kernel->run(bytes)[0]);
    ASSERT_EQ(expected.size(), actual.size());
    float largest = 0, difference = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      float d = std::fabs(expected[i] - actual[i]);
      if (!(d <= difference))
        difference = d;
    }
    EXPECT_LE(difference, 1e-5f * largest + 1e-6f);
  }
}

ConvCase conv(int64_t c, int64_t o, int64_t h, int64_t w, int64_t k, int64_t stride,
              int64_t pad) {
  ConvCase x;
  x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = k;
  x.strideH = x.strideW = stride;
  x.top = x.left = x.bottom = x.right = pad;
  return x;
}

} // namespace

TEST(ConvDirect, OneByOne) {
  check(conv(16, 16, 5, 5, 1, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(40, 72, 7, 9, 1, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(5, 3, 4, 4, 1, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(64, 128, 14, 14, 1, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(32, 32, 9, 9, 1, 2, 0).text(), "conv.direct.nChw16c");
}

TEST(ConvDirect, Window) {
  check(conv(32, 48, 14, 14, 3, 1, 1).text(), "conv.direct.nChw16c");
  check(conv(24, 40, 7, 7, 3, 1, 1).text(), "conv.direct.nChw16c");
  check(conv(16, 16, 13, 11, 3, 2, 1).text(), "conv.direct.nChw16c");
  check(conv(16, 32, 12, 12, 5, 1, 2).text(), "conv.direct.nChw16c");
  check(conv(20, 16, 10, 10, 3, 1, 0).text(), "conv.direct.nChw16c");
  check(conv(64, 64, 56, 56, 3, 1, 1).text(), "conv.direct.nChw16c");
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

TEST(ConvDirect, Epilogue) {
  ConvCase x = conv(16, 24, 7, 7, 3, 1, 1);
  x.activation = "relu";
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "clip [-0.5, 1.0]", x.residual = true;
  check(x.text(), "conv.direct.nChw16c");
  x.activation = "", x.residualActivation = "relu";
  check(x.text(), "conv.direct.nChw16c");
}

TEST(ConvDirect, Groups) {
  ConvCase x = conv(48, 96, 8, 8, 3, 1, 1);
  x.groups = 3, x.n = 2;
  check(x.text(), "conv.direct.nChw16c");
}

TEST(ConvFirst, Window) {
  check(conv(3, 32, 28, 28, 3, 2, 1).text(), "conv.first.nChw16c");
  check(conv(3, 64, 30, 30, 7, 2, 3).text(), "conv.first.nChw16c");
  check(conv(1, 8, 28, 28, 5, 1, 2).text(), "conv.first.nChw16c");
  check(conv(4, 20, 10, 11, 3, 1, 0).text(), "conv.first.nChw16c");
  check(conv(2, 20, 10, 11, 1, 1, 0).text(), "conv.first.nChw16c");
}
