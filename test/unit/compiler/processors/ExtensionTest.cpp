//===- ExtensionTest.cpp - Kernels that use an extension of a target ------===//
//
// Two toy routines use extensions, and all that is compiled with them shows
// whose kernels belong to which target.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"
#include "dialects/nn/NNDialect.h"
#include "test/unit/sample/StoredBundle.h"
#include "tools/nnv12c/Compiler.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace mlir;
using namespace nnv12;
using codegen::Extension;
using codegen::Target;

namespace {

/// Part of the CPUs' time.
double costOfToys = 0.01;

/// Computes a function of single elements as the CPUs do.
class ToyUnary : public codegen::CpuRoutine {
public:
  ToyUnary(const char *name, nn::UnaryKind kind, Extension used)
      : CpuRoutine(name, "by instructions of an extension"), kind(kind),
        used(used) {}
  std::string misfit(Operation *layer) const override {
    auto unary = dyn_cast<nn::UnaryOp>(layer);
    return unary && unary.getFunction().getKind() == kind &&
                   isNonEmptyF32(layer)
               ? ""
               : "it is another function";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  bool isFallback() const override { return true; }
  Work work(Operation *layer) const override { return elementWork(layer); }
  Extension extension(Operation *) const override { return used; }
  bool needsExtension() const override {
    return used == Extension::MatrixProducts;
  }
  codegen::KernelInfo emit(codegen::KernelBuilder &k, Operation *layer,
                           llvm::StringRef symbol) const override {
    EXPECT_EQ(k.target.name, targetOf(layer, k.target));
    const Routine *element = codegen::cpuRoutines().named("element");
    return CpuRoutine::of(*element).emit(k, layer, symbol);
  }

private:
  nn::UnaryKind kind;
  Extension used;
};

class Toys : public Processor {
public:
  Role role() const override { return Role::Host; }
  const RoutineSet &routines() const override {
    static const ToyUnary dots("toy.dots", nn::UnaryKind::relu,
                               Extension::DotProducts),
        tiles("toy.tiles", nn::UnaryKind::exp, Extension::MatrixProducts);
    static const RoutineSet set({&dots, &tiles});
    return set;
  }
  device::Cost cost(const device::DeviceProfile &profile,
                    const KernelFacts &kernel,
                    unsigned threads) const override {
    return {device::cost(profile, kernel, threads).milliseconds * costOfToys,
            false};
  }
};

const Toys toys;
const bool isRegistered = (addProcessor(toys), true);

class ExtensionTest : public testing::Test {
protected:
  ExtensionTest() : context(MLIRContext::Threading::DISABLED) {
    costOfToys = 0.01;
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      notes.push_back(diagnostic.str());
      return success();
    });
  }

