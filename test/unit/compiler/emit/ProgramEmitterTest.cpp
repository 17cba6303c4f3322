//===- ProgramEmitterTest.cpp - From a plan to a program ------------------===//

#include "compiler/emit/ProgramEmitter.h"
#include "tools/nnv12c/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using artifact::LaneKind;
using artifact::OperationId;
using artifact::OperationKind;
using artifact::Space;

namespace {

/// Two convolutions that could share a kernel, and a layer that adds.
const char *layers = R"(
  func.func @main(%x: tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>)
      -> tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">> {
    %w0 = nn.constant dense<1.0> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
    %b0 = nn.constant dense<2.0> : tensor<16xf32> -> tensor<16xf32, #nn.layout<"A16a">>
    %w1 = nn.constant dense<3.0> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
    %0 = nn.conv %x, %w0 bias %b0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
          bias tensor<16xf32, #nn.layout<"A16a">> -> tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>
    %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
          -> tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>
    %2 = nn.binary add %1, %x
        : tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>, tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>
          -> tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>
    return %2 : tensor<1x16x20x20xf32, #nn.layout<"aBcd16b">>
  }
)";

class ProgramEmitterTest : public testing::Test {
protected:
  ProgramEmitterTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
  }

  static void replaceAll(std::string &text, StringRef what, StringRef by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
         at += by.size())
      text.replace(at, what.size(), by);
  }

  void parse(StringRef stages, StringRef channels) {
    std::string text = layers;
    for (StringRef dims : {"@x@x3x3xf32", "<@xf32", "<1x@x20x20xf32"}) {
      std::string what = dims.str(), by = dims.str();
      replaceAll(what, "@", "16");
      replaceAll(by, "@", channels);
      replaceAll(text, what, by);
    }
    text += "plan.program \"x86-64-v3\" threads(1) cold(30) warm(20) {" +
            stages.str() + "}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    order.emplace(module->lookupSymbol<func::FuncOp>("main"));
  }

  void emit(StringRef stages, StringRef channels = "16") {
    parse(stages, channels);
    codegen::Target target = *codegen::Target::byName("x86-64-v3");
    codegen::KernelBuilder builder(context, target);
    OwningOpRef<ModuleOp> owned(builder.module);
    KernelTable kernels(builder);
    auto emitted = emitProgram(
        *order, *module->getOps<plan::ProgramOp>().begin(), kernels, weights);
    ASSERT_TRUE(succeeded(emitted));
    program = std::move(emitted->program);
    EXPECT_EQ(emitted->layers, (std::vector<uint32_t>{0, 1, 2}));
    for (const KernelTable::Kernel &kernel : kernels.kernels())
      names.push_back(kernel.name);
  }

  /// The diagnostic of a plan that cannot be emitted.
  std::string refuse(StringRef stages) {
    parse(stages, "16");
    codegen::Target target = *codegen::Target::byName("x86-64-v3");
    codegen::KernelBuilder builder(context, target);
    OwningOpRef<ModuleOp> owned(builder.module);
    KernelTable kernels(builder);
    std::string found;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      found += diagnostic.str();
      return success();
    });
    EXPECT_TRUE(failed(emitProgram(
        *order, *module->getOps<plan::ProgramOp>().begin(), kernels, weights)));
    return found;
  }

  const artifact::Operand &operand(const artifact::Operation &operation,
                                   unsigned i) {
    return operation.operands[i];
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<ExecutionOrder> order;
  WeightTable weights{/*segment=*/1};
  artifact::Program program;
  std::vector<std::string> names;
};

constexpr uint64_t weightBytes = 16 * 16 * 9 * 4;

std::vector<OperationId> preparations(std::initializer_list<uint32_t> numbers) {
  std::vector<OperationId> result;
  for (uint32_t number : numbers)
    result.push_back({LaneKind::Prepare, number});
  return result;
}

