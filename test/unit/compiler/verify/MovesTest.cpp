//===- MovesTest.cpp - Moves of bytes against elements --------------------===//

#include "compiler/verify/Moves.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;

namespace {

/// The moves of the one layer of `text`, an operation on arguments %a and %b.
class MovesTest : public testing::Test {
protected:
  MovesTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, nn::NNDialect>();
  }

  void parse(StringRef a, StringRef b, StringRef layer) {
    std::string text = ("func.func @main(%a: " + a + ", %b: " + b +
                        ") {\n%r = " + layer + "\nreturn }")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    op = &module->lookupSymbol<func::FuncOp>("main").getBody().front().front();
    moves = movesOf(op);
  }

  static RankedTensorType tensor(Value v) {
    return cast<RankedTensorType>(v.getType());
  }

  /// Checks that the moves bring element `source` of operand `operand` to
  /// element `result`.
  void expectElement(ArrayRef<int64_t> result, unsigned operand,
                     ArrayRef<int64_t> source) {
    auto out = tensor(op->getResult(0)), in = tensor(op->getOperand(operand));
    uint64_t size = nn::storageElementSize(out.getElementType());
    uint64_t to = nn::Layout::of(out).offset(result) * size;
    uint64_t from = nn::Layout::of(in).offset(source) * size;
    unsigned found = 0;
    for (const Move &move : *moves)
      if (move.operand == operand && move.result <= to &&
          to + size <= move.result + move.size &&
          move.source + (to - move.result) == from)
        ++found;
    EXPECT_EQ(found, 1u) << "element at byte " << to;
  }

  /// Calls `visit` with each index of a shape.
  static void forEach(ArrayRef<int64_t> shape,
                      llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
    SmallVector<int64_t> index(shape.size(), 0);
    for (;;) {
      visit(index);
      int64_t d = shape.size() - 1;
      while (d >= 0 && ++index[d] == shape[d])
        index[d--] = 0;
      if (d < 0)
        return;
    }
  }

  void expectSlice(size_t count) {
    ASSERT_TRUE(moves);
    EXPECT_EQ(moves->size(), count);
    auto slice = cast<nn::SliceOp>(op);
    forEach(tensor(slice.getOutput()).getShape(), [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> source;
      for (auto [i, start, step] :
           llvm::zip(index, slice.getStarts(), slice.getSteps()))
        source.push_back(start + i * step);
      expectElement(index, 0, source);
    });
  }

