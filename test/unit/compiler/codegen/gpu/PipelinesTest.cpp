//===- PipelinesTest.cpp - Which layers share kernels ---------------------===//

#include "test/unit/compiler/codegen/LayerOperands.h"
#include "test/unit/compiler/codegen/LayerShader.h"
#include "test/unit/compiler/codegen/Reference.h"

#include "compiler/codegen/gpu/GpuKernelTable.h"
#include "compiler/processors/Processor.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <array>
#include <set>

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::codegen;

namespace {

/// Layers by their preferred routines, all in one table.
class Pipelines : public testing::Test {
protected:
  /// The steps of the only layer of the text.
  GpuSteps add(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    mlir::Operation *layer = module ? findLayer(*module) : nullptr;
    if (!layer)
      return {};
    std::string reason;
    const GpuRoutine *routine = chooseGpuRoutine(layer, target, reason);
    EXPECT_TRUE(routine) << reason << "\n" << text;
    if (!routine)
      return {};
    setLayouts(*routine, layer);
    auto candidates = gpuProcessor().candidates(layer, target.name);
    EXPECT_TRUE(llvm::is_contained(candidates, routine));
    auto steps = table.add(layer, *routine);
    EXPECT_TRUE(mlir::succeeded(steps)) << text;
    return mlir::succeeded(steps) ? *steps : GpuSteps();
  }
  // Layers as networks have them, in order of appearance.
  struct Plane {
    int64_t channels, side;
  };
  Plane conv(Plane in, int64_t out, int64_t kernel, int64_t stride,
             std::string activation = "relu", bool residual = false,
             int64_t groups = 1) {
    ConvCase x;
    x.c = in.channels, x.h = x.w = in.side, x.o = out;
    x.kh = x.kw = kernel, x.strideH = x.strideW = stride;
    x.top = x.left = kernel / 2;
    x.bottom = x.right = kernel / 2 - (kernel > 1 && stride > 1);
    x.groups = groups, x.constant = true;
    // Activations follow the residual, where there is one.
    (residual ? x.residualActivation : x.activation) = std::move(activation);
    x.residual = residual;
    add(x.text());
    return {out, (in.side - 1) / stride + 1};
  }
  Plane maxPool(Plane in) {
    PoolCase x;
    x.c = in.channels, x.h = x.w = in.side, x.k = 3, x.high = 1;
    add(x.text());
    return {in.channels, (in.side + 1 - 3) / 2 + 1};
  }
  /// Average of each channel, product with weights, softmax.
  void classify(Plane in, bool hasProduct) {
    std::string channels = std::to_string(in.channels),
                type = "tensor<1x" + channels + "x" + std::to_string(in.side) +
                       "x" + std::to_string(in.side);
    add(unary("nn.reduce mean %0 axes [2, 3] keep_dims false",
              type + "xf32, #nn.layout<\"aBcd16b\">>",
              "tensor<1x" + channels + "xf32>"));
    if (hasProduct) {
      MatMulCase x;
      x.m = 1, x.k = in.channels, x.n = 1000, x.constant = true;
      add(x.text());
    }
    add(unary("nn.softmax %0 axis 1", "tensor<1x1000xf32>",
              "tensor<1x1000xf32>"));
  }
  /// A layer of operand %0.
  static std::string unary(const std::string &layer, const std::string &in,
                           const std::string &out) {
    return "func.func @main(%0: " + in + ") -> " + out + " {\n  %1 = " + layer +
           " : " + in + " -> " + out + "\n  return %1 : " + out + "\n}\n";
  }

  std::set<std::string> keys() const {
    std::set<std::string> result;
    for (const GpuKernelTable::Kernel &kernel : table.kernels())
      result.insert(kernel.key);
    return result;
  }

