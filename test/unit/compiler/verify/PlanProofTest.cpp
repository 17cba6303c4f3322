//===- PlanProofTest.cpp - Good programs are proven, others refused -------===//
//
// A program is planned, and must be proven. Each test then changes it as a
// fault of the planner would.
//
//===----------------------------------------------------------------------===//

#include "compiler/verify/PlanProof.h"

#include "compiler/emit/ProgramEmitter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tools/nnv12c/Compiler.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using artifact::Operand;
using artifact::OperationKind;
using artifact::Space;

namespace {

#define BLOCKED "tensor<1xCxHxHxf32, #nn.layout<\"aBcd16b\">>"
#define WEIGHTS "tensor<CxCx3x3xf32, #nn.layout<\"ABcd16b16a\">>"

/// The operations are in, conv0, conv1, sum, out, left, right and last. The
/// slices and the concatenation need none.
const char *layers = R"(
  func.func @main(%x: tensor<1xCxHxHxf32>) -> (tensor<1xCxHxHxf32>, tensor<1x16xHxHxf32>) {
    %w0 = nn.constant dense<1.0> : tensor<CxCx3x3xf32> -> )" WEIGHTS R"(
    %b0 = nn.constant dense<2.0> : tensor<Cxf32> -> tensor<Cxf32, #nn.layout<"A16a">>
    %w1 = nn.constant dense<3.0> : tensor<CxCx3x3xf32> -> )" WEIGHTS R"(
    %in = nn.adapt %x : tensor<1xCxHxHxf32> -> )" BLOCKED R"( loc("in")
    %0 = nn.conv %in, %w0 bias %b0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : )" BLOCKED ", " WEIGHTS R"(
          bias tensor<Cxf32, #nn.layout<"A16a">> -> )" BLOCKED R"( loc("conv0")
    %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : )" BLOCKED ", " WEIGHTS " -> " BLOCKED R"( loc("conv1")
    %2 = nn.binary sub %1, %0 : )" BLOCKED ", " BLOCKED " -> " BLOCKED
                     R"( loc("sum")
    %3 = nn.adapt %2 : )" BLOCKED R"( -> tensor<1xCxHxHxf32> loc("out")
    %part = nn.slice %3 starts [0, 4, 0, 0] sizes [1, 8, H, H] steps [1, 1, 1, 1]
        : tensor<1xCxHxHxf32> -> tensor<1x8xHxHxf32>
    %left = nn.unary %part <exp> : tensor<1x8xHxHxf32> -> tensor<1x8xHxHxf32> loc("left")
    %half = nn.slice %x starts [0, 0, 0, 0] sizes [1, 8, H, H] steps [1, 1, 1, 1]
        : tensor<1xCxHxHxf32> -> tensor<1x8xHxHxf32>
    %right = nn.unary %half <tanh> : tensor<1x8xHxHxf32> -> tensor<1x8xHxHxf32> loc("right")
    %joined = nn.concat %left, %right axis 1
        : tensor<1x8xHxHxf32>, tensor<1x8xHxHxf32> -> tensor<1x16xHxHxf32>
    %last = nn.softmax %joined axis 3 : tensor<1x16xHxHxf32> -> tensor<1x16xHxHxf32> loc("last")
    return %3, %last : tensor<1xCxHxHxf32>, tensor<1x16xHxHxf32>
  }
  plan.program "x86-64-v3" threads(1) {
    %e0 = plan.execute 0 routine("element")
    %r1 = plan.read 1 operand(1) storage(raw+zstd)
    %d1 = plan.decode 1 after(%r1)
    %t1 = plan.transform 1 form("packed") routine("conv.direct.nChw16c") after(%d1)
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%t1)
    %s1 = plan.transform 1 form("winograd4") routine("conv.winograd4.nChw16c") after(%t1)
    plan.switch 1 routine("conv.winograd4.nChw16c") after(%s1)
    %r2 = plan.read 2 operand(1) storage(packed)
    %t2 = plan.transform 2 form("winograd4") routine("conv.winograd4.nChw16c") after(%r2)
    %e2 = plan.execute 2 routine("conv.winograd4.nChw16c") after(%t2)
    %e3 = plan.execute 3 routine("element")
    %e4 = plan.execute 4 routine("element")
    %e5 = plan.execute 5 routine("element")
    %e6 = plan.execute 6 routine("element")
    %e7 = plan.execute 7 routine("softmax")
    plan.lane execute on any queue(%e0, %r1, %d1, %t1, %e1, %e2, %e3, %e4, %e5, %e6, %e7)
    plan.lane prepare on any queue(%r2, %t2) background(%s1)
  }
)";