TEST_F(ProgramEmitterTest, RefusesPlansOfOtherLayers) {
  std::string one = "%e0 = plan.execute 0 routine(\"conv.direct.nChw16c\")\n",
              two = one +
                    "%e1 = plan.execute 1 routine(\"conv.direct.nChw16c\")\n";
  EXPECT_EQ(refuse(two), "'plan.program' op does not execute layer 2");
  EXPECT_EQ(refuse(two + "%e2 = plan.execute 2 routine(\"element\")\n"
                         "%e3 = plan.execute 3 routine(\"element\")"),
            "'plan.execute' op found layer 3, but @main has 3");
  EXPECT_EQ(refuse(two + "%e2 = plan.execute 2 routine(\"pool\")"),
            "'plan.execute' op found routine 'pool', expected one that "
            "computes the layer");
  EXPECT_EQ(refuse(two + "%e2 = plan.execute 2 routine(\"element\")\n"
                         "plan.switch 2 routine(\"quantum\")"),
            "'plan.switch' op found routine 'quantum', expected one that "
            "computes the layer");
}

TEST_F(ProgramEmitterTest, LiveBytesOfTheArena) {
  emit(R"(
    %e0 = plan.execute 0 routine("conv.direct.nChw16c")
    %e1 = plan.execute 1 routine("conv.direct.nChw16c")
    %e2 = plan.execute 2 routine("element"))");
  constexpr uint64_t tensor = 16 * 20 * 20 * 4;
  ASSERT_EQ(program.operations.size(), 3u);
  EXPECT_EQ(program.operations[0].liveArena, tensor);
  EXPECT_EQ(program.operations[1].liveArena, 2 * tensor);
  EXPECT_EQ(program.operations[2].liveArena, tensor);
}

TEST_F(ProgramEmitterTest, RefusesWeightsThatTheRoutineDoesNotRead) {
  auto refused = [&](StringRef stored, StringRef routine) {
    return refuse(("%r0 = plan.read 0 operand(1) storage(" + stored +
                   ")\n%e0 = plan.execute 0 routine(\"" + routine +
                   "\") after(%r0)\n"
                   "%e1 = plan.execute 1 routine(\"conv.direct.nChw16c\")\n"
                   "%e2 = plan.execute 2 routine(\"element\")")
                      .str());
  };
  EXPECT_EQ(refused("packed+q8", "conv.direct.nChw16c"),
            "'plan.execute' op found packed+q8 weights, expected packed ones "
            "for routine 'conv.direct.nChw16c'");
  EXPECT_EQ(refused("packed", "conv.direct.nChw16c.f16"),
            "'plan.execute' op found packed weights, expected packed+f16 ones "
            "for routine 'conv.direct.nChw16c.f16'");
}

TEST_F(ProgramEmitterTest, NarrowWeightsAreReadAsTheyAreAndWidenedLater) {
  emit(R"(
    %r0 = plan.read 0 operand(1) storage(packed+f16)
    %e0 = plan.execute 0 routine("conv.direct.nChw16c.f16") after(%r0)
    %t0 = plan.transform 0 form("packed") routine("conv.direct.nChw16c") after(%r0)
    plan.switch 0 routine("conv.direct.nChw16c") after(%t0)
    %r1 = plan.read 1 operand(1) storage(packed)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%r1)
    %e2 = plan.execute 2 routine("element")
    plan.lane execute on any queue(%r0, %e0, %e1, %e2)
    plan.lane prepare on any queue(%r1) background(%t0))");
  const artifact::Operation &first = program.operations[0];
  EXPECT_EQ(names[first.kernel], "conv.direct.nChw16c.f16");
  EXPECT_EQ(operand(first, 2).space, Space::Weights);
  EXPECT_EQ(operand(first, 2).size, weightBytes / 2);
  ASSERT_EQ(program.switches.size(), 1u);
  const artifact::Operation &later = program.switches[0].replacement;
  EXPECT_EQ(operand(later, 2).space, Space::Prepared);
  EXPECT_EQ(operand(later, 2).size, weightBytes);
}