  Pipelines() { context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>(); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  GpuTarget target = GpuTarget::of({});
  GpuKernelTable table{target, /*comparesTwins=*/true};
};

std::string relu(const std::string &type) {
  return "func.func @main(%0: " + type + ") -> " + type +
         " {\n  %1 = nn.unary %0 <relu> : " + type + " -> " + type +
         "\n  return %1 : " + type + "\n}\n";
}

} // namespace

TEST_F(Pipelines, LayersOfOtherExtentsShareKernels) {
  add(relu("tensor<8xf32>"));
  GpuSteps steps = add(relu("tensor<3x100xf32>"));
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].kernel, 0u);
  EXPECT_EQ(table.kernels().size(), 1u);
  EXPECT_EQ(table[0].name, "gpu.map");
  maxPool({16, 8});
  maxPool({3, 13});
  EXPECT_EQ(table.kernels().size(), 2u);
}

// Functions behind sums, too, unless they are more than a range.
TEST_F(Pipelines, BiasResidualAndRangesAreData) {
  conv({16, 8}, 32, 1, 1, "");
  conv({48, 5}, 17, 1, 1, "relu");
  conv({16, 8}, 16, 1, 1, "clip [0.0, 6.0]", /*residual=*/true);
  ConvCase x;
  x.bias = false;
  add(x.text());
  EXPECT_EQ(table.kernels().size(), 1u);
  conv({16, 8}, 16, 1, 1, "sigmoid");
  conv({32, 8}, 16, 1, 1, "sigmoid", /*residual=*/true);
  EXPECT_EQ(table.kernels().size(), 3u);
}

// Weights that are there in form "winograd4" alone need no product of their
// own, whichever one 1x1 convolutions have.
TEST_F(Pipelines, WinogradHasTheProductsOfConvolutions) {
  auto productOf = [&](const ConvCase &x, const std::string &name,
                       size_t kernel) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(x.text(), &context);
    mlir::Operation *layer = module ? findLayer(*module) : nullptr;
    const Routine *routine = gpuRoutines().named(name);
    EXPECT_TRUE(layer && routine) << name;
    if (!layer || !routine)
      return std::string();
    setLayouts(*routine, layer);
    const GpuRoutine &own = GpuRoutine::of(*routine);
    EXPECT_EQ(own.refusal(layer, target), "");
    return own.steps(layer).kernels[kernel];
  };
  ConvCase window;
  window.c = window.o = 32, window.h = window.w = 30, window.constant = true;
  ConvCase pixel = window;
  window.kh = window.kw = 3;
  for (std::string square : {"32x32", "64x64"})
    EXPECT_EQ(productOf(window, "gpu.conv.winograd4." + square, 1),
              productOf(pixel, "gpu.conv.shared." + square, 0));
}

// Which extreme of a row is searched, and which one of equal ones, is data.
TEST_F(Pipelines, ExtremesShareKernels) {
  for (std::string kind : {"max", "min"})
    for (std::string last : {"true", "false"}) {
      std::string layer = "nn.arg_reduce " + kind +
                          " %0 axis 1 keep_dims false select_last " + last;
      add(unary(layer, "tensor<3x1000xf32>", "tensor<3xi64>"));
      add(unary(layer, "tensor<2x40x7xf32>", "tensor<2x7xi64>"));
      add(unary(layer, "tensor<2x40x5x7xf32, #nn.layout<\"aBcd16b\">>",
                "tensor<2x5x7xi64>"));
      EXPECT_EQ(table.kernels().size(), 1u);
    }
  // Short rows, and many whose neighbours in memory are of other ones.
  const std::string layer =
      "nn.arg_reduce max %0 axis 1 keep_dims false select_last false";
  add(unary(layer, "tensor<3x7xf32>", "tensor<3xi64>"));
  add(unary(layer, "tensor<1x50x2000xf32>", "tensor<1x2000xi64>"));
  EXPECT_EQ(table.kernels().size(), 2u) << testing::PrintToString(keys());
  for (const std::string &key : keys())
    EXPECT_TRUE(llvm::StringRef(key).starts_with("gpu.arg_reduce")) << key;
}