enum Number { In, Conv0, Conv1, Sum, Out, Left, Right, Last };

class PlanProof : public testing::Test {
protected:
  PlanProof() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
  }

  void SetUp() override { plan("16", "20"); }

  static void replaceAll(std::string &text, StringRef what, StringRef by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
         at += by.size())
      text.replace(at, what.size(), by);
  }

  void plan(StringRef channels, StringRef extent, bool isNarrow = false) {
    std::string text = ::layers;
    if (isNarrow) {
      replaceAll(
          text, "storage(packed)",
          "storage(packed+q8)\n    %p2 = plan.transform 2 "
          "form(\"packed\") routine(\"conv.direct.nChw16c\") after(%r2)");
      replaceAll(text, "routine(\"conv.winograd4.nChw16c\") after(%r2)",
                 "routine(\"conv.winograd4.nChw16c\") after(%p2)");
      replaceAll(text, "queue(%r2, %t2)", "queue(%r2, %p2, %t2)");
    }
    for (StringRef what : {"<CxCx", "<Cxf32", "<1xCx"}) {
      std::string by = what.str();
      replaceAll(by, "C", channels);
      replaceAll(text, what, by);
    }
    replaceAll(text, "xHxHx", ("x" + extent + "x" + extent + "x").str());
    replaceAll(text, "H, H]", (extent + ", " + extent + "]").str());
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    main = module->lookupSymbol<func::FuncOp>("main");
    builder = std::make_unique<codegen::KernelBuilder>(context, target);
    owned = OwningOpRef<ModuleOp>(builder->module);
    kernels = std::make_unique<KernelTable>(*builder);
    weights = WeightTable(/*segment=*/1);
    ExecutionOrder order(main);
    auto emitted = emitProgram(
        order, *module->getOps<plan::ProgramOp>().begin(), *kernels, weights);
    ASSERT_TRUE(succeeded(emitted));
    program = std::move(emitted->program);
    layers.clear();
    for (uint32_t number : emitted->layers)
      layers.push_back(order.layers()[number]);
    ASSERT_EQ(program.operations.size(), size_t(Last + 1));
    ASSERT_EQ(prove(), "");
  }

  /// The fault that is found, or nothing.
  std::string prove() {
    std::vector<std::string> found;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      found.push_back(diagnostic.str());
      return success();
    });
    bool good =
        succeeded(provePlan({main, layers, *kernels, weights}, program));
    EXPECT_EQ(found.size(), good ? 0u : 1u);
    return found.empty() ? "" : found.front();
  }

  void expectFault(StringRef expected) {
    std::string found = prove();
    EXPECT_TRUE(StringRef(found).contains(expected))
        << "found '" << found << "', expected '" << expected.str() << "'";
  }

  Operand &operand(unsigned operation, unsigned number) {
    return program.operations[operation].operands[number];
  }
  artifact::Operation &preparation(OperationKind kind, unsigned skip = 0) {
    for (artifact::Operation &operation : program.preparations)
      if (operation.kind == kind && skip-- == 0)
        return operation;
    llvm_unreachable("the plan has it");
  }
  /// Moves a whole buffer: every operand that is at `from`.
  void moveBuffer(Operand from, uint64_t offset) {
    auto move = [&](artifact::Operation &operation) {
      for (Operand &operand : operation.operands)
        if (operand.space == from.space && operand.offset == from.offset)
          operand.offset = offset;
    };
    for (artifact::Operation &operation : program.operations)
      move(operation);
    for (artifact::Operation &operation : program.preparations)
      move(operation);
    for (artifact::Switch &change : program.switches)
      move(change.replacement);
  }

  MLIRContext context;
  const codegen::Target target = *codegen::Target::byName("x86-64-v3");
  OwningOpRef<ModuleOp> module, owned;
  func::FuncOp main;
  std::unique_ptr<codegen::KernelBuilder> builder;
  std::unique_ptr<KernelTable> kernels;
  WeightTable weights{/*segment=*/1};
  artifact::Program program;
  std::vector<Operation *> layers;
};