TEST_F(ProgramEmitterTest, RawWeightsArePackedByATransform) {
  emit(R"(
    %r0 = plan.read 0 operand(1) storage(raw)
    %t0 = plan.transform 0 form("packed") routine("conv.direct.nChw16c") after(%r0)
    %e0 = plan.execute 0 routine("conv.direct.nChw16c") after(%t0)
    %r1 = plan.read 1 operand(1) storage(packed+zstd)
    %d1 = plan.decode 1 after(%r1)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%d1)
    %e2 = plan.execute 2 routine("element")
    plan.lane execute on any queue(%r0, %t0, %e0, %e1, %e2)
    plan.lane prepare on any queue(%r1, %d1))");
  ASSERT_EQ(program.preparations.size(), 4u);
  const artifact::Operation &read = program.preparations[0];
  EXPECT_EQ(read.kind, OperationKind::Read);
  EXPECT_EQ(operand(read, 0).offset, 0u);
  EXPECT_EQ(operand(read, 0).size, weightBytes + 64) << "weights and bias";
  const artifact::Operation &pack = program.preparations[1];
  EXPECT_EQ(pack.kind, OperationKind::Transform);
  EXPECT_EQ(names[pack.kernel], "pack");
  EXPECT_EQ(pack.after, preparations({0}));
  EXPECT_EQ(operand(pack, 0).space, Space::Prepared);
  EXPECT_EQ(operand(pack, 1).space, Space::Weights);
  EXPECT_TRUE(pack.lastReader);
  EXPECT_FALSE(read.lastReader);
  const artifact::Operation &first = program.operations[0];
  EXPECT_EQ(first.after, preparations({1}));
  EXPECT_EQ(operand(first, 2).space, Space::Prepared);
  EXPECT_EQ(operand(first, 2).offset, operand(pack, 0).offset);
  EXPECT_EQ(operand(first, 3).space, Space::Weights) << "the bias";
  const artifact::Operation &decode = program.preparations[3];
  EXPECT_EQ(decode.kind, OperationKind::Decode);
  EXPECT_EQ(decode.codec, artifact::Codec::Zstd);
  EXPECT_EQ(operand(decode, 0).size, weightBytes);
  EXPECT_LT(operand(decode, 1).size, weightBytes / 10);
  EXPECT_EQ(program.preparedSize, 2 * weightBytes);
  ASSERT_EQ(program.lanes.size(), 2u);
  EXPECT_EQ(program.lanes[0].kind, LaneKind::Execute);
  ASSERT_EQ(program.lanes[0].queue.size(), 5u);
  EXPECT_EQ(program.lanes[0].queue[2].kind, LaneKind::Execute);
  EXPECT_EQ(program.lanes[0].queue[2].index, 0u);
  EXPECT_EQ(program.lanes[1].queue[0].index, 2u);
  EXPECT_EQ(program.predictedCold, 30u);
  EXPECT_EQ(program.predictedWarm, 20u);
}

TEST_F(ProgramEmitterTest, LargeWeightsAreDecodedInPartsOfAMegabyte) {
  emit(R"(
    %r0 = plan.read 0 operand(1) storage(packed+zstd)
    %d0 = plan.decode 0 after(%r0) {start = 100 : i64, end = 400 : i64}
    %e0 = plan.execute 0 routine("conv.direct.nChw16c") after(%d0)
    %r1 = plan.read 1 operand(1) storage(packed)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%r1)
    %e2 = plan.execute 2 routine("element")
    plan.lane execute on any queue(%e0, %e1, %e2)
    plan.lane prepare on any queue(%r0, %d0, %r1))",
       "256");
  constexpr uint64_t total = 256 * 256 * 9 * 4, part = 1 << 20;
  ASSERT_EQ(program.preparations.size(), 5u);
  uint64_t position = 0;
  for (unsigned i = 1; i <= 3; ++i) {
    const artifact::Operation &decode = program.preparations[i];
    EXPECT_EQ(decode.kind, OperationKind::Decode);
    EXPECT_EQ(operand(decode, 0).offset, position);
    EXPECT_EQ(operand(decode, 0).size, std::min(part, total - position));
    EXPECT_EQ(decode.predictedStart, 100u * i);
    EXPECT_EQ(decode.predictedEnd, 100u * (i + 1));
    position += operand(decode, 0).size;
  }
  EXPECT_EQ(program.operations[0].after, preparations({1, 2, 3}));
  EXPECT_EQ(operand(program.operations[0], 2).size, total);
  EXPECT_EQ(program.lanes[1].queue.size(), 5u);
}

