//===- OverlayEmitterTest.cpp - A GPU's part of a program -----------------===//

#include "compiler/emit/OverlayEmitter.h"
#include "artifact/Limits.h"
#include "compiler/emit/BundleBuilder.h"
#include "compiler/processors/Processor.h"
#include "tools/nnv12c/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;

namespace {

/// Layers in place, halves of a concatenation, two readers of a tensor, a
/// residual, constants that are shared, and a part of an output that is read
/// again.
const char *model = R"(
  func.func @main(%x: tensor<1x64x8x8xf32>) -> (tensor<1x128x8x8xf32>, tensor<1x64x8x8xf32>) {
    %c = nn.constant dense<2.0> : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %0 = nn.unary %x <exp> : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %1 = nn.binary add %0, %c : tensor<1x64x8x8xf32>, tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %2 = nn.unary %1 <exp> : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %3 = nn.binary add %1, %c : tensor<1x64x8x8xf32>, tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %4 = nn.concat %2, %3 axis 1 : tensor<1x64x8x8xf32>, tensor<1x64x8x8xf32> -> tensor<1x128x8x8xf32>
    %5 = nn.unary %4 <exp> : tensor<1x128x8x8xf32> -> tensor<1x128x8x8xf32>
    %6 = nn.unary %5 <exp> : tensor<1x128x8x8xf32> -> tensor<1x128x8x8xf32>
    %7 = nn.binary add %6, %4 : tensor<1x128x8x8xf32>, tensor<1x128x8x8xf32> -> tensor<1x128x8x8xf32>
    %8 = nn.slice %7 starts [0, 64, 0, 0] sizes [1, 64, 8, 8] steps [1, 1, 1, 1] : tensor<1x128x8x8xf32> -> tensor<1x64x8x8xf32>
    %9 = nn.unary %8 <exp> : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    return %7, %9 : tensor<1x128x8x8xf32>, tensor<1x64x8x8xf32>
  }
)";
constexpr uint64_t numLayers = 8;
constexpr uint64_t bytes = 64 * 8 * 8 * 4; ///< of most tensors

using Range = std::pair<uint64_t, uint64_t>;

class OverlayEmitterTest : public testing::Test {
protected:
  OverlayEmitterTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
  }

  /// The plan of `ranges`, which are in order: a pipeline of each kernel, an
  /// upload of each layer that reads the constant.
  std::string planText(ModuleOp layers, ArrayRef<Range> ranges) {
    ExecutionOrder order(layers.lookupSymbol<func::FuncOp>("main"));
    ArrayRef<Operation *> of = order.layers();
    EXPECT_EQ(of.size(), numLayers);
    std::string text = "plan.program \"x86-64-v3\" threads(1) {\n", pipelines,
                uploads, stretches, queue = "%d", after = "%d";
    for (uint64_t i = 0; i < numLayers; ++i)
      text += "%e" + std::to_string(i) + " = plan.execute " +
              std::to_string(i) + " routine(\"element\")\n";
    std::vector<std::string> known;
    auto name = [](const char *what, uint64_t i) {
      return "%" + std::string(what) + std::to_string(i);
    };
    for (auto [s, range] : llvm::enumerate(ranges)) {
      stretches += "plan.stretch layers(" + std::to_string(range.first) + ", " +
                   std::to_string(range.second) + ") after(" + name("c", s);
      for (uint64_t layer : {1, 3})
        if (layer >= range.first && layer < range.first + range.second)
          stretches += ", " + name("u", layer);
      stretches += ") cold {\n";
      for (uint64_t i = range.first; i < range.first + range.second; ++i) {
        const Routine *routine =
            gpuProcessor()
                .candidates(of[i], codegen::GpuTarget::everything().name)
                .front();
        std::string key =
            codegen::GpuRoutine::of(*routine).steps(of[i]).kernels.front();
        if (!llvm::is_contained(known, key)) {
          std::string token = name("p", known.size());
          pipelines += token + " = plan.pipeline [\"" + key + "\"] after(%d)\n";
          queue += ", " + token;
          after += ", " + token;
          known.push_back(key);
        }
        stretches += "plan.dispatch " + std::to_string(i) + " routine(\"" +
                     routine->name().str() + "\") kernels([\"" + key + "\"])\n";
      }
      stretches += "}\n";
    }
    for (uint64_t layer : {1, 3}) {
      uploads += name("u", layer) + " = plan.upload " + std::to_string(layer) +
                 " after(%d)\n";
      queue += ", " + name("u", layer);
    }
    std::string records;
    for (size_t s = 0; s < ranges.size(); ++s) {
      records += name("c", s) + " = plan.record " + std::to_string(s) +
                 " after(" + after + ")\n";
      queue += ", " + name("c", s);
    }
    text += "plan.gpu \"vulkan1.1\" profile(\"test\") start(at_open) {\n"
            "%d = plan.device\n" +
            pipelines + uploads + records + stretches + "plan.gpu_lane queue(" +
            queue + ")\n}\n" +
            "plan.lane execute on any queue(%e0, %e1, %e2, %e3, %e4, %e5, "
            "%e6, %e7)\n}\n";
    return text;
  }

  /// Plans and writes a bundle; the fault of the verifiers, or nothing.
  std::string write(ArrayRef<Range> ranges) {
    module = parseSourceString<ModuleOp>(model, &context);
    EXPECT_TRUE(module);
    std::string text = model + planText(*module, ranges);
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "no module";
    auto main = module->lookupSymbol<func::FuncOp>("main");
    auto planned = *module->getOps<plan::ProgramOp>().begin();
    codegen::Target target = *codegen::Target::byName("x86-64-v3");
    codegen::KernelBuilder kernelBuilder(context, target);
    OwningOpRef<ModuleOp> owned(kernelBuilder.module);
    KernelTable kernels(kernelBuilder);
    BundleBuilder builder("test", /*programs=*/1);
    builder.weights.alignPieces(artifact::gpuAlignment);
    builder.gpu.emplace(codegen::GpuTarget::everything());
    ExecutionOrder order(main);
    EXPECT_TRUE(succeeded(builder.describeTensors(main)));
    auto emitted = emitProgram(order, planned, kernels, builder.weights);
    EXPECT_TRUE(succeeded(emitted));
    EXPECT_TRUE(succeeded(emitOverlay(order, planned.gpu(), *builder.gpu,
                                      kernels, builder.weights, *emitted)));
    program = std::move(emitted->program);
    codegen::CodeBlob code;
    code.bytes.resize(64);
    for (const KernelTable::Kernel &kernel : kernels.kernels()) {
      code.entries[kernel.symbol] = 0;
      code.fingerprints[kernel.symbol] = std::vector<uint8_t>(32);
    }
    artifact::Program copy = program;
    builder.addProgram(target, std::move(copy), kernels, std::move(code));
    std::string fault;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      fault = diagnostic.str();
      return success();
    });
    (void)builder.write(context, testing::TempDir() + "gpu-plan-test.nnv", "");
    return fault;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  artifact::Program program;
};

