//===- ToyProcessorTest.cpp - A processor goes the whole way --------------===//
//
// A processor that nnv12c does not know is matched, costed, planned, emitted,
// tuned and fitted by the code that all processors share.
//
//===----------------------------------------------------------------------===//

#include "toy/ToyProcessor.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/device/Fit.h"
#include "compiler/emit/TuningKernels.h"
#include "compiler/plan/ModelPlan.h"
#include "compiler/routines/KernelKey.h"
#include "dialects/nn/NNDialect.h"
#include "tools/nnv12c/Compiler.h"
#include "tools/nnv12c/Subprogram.h"

#include "mlir/Parser/Parser.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;
using namespace nnv12;

namespace {

const bool isRegistered = (addProcessor(toyProcessor()), true);

/// A product between two layers, of which the toy can compute the last.
const char *model = R"(
  func.func @main(%x: tensor<64x256xf32> {nn.name = "x"}) -> (tensor<64x256xf32> {nn.name = "y"}) {
    %0 = nn.unary %x <exp> : tensor<64x256xf32> -> tensor<64x256xf32>
    %w = nn.constant dense<0.5> : tensor<256x256xf32>
    %1 = nn.matmul %0, %w : tensor<64x256xf32>, tensor<256x256xf32> -> tensor<64x256xf32>
    %2 = nn.softmax %1 axis 1 : tensor<64x256xf32> -> tensor<64x256xf32>
    %3 = nn.unary %2 <relu> : tensor<64x256xf32> -> tensor<64x256xf32>
    return %3 : tensor<64x256xf32>
  }
)";

class ToyProcessorTest : public testing::Test {
protected:
  ToyProcessorTest()
      : context(MLIRContext::Threading::DISABLED),
        target(*codegen::Target::byName("host")),
        profile(device::builtinProfile(target.architecture, target.name)) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(model, &context);
    main = module->lookupSymbol<func::FuncOp>("main");
    std::ofstream(folder.file("model.mlir")) << model;
  }

  Operation *relu() {
    Operation *found = nullptr;
    main.walk([&](nn::UnaryOp op) { found = op; });
    return found;
  }

  /// The routine that a plan takes for the last layer.
  std::string planned() {
    auto plan = planModel(
        main, {target, std::make_shared<device::DeviceProfile>(profile)}, {});
    EXPECT_TRUE(succeeded(plan));
    return plan->layers.back().first().routine->name().str();
  }

  /// By this process, which knows the toy. Returns the file.
  std::string compile(Emit emit, const std::string &name,
                      const std::string &profile = "") {
    CompileOptions options;
    options.input = folder.file("model.mlir");
    options.output = folder.file(name);
    options.emit = emit;
    options.profile = profile;
    options.targets = {"host"};
    options.plan.threads = 1;
    EXPECT_TRUE(succeeded(nnv12::compile(options, context)));
    return options.output;
  }

  static void run(const std::string &program,
                  const std::vector<std::string> &arguments) {
    EXPECT_EQ(runSubprogram(program, arguments), "");
  }
  static std::string bytesOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// A bundle's outputs for random numbers, which are always the same.
  static std::string outputOf(const std::string &bundle) {
    std::string to = bundle + ".outputs";
    run("nnv12-run", {bundle, "--random", "--output-dir", to});
    std::string bytes = bytesOf(to + "/output_0.npy");
    EXPECT_GT(bytes.size(), 64u * 256 * 4);
    return bytes;
  }

  MLIRContext context;
  codegen::Target target;
  device::DeviceProfile profile;
  TemporaryFolder folder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
};

} // namespace

TEST_F(ToyProcessorTest, IsThereAndSaysWhatItComputes) {
  ASSERT_TRUE(isRegistered);
  EXPECT_EQ(processors().size(), 3u);
  EXPECT_EQ(processors().front(), &cpuProcessor());
  const Routine *routine = hostRoutines().named("toy.relu");
  ASSERT_TRUE(routine);
  EXPECT_EQ(&hostOf(*routine), &toyProcessor());
  EXPECT_EQ(toyProcessor().refusal(relu(), *routine, target.name), "");
  EXPECT_EQ(toyProcessor().refusal(relu()->getOperand(0).getDefiningOp(),
                                   *routine, target.name),
            "it is no relu of f32");
  EXPECT_TRUE(llvm::is_contained(hostRoutines().agreeing(relu()), routine));
}

TEST_F(ToyProcessorTest, IsPlannedWhereItCostsLess) {
  EXPECT_EQ(planned(), "toy.relu");
  // Measured to be slow.
  const Routine *routine = hostRoutines().named("toy.relu");
  profile.kernels[kernelKey(relu(), *routine, target.base)] = {{100.0}, 0};
  EXPECT_EQ(planned(), "element");
}

TEST_F(ToyProcessorTest, IsAmongTheKernelsToBeMeasuredAndFitted) {
  std::vector<KernelFacts> facts;
  for (const TuningKernel &kernel : tuningKernels(main, target)) {
    facts.push_back(kernel.facts);
    profile.kernels[kernel.facts.key] = {{2.0}, 0};
  }
  EXPECT_TRUE(llvm::any_of(
      facts, [](const KernelFacts &f) { return f.routine == "toy.relu"; }));
  device::fitEfficiency(profile, facts);
  EXPECT_EQ(profile.efficiency.count("toy.relu"), 1u);
}

TEST_F(ToyProcessorTest, ComputesWhatTheCpusCompute) {
  // Without a profile, measurements of this machine would decide.
  std::string builtin = folder.file("builtin.json");
  ASSERT_EQ(device::writeProfile(profile, builtin), "");
  std::string mine = compile(Emit::Bundle, "toy.nnv", builtin),
              theirs = folder.file("cpu.nnv");
  run("nnv12c",
      {folder.file("model.mlir"), "-o", theirs, "--threads", "1", "--quiet"});
  auto names = [](const std::string &bundle) {
    return StringRef(bytesOf(bundle)).contains("toy.relu");
  };
  EXPECT_TRUE(names(mine));
  EXPECT_FALSE(names(theirs));
  EXPECT_TRUE(outputOf(mine) == outputOf(theirs));
}

TEST_F(ToyProcessorTest, IsTunedOnTheDevice) {
  std::string bundle = compile(Emit::Tuning, "tuning.nnv"),
              file = folder.file("profile.json");
  run("nnv12-tune", {bundle, "-o", file, "--repeat", "1", "--threads", "1",
                     "--storage-size", "4"});
  std::string error;
  auto measured = device::readProfile(file, error);
  ASSERT_TRUE(measured) << error;
  const Routine *routine = hostRoutines().named("toy.relu");
  EXPECT_EQ(measured->kernels.count(kernelKey(relu(), *routine, target.base)),
            1u);
  // A plan can be made from the measurements.
  EXPECT_NE(outputOf(compile(Emit::Bundle, "measured.nnv", file)), "");
}