TEST_F(PlanProof, TheProgramHasWhatIsTamperedWith) {
  EXPECT_EQ(operand(Sum, 0).offset, operand(Sum, 1).offset) << "in place";
  EXPECT_EQ(operand(Left, 1).space, Space::Output) << "a slice of output 0";
  EXPECT_EQ(operand(Left, 1).offset, 4u * 400 * 4);
  EXPECT_EQ(operand(Right, 0).offset,
            operand(Left, 0).offset + operand(Left, 0).size);
  EXPECT_EQ(operand(Conv1, 2).space, Space::Prepared);
  EXPECT_EQ(program.switches.size(), 1u);
}

TEST_F(PlanProof, WeightsInSeveralFrames) {
  plan("256", "4");
  EXPECT_EQ(llvm::count_if(program.preparations,
                           [](auto &operation) {
                             return operation.kind == OperationKind::Decode;
                           }),
            3);
}

TEST_F(PlanProof, NarrowWeights) {
  plan("16", "20", /*isNarrow=*/true);
  const auto &widen = llvm::find_if(program.preparations, [&](auto &operation) {
    return operation.kind == OperationKind::Transform &&
           kernels->kernels()[operation.kernel].name == "transform.q8";
  });
  ASSERT_NE(widen, program.preparations.end());
  artifact::Operation good = *widen;
  const uint64_t weights = 16 * 16 * 9, scales = 16 * 4;
  EXPECT_EQ(good.operands[1].space, Space::Weights);
  EXPECT_EQ(good.operands[1].size, weights + scales);
  EXPECT_EQ(good.operands[0].size, weights * 4);

  widen->operands[1].size -= scales;
  expectFault("found 2304 bytes of weights, expected 2368");
  *widen = good;
  // The kernels that other weights of these types need.
  for (artifact::Operation &other : program.preparations) {
    if (other.kind != OperationKind::Transform || other.kernel == good.kernel)
      continue;
    widen->kernel = other.kernel;
    widen->tiles = other.tiles;
    expectFault("which it makes nothing of that a layer reads");
  }
  *widen = good;
  widen->operands[0].size -= 64;
  expectFault("expected 9216 bytes");
}

// Places.

TEST_F(PlanProof, AReadPlaceOffByABlock) {
  operand(Conv1, 1).offset += 64;
  expectFault("operation 2: operand 1: arena");
  operand(Conv1, 1).offset -= 64;
  operand(Left, 1).offset -= 64;
  expectFault("found bytes 6336 to 19136 of result 0 of 'out' (nn.adapt), "
              "expected bytes 6400 to 19200");
}

TEST_F(PlanProof, AWrittenPlaceOffByABlock) {
  program.arenaSize += 64;
  operand(Conv0, 0).offset += 64;
  program.switches[0].replacement.operands[0].offset += 64;
  expectFault("operation 2: operand 1: arena");
}

TEST_F(PlanProof, SwappedOperands) {
  std::swap(operand(Sum, 1), operand(Sum, 2));
  expectFault("of result 0 of 'conv0' (nn.conv), expected bytes 0 to 25600 of "
              "result 0 of 'conv1'");
}

TEST_F(PlanProof, PartsOfAConcatenationSwapped) {
  uint64_t base = operand(Last, 1).offset;
  operand(Right, 0).offset = base;
  operand(Left, 0).offset = base + operand(Right, 0).size;
  expectFault("operation 7: operand 1");
}

TEST_F(PlanProof, ALifetimeThatEndsTooEarly) {
  // The first convolution's result is read by the second one and by the
  // subtraction.
  Operand conv0 = operand(Conv0, 0), conv1 = operand(Conv1, 0);
  ASSERT_EQ(conv0.size, conv1.size);
  moveBuffer(conv0, operand(In, 0).offset);
  expectFault("operation 1: operand 0: "
              "arena");
  plan("16", "20");
  moveBuffer(operand(Left, 0), 0);
  moveBuffer(operand(Right, 0), 0);
  expectFault("operation 7: operand 1: arena");
}

TEST_F(PlanProof, APlaceOutsideOfTheArena) {
  program.arenaSize -= 64;
  expectFault("expected it within " + std::to_string(program.arenaSize));
}

TEST_F(PlanProof, ASizeOfAnotherValue) {
  operand(Conv1, 1).size -= 64;
  expectFault("found 25536 bytes, expected 25600");
}

