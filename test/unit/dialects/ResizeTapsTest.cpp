//===- ResizeTapsTest.cpp - The elements that a resize reads --------------===//

#include "dialects/nn/ResizeTaps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using nn::ResizeTaps;

namespace {

/// The elements that the terms of these positions read.
std::pair<int64_t, int64_t> readBy(const ResizeTaps &taps, int64_t in,
                                   int64_t begin, int64_t end) {
  int64_t lo = in, hi = 0;
  for (int64_t t = 0; t < taps.count; ++t)
    for (int64_t o = begin; o < end; ++o) {
      auto source = static_cast<int64_t>(taps.source[t * taps.size + o]);
      lo = std::min(lo, source);
      hi = std::max(hi, source + 1);
    }
  return {lo, hi};
}

TEST(ResizeTaps, SourcesAreThoseOfTheTerms) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  const std::pair<int, int> sizes[] = {{7, 16}, {12, 12}, {20, 7}, {5, 1},
                                       {1, 6},  {9, 10},  {31, 13}};
  unsigned count = 0;
  for (const char *mode : {"nearest", "linear", "cubic"})
    for (const char *coordinates :
         {"half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"})
      for (const char *more :
           {"", "exclude_outside = true,", "antialias = true,"})
        for (auto [in, out] : sizes) {
          std::string text = llvm::formatv(
              "func.func @main(%x: tensor<{0}xf32>) -> tensor<{1}xf32> {{\n"
              "  %0 = nn.resize {2} %x scales [{3:e17}] coordinates {4} "
              "nearest "
              "round_prefer_floor {{{5} roi = array<f64: 0.2, 0.7>} : "
              "tensor<{0}xf32> -> tensor<{1}xf32>\n"
              "  return %0 : tensor<{1}xf32>\n}",
              in, out, mode, double(out) / in, coordinates, more);
          OwningOpRef<ModuleOp> module =
              parseSourceString<ModuleOp>(text, &context);
          ASSERT_TRUE(module) << text;
          nn::ResizeOp op;
          module->walk([&](nn::ResizeOp resize) { op = resize; });
          ResizeTaps taps = ResizeTaps::of(op, 0, in, out);
          for (int64_t begin = 0; begin < out; ++begin)
            for (int64_t end = begin + 1; end <= out; ++end, ++count)
              EXPECT_EQ(ResizeTaps::sourcesOf(op, 0, in, out, begin, end),
                        readBy(taps, in, begin, end))
                  << text << "positions " << begin << " to " << end;
          ASSERT_FALSE(HasFailure());
        }
  EXPECT_GT(count, 5000u);
}

} // namespace