TEST_F(ProgramEmitterTest, SwitchesComputeTheirWeightsFromWhatIsInTheFile) {
  emit(R"(
    %r0 = plan.read 0 operand(1) storage(packed)
    %e0 = plan.execute 0 routine("conv.direct.nChw16c") after(%r0)
    %t0 = plan.transform 0 form("winograd4") routine("conv.winograd4.nChw16c") after(%r0)
    plan.switch 0 routine("conv.winograd4.nChw16c") after(%t0)
    %r1 = plan.read 1 operand(1) storage(packed)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%r1)
    %e2 = plan.execute 2 routine("element")
    plan.lane execute on any queue(%r0, %e0, %e1, %e2)
    plan.lane prepare on any queue(%r1) background(%t0))");
  ASSERT_EQ(program.switches.size(), 1u);
  const artifact::Switch &change = program.switches[0];
  EXPECT_EQ(change.operation, 0u);
  EXPECT_EQ(names[change.replacement.kernel], "conv.winograd4.nChw16c");
  EXPECT_EQ(change.replacement.after, preparations({2}));
  EXPECT_EQ(operand(change.replacement, 2).space, Space::Prepared);
  EXPECT_EQ(operand(change.replacement, 2).size, weightBytes * 4);
  EXPECT_EQ(operand(program.operations[0], 2).space, Space::Weights);
  EXPECT_EQ(operand(change.replacement, 0).offset,
            operand(program.operations[0], 0).offset);
  ASSERT_EQ(program.lanes.size(), 2u);
  EXPECT_EQ(program.lanes[1].background, preparations({2}));
  EXPECT_FALSE(program.preparations[2].lastReader)
      << "the execute that is switched reads them too";
  EXPECT_EQ(weights.size(), 2 * weightBytes + 64) << "only what the plan needs";
}

TEST_F(ProgramEmitterTest, WhatLaterRunsNeedLiesBehindTheFirst) {
  emit(R"(
    %r0 = plan.read 0 operand(1) storage(packed)
    %e0 = plan.execute 0 routine("conv.direct.nChw16c") after(%r0)
    %t0 = plan.transform 0 form("winograd4") routine("conv.winograd4.nChw16c") after(%r0)
    plan.switch 0 routine("conv.winograd4.nChw16c") after(%t0)
    %r1 = plan.read 1 operand(1) storage(raw)
    %t1 = plan.transform 1 form("packed") routine("conv.direct.nChw16c") after(%r1)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%t1)
    %e2 = plan.execute 2 routine("element")
    plan.lane execute on any queue(%r0, %e0, %e1, %e2)
    plan.lane prepare on any queue(%r1, %t1) background(%t0))");
  ASSERT_EQ(program.preparations.size(), 4u);
  EXPECT_EQ(operand(program.preparations[2], 0).offset, 0u)
      << "the second layer's, of the first run";
  EXPECT_EQ(operand(program.preparations[3], 0).offset, weightBytes)
      << "the first layer's, of later ones";
  EXPECT_EQ(program.preparedSize, 5 * weightBytes);
  EXPECT_EQ(program.lanes[1].background, preparations({3}));
  EXPECT_EQ(program.switches[0].replacement.after, preparations({3}));
}

} // namespace