TEST_F(Pipelines, OfResNet50) {
  Plane x = maxPool(conv({3, 224}, 64, 7, 2));
  for (auto [channels, count] :
       {std::pair(64, 3), {128, 4}, {256, 6}, {512, 3}})
    for (int i = 0; i < count; ++i) {
      int64_t stride = i == 0 && channels > 64 ? 2 : 1;
      if (i == 0)
        conv(x, channels * 4, 1, stride, "");
      Plane y = conv(conv(x, channels, 1, 1), channels, 3, stride);
      x = conv(y, channels * 4, 1, 1, "relu", /*residual=*/true);
    }
  EXPECT_EQ(x.side, 7);
  classify(x, /*hasProduct=*/true);
  EXPECT_LE(table.kernels().size(), 10u) << testing::PrintToString(keys());
}

TEST_F(Pipelines, OfMobileNetV2) {
  const std::string relu6 = "clip [0.0, 6.0]";
  Plane x = conv({3, 224}, 32, 3, 2, relu6);
  for (auto [factor, channels, count, stride] :
       {std::array<int64_t, 4>{1, 16, 1, 1},
        {6, 24, 2, 2},
        {6, 32, 3, 2},
        {6, 64, 4, 2},
        {6, 96, 3, 1},
        {6, 160, 3, 2},
        {6, 320, 1, 1}})
    for (int64_t i = 0; i < count; ++i) {
      Plane y = x;
      if (factor > 1)
        y = conv(x, x.channels * factor, 1, 1, relu6);
      y = conv(y, y.channels, 3, i == 0 ? stride : 1, relu6,
               /*residual=*/false, /*groups=*/y.channels);
      x = conv(y, channels, 1, 1, "", /*residual=*/i > 0);
    }
  x = conv(x, 1280, 1, 1, relu6);
  EXPECT_EQ(x.side, 7);
  classify(x, /*hasProduct=*/true);
  EXPECT_LE(table.kernels().size(), 9u) << testing::PrintToString(keys());
}

TEST_F(Pipelines, OfSqueezeNet) {
  Plane x = maxPool(conv({3, 224}, 64, 3, 2));
  for (auto [squeezed, expanded] : {std::pair(16, 64),
                                    {16, 64},
                                    {32, 128},
                                    {32, 128},
                                    {48, 192},
                                    {48, 192},
                                    {64, 256},
                                    {64, 256}}) {
    Plane y = conv(x, squeezed, 1, 1);
    Plane part = conv(y, expanded, 1, 1);
    conv(y, expanded, 3, 1);
    x = {part.channels * 2, part.side};
    auto type = [](Plane p) {
      std::string side = std::to_string(p.side);
      return "tensor<1x" + std::to_string(p.channels) + "x" + side + "x" +
             side + "xf32, #nn.layout<\"aBcd16b\">>";
    };
    std::string in = type(part), out = type(x);
    add("func.func @main(%0: " + in + ", %1: " + in + ") -> " + out +
        " {\n  %2 = nn.concat %0, %1 axis 1 : " + in + ", " + in + " -> " +
        out + "\n  return %2 : " + out + "\n}\n");
    if (x.channels == 128 || x.channels == 256)
      maxPool(x);
  }
  classify(conv(x, 1000, 1, 1), /*hasProduct=*/false);
  EXPECT_LE(table.kernels().size(), 8u) << testing::PrintToString(keys());
}

TEST_F(Pipelines, KernelsWithExtentsAreNamedByTheirCode) {
  // No whole vectors of four.
  add(relu("tensor<7xf32>"));
  add(relu("tensor<9xf32>"));
  add(relu("tensor<7xf32>"));
  EXPECT_EQ(table.kernels().size(), 2u);
  for (const std::string &key : keys())
    EXPECT_TRUE(llvm::StringRef(key).starts_with("gpu.element ")) << key;
}

TEST_F(Pipelines, TransposedConvolutionsShareOne) {
  for (auto [kernel, stride, dilation, groups] :
       std::vector<std::array<int64_t, 4>>{
           {2, 2, 1, 1}, {4, 2, 1, 2}, {3, 1, 2, 1}, {1, 3, 1, 1}}) {
    ConvCase x;
    x.transpose = x.constant = true, x.n = kernel;
    x.c = x.o = 32, x.groups = groups, x.kh = x.kw = kernel;
    x.strideH = stride, x.dilationW = dilation;
    x.residual = stride == 1, x.bias = groups == 1;
    x.activation = stride == 1 ? "relu" : "";
    add(x.text());
  }
  EXPECT_EQ(keys(), std::set<std::string>{"gpu.conv_transpose.16x4"});
}

