//===- KernelTableTest.cpp - Kernels that layers share --------------------===//

#include "compiler/emit/KernelTable.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/routines/Cut.h"
#include "compiler/routines/KernelKey.h"
#include "dialects/nn/NNDialect.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using codegen::CpuRoutine;

/// Two convolutions that share kernels, and a pool.
static const char *convolutions = R"(
  !picture = tensor<1x256x14x14xf32, #nn.layout<"aBcd16b">>
  !weights = tensor<256x256x3x3xf32, #nn.layout<"ABcd16b16a">>
  func.func @main(%x: !picture, %w: !weights) -> !picture {
    %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : !picture, !weights -> !picture
    %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : !picture, !weights -> !picture
    %2 = nn.pool max %1 kernel [3, 3] strides [1, 1] dilations [1, 1]
        pads [1, 1], [1, 1] : !picture -> !picture
    return %2 : !picture
  }
)";

TEST(KernelTable, Parts) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(convolutions, &context);
  ASSERT_TRUE(module);
  SmallVector<Operation *> layers;
  module->walk([&](nn::ConvOp op) { layers.push_back(op); });
  module->walk([&](nn::PoolOp op) { layers.push_back(op); });
  ASSERT_EQ(layers.size(), 3u);
  codegen::Target target = *codegen::Target::byName("x86-64-v3");
  codegen::KernelBuilder builder(context, target);
  OwningOpRef<ModuleOp> owned(builder.module);
  KernelTable table(builder);

  const auto &direct =
      CpuRoutine::of(*codegen::cpuRoutines().named("conv.direct.nChw16c"));
  unsigned own = table.execute(layers[0], direct);
  for (unsigned dim : {1, 2}) {
    SCOPED_TRACE(dimName(dim).str());
    auto grid = codegen::partGrid(layers[0], direct, dim, target);
    ASSERT_TRUE(grid && grid->cells);
    unsigned part = table.part(layers[0], direct, dim);
    EXPECT_EQ(part, own + dim);
    EXPECT_EQ(part, table.part(layers[1], direct, dim));
    const KernelTable::Kernel &kernel = table[part];
    std::string suffix = ("." + dimName(dim)).str();
    EXPECT_EQ(kernel.name, "conv.direct.nChw16c" + suffix);
    EXPECT_EQ(kernel.id, "part" + std::to_string(dim) + ":" + table[own].id);
    EXPECT_EQ(kernel.descriptor, table[own].descriptor + suffix);
    EXPECT_EQ(kernel.facts.key, partKey(layers[0], direct, dim, "x86-64-v3"));
    EXPECT_NE(kernel.facts.key, table[own].facts.key);
    EXPECT_EQ(kernel.operands, table[own].operands);
  }
  EXPECT_NE(table[own + 1].facts.key, table[own + 2].facts.key);

  // Along its channels a pool has places to cut as it is.
  const auto &pool =
      CpuRoutine::of(*codegen::cpuRoutines().named("pool.nChw16c"));
  EXPECT_EQ(table.part(layers[2], pool, 1), table.execute(layers[2], pool));
  EXPECT_NE(table.part(layers[2], pool, 2), table.execute(layers[2], pool));
}

/// Measured times hold for all CPUs that can run the kernel, and for no others.
TEST(KernelTable, KeysNameTheExtension) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    !picture = tensor<1x32x16x16xui8, #nn.layout<"aBcd16b">>
    !weights = tensor<32x32x3x3xi8, #nn.layout<"ABcd4b16a4b">>
    func.func @main(%x: !picture, %w: !weights, %p: tensor<ui8>,
                    %b: tensor<32xi32, #nn.layout<"A16a">>,
                    %s: tensor<32xf32, #nn.layout<"A16a">>) -> !picture {
      %0 = nn.qconv %x, %w padding %p bias %b scale %s out_zero %p
          strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
          {groups = 1 : i64} : !picture, !weights padding tensor<ui8>
          bias tensor<32xi32, #nn.layout<"A16a">>
          scale tensor<32xf32, #nn.layout<"A16a">>
          out_zero tensor<ui8> -> !picture
      return %0 : !picture
    }
  )",
                                            &context);
  ASSERT_TRUE(module);
  Operation *layer = nullptr;
  module->walk([&](nn::QConvOp op) { layer = op; });
  codegen::Target target = *codegen::Target::byName("x86-64-v4+vnni");
  codegen::KernelBuilder builder(context, target);
  OwningOpRef<ModuleOp> owned(builder.module);
  KernelTable table(builder);
  const Routine &direct = *codegen::cpuRoutines().named("qconv.direct.nChw16c");
  ASSERT_EQ(direct.misfit(layer), "");
  unsigned own = table.execute(layer, direct),
           cells = table.cells(layer, direct, Cells{4, 16}),
           part = table.part(layer, direct, /*dim=*/2);
  for (unsigned kernel : {own, cells, part})
    EXPECT_EQ(table[kernel].extension, codegen::Extension::DotProducts);
  EXPECT_EQ(table[own].facts.key, kernelKey(layer, direct, target.name));
  EXPECT_EQ(table[cells].facts.key, cellsKey(layer, direct, target.name));
  EXPECT_EQ(table[part].facts.key, partKey(layer, direct, 2, target.name));
}
