//===- BackendTest.cpp - Modules to code blobs ----------------------------===//

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

using namespace nnv12::codegen;

namespace {

/// A module of one kernel that copies a vector, and calls `external` if given.
mlir::OwningOpRef<mlir::ModuleOp> copyKernel(mlir::MLIRContext &context,
                                             const Target &target,
                                             llvm::StringRef external = "") {
  KernelBuilder k(context, target);
  mlir::Type f32 = k.b.getF32Type();
  mlir::func::FuncOp declared;
  if (!external.empty()) {
    declared =
        mlir::func::FuncOp::create(k.b, external, k.b.getFunctionType({}, {}));
    declared.setPrivate();
  }
  k.kernel("copy", {f32, f32},
           [&](mlir::ValueRange operands, mlir::Value, mlir::Value begin,
               mlir::Value end) {
             k.loop(begin, end, 1, [&](mlir::Value i) {
               Index at = k.mul(i, k.VL);
               k.store(k.load(operands[1], at, k.VL), operands[0], at);
             });
             if (declared)
               mlir::func::CallOp::create(k.b, declared);
           });
  return k.module;
}

} // namespace

TEST(Target, Names) {
  EXPECT_FALSE(Target::byName("pdp-11"));
  EXPECT_FALSE(Target::byName(""));
  for (const char *name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    auto target = Target::byName(name);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->name, name);
    EXPECT_NE(Target::names().find(name), std::string::npos);
  }
}

TEST(Backend, SameModuleSameBytes) {
  for (const char *name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    Target target = *Target::byName(name);
    std::vector<char> bytes[2];
    for (auto &b : bytes) {
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      auto module = copyKernel(context, target);
      auto blob = compileModule(*module, target);
      ASSERT_TRUE(mlir::succeeded(blob));
      EXPECT_EQ(blob->entries.count("copy"), 1u);
      EXPECT_EQ(blob->entries.size(), 1u);
      b = blob->bytes;
    }
    EXPECT_FALSE(bytes[0].empty());
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

/// A kernel of the base is the same code whatever kernels are beside it, though
/// both call a micro-kernel of one name.
TEST(Backend, ExtensionsStayInTheirKernels) {
  auto fingerprintsOf = [](const char *name, bool isLast) {
    Target target = *Target::byName(name);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    KernelBuilder k(context, target);
    mlir::OwningOpRef<mlir::ModuleOp> module(k.module);
    mlir::Type f32 = k.b.getF32Type();
    auto kernel = [&](const char *symbol, Extension extension) {
      k.use(extension);
      k.kernel(symbol, {f32, f32},
               [&](mlir::ValueRange operands, mlir::Value, mlir::Value begin,
                   mlir::Value) {
                 k.callMicroKernel("copy", operands, {Index(begin)},
                                   [&](mlir::ValueRange inner) {
                                     k.store(k.load(inner[1], inner[2], k.VL),
                                             inner[0], inner[2]);
                                   });
               });
    };
    if (isLast)
      kernel("dots", Extension::DotProducts);
    kernel("base", Extension::None);
    if (!isLast)
      kernel("dots", Extension::DotProducts);
    auto fingerprints = fingerprintModule(*module, target);
    EXPECT_TRUE(mlir::succeeded(fingerprints));
    return *fingerprints;
  };
  for (auto [base, whole] : {std::pair("x86-64-v4", "x86-64-v4+amx"),
                             std::pair("x86-64-v3", "x86-64-v3+vnni"),
                             std::pair("aarch64", "aarch64+i8mm")}) {
    auto alone = fingerprintsOf(base, false),
         both = fingerprintsOf(whole, false);
    EXPECT_EQ(alone["base"], alone["dots"]);
    EXPECT_EQ(both["base"], alone["base"]) << whole;
    EXPECT_NE(both["dots"], alone["dots"]) << whole;
    EXPECT_EQ(fingerprintsOf(whole, true), both);
  }
  EXPECT_EQ(fingerprintsOf("x86-64-v4+amx", false),
            fingerprintsOf("x86-64-v4+vnni", false));
}

TEST(Backend, NamesUndefinedFunctions) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    message += d.str();
    return mlir::success();
  });
  Target target = *Target::byName("x86-64-v3");
  auto module = copyKernel(context, target, "frobnicate");
  EXPECT_TRUE(mlir::failed(compileModule(*module, target)));
  EXPECT_NE(message.find("frobnicate"), std::string::npos) << message;
}

TEST(Backend, PrintsText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Target target = *Target::byName("aarch64");
  std::string llvmText, assembly;
  llvm::raw_string_ostream llvmStream(llvmText), assemblyStream(assembly);
  auto first = copyKernel(context, target),
       second = copyKernel(context, target);
  EXPECT_TRUE(
      mlir::succeeded(printModule(*first, target, CodeText::LLVM, llvmStream)));
  EXPECT_TRUE(mlir::succeeded(
      printModule(*second, target, CodeText::Assembly, assemblyStream)));
  EXPECT_NE(llvmText.find("define"), std::string::npos);
  EXPECT_NE(assembly.find("copy:"), std::string::npos);
}
