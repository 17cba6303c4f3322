//===- SelectLayoutsTest.cpp - Layouts by drawn times ---------------------===//

#include "compiler/select/LayoutSelection.h"

#include "compiler/emit/TuningKernels.h"
#include "compiler/select/OtherLayouts.h"
#include "passes/Pipelines.h"
#include "test/unit/compiler/verify/SmallModels.h"
#include "tools/nnv12c/Compiler.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace nnv12;

namespace {

class SelectLayoutsTest : public testing::Test {
protected:
  SelectLayoutsTest()
      : context(MLIRContext::Threading::DISABLED),
        target(*codegen::Target::byName("x86-64-v3")) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(test::everyForm, &context);
    PassManager passes(&context);
    buildLayoutPipeline(passes);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    main = module->lookupSymbol<func::FuncOp>("main");
  }

  /// A profile with a time for each kernel that a plan may want. Times of
  /// convolutions are short, so that layouts decide. A kernel's time depends on
  /// no other kernel.
  std::shared_ptr<device::DeviceProfile> drawn(unsigned seed) {
    auto profile = std::make_shared<device::DeviceProfile>(
        device::builtinProfile(target.architecture, target.name));
    profile->measured = true;
    OtherLayouts others(main);
    for (const TuningKernel &kernel :
         tuningKernels(main, target, others.layers())) {
      device::KernelTime time;
      std::mt19937 random(uint32_t(llvm::xxh3_64bits(kernel.facts.key)) + seed);
      bool isConv = StringRef(kernel.facts.routine).starts_with("conv");
      time.big = {(1 + random() % 1000) * (isConv ? 1e-6 : 1e-4)};
      profile->kernels[kernel.facts.key] = time;
    }
    return profile;
  }

  FailureOr<SelectedLayouts> select(Layouts solver,
                                    std::shared_ptr<device::DeviceProfile> of,
                                    double margin = 0,
                                    bool constantsStay = false) {
    PlanOptions options;
    options.threads = 1;
    options.mode = Mode::Auto;
    options.layouts = solver;
    options.layoutMargin = margin;
    return selectLayouts(main, {target, of, /*mayPredict=*/false}, options,
                         constantsStay);
  }

  static double coldOf(const ModelPlan &plan) {
    return plan.start +
           search::simulate(plan.problem, plan.cpu.choice, plan.cpu.schedule)
               .finish;
  }
  static double costOf(const ModelPlan &plan) {
    return coldOf(plan) + 30 * plan.warmTime;
  }

  MLIRContext context;
  codegen::Target target;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
};

TEST_F(SelectLayoutsTest, NetIsNeverWorse) {
  int better = 0;
  const int draws = 40;
  for (int seed = 0; seed < draws; ++seed) {
    auto profile = drawn(1000 + seed);
    auto net = select(Layouts::Net, profile);
    ASSERT_TRUE(succeeded(net));
    EXPECT_TRUE(succeeded(
        verify(net->main->getParentOfType<ModuleOp>().getOperation())));
    auto first = select(Layouts::First, profile);
    ASSERT_TRUE(succeeded(first));
    EXPECT_LE(costOf(net->plan), costOf(first->plan));
    bool isBetter = costOf(net->plan) < costOf(first->plan) * 0.999;
    for (Layouts solver : {Layouts::Greedy, Layouts::Uniform}) {
      auto other = select(solver, profile);
      ASSERT_TRUE(succeeded(other));
      // The net takes no plan whose first result is later.
      bool isAsSoon = coldOf(other->plan) <= coldOf(first->plan) * 1.005;
      double least = costOf(other->plan);
      EXPECT_TRUE(!isAsSoon || costOf(net->plan) <= least)
          << seed << " " << int(solver);
      isBetter &= costOf(net->plan) < least * 0.999;
    }
    better += isBetter;
  }
  EXPECT_GE(better, draws / 10);
}

TEST_F(SelectLayoutsTest, SmallGainsKeepTheFirst) {
  for (int seed = 0; seed < 10; ++seed) {
    auto profile = drawn(seed);
    auto kept = select(Layouts::Net, profile, /*margin=*/0.99);
    ASSERT_TRUE(succeeded(kept));
    EXPECT_EQ(kept->main, main);
    EXPECT_EQ(kept->changed, 0u);
    EXPECT_NE(kept->report.find("none gains 99 %"), std::string::npos)
        << kept->report;
  }
}

TEST_F(SelectLayoutsTest, WhatWasNotMeasuredIsNotOffered) {
  auto profile = drawn(1);
  std::map<std::string, device::KernelTime> own;
  for (const TuningKernel &kernel : tuningKernels(main, target))
    own[kernel.facts.key] = profile->kernels[kernel.facts.key];
  profile->kernels = own;
  auto kept = select(Layouts::Net, profile);
  ASSERT_TRUE(succeeded(kept));
  EXPECT_EQ(kept->main, main);
  EXPECT_NE(kept->report.find("were not measured"), std::string::npos)
      << kept->report;
  EXPECT_TRUE(llvm::any_of(kept->notes, [](const auto &note) {
    return note.second == "as preferred: others not measured";
  }));
}

TEST_F(SelectLayoutsTest, ConstantsStay) {
  auto constantsOf = [](func::FuncOp function) {
    std::vector<std::pair<Attribute, Type>> result;
    for (auto constant : function.getBody().front().getOps<nn::ConstantOp>())
      result.push_back({constant.getValue(), constant.getType()});
    return result;
  };
  auto own = constantsOf(main);
  int kept = 0;
  for (int seed = 0; seed < 20; ++seed) {
    auto selected =
        select(Layouts::Net, drawn(seed), 0, /*constantsStay=*/true);
    ASSERT_TRUE(succeeded(selected));
    for (auto constant : constantsOf(selected->main))
      EXPECT_TRUE(llvm::is_contained(own, constant));
    for (const auto &[op, note] : selected->notes)
      kept += note == "as preferred: constants of another target";
  }
  EXPECT_GT(kept, 0);
}

TEST_F(SelectLayoutsTest, EachLayerHasANote) {
  auto profile = drawn(3);
  for (Layouts solver :
       {Layouts::Greedy, Layouts::Uniform, Layouts::Net, Layouts::Random}) {
    auto selected = select(solver, profile);
    ASSERT_TRUE(succeeded(selected));
    unsigned changed = 0;
    for (const PlannedLayer &layer : selected->plan.layers) {
      std::string note = selected->notes.lookup(layer.layer.op);
      EXPECT_NE(note, "");
      changed += note == "others";
      EXPECT_EQ(note == "an adapt", isa<nn::AdaptOp>(layer.layer.op));
    }
    EXPECT_LE(changed, selected->changed);
    EXPECT_EQ(changed > 0, selected->changed > 0);
  }
}

/// Arguments and results are dense in all layouts.
TEST_F(SelectLayoutsTest, BordersStay) {
  for (int seed = 0; seed < 20; ++seed) {
    PlanOptions options;
    options.threads = 1;
    options.layouts = Layouts::Random;
    options.layoutSeed = seed;
    auto selected = selectLayouts(main, {target, drawn(0), false}, options,
                                  /*constantsStay=*/false);
    ASSERT_TRUE(succeeded(selected));
    EXPECT_TRUE(succeeded(
        verify(selected->main->getParentOfType<ModuleOp>().getOperation())));
    EXPECT_EQ(selected->main.getFunctionType(), main.getFunctionType());
  }
}

} // namespace