  /// A product, and a function of its elements.
  std::string model(StringRef function) {
    std::string file = folder.file(function.str() + ".mlir");
    std::ofstream(file) << R"(
      func.func @main(%x: tensor<64x256xf32> {nn.name = "x"}) -> (tensor<64x256xf32> {nn.name = "y"}) {
        %w = nn.constant dense<0.5> : tensor<256x256xf32>
        %1 = nn.matmul %x, %w : tensor<64x256xf32>, tensor<256x256xf32> -> tensor<64x256xf32>
        %2 = nn.softmax %1 axis 1 : tensor<64x256xf32> -> tensor<64x256xf32>
        %3 = nn.unary %2 <)"
                        << function.str()
                        << R"(> : tensor<64x256xf32> -> tensor<64x256xf32>
        return %3 : tensor<64x256xf32>
      })";
    return file;
  }

  /// The programs of the bundle that is compiled for these targets.
  std::vector<artifact::Program> compile(StringRef function,
                                         std::vector<std::string> targets,
                                         Emit emit = Emit::Bundle) {
    notes.clear();
    CompileOptions options;
    options.input = model(function);
    options.output = folder.file("out.nnv");
    options.emit = emit;
    options.targets = std::move(targets);
    options.plan.threads = 1;
    EXPECT_TRUE(succeeded(nnv12::compile(options, context)));
    test::StoredBundle stored;
    EXPECT_EQ(stored.read(options.output), "");
    return stored.bundle.programs;
  }

  static std::vector<std::string>
  names(const std::vector<artifact::Program> &programs) {
    std::vector<std::string> result;
    for (const artifact::Program &program : programs)
      result.push_back(program.target);
    return result;
  }
  static std::map<std::string, artifact::Kernel>
  kernelsOf(const artifact::Program &program) {
    std::map<std::string, artifact::Kernel> result;
    for (const artifact::Kernel &kernel : program.kernels)
      result[kernel.routine] = kernel;
    return result;
  }
  static bool needs(const artifact::Program &program, StringRef feature) {
    return llvm::is_contained(program.features, feature);
  }

  MLIRContext context;
  TemporaryFolder folder;
  std::vector<std::string> notes;
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(ExtensionTest, KernelsBelongToTheLeastTargetThatHasWhatTheyUse) {
  ASSERT_TRUE(isRegistered);
  auto programs = compile("relu", {"x86-64-v4+amx", "x86-64-v4"});
  // The toy of this model has no use for tiles.
  ASSERT_EQ(names(programs), (Names{"x86-64-v4+vnni", "x86-64-v4"}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "--target x86-64-v4+amx: no kernel of the model uses more than "
            "x86-64-v4+vnni has, whose program is written");
  EXPECT_TRUE(needs(programs[0], "avx512vnni"));
  EXPECT_TRUE(needs(programs[0], "avx512f"));
  EXPECT_FALSE(needs(programs[0], "amx-tile"));
  EXPECT_FALSE(needs(programs[1], "avx512vnni"));
  auto whole = kernelsOf(programs[0]), base = kernelsOf(programs[1]);
  ASSERT_EQ(whole.count("toy.dots"), 1u);
  EXPECT_NE(whole["toy.dots"].key, base["toy.dots"].key);
  EXPECT_NE(whole["toy.dots"].fingerprint, base["toy.dots"].fingerprint);
  EXPECT_GE(whole.size(), 3u);
  for (const auto &[name, kernel] : whole)
    if (name != "toy.dots") {
      EXPECT_EQ(kernel.key, base[name].key) << name;
      EXPECT_EQ(kernel.fingerprint, base[name].fingerprint) << name;
    }
}

TEST_F(ExtensionTest, LLVMMayUseItInTheirKernelsAlone) {
  auto functionsWith = [&](const char *target, StringRef features) {
    CompileOptions options;
    options.input = model("relu");
    options.output = folder.file("out.ll");
    options.emit = Emit::LLVM;
    options.targets = {target};
    EXPECT_TRUE(succeeded(nnv12::compile(options, context)));
    std::ifstream file(options.output);
    std::stringstream text;
    text << file.rdbuf();
    return StringRef(text.str())
        .count(("\"target-features\"=\"" + features + "\"").str());
  };
  // Functions of equal attributes share a group.
  EXPECT_EQ(functionsWith("x86-64-v4+vnni", "+prfchw,+avx512vnni,+avx512vbmi"),
            1u);
  EXPECT_EQ(functionsWith("x86-64-v3+vnni", "+prfchw,+avxvnni"), 1u);
  EXPECT_EQ(functionsWith("aarch64+dotprod", "+neon,+slow-paired-128,+dotprod"),
            1u);
  EXPECT_EQ(functionsWith("x86-64-v4", "+prfchw,+avx512vnni,+avx512vbmi"), 0u);
}

TEST_F(ExtensionTest, AnArchitectureIsAllItsTargets) {
  EXPECT_EQ(names(compile("exp", {"x86-64"})),
            (Names{"x86-64-v4+amx", "x86-64-v4", "x86-64-v3"}));
  EXPECT_EQ(
      names(compile("relu", {"x86-64"})),
      (Names{"x86-64-v4+vnni", "x86-64-v4", "x86-64-v3+vnni", "x86-64-v3"}));
  EXPECT_EQ(names(compile("relu", {"aarch64"})),
            (Names{"aarch64+dotprod", "aarch64"}));
  EXPECT_EQ(names(compile("tanh", {"x86-64", "aarch64"})),
            (Names{"x86-64-v4", "x86-64-v3", "aarch64"}));
  // Nobody has named a target that is left out.
  EXPECT_EQ(notes, Names());
}

/// A routine may use an extension, but the plan takes another.
TEST_F(ExtensionTest, PlansThatUseNoneAreThoseOfTheBase) {
  costOfToys = 100;
  EXPECT_EQ(names(compile("relu", {"x86-64-v4+vnni"})), Names{"x86-64-v4"});
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(names(compile("relu", {"x86-64"})),
            (Names{"x86-64-v4", "x86-64-v3"}));
}

TEST_F(ExtensionTest, IsMeasuredWithTheBasesKernels) {
  auto programs =
      compile("relu", {"x86-64-v4+vnni", "x86-64-v4"}, Emit::Tuning);
  ASSERT_EQ(names(programs), (Names{"x86-64-v4+vnni", "x86-64-v4"}));
  auto keys = [](const artifact::Program &program, bool toysToo) {
    std::set<std::string> result;
    for (const artifact::Kernel &kernel : program.kernels)
      if (toysToo || kernel.routine != "toy.dots")
        result.insert(kernel.key);
    return result;
  };
  EXPECT_EQ(keys(programs[0], false), keys(programs[1], false));
  EXPECT_NE(keys(programs[0], true), keys(programs[1], true));
}

TEST(Target, ExtensionsAddToTheirBase) {
  Target amx = *Target::byName("x86-64-v4+amx"),
         vnni = *Target::byName("x86-64-v4+vnni"),
         base = *Target::byName("x86-64-v4");
  EXPECT_EQ(amx.base, "x86-64-v4");
  EXPECT_EQ(base.base, "x86-64-v4");
  EXPECT_TRUE(base.isBase());
  EXPECT_FALSE(vnni.isBase());
  EXPECT_TRUE(amx.has("amx-int8") && amx.has("avx512vnni") &&
              amx.has("avx512bw"));
  EXPECT_TRUE(vnni.has("avx512vbmi") && !vnni.has("amx-tile"));
  EXPECT_FALSE(base.has("avx512vnni"));
  EXPECT_EQ(amx.upTo(Extension::DotProducts).name, vnni.name);
  EXPECT_EQ(amx.upTo(Extension::DotProducts).required, vnni.required);
  EXPECT_EQ(vnni.upTo(Extension::MatrixProducts).name, vnni.name);
  EXPECT_EQ(amx.upTo(Extension::None).name, base.name);
  Target v3 = *Target::byName("x86-64-v3+vnni");
  EXPECT_TRUE(v3.has("avxvnni"));
  EXPECT_EQ(v3.upTo(Extension::None).name, "x86-64-v3");
  EXPECT_TRUE(Target::byName("aarch64+i8mm")->has("dotprod"));
  // Device profiles know the same names.
  for (const char *architecture : {"x86-64", "aarch64"})
    for (const Target &target : Target::allNamed(architecture)) {
      std::string error;
      EXPECT_TRUE(
          device::parseProfile(device::printProfile(device::builtinProfile(
                                   architecture, target.name)),
                               "p.json", error))
          << error;
      EXPECT_EQ(device::baseOf(target.name), target.base);
      EXPECT_EQ(device::greaterTarget(target.base, target.name), target.name);
    }
}
