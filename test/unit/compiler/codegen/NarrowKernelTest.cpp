//===- NarrowKernelTest.cpp - Kernels that read weights in fewer bits -----===//

#include "CheckLayer.h"

#include "dialects/plan/StoredForm.h"

using namespace nnv12;
using namespace nnv12::test;
using plan::Narrowing;

namespace {

/// The routine and its variants for narrow weights compute the same. Where no
/// sum is scaled they add the same products in the same order, and give the
/// same bits.
void checkNarrow(const std::string &text, const std::string &routine) {
  for (const std::string &target : testTargets())
    for (Narrowing narrowing : {Narrowing::f16, Narrowing::f16Outputs,
                                Narrowing::f16Inputs, Narrowing::q8}) {
      if (narrowing == Narrowing::f16Inputs && routine != "matmul.panels")
        continue;
      SCOPED_TRACE(target + " " + plan::text(narrowing) + ": " + text);
      std::string error;
      auto plain = LayerKernel::compile(text, target, error, routine);
      auto narrow = LayerKernel::compile(text, target, error,
                                         routine + "." + plan::text(narrowing));
      ASSERT_TRUE(plain && narrow) << error;
      std::vector<Bytes> operands;
      for (const Floats &operand : narrow->randomOperands())
        operands.push_back(toBytes(operand));
      Bytes expected = plain->run(operands)[0],
            found = narrow->run(operands)[0];
      if (narrowing == Narrowing::f16 || narrowing == Narrowing::q8)
        EXPECT_TRUE(expected == found);
      else
        EXPECT_LE(difference(toFloats(expected), toFloats(found)),
                  1e-5f * magnitude(toFloats(expected)));
    }
}

ConvCase windowOf(int64_t c, int64_t o, int64_t h, int64_t k) {
  ConvCase x;
  x.c = c, x.o = o, x.h = x.w = h, x.kh = x.kw = k, x.constant = true;
  x.top = x.left = x.bottom = x.right = k / 2;
  return x;
}

MatMulCase productOf(int64_t m, int64_t n, int64_t k) {
  MatMulCase x;
  x.m = m, x.n = n, x.k = k, x.constant = true;
  return x;
}

} // namespace

TEST(NarrowKernel, MatMul) {
  for (bool transposeRhs : {false, true})
    for (MatMulCase x : {productOf(1, 200, 70), productOf(40, 200, 70),
                         productOf(70, 100, 1024), productOf(3, 16, 33),
                         productOf(900, 60, 48)}) {
      x.transposeRhs = transposeRhs;
      checkNarrow(x.text(), "matmul.panels");
    }
}

TEST(NarrowKernel, ConvGemm) {
  checkNarrow(windowOf(40, 72, 7, 1).text(), "conv.gemm.nChw16c");
  checkNarrow(windowOf(24, 16, 1, 1).text(), "conv.gemm.nChw16c");
  ConvCase x = windowOf(64, 128, 14, 1);
  x.groups = 2, x.n = 2, x.residual = true, x.activation = "relu";
  checkNarrow(x.text(), "conv.gemm.nChw16c");
}

TEST(NarrowKernel, ConvDirect) {
  checkNarrow(windowOf(24, 40, 9, 3).text(), "conv.direct.nChw16c");
  checkNarrow(windowOf(32, 48, 28, 3).text(), "conv.direct.nChw16c");
  ConvCase x = windowOf(64, 96, 20, 3);
  x.strideH = 2, x.groups = 2;
  checkNarrow(x.text(), "conv.direct.nChw16c");
  // By regions of outputs.
  ConvCase dilated = windowOf(32, 64, 20, 3);
  dilated.dilationH = dilated.dilationW = 12;
  dilated.top = dilated.left = dilated.bottom = dilated.right = 12;
  checkNarrow(dilated.text(), "conv.direct.nChw16c");
}

TEST(NarrowKernel, ConvDepthwise) {
  ConvCase x = windowOf(40, 40, 9, 3);
  x.groups = 40, x.n = 2, x.activation = "relu";
  checkNarrow(x.text(), "conv.depthwise.nChw16c");
  x.groups = 10;
  checkNarrow(x.text(), "conv.depthwise.nChw16c");
}

TEST(NarrowKernel, OtherWindows) {
  checkNarrow(windowOf(3, 40, 15, 3).text(), "conv.first.nChw16c");
  checkNarrow(windowOf(24, 40, 9, 3).text(), "conv.im2col.nChw16c");
}