  void expectConcat(size_t count) {
    ASSERT_TRUE(moves);
    EXPECT_EQ(moves->size(), count);
    auto concat = cast<nn::ConcatOp>(op);
    int64_t position = 0;
    for (auto [i, input] : llvm::enumerate(concat.getInputs())) {
      forEach(tensor(input).getShape(), [&, i = i](ArrayRef<int64_t> index) {
        SmallVector<int64_t> result(index);
        result[concat.getAxis()] += position;
        expectElement(result, i, index);
      });
      position += tensor(input).getDimSize(concat.getAxis());
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  std::optional<std::vector<Move>> moves;
};

#define BLOCKED(shape) "tensor<" shape "xf32, #nn.layout<\"aBcd16b\">>"

TEST_F(MovesTest, AReshapeIsItsOperand) {
  parse("tensor<2x6xf16>", "tensor<1xf32>",
        "nn.reshape %a : tensor<2x6xf16> -> tensor<3x4xf16>");
  ASSERT_TRUE(moves);
  ASSERT_EQ(moves->size(), 1u);
  EXPECT_EQ(moves->front().size, 24u);
}

TEST_F(MovesTest, ABitcastIsItsOperandByteByByte) {
  parse("tensor<2x6xf32>", "tensor<1xf32>",
        "nn.bitcast %a : tensor<2x6xf32> -> tensor<2x6xi32>");
  ASSERT_TRUE(moves);
  ASSERT_EQ(moves->size(), 1u);
  EXPECT_EQ(moves->front().size, 48u);
  // In its byte an element of 4 bits is extended as its type has it.
  parse("tensor<6xi4>", "tensor<1xf32>",
        "nn.bitcast %a : tensor<6xi4> -> tensor<6xui4>");
  EXPECT_FALSE(moves);
}

/// Where blocks of channels have one pixel and none is partial.
TEST_F(MovesTest, AChangeOfLayoutMayBeItsOperand) {
  parse(BLOCKED("2x32x1x1"), "tensor<1xf32>",
        "nn.reshape %a : " BLOCKED("2x32x1x1") " -> tensor<2x32xf32>");
  ASSERT_TRUE(moves);
  ASSERT_EQ(moves->size(), 1u);
  EXPECT_EQ(moves->front().size, 256u);
  parse("tensor<1x48x1x1xf32>", "tensor<1xf32>",
        "nn.adapt %a : tensor<1x48x1x1xf32> -> " BLOCKED("1x48x1x1"));
  ASSERT_TRUE(moves);
  EXPECT_EQ(moves->size(), 1u);
  for (const char *dims : {"1x40x1x1", "1x32x1x2"}) {
    std::string dense = std::string("tensor<") + dims + "xf32>";
    std::string blocked =
        std::string("tensor<") + dims + "xf32, #nn.layout<\"aBcd16b\">>";
    parse(dense, "tensor<1xf32>", "nn.adapt %a : " + dense + " -> " + blocked);
    EXPECT_FALSE(moves) << dims;
  }
}

TEST_F(MovesTest, AReshapeBetweenLayoutsIsNot) {
  parse(BLOCKED("1x32x2x2"), "tensor<1xf32>",
        "nn.reshape %a : " BLOCKED("1x32x2x2") " -> tensor<128xf32>");
  EXPECT_FALSE(moves);
}

TEST_F(MovesTest, SlicesOfTheOutermostDimensionAreOnePiece) {
  parse("tensor<1x6x5xf32>", "tensor<1xf32>",
        "nn.slice %a starts [0, 2, 0] sizes [1, 3, 5] steps [1, 1, 1] : "
        "tensor<1x6x5xf32> -> tensor<1x3x5xf32>");
  expectSlice(1);
}

TEST_F(MovesTest, SlicesInsideAreAPieceARow) {
  parse("tensor<2x6x5xf16>", "tensor<1xf32>",
        "nn.slice %a starts [0, 2, 1] sizes [2, 3, 3] steps [1, 1, 1] : "
        "tensor<2x6x5xf16> -> tensor<2x3x3xf16>");
  expectSlice(6);
}

TEST_F(MovesTest, SlicesGoBackwardsAndInSteps) {
  parse("tensor<6x5xf32>", "tensor<1xf32>",
        "nn.slice %a starts [5, 0] sizes [3, 5] steps [-2, 1] : "
        "tensor<6x5xf32> -> tensor<3x5xf32>");
  expectSlice(3);
}

TEST_F(MovesTest, SlicesOfWholeBlocks) {
  parse(BLOCKED("1x64x3x2"), "tensor<1xf32>",
        "nn.slice %a starts [0, 16, 0, 0] sizes [1, 32, 3, 2] steps [1, 1, 1, "
        "1] : " BLOCKED("1x64x3x2") " -> " BLOCKED("1x32x3x2"));
  expectSlice(1);
  // Up to the end, padding included.
  parse(BLOCKED("1x36x3x2"), "tensor<1xf32>",
        "nn.slice %a starts [0, 16, 0, 0] sizes [1, 20, 3, 2] steps [1, 1, 1, "
        "1] : " BLOCKED("1x36x3x2") " -> " BLOCKED("1x20x3x2"));
  expectSlice(1);
}

TEST_F(MovesTest, SlicesThroughABlockAreNoMoves) {
  parse(BLOCKED("1x64x3x2"), "tensor<1xf32>",
        "nn.slice %a starts [0, 8, 0, 0] sizes [1, 16, 3, 2] steps [1, 1, 1, "
        "1] : " BLOCKED("1x64x3x2") " -> " BLOCKED("1x16x3x2"));
  EXPECT_FALSE(moves);
  // The rest of the block would be padding that is not zero.
  parse(BLOCKED("1x64x3x2"), "tensor<1xf32>",
        "nn.slice %a starts [0, 16, 0, 0] sizes [1, 20, 3, 2] steps [1, 1, 1, "
        "1] : " BLOCKED("1x64x3x2") " -> " BLOCKED("1x20x3x2"));
  EXPECT_FALSE(moves);
}

TEST_F(MovesTest, ConcatenationsOfWholeBlocks) {
  parse(BLOCKED("2x32x3x2"), BLOCKED("2x20x3x2"),
        "nn.concat %a, %b axis 1 : " BLOCKED("2x32x3x2") ", " BLOCKED(
            "2x20x3x2") " -> " BLOCKED("2x52x3x2"));
  expectConcat(4);
}

TEST_F(MovesTest, ConcatenationsBehindAPartialBlockAreNoMoves) {
  parse(BLOCKED("1x20x3x2"), BLOCKED("1x32x3x2"),
        "nn.concat %a, %b axis 1 : " BLOCKED("1x20x3x2") ", " BLOCKED(
            "1x32x3x2") " -> " BLOCKED("1x52x3x2"));
  EXPECT_FALSE(moves);
}

TEST_F(MovesTest, ConcatenationsOfOneValueTwice) {
  parse("tensor<2x3xi64>", "tensor<1xf32>",
        "nn.concat %a, %a axis 0 : tensor<2x3xi64>, tensor<2x3xi64> -> "
        "tensor<4x3xi64>");
  expectConcat(2);
}

TEST_F(MovesTest, OtherLayersAreNoMoves) {
  parse("tensor<4xf32>", "tensor<4xf32>",
        "nn.binary add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>");
  EXPECT_FALSE(moves);
}

} // namespace
