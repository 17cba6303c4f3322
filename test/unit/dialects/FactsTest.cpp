//===- FactsTest.cpp - What layers state about themselves -----------------===//

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace nnv12;

namespace {

/// The interfaces that a layer states. One that is new gets a line here: its
/// author decides on each of them (docs/adding-an-op.md).
const std::map<StringRef, StringRef> facts = {
    {"adapt", "Elementwise Fusable View"},
    {"arg_reduce", ""},
    {"binary", "Elementwise Fusable KeepsBlocks"},
    {"bitcast", "Elementwise View"},
    {"broadcast", "Elementwise Fusable"},
    {"cast", "Elementwise Fusable KeepsBlocks"},
    {"concat", "Fusable KeepsBlocks"},
    {"constant", ""},
    {"conv", "Weighted Linear Windowed"},
    {"conv_transpose", "Weighted Linear Windowed"},
    {"cumsum", ""},
    {"fuse", ""},
    {"gather", ""},
    {"gather_elements", ""},
    {"gather_nd", ""},
    {"grid_sample", ""},
    {"matmul", "Weighted Linear"},
    {"max_pool_indices", "Windowed"},
    {"normalize", ""},
    {"pad", "Fusable KeepsBlocks"},
    {"pool", "KeepsBlocks Windowed"},
    {"recurrent", "Weighted"},
    {"reduce", "KeepsBlocks"},
    {"reshape", "Fusable View"},
    {"resize", "KeepsBlocks"},
    {"reverse_sequence", ""},
    {"roi_align", ""},
    {"scatter_elements", ""},
    {"scatter_nd", ""},
    {"select", "Elementwise Fusable KeepsBlocks"},
    {"slice", "Fusable KeepsBlocks"},
    {"softmax", ""},
    {"topk", ""},
    {"transpose", "Fusable"},
    {"unary", "Elementwise Fusable KeepsBlocks"},
    {"yield", ""},
};

template <typename Interface>
void add(RegisteredOperationName name, StringRef word, std::string &words) {
  if (name.hasInterface<Interface>())
    words += (words.empty() ? "" : " ") + word.str();
}

std::string factsOf(RegisteredOperationName name) {
  std::string words;
  add<nn::Elementwise>(name, "Elementwise", words);
  add<nn::Fusable>(name, "Fusable", words);
  add<nn::View>(name, "View", words);
  add<nn::KeepsBlocks>(name, "KeepsBlocks", words);
  add<nn::Weighted>(name, "Weighted", words);
  add<nn::Linear>(name, "Linear", words);
  add<nn::Windowed>(name, "Windowed", words);
  return words;
}

/// The one layer of a text, an operation on arguments %a and %b.
class Facts : public testing::Test {
protected:
  Facts() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, nn::NNDialect>();
  }

  void parse(StringRef a, StringRef b, StringRef layer) {
    std::string text = ("func.func @main(%a: " + a + ", %b: " + b +
                        ") {\n%r = " + layer + "\nreturn }")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    op = &module->lookupSymbol<func::FuncOp>("main").getBody().front().front();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
};

TEST_F(Facts, EachLayerStatesItsOwn) {
  size_t layers = 0;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("nn")) {
    auto row = facts.find(name.stripDialect());
    ++layers;
    if (row == facts.end())
      ADD_FAILURE() << "found no line for nn." << name.stripDialect().str()
                    << ", which states \"" << factsOf(name) << '"';
    else
      EXPECT_EQ(factsOf(name), row->second.str())
          << "nn." << name.stripDialect().str();
  }
  EXPECT_EQ(layers, facts.size());
}

TEST_F(Facts, FactorsOfProducts) {
  auto isFactor = [&](unsigned operand) {
    return cast<nn::Weighted>(op).isFactor(operand);
  };
  parse("tensor<4x4xf32>", "tensor<4xf32>",
        "nn.matmul %a, %a bias %b residual %a : tensor<4x4xf32>, "
        "tensor<4x4xf32> bias tensor<4xf32> residual tensor<4x4xf32> -> "
        "tensor<4x4xf32>");
  for (unsigned i : {0, 1, 2, 3})
    EXPECT_EQ(isFactor(i), i < 2) << i;
  auto linear = cast<nn::Linear>(op);
  EXPECT_EQ(linear.getBias(), op->getOperand(2));
  EXPECT_EQ(linear.getResidual(), op->getOperand(3));
  EXPECT_FALSE(linear.getActivationAttr());
}

} // namespace