TEST_F(PlanProof, InPlaceWhereTheKernelForbidsIt) {
  operand(Conv1, 0) = operand(Conv1, 1);
  expectFault("operation 2: operand 0: arena");
}

TEST_F(PlanProof, InPlaceOnAValueThatIsReadLater) {
  // The subtraction may take the place of either operand, but `out` may not
  // take the place of the subtraction's result.
  operand(Out, 0) = operand(Out, 1);
  expectFault("operation 4: operand 0: arena");
}

TEST_F(PlanProof, BesideAnOperandInsteadOfOnIt) {
  program.arenaSize += 64;
  operand(Sum, 0).offset += 64;
  expectFault("expected no bytes of operand");
}

TEST_F(PlanProof, AReadOfWhatNobodyWrote) {
  program.arenaSize += operand(Conv1, 1).size;
  operand(Conv1, 1).offset = program.arenaSize - operand(Conv1, 1).size;
  expectFault("found nothing written, expected bytes 0 to 25600 of result 0 of "
              "'conv0'");
}

TEST_F(PlanProof, TheWrongOutput) {
  operand(Last, 0) = {Space::Output, 0, 0, operand(Last, 0).size};
  expectFault("output 0 at the end: byte 0: found bytes 0 to 25600 of result 0 "
              "of 'last' (nn.softmax), expected bytes 0 to 25600 of result 0 "
              "of 'out' (nn.adapt)");
  operand(Last, 0) = {Space::Arena, 0, program.arenaSize,
                      operand(Last, 0).size};
  program.arenaSize += operand(Last, 0).size;
  expectFault("output 1 at the end: byte 0: found nothing written, expected "
              "bytes 0 to");
}

TEST_F(PlanProof, AWriteToAnInput) {
  operand(Right, 0) = operand(Right, 1);
  expectFault("operation 6: operand 0: input 0");
}

TEST_F(PlanProof, NoPlaceMayMove) {
  auto tryAll = [&](artifact::Operation &operation) {
    if (operation.kind == OperationKind::Read)
      return; // changes nothing
    for (Operand &operand : operation.operands) {
      const Operand good = operand;
      for (uint64_t offset :
           {good.offset + 64, good.offset - 64, good.offset + good.size}) {
        operand.offset = offset;
        EXPECT_NE(prove(), "") << "from " << good.offset << " to " << offset;
      }
      operand = good;
    }
  };
  program.arenaSize += 1 << 20;
  program.preparedSize += 1 << 20;
  for (artifact::Operation &operation : program.operations)
    tryAll(operation);
  for (artifact::Operation &operation : program.preparations)
    tryAll(operation);
  for (artifact::Switch &change : program.switches)
    tryAll(change.replacement);
  EXPECT_EQ(prove(), "");
}

// Kernels.

TEST_F(PlanProof, AnotherLayersKernel) {
  std::swap(program.operations[Left].kernel, program.operations[Right].kernel);
  std::swap(program.operations[Left].tiles, program.operations[Right].tiles);
  expectFault("expected one that computes this layer");
}

TEST_F(PlanProof, AnotherNumberOfTiles) {
  --program.operations[Conv0].tiles;
  expectFault("tiles, expected the");
}

TEST_F(PlanProof, LayersInAnotherOrder) {
  std::swap(program.operations[Conv0], program.operations[Conv1]);
  program.switches.clear();
  std::swap(layers[Conv0], layers[Conv1]);
  expectFault("operation 1: operand 1: arena");
}

TEST_F(PlanProof, AMissingOperation) {
  program.operations.erase(program.operations.begin() + Left);
  expectFault("found 7 operations, expected 8");
  layers.erase(layers.begin() + Left);
  program.switches.clear();
  expectFault("expected bytes 0 to 12800 of result 0 of 'left'");
}

// Weights and prepared memory.

TEST_F(PlanProof, OtherWeights) {
  operand(Conv0, 3).offset += 64;
  expectFault("operation 1: operand 3: weights");
}

TEST_F(PlanProof, WeightsInTheWrongForm) {
  operand(Conv0, 2) = preparation(OperationKind::Transform).operands[1];
  expectFault("operation 1: operand 2: prepared memory");
}

