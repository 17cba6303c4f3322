//===- StepsInHalfTest.cpp - Which bindings of kernels are in f16 ---------===//

#include "test/unit/compiler/codegen/LayerOperands.h"
#include "test/unit/compiler/codegen/Reference.h"

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::codegen;

namespace {

using Names = std::vector<std::string>;

class StepsInHalf : public testing::Test {
protected:
  StepsInHalf() {
    context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  }

  void parse(const std::string &text, llvm::StringRef name) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    layer = findLayer(*module);
    const Routine *named = gpuRoutines().named(name);
    ASSERT_TRUE(named) << name.str();
    routine = &GpuRoutine::of(*named);
    ASSERT_EQ(routine->refusal(layer, GpuTarget::everything()), "");
    setLayouts(*routine, layer);
  }
  /// Tensors by name: "r0" is the first result, "o1" the second operand.
  HalfTensors tensors(const Names &names) {
    HalfTensors half;
    for (const std::string &name : names) {
      unsigned number = name[1] - '0';
      half.add(name[0] == 'r' ? HalfTensors::result(number)
                              : HalfTensors::operand(layer, number));
    }
    return half;
  }
  GpuSteps steps(const Names &half) {
    made.clear();
    return stepsInHalf(routine->steps(layer), layer, *routine, tensors(half),
                       made);
  }
  /// By step, its kernel's bindings in f16, lowest bit first.
  Names bindings(const Names &half) {
    GpuSteps found = steps(half), plain = routine->steps(layer);
    EXPECT_EQ(found.steps.size(), plain.steps.size());
    EXPECT_EQ(found.kernels.size(), made.size());
    EXPECT_EQ(found.temporaries, plain.temporaries);
    Names result;
    for (auto [i, step] : llvm::enumerate(found.steps)) {
      const HalfKernel &kernel = made[step.kernel];
      // The key says all that the kernel is.
      EXPECT_EQ(kernel.kernel, plain.steps[i].kernel);
      std::string key = plain.kernels[kernel.kernel];
      if (kernel.half)
        key += " f16:" + std::to_string(kernel.half);
      EXPECT_EQ(found.kernels[step.kernel], key);
      EXPECT_EQ(step.push, plain.steps[i].push);
      EXPECT_EQ(step.groups, plain.steps[i].groups);
      std::string bits;
      for (size_t b = 0; b < step.operands.size(); ++b)
        bits += kernel.half >> b & 1 ? '1' : '0';
      EXPECT_EQ(kernel.half >> step.operands.size(), 0u);
      result.push_back(bits);
    }
    return result;
  }
  /// Bytes that a layer's steps read and write less than in f32.
  double saved(const Names &half) {
    double bytes = 0;
    for (const GpuStep &step : routine->steps(layer).steps)
      bytes += step.grid.bytes;
    for (const GpuStep &step : steps(half).steps)
      bytes -= step.grid.bytes;
    return bytes;
  }
  double halfOf(const Names &names) {
    double bytes = 0;
    for (const std::string &name : names) {
      unsigned number = name[1] - '0';
      bytes += double(
          nn::storageSize(name[0] == 'r' ? mlir::Value(layer->getResult(number))
                                         : layer->getOperand(number)));
    }
    return bytes / 2;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *layer = nullptr;
  const GpuRoutine *routine = nullptr;
  llvm::SmallVector<HalfKernel> made;
};

} // namespace

TEST_F(StepsInHalf, WithoutHalvesTheyAreTheRoutines) {
  ConvCase x;
  x.constant = true;
  parse(x.text(), "gpu.conv.direct.16x4");
  GpuSteps found = steps({}), plain = routine->steps(layer);
  EXPECT_EQ(found.kernels, plain.kernels);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].kernel, 0u);
  EXPECT_EQ(made[0].half, 0u);
  EXPECT_EQ(saved({}), 0);
}

// Bindings: result, image, weights, bias, residual.
TEST_F(StepsInHalf, OfConvolutions) {
  ConvCase x;
  x.constant = x.residual = true;
  parse(x.text(), "gpu.conv.direct.16x4");
  EXPECT_EQ(bindings({"r0"}), Names({"10000"}));
  EXPECT_EQ(bindings({"o0"}), Names({"01000"}));
  EXPECT_EQ(bindings({"o1"}), Names({"00100"}));
  EXPECT_EQ(bindings({"o3"}), Names({"00001"}));
  EXPECT_EQ(bindings({"r0", "o0", "o1", "o3"}), Names({"11101"}));
  EXPECT_EQ(saved({"r0", "o0", "o1", "o3"}), halfOf({"r0", "o0", "o1", "o3"}));
  EXPECT_EQ(saved({"o1"}), halfOf({"o1"}));
}

// A residual that is not there is bound to something else, but has the elements
// of the result, so that layers with and without one share a kernel; a bias has
// f32.
TEST_F(StepsInHalf, WhatALayerHasNotIsAsIfItHadIt) {
  ConvCase x;
  x.constant = true;
  x.bias = false;
  parse(x.text(), "gpu.conv.direct.16x4");
  EXPECT_EQ(bindings({"r0", "o0", "o1"}), Names({"11101"}));
  EXPECT_EQ(bindings({"o0", "o1"}), Names({"01100"}));
  EXPECT_EQ(bindings({"r0"}), Names({"10001"}));
  EXPECT_EQ(saved({"r0", "o0", "o1"}), halfOf({"r0", "o0", "o1"}));
}

// Temporaries are f32, and so is the memory in place of a residual where a step
// writes one.
TEST_F(StepsInHalf, OfSumsInParts) {
  ConvCase x;
  x.constant = x.residual = true;
  x.c = 256, x.h = x.w = 4;
  parse(x.text(), "gpu.conv.split.32x32");
  Names found = bindings({"r0", "o0", "o1", "o3"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found, Names({"01100", "1001"}));
  EXPECT_EQ(bindings({"r0"}), Names({"00000", "1000"}));
  EXPECT_EQ(saved({"r0", "o0", "o1", "o3"}), halfOf({"r0", "o0", "o1", "o3"}));
}

TEST_F(StepsInHalf, OfWinograd) {
  ConvCase x;
  x.constant = x.residual = true;
  x.c = x.o = 32, x.kh = x.kw = 3;
  x.top = x.left = x.bottom = x.right = 1;
  parse(x.text(), "gpu.conv.winograd4.32x32");
  // Input transform, product, output transform.
  EXPECT_EQ(bindings({"r0", "o0", "o3"}), Names({"01", "00000", "1001"}));
  EXPECT_EQ(bindings({"r0"}), Names({"00", "00000", "1000"}));
  EXPECT_EQ(made.size(), 3u);
  EXPECT_EQ(saved({"r0", "o0", "o3"}), halfOf({"r0", "o0", "o3"}));
}

// One of which two bindings are is there once.
TEST_F(StepsInHalf, TwiceAnOperand) {
  std::string type = "tensor<16x16xf32>";
  parse("func.func @main(%0: " + type + ") -> " + type +
            " {\n  %1 = nn.binary add %0, %0 : " + type + ", " + type + " -> " +
            type + "\n  return %1 : " + type + "\n}\n",
        "gpu.map");
  HalfTensors both = tensors({"o0", "o1"});
  EXPECT_EQ(both.bits, 6u);
  EXPECT_EQ(bindings({"r0", "o0", "o1"}), Names({"111"}));
  EXPECT_EQ(saved({"o0", "o1"}), 16 * 16 * 2);
}
