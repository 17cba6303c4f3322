//===- PipelinesTest.cpp - Which layers share kernels ---------------------===//

#include "test/unit/compiler/codegen/LayerOperands.h"

#include "compiler/codegen/gpu/GpuKernelTable.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

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
    EXPECT_TRUE(routine) << reason;
    if (!routine)
      return {};
    setLayouts(*routine, layer);
    auto candidates = gpuCandidates(layer, target);
    EXPECT_TRUE(llvm::is_contained(candidates, routine));
    auto steps = table.add(layer, *routine);
    EXPECT_TRUE(mlir::succeeded(steps)) << text;
    return mlir::succeeded(steps) ? *steps : GpuSteps();
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

std::string maxPool(const std::string &in, const std::string &out,
                    const std::string &kernel) {
  return "func.func @main(%0: " + in + ") -> " + out +
         " {\n  %1 = nn.pool max %0 kernel [" + kernel + "] strides [" +
         kernel + "] dilations [1, 1] pads [0, 0], [0, 0] : " + in + " -> " +
         out + "\n  return %1 : " + out + "\n}\n";
}

} // namespace

TEST_F(Pipelines, LayersOfOtherExtentsShareKernels) {
  add(relu("tensor<8xf32>"));
  GpuSteps steps = add(relu("tensor<3x100xf32>"));
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].kernel, 0u);
  EXPECT_EQ(table.kernels().size(), 1u);
  EXPECT_EQ(table[0].name, "gpu.map");
  add(maxPool("tensor<1x16x4x4xf32>", "tensor<1x16x2x2xf32>", "2, 2"));
  add(maxPool("tensor<2x3x9x6xf32>", "tensor<2x3x3x3xf32>", "3, 2"));
  EXPECT_EQ(table.kernels().size(), 2u);
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

TEST_F(Pipelines, NothingIsDispatchedForNothing) {
  GpuSteps steps = add(relu("tensor<0x7xf32>"));
  EXPECT_TRUE(steps.steps.empty());
}
