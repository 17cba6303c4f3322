//===- KernelPartsTest.cpp - Kernels that are compiled by themselves ------===//

#include "compiler/codegen/cpu/KernelParts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace nnv12::codegen;

namespace {

/// The names of functions by part.
std::vector<std::vector<std::string>> split(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  std::vector<std::vector<std::string>> result;
  for (auto &part : splitKernels(*module)) {
    EXPECT_TRUE(mlir::succeeded(part->verifyInvariants()));
    result.emplace_back();
    for (auto function : part->getOps<mlir::func::FuncOp>())
      result.back().push_back(function.getName().str());
  }
  EXPECT_TRUE(module->getOps<mlir::func::FuncOp>().empty());
  return result;
}

std::string function(int number, llvm::ArrayRef<int> calls) {
  std::string text = llvm::formatv("func.func @f{0}() {{\n", number);
  for (int other : calls)
    text += llvm::formatv("  call @f{0}() : () -> ()\n", other);
  return text + "  return\n}\n";
}

} // namespace

/// Each function is there once, in the order of the module, in one part with
/// all functions that it calls.
TEST(KernelParts, CallersAreBesideWhatTheyCall) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    int count = 1 + int(random() % 60);
    std::vector<llvm::SmallVector<int>> calls(count);
    std::string text;
    for (int i = 0; i < count; ++i) {
      while (random() % 3 == 0)
        calls[i].push_back(int(random() % count));
      text += function(i, calls[i]);
    }
    auto parts = split(text);
    std::map<int, size_t> partOf;
    for (auto [number, names] : llvm::enumerate(parts)) {
      EXPECT_FALSE(names.empty());
      int last = -1;
      for (const std::string &name : names) {
        int i = std::stoi(name.substr(1));
        EXPECT_GT(i, last);
        last = i;
        EXPECT_TRUE(partOf.insert({i, number}).second) << name;
      }
    }
    EXPECT_EQ(partOf.size(), size_t(count));
    for (int i = 0; i < count; ++i)
      for (int other : calls[i])
        EXPECT_EQ(partOf[i], partOf[other]) << i << " calls " << other;
    EXPECT_EQ(split(text), parts);
  }
}

TEST(KernelParts, AsManyAsAreWorthIt) {
  auto partsOf = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += function(i, {});
    return split(text);
  };
  EXPECT_EQ(partsOf(0).size(), 1u);
  EXPECT_EQ(partsOf(7).size(), 1u);
  EXPECT_EQ(partsOf(8).size(), 2u);
  EXPECT_EQ(partsOf(100).size(), 8u);
  // Equal functions: equal parts.
  for (const auto &names : partsOf(80))
    EXPECT_EQ(names.size(), 10u);
}

/// A large function stays alone.
TEST(KernelParts, PartsAreAsLargeAsOneAnother) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += function(i, i == 3 ? llvm::SmallVector<int>(100, 3)
                               : llvm::SmallVector<int>());
  auto parts = split(text);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0], std::vector<std::string>{"f3"});
  EXPECT_EQ(parts[1].size(), 7u);
}
