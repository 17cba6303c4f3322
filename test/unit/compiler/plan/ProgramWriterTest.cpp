//===- ProgramWriterTest.cpp - The stages of chosen routines --------------===//

#include "compiler/plan/ProgramWriter.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "mlir/Parser/Parser.h"
#include "tools/nnv12c/Compiler.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;

namespace {

const char *model = R"(
  #b = #nn.layout<"aBcd16b">
  #w = #nn.layout<"ABcd16b16a">
  func.func @main(%x: tensor<1x16x8x8xf32, #b>) -> tensor<1x16x8x8xf32, #b> {
    %w0 = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
    %w1 = nn.constant dense<0.5> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
    %0 = nn.conv %x, %w0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
    %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
    %2 = nn.conv %1, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
    return %2 : tensor<1x16x8x8xf32, #b>
  }
)";
constexpr const char *direct = "conv.direct.nChw16c",
                     *winograd = "conv.winograd4.nChw16c";

class ProgramWriterTest : public testing::Test {
protected:
  ProgramWriterTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(model, &context);
    auto target = *codegen::Target::byName("x86-64-v3");
    auto profile = std::make_shared<device::DeviceProfile>(
        device::builtinProfile(target.architecture, target.name));
    auto made = planModel(module->lookupSymbol<func::FuncOp>("main"),
                          {target, profile}, {});
    EXPECT_TRUE(succeeded(made));
    plan.emplace(std::move(*made));
  }

  /// Lets the plan compute a layer so, whatever it has found.
  void choose(size_t layer, const char *routine, const char *storage,
              const char *later = nullptr) {
    PlannedLayer &planned = plan->layers[layer];
    auto add = [&](const char *name) {
      planned.candidates.push_back({{codegen::cpuRoutines().named(name),
                                     *plan::StoredForm::parse(storage)},
                                    {},
                                    false});
      return unsigned(planned.candidates.size() - 1);
    };
    planned.chosen = planned.later = add(routine);
    if (later)
      planned.later = add(later);
  }

  /// The stages of a layer as text, a line each, with those before them: "read
  /// packed stored", "execute conv.direct.nChw16c after read".
  std::string stages(size_t layer) {
    auto program = writeProgram(*plan, *module);
    EXPECT_TRUE(succeeded(program));
    std::string text;
    llvm::DenseMap<Operation *, std::string> names;
    for (Operation &op : program->getBody().front()) {
      auto number = op.getAttrOfType<IntegerAttr>("layer");
      if (!number || number.getInt() != int64_t(layer))
        continue;
      StringRef stage = op.getName().stripDialect();
      std::string name = stage.str();
      if (auto transform = dyn_cast<plan::TransformOp>(op))
        name = transform.getForm().str();
      names[&op] = name;
      text += stage;
      if (auto read = dyn_cast<plan::ReadOp>(op))
        text += " " + read.form().text();
      if (auto transform = dyn_cast<plan::TransformOp>(op))
        text += " " + transform.getForm().str();
      if (auto routine = op.getAttrOfType<StringAttr>("routine"))
        text += " by " + routine.getValue().str();
      for (Value token : op.getOperands())
        text += " after " + names[token.getDefiningOp()];
      text += "\n";
    }
    program->erase();
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<ModelPlan> plan;
};

} // namespace

TEST_F(ProgramWriterTest, FromTheFormInTheFileToTheOneThatIsRead) {
  choose(0, winograd, "raw+zstd");
  EXPECT_EQ(stages(0),
            "read raw+zstd\n"
            "decode after read\n"
            "transform packed by conv.winograd4.nChw16c after decode\n"
            "transform winograd4 by conv.winograd4.nChw16c after packed\n"
            "execute by conv.winograd4.nChw16c after winograd4\n");
  choose(0, winograd, "transformed");
  EXPECT_EQ(stages(0), "read transformed\n"
                       "execute by conv.winograd4.nChw16c after read\n")
      << "bypass";
  choose(0, direct, "packed");
  EXPECT_EQ(stages(0), "read packed\n"
                       "execute by conv.direct.nChw16c after read\n");
}

TEST_F(ProgramWriterTest, NarrowWeightsAreWidened) {
  choose(0, direct, "packed+q8", winograd);
  EXPECT_EQ(stages(0),
            "read packed+q8\n"
            "transform packed by conv.direct.nChw16c after read\n"
            "execute by conv.direct.nChw16c after packed\n"
            "transform winograd4 by conv.winograd4.nChw16c after packed\n"
            "switch by conv.winograd4.nChw16c after winograd4\n");
  choose(0, winograd, "packed+f16+zstd");
  EXPECT_EQ(stages(0),
            "read packed+f16+zstd\n"
            "decode after read\n"
            "transform packed by conv.winograd4.nChw16c after decode\n"
            "transform winograd4 by conv.winograd4.nChw16c after packed\n"
            "execute by conv.winograd4.nChw16c after winograd4\n");
}

TEST_F(ProgramWriterTest, ARoutineThatTakesOverMakesItsFormInTheBackground) {
  choose(0, direct, "packed", winograd);
  EXPECT_EQ(stages(0),
            "read packed\n"
            "execute by conv.direct.nChw16c after read\n"
            "transform winograd4 by conv.winograd4.nChw16c after read\n"
            "switch by conv.winograd4.nChw16c after winograd4\n");
  auto program = writeProgram(*plan, *module);
  ASSERT_TRUE(succeeded(program));
  unsigned background = 0;
  for (plan::LaneOp lane : program->lanes())
    for (Value token : lane.getBackground()) {
      ++background;
      EXPECT_TRUE(token.getDefiningOp<plan::TransformOp>());
      EXPECT_FALSE(token.getDefiningOp()->hasAttr("start"));
    }
  EXPECT_EQ(background, 1u);
}

TEST_F(ProgramWriterTest, ALayerWithoutWeightsOfItsOwnOnlyExecutes) {
  EXPECT_EQ(plan->layers.size(), 3u);
  choose(2, direct, "packed");
  EXPECT_EQ(stages(2), "execute by conv.direct.nChw16c\n");
}