TEST_F(Pipelines, NothingIsDispatchedForNothing) {
  GpuSteps steps = add(relu("tensor<0x7xf32>"));
  EXPECT_TRUE(steps.steps.empty());
}

// Drivers take time for each instruction, and bundles have every module.
// The steps of CPUs that are a GPU: invocations without a pixel take none.
TEST_F(Pipelines, StepsInTurn) {
  ConvCase x;
  x.c = 32, x.o = 48, x.h = x.w = 14, x.constant = true;
  GpuSteps steps = add(x.text());
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].groups, (std::array<uint32_t, 3>{4, 3, 1}));
  // The last group has four of 196 pixels left, 16 of 64 invocations.
  EXPECT_DOUBLE_EQ(steps.steps[0].grid.stepsInTurn, 3.25 * 3 * 2);
  x = ConvCase();
  x.transpose = true, x.c = x.o = 16, x.h = x.w = 4, x.kh = x.kw = 3;
  x.strideH = x.strideW = 2, x.constant = true;
  steps = add(x.text());
  ASSERT_EQ(steps.steps.size(), 1u);
  // Phases of 4, 2, 2 and 1 taps and a loop over these, 16 pixels or more each.
  EXPECT_DOUBLE_EQ(steps.steps[0].grid.stepsInTurn, 5 + 3 + 3 + 2);
}

TEST_F(Pipelines, ModulesAreSmall) {
  constexpr size_t mostBytes = 22 * 1024;
  ConvCase conv;
  conv.c = conv.o = 64, conv.kh = conv.kw = 3, conv.top = conv.left = 1;
  conv.residual = conv.constant = true, conv.activation = "relu";
  ConvCase flat = conv, first = conv, depthwise = conv, few = conv;
  flat.kh = flat.kw = 1, flat.top = flat.left = 0, flat.c = 1024;
  first.c = 3, few.o = 3, depthwise.groups = 64;
  ConvCase transposed = conv, fewTransposed = few;
  transposed.transpose = fewTransposed.transpose = true;
  MatMulCase few1, many;
  few1.m = 1, few1.constant = many.constant = true, many.m = 128;
  few1.activation = many.activation = "relu";
  few1.residual = many.residual = true;
  PoolCase max, average;
  average.max = false;
  const std::string rows = "tensor<8x300xf32>", column = "tensor<8x1xf32>",
                    index = "tensor<8x1xi64>";
  for (const std::string &text :
       {conv.text(), flat.text(), first.text(), depthwise.text(), few.text(),
        transposed.text(), fewTransposed.text(), few1.text(), many.text(),
        max.text(), average.text(), unary("nn.softmax %0 axis 1", rows, rows),
        unary("nn.normalize %0 axis 1 epsilon 1.0e-5", rows, rows),
        unary("nn.reduce mean %0 axes [1] keep_dims true", rows, column),
        unary("nn.arg_reduce max %0 axis 1 keep_dims true select_last false",
              rows, index)})
    for (const Routine *routine : gpuRoutines().all()) {
      // Routines ask for layouts of their own.
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      ASSERT_TRUE(module) << text;
      mlir::Operation *layer = findLayer(*module);
      const GpuRoutine &own = GpuRoutine::of(*routine);
      if (!own.refusal(layer, target).empty())
        continue;
      setLayouts(own, layer);
      GpuSteps steps = own.steps(layer);
      for (unsigned i = 0; i < steps.kernels.size(); ++i) {
        auto kernel = compileKernel(layer, own, HalfKernel{i}, target);
        ASSERT_TRUE(mlir::succeeded(kernel)) << text;
        EXPECT_LE(kernel->words.size() * 4, mostBytes)
            << steps.kernels[i] << "\n"
            << text;
      }
    }
}
