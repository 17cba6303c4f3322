//===- FactsTest.cpp - The facts that layers state ------------------------===//

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace nnv12;
using nn::Box;

namespace {

/// The interfaces that a layer states. One that is new gets a line here: its
/// author decides on each of them (docs/adding-an-op.md).
const std::map<StringRef, StringRef> facts = {
    {"adapt", "Elementwise Fusable View"},
    {"arg_reduce", "PartByPart"},
    {"binary", "Elementwise Fusable KeepsBlocks"},
    {"bitcast", "Elementwise View"},
    {"bits_matmul", "Weighted PartByPart"},
    {"broadcast", "Elementwise Fusable"},
    {"cast", "Elementwise Fusable KeepsBlocks"},
    {"concat", "Fusable KeepsBlocks PartByPart"},
    {"constant", ""},
    {"conv", "Weighted Linear Windowed PartByPart"},
    {"conv_transpose", "Weighted Linear Windowed PartByPart"},
    {"cumsum", "PartByPart"},
    {"dequantize", "Elementwise Fusable KeepsBlocks"},
    {"fuse", "PartByPart"},
    {"gather", "PartByPart"},
    {"gather_elements", "PartByPart"},
    {"gather_nd", "PartByPart"},
    {"grid_sample", "PartByPart"},
    {"matmul", "Weighted Linear PartByPart"},
    {"max_pool_indices", "Windowed PartByPart"},
    {"non_max_suppression", "PartByPart"},
    {"normalize", "PartByPart"},
    {"pad", "Fusable KeepsBlocks PartByPart"},
    {"pool", "KeepsBlocks Windowed PartByPart"},
    {"qconv", "Weighted Windowed PartByPart"},
    {"qmatmul", "Weighted PartByPart"},
    {"quantize", "Elementwise Fusable KeepsBlocks"},
    {"recurrent", "Weighted PartByPart"},
    {"reduce", "KeepsBlocks PartByPart"},
    {"reshape", "Fusable View PartByPart"},
    {"resize", "KeepsBlocks PartByPart"},
    {"reverse_sequence", "PartByPart"},
    {"roi_align", "PartByPart"},
    {"scatter_elements", "PartByPart"},
    {"scatter_nd", "PartByPart"},
    {"select", "Elementwise Fusable KeepsBlocks"},
    {"slice", "Fusable KeepsBlocks PartByPart"},
    {"softmax", "PartByPart"},
    {"topk", "PartByPart"},
    {"transpose", "Fusable PartByPart"},
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
  add<nn::PartByPart>(name, "PartByPart", words);
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

  /// Checks which part of an operand `part` of the result needs.
  void expectNeeded(const Box &part, unsigned operand, const Box &expected) {
    Box found = nn::neededPart(op->getOpOperand(operand), part);
    EXPECT_EQ(found.lo, expected.lo);
    EXPECT_EQ(found.hi, expected.hi);
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

TEST_F(Facts, Boxes) {
  Box box{{1, 2}, {3, 4}};
  EXPECT_FALSE(box.isEmpty());
  EXPECT_TRUE(Box::none(2).isEmpty());
  EXPECT_FALSE(Box::whole({}).isEmpty());
  box.include(Box::none(2));
  EXPECT_EQ(box, (Box{{1, 2}, {3, 4}}));
  box.include({{0, 3}, {1, 9}});
  EXPECT_EQ(box, (Box{{0, 2}, {3, 9}}));
  box.clamp({2, 5});
  EXPECT_EQ(box, (Box{{0, 2}, {2, 5}}));
  box.clamp({2, 2});
  EXPECT_EQ(box, Box::none(2));
  Box empty = Box::none(1);
  empty.include({{4}, {5}});
  EXPECT_EQ(empty, (Box{{4}, {5}}));
}

TEST_F(Facts, NothingNeedsNothing) {
  parse("tensor<2x8x9x9xf32>", "tensor<4x8x3x3xf32>",
        "nn.conv %a, %b strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : "
        "tensor<2x8x9x9xf32>, tensor<4x8x3x3xf32> -> tensor<2x4x7x7xf32>");
  expectNeeded({{0, 0, 3, 0}, {2, 4, 3, 7}}, 0, Box::none(4));
}

TEST_F(Facts, RowsOfAConvolution) {
  parse("tensor<2x8x9x9xf32>", "tensor<4x4x3x3xf32>",
        "nn.conv %a, %b strides [2, 1] dilations [1, 2] pads [1, 2], [1, 2] "
        "{groups = 2 : i64} : tensor<2x8x9x9xf32>, tensor<4x4x3x3xf32> -> "
        "tensor<2x4x5x9xf32>");
  // Rows 2 and 3 begin at 2 * 2 - 1, and need three each.
  expectNeeded({{0, 0, 2, 0}, {2, 4, 4, 9}}, 0, {{0, 0, 3, 0}, {2, 8, 8, 9}});
  // Channel 3 is of the second group.
  expectNeeded({{1, 3, 0, 4}, {2, 4, 1, 5}}, 0, {{1, 4, 0, 2}, {2, 8, 2, 7}});
  expectNeeded({{1, 3, 0, 4}, {2, 4, 1, 5}}, 1, {{3, 0, 0, 0}, {4, 4, 3, 3}});
}

TEST_F(Facts, ReshapeKeepsWhatSurvives) {
  // A shuffle of channels keeps rows and columns.
  parse("tensor<1x6x5x7xf32>", "tensor<f32>",
        "nn.reshape %a : tensor<1x6x5x7xf32> -> tensor<1x2x3x5x7xf32>");
  expectNeeded({{0, 1, 0, 2, 3}, {1, 2, 2, 4, 5}}, 0,
               {{0, 3, 2, 3}, {1, 5, 4, 5}});
  parse("tensor<4x6xf32>", "tensor<f32>",
        "nn.reshape %a : tensor<4x6xf32> -> tensor<3x8xf32>");
  expectNeeded({{1, 0}, {2, 3}}, 0, {{1, 2}, {2, 5}}); // elements 8 to 10
  expectNeeded({{0, 4}, {1, 8}}, 0, {{0, 0}, {2, 6}}); // elements 4 to 7
}

TEST_F(Facts, FuseAddsUpWhatItsLayersNeed) {
  parse("tensor<4x9xf32>", "tensor<9xf32>",
        "nn.fuse (%x = %a, %y = %b) : (tensor<4x9xf32>, tensor<9xf32>) -> "
        "tensor<4x3xf32> {\n"
        "%0 = nn.slice %x starts [0, 0] sizes [4, 3] steps [1, 1] : "
        "tensor<4x9xf32> -> tensor<4x3xf32>\n"
        "%1 = nn.slice %x starts [0, 8] sizes [4, 3] steps [1, -1] : "
        "tensor<4x9xf32> -> tensor<4x3xf32>\n"
        "%2 = nn.binary add %0, %1 : tensor<4x3xf32>, tensor<4x3xf32> -> "
        "tensor<4x3xf32>\n"
        "nn.yield %2 : tensor<4x3xf32>\n}");
  expectNeeded({{1, 1}, {2, 2}}, 0, {{1, 1}, {2, 8}});
  expectNeeded({{1, 1}, {2, 2}}, 1, Box::none(1));
}

TEST_F(Facts, LayersThatTakeAPart) {
  auto takes = [&](unsigned operand) {
    return cast<nn::PartByPart>(op).takesPart(operand);
  };
  parse("tensor<9x4xf32>", "tensor<2xi64>",
        "nn.gather %a, %b axis 0 : tensor<9x4xf32>, tensor<2xi64> -> "
        "tensor<2x4xf32>");
  EXPECT_TRUE(takes(0));
  EXPECT_FALSE(takes(1));
  parse("tensor<9x4xf32>", "tensor<f32>",
        "nn.transpose %a [1, 0] : tensor<9x4xf32> -> tensor<4x9xf32>");
  EXPECT_FALSE(takes(0));
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
