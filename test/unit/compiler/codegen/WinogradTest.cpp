//===- WinogradTest.cpp - Winograd convolutions against brute force -------===//

#include "compiler/codegen/common/Winograd.h"
#include "CheckLayer.h"

using namespace nnv12;
using namespace nnv12::test;

namespace {

std::string routine(int64_t m) {
  return "conv.winograd" + std::to_string(m) + ".nChw16c";
}

/// Rounding errors of the transforms' sums, as a part of the largest result.
float tolerance(int64_t m) { return m == 6 ? 5e-5f : 1e-5f; }

ConvCase conv(int64_t c, int64_t o, int64_t h, int64_t w, int64_t pad = 1) {
  ConvCase x;
  x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = 3;
  x.top = x.left = x.bottom = x.right = pad;
  x.constant = true;
  return x;
}

void checkAll(const ConvCase &x) {
  for (int64_t m : {2, 4, 6})
    check(x.text(), routine(m), tolerance(m));
}

} // namespace

/// The identity behind all: a 1-D filter by points is the filter.
TEST(Winograd, Matrices) {
  for (int64_t m : {2, 4, 6}) {
    const codegen::Winograd &f = codegen::Winograd::of(m);
    ASSERT_EQ(f.t, m + 2);
    for (int64_t tap = 0; tap < 3; ++tap)
      for (int64_t in = 0; in < f.t; ++in)
        for (int64_t out = 0; out < m; ++out) {
          double sum = 0;
          for (int64_t k = 0; k < f.t; ++k)
            sum +=
                f.output.at(out, k) * f.weights.at(k, tap) * f.input.at(k, in);
          EXPECT_NEAR(sum, in == out + tap ? 1.0 : 0.0, 1e-12)
              << "F(" << m << ", 3), weight " << tap << ", input " << in
              << ", output " << out;
        }
  }
}

TEST(Winograd, WholeWindows) { checkAll(conv(16, 32, 26, 14, 0)); }

TEST(Winograd, Remainders) {
  // Windows that end beyond the result at both sides, channel tails in input
  // and output, more than one block of windows.
  ConvCase x = conv(20, 40, 17, 23);
  x.n = 3;
  checkAll(x);
  checkAll(conv(32, 80, 13, 11));
}

TEST(Winograd, Padding) {
  ConvCase x = conv(16, 17, 10, 9);
  x.top = 2, x.left = 0, x.bottom = 0, x.right = 2, x.bias = false;
  checkAll(x);
  x.top = 5, x.left = 7; // windows wholly in the padding
  checkAll(x);
  x = conv(16, 16, 3, 3, 4); // an input smaller than a window
  checkAll(x);
}

TEST(Winograd, Epilogue) {
  ConvCase x = conv(16, 24, 11, 12);
  x.activation = "clip [-0.5, 1.0]", x.residual = true;
  check(x.text(), routine(4), tolerance(4));
  x.activation = "", x.residualActivation = "relu", x.n = 2;
  checkAll(x);
  x.activation = "sigmoid"; // a long one
  checkAll(x);
  x.residual = false, x.residualActivation = "";
  check(x.text(), routine(6), tolerance(6));
}

/// The result may lie where the residual does, even if its epilogue is long.
TEST(Winograd, InPlace) {
  for (const char *activation : {"relu", "sigmoid"}) {
    ConvCase x = conv(16, 16, 12, 12);
    x.residual = true, x.activation = activation;
    std::string error;
    auto kernel = LayerKernel::compile(x.text(), "host", error, routine(4));
    ASSERT_TRUE(kernel) << error;
    ASSERT_EQ(kernel->info().inPlaceOperands.size(), 1u);
    EXPECT_EQ(kernel->info().inPlaceOperands[0], 3u);
  }
}

TEST(Winograd, MatchesWhatItCanWin) {
  auto compiles = [](const ConvCase &x, int64_t m) {
    std::string error;
    return bool(LayerKernel::compile(x.text(), "host", error, routine(m)));
  };
  EXPECT_TRUE(compiles(conv(16, 16, 8, 8), 4));
  EXPECT_FALSE(compiles(conv(8, 16, 8, 8), 4));
  ConvCase x = conv(16, 16, 8, 8);
  x.constant = false; // its form cannot be computed before the run
  EXPECT_FALSE(compiles(x, 4));
  x = conv(16, 16, 16, 16);
  x.strideW = 2;
  EXPECT_FALSE(compiles(x, 4));
  x = conv(16, 16, 16, 16);
  x.dilationH = 2;
  EXPECT_FALSE(compiles(x, 4));
  x = conv(32, 32, 16, 16);
  x.groups = 2;
  EXPECT_FALSE(compiles(x, 4));
  // 64 multiplications instead of 81 pay no transforms.
  EXPECT_FALSE(compiles(conv(16, 16, 3, 3), 6));
  EXPECT_TRUE(compiles(conv(16, 16, 3, 3), 4));
}

/// All routines of a layer agree with its layouts, and the preferred one stays.
TEST(Winograd, Candidates) {
  std::string error;
  auto kernel =
      LayerKernel::compile(conv(32, 32, 14, 14).text(), "host", error);
  ASSERT_TRUE(kernel) << error;
  EXPECT_EQ(kernel->routine().name(), "conv.direct.nChw16c");
  std::vector<std::string> names;
  for (const Routine *candidate :
       codegen::cpuRoutines().agreeing(kernel->layer()))
    names.push_back(candidate->name().str());
  EXPECT_EQ(names.front(), "conv.direct.nChw16c");
  for (int64_t m : {2, 4, 6})
    EXPECT_TRUE(llvm::is_contained(names, routine(m)));
}