TEST_F(OverlayEmitterTest, EachRangeOfLayersIsAStretchThatVerifiersAccept) {
  for (uint64_t first = 0; first < numLayers; ++first)
    for (uint64_t count = 1; first + count <= numLayers; ++count) {
      EXPECT_EQ(write({{first, count}}), "")
          << "layers " << first << " to " << first + count - 1;
      ASSERT_TRUE(program.gpu);
      ASSERT_EQ(program.gpu->stretches.size(), 1u);
      const artifact::Stretch &stretch = program.gpu->stretches[0];
      EXPECT_EQ(stretch.first, first);
      EXPECT_EQ(stretch.count, count);
      EXPECT_EQ(stretch.dispatches.size(), count);
      EXPECT_FALSE(stretch.dispatches[0].barrier);
    }
}

TEST_F(OverlayEmitterTest, AlternativesStandSideBySide) {
  EXPECT_EQ(write({{0, 8}, {0, 3}, {2, 6}, {2, 1}, {3, 5}, {5, 2}}), "");
  EXPECT_EQ(program.gpu->stretches.size(), 6u);
}

TEST_F(OverlayEmitterTest, WhatAStretchHandsOver) {
  ASSERT_EQ(write({{1, 4}}), "");
  const artifact::Stretch &stretch = program.gpu->stretches[0];
  // Layer 0's result in; out go the concatenation and the operand of layer 5,
  // not operands of layers 2 and 3 alone.
  ASSERT_EQ(stretch.in.size(), 1u);
  EXPECT_EQ(stretch.in[0].bytes, bytes);
  ASSERT_EQ(stretch.out.size(), 2u);
  EXPECT_EQ(stretch.out[0].bytes, 2 * bytes);
  EXPECT_EQ(stretch.out[1].bytes, 2 * bytes);
  // Both halves of the concatenation may be computed at once.
  EXPECT_FALSE(stretch.dispatches[2].barrier);
  EXPECT_TRUE(stretch.dispatches[3].barrier);
}

TEST_F(OverlayEmitterTest, DispatchesSayWhatTheirGroupsWrite) {
  ASSERT_EQ(write({{0, 8}}), "");
  for (const artifact::Dispatch &dispatch :
       program.gpu->stretches[0].dispatches) {
    ASSERT_EQ(dispatch.maps.size(), 1u);
    uint64_t elements = 1, groups = 0;
    for (const artifact::TileAxis &axis : dispatch.maps[0].axes)
      elements *= axis.extent;
    for (const artifact::TilePart &part : dispatch.maps[0].parts) {
      uint64_t tiles = 1;
      for (const artifact::TileCut &cut : part.cuts)
        tiles *= cut.count;
      groups += tiles;
    }
    EXPECT_EQ(elements * 4, dispatch.operands[0].size);
    EXPECT_EQ(groups,
              dispatch.groups.x * dispatch.groups.y * dispatch.groups.z);
  }
}

TEST_F(OverlayEmitterTest, ConstantsAreUploadedOnce) {
  ASSERT_EQ(write({{0, 8}}), "");
  uint64_t uploads = 0;
  for (const auto &preparation : program.gpu->preparations)
    uploads += preparation.uploads.size();
  EXPECT_EQ(uploads, 1u);
  EXPECT_EQ(program.gpu->preparedSize, bytes);
}

TEST_F(OverlayEmitterTest, WhatAStretchReadsStaysToItsEnd) {
  // Layer 1 computes in place of layer 0's result, if nobody takes it over.
  ASSERT_EQ(write({{4, 1}}), "");
  EXPECT_EQ(program.operations[1].operands[0].offset,
            program.operations[0].operands[0].offset);
  ASSERT_EQ(write({{1, 4}}), "");
  const artifact::Operand &kept = program.operations[0].operands[0];
  for (unsigned i = 1; i <= 4; ++i) {
    const artifact::Operand &written = program.operations[i].operands[0];
    EXPECT_TRUE(written.space != artifact::Space::Arena ||
                written.offset >= kept.offset + kept.size ||
                written.offset + written.size <= kept.offset)
        << "layer " << i;
  }
}

} // namespace