TEST_F(PlanProof, PreparedWeightsOfAnotherLayer) {
  for (artifact::Operation &transform : program.preparations)
    if (transform.kind == OperationKind::Transform &&
        transform.operands[0].size == operand(Conv1, 2).size)
      operand(Conv1, 2) =
          transform.operands[0]; // of the last, the other layer's
  operand(Conv1, 2) = program.switches[0].replacement.operands[2];
  expectFault("operation 2: operand 2: prepared memory");
}

TEST_F(PlanProof, AnExecuteThatDoesNotWait) {
  program.operations[Conv0].after.clear();
  expectFault("operation 1: operand 2: prepared memory");
  expectFault("expected it to wait for preparation 2");
}

TEST_F(PlanProof, AnExecuteThatWaitsTooLate) {
  std::swap(program.operations[Conv0].after, program.operations[Sum].after);
  expectFault("expected it to wait for preparation 2");
}

TEST_F(PlanProof, ATransformThatDoesNotWait) {
  preparation(OperationKind::Transform).after.clear();
  expectFault("preparation 2: operand 1: prepared memory");
}

TEST_F(PlanProof, NoWaitMayBeMissing) {
  unsigned tried = 0;
  auto tryAll = [&](artifact::Operation &operation) {
    const std::vector<artifact::OperationId> good = operation.after;
    for (size_t i = 0; i < good.size(); ++i) {
      if (program.preparations[good[i].index].kind == OperationKind::Read)
        continue; // weights are where they are, read ahead or not
      operation.after.erase(operation.after.begin() + i);
      EXPECT_NE(prove(), "") << operation.layer << " after " << good[i].index;
      operation.after = good;
      ++tried;
    }
  };
  for (artifact::Operation &operation : program.operations)
    tryAll(operation);
  for (artifact::Operation &operation : program.preparations)
    tryAll(operation);
  for (artifact::Switch &change : program.switches)
    tryAll(change.replacement);
  EXPECT_EQ(tried, 5u)
      << "decode, two transforms, their executes and the switch";
}

TEST_F(PlanProof, ASwitchThatDoesNotWait) {
  program.switches[0].replacement.after.clear();
  expectFault("switch 0: operand 2: prepared memory");
}

TEST_F(PlanProof, ASwitchThatLeavesItsResultElsewhere) {
  program.switches[0].replacement.operands[0] = operand(In, 0);
  expectFault("switch 0: result 0: expected it where operation 1 has it");
}

TEST_F(PlanProof, ASwitchThatReadsSomethingElse) {
  program.switches[0].replacement.operands[1] = {Space::Input, 0, 0,
                                                 operand(In, 1).size};
  expectFault("switch 0: operand 1: input 0");
}

TEST_F(PlanProof, ASwitchOfAnotherOperation) {
  program.switches[0].operation = Conv1;
  expectFault("switch 0");
}

TEST_F(PlanProof, TwoPreparationsOfTheSameBytes) {
  artifact::Operation &transform = preparation(OperationKind::Transform, 2);
  transform.operands[0].offset =
      preparation(OperationKind::Transform, 1).operands[0].offset;
  expectFault("expected no other writer, found preparation");
}

TEST_F(PlanProof, PreparationsThatWaitForEachOther) {
  preparation(OperationKind::Decode)
      .after.push_back({artifact::LaneKind::Prepare, 2});
  expectFault("found it waiting for itself");
}

TEST_F(PlanProof, WaitingForWhatIsNotThere) {
  program.operations[In].after = {{artifact::LaneKind::Prepare, 99}};
  expectFault("found preparation 99");
}

TEST_F(PlanProof, FramesSwapped) {
  plan("256", "4");
  std::swap(preparation(OperationKind::Decode).operands[1],
            preparation(OperationKind::Decode, 1).operands[1]);
  EXPECT_NE(prove(), "");
}

TEST_F(PlanProof, FramesInTheWrongOrder) {
  plan("256", "4");
  artifact::Operation &first = preparation(OperationKind::Decode),
                      &second = preparation(OperationKind::Decode, 1);
  ASSERT_EQ(first.operands[0].size, second.operands[0].size);
  std::swap(first.operands[0].offset, second.operands[0].offset);
  expectFault("expected weights of one kind");
}

TEST_F(PlanProof, AFrameInOtherPlanes) {
  preparation(OperationKind::Decode).planes ^= 3;
  expectFault("expected a zstd frame of");
}

} // namespace
