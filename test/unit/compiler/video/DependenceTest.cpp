//===- DependenceTest.cpp - Windows against the parts that are needed -----===//
//
// The oracle is nn::neededPart, asked for single pixels. PartsTest.cpp proves
// that by kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/video/Dependence.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::video;

namespace {

class DependenceTest : public testing::Test {
protected:
  DependenceTest() { context.loadDialect<nn::NNDialect, func::FuncDialect>(); }

  /// Parses the body of @main with these arguments and results.
  void parse(const std::string &arguments, const std::string &results,
             const std::string &body) {
    std::string text = "func.func @main(" + arguments + ") -> (" + results +
                       ") {\n" + body + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    planes.emplace(main());
  }
  func::FuncOp main() { return module->lookupSymbol<func::FuncOp>("main"); }

  /// The layer with this name as location.
  Operation *layer(StringRef kind) {
    for (Operation &op : main().getBody().front())
      if (op.getName().getStringRef() == kind)
        return &op;
    return nullptr;
  }

  Dependence dependenceOf(StringRef kind, unsigned operand = 0,
                          int64_t together = 1) {
    return dependence(layer(kind)->getOpOperand(operand), 0, *planes, together);
  }

  /// Whether the windows hold the pixels that each pixel needs, and, if
  /// `tight`, are the bounds of each.
  void expectHeld(StringRef kind, unsigned number = 0, bool tight = true) {
    OpOperand &operand = layer(kind)->getOpOperand(number);
    Value result = layer(kind)->getResult(0);
    auto to = planes->of(result), from = planes->of(operand.get());
    ASSERT_TRUE(to && from);
    Dependence found = dependence(operand, 0, *planes);
    ASSERT_EQ(found.kind, Dependence::Kind::Window);
    ArrayRef<int64_t> shape = nn::typeOf(result).getShape(),
                      in = nn::typeOf(operand.get()).getShape();
    for (int64_t y = 0; y < shape[to->row]; ++y)
      for (int64_t x = 0; x < shape[to->column]; ++x) {
        nn::Box pixel = nn::Box::whole(shape);
        pixel.lo[to->row] = y;
        pixel.hi[to->row] = y + 1;
        pixel.lo[to->column] = x;
        pixel.hi[to->column] = x + 1;
        nn::Box box = nn::neededPart(operand, pixel, 0);
        if (box.isEmpty())
          continue;
        auto check = [&](const Window &window, int64_t at, unsigned dim) {
          auto [first, last] = window.of(at);
          EXPECT_LE(first, box.lo[dim]) << y << ", " << x;
          EXPECT_GE(last, box.hi[dim] - 1) << y << ", " << x;
          if (tight) {
            EXPECT_EQ(std::max<int64_t>(first, 0), box.lo[dim]);
            EXPECT_EQ(std::min(last, in[dim] - 1), box.hi[dim] - 1);
          }
        };
        check(found.rows, y, from->row);
        check(found.columns, x, from->column);
      }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<Planes> planes;
};

} // namespace

TEST_F(DependenceTest, Convolution) {
  parse("%x: tensor<1x3x20x24xf32>", "tensor<1x8x10x9xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<8x3x3x5xf32> -> tensor<8x3x3x5xf32>
  %0 = nn.conv %x, %w strides [2, 2] dilations [1, 2] pads [1, 2], [0, 0]
    : tensor<1x3x20x24xf32>, tensor<8x3x3x5xf32> -> tensor<1x8x10x9xf32>
  return %0 : tensor<1x8x10x9xf32>)");
  EXPECT_EQ(planes->of(main().getArgument(0)), (Plane{2, 3}));
  expectHeld("nn.conv");
  Dependence found = dependenceOf("nn.conv");
  EXPECT_EQ(found.rows, (Window{2, 1, -1, 1}));
  EXPECT_EQ(found.columns, (Window{2, 1, -2, 6}));
  EXPECT_EQ(dependenceOf("nn.conv", 1).kind, Dependence::Kind::None);
}

/// Four rows that are computed together need the same rows.
TEST_F(DependenceTest, ComputedTogether) {
  parse("%x: tensor<1x3x20x24xf32>", "tensor<1x8x20x24xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<8x3x3x3xf32> -> tensor<8x3x3x3xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
    : tensor<1x3x20x24xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x20x24xf32>
  return %0 : tensor<1x8x20x24xf32>)");
  EXPECT_EQ(dependenceOf("nn.conv").rows, (Window{1, 1, -1, 1}));
  EXPECT_EQ(dependenceOf("nn.conv", 0, 4).rows, (Window{1, 1, -4, 4}));
}

TEST_F(DependenceTest, Pool) {
  parse("%x: tensor<2x4x15x17xf32>", "tensor<2x4x7x8xf32>", R"(
  %0 = nn.pool max %x kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0]
    : tensor<2x4x15x17xf32> -> tensor<2x4x7x8xf32>
  return %0 : tensor<2x4x7x8xf32>)");
  expectHeld("nn.pool");
}

TEST_F(DependenceTest, TransposedConvolution) {
  parse("%x: tensor<1x4x7x9xf32>", "tensor<1x4x14x18xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<4x4x2x2xf32> -> tensor<4x4x2x2xf32>
  %0 = nn.conv_transpose %x, %w strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] output_padding [0, 0]
    : tensor<1x4x7x9xf32>, tensor<4x4x2x2xf32> -> tensor<1x4x14x18xf32>
  return %0 : tensor<1x4x14x18xf32>)");
  expectHeld("nn.conv_transpose", 0, /*tight=*/false);
}

/// Layers that move elements, or compute them one by one, know their pixels.
TEST_F(DependenceTest, MovedElements) {
  parse("%x: tensor<1x20x24x6xf32>", "tensor<1x20x24x12xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<6x6x3x3xf32> -> tensor<6x6x3x3xf32>
  %0 = nn.transpose %x [0, 3, 1, 2] : tensor<1x20x24x6xf32> -> tensor<1x6x20x24xf32>
  %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
    : tensor<1x6x20x24xf32>, tensor<6x6x3x3xf32> -> tensor<1x6x20x24xf32>
  %2 = nn.reshape %1 : tensor<1x6x20x24xf32> -> tensor<1x2x3x20x24xf32>
  %3 = nn.transpose %2 [0, 2, 1, 3, 4] : tensor<1x2x3x20x24xf32> -> tensor<1x3x2x20x24xf32>
  %4 = nn.reshape %3 : tensor<1x3x2x20x24xf32> -> tensor<1x6x20x24xf32>
  %5 = nn.concat %4, %1 axis 1 : tensor<1x6x20x24xf32>, tensor<1x6x20x24xf32> -> tensor<1x12x20x24xf32>
  %6 = nn.unary %5 <relu> : tensor<1x12x20x24xf32> -> tensor<1x12x20x24xf32>
  %7 = nn.transpose %6 [0, 2, 3, 1] : tensor<1x12x20x24xf32> -> tensor<1x20x24x12xf32>
  return %7 : tensor<1x20x24x12xf32>)");
  EXPECT_EQ(planes->of(main().getArgument(0)), (Plane{1, 2}));
  for (StringRef kind : {"nn.transpose", "nn.reshape", "nn.concat", "nn.unary"})
    expectHeld(kind);
  expectHeld("nn.concat", 1);
  Operation *end = main().getBody().front().getTerminator();
  EXPECT_EQ(planes->of(end->getOperand(0)), (Plane{1, 2}));
}

/// A pixel that grows to four; and values that go to all pixels.
TEST_F(DependenceTest, ResizeAndScale) {
  parse("%x: tensor<1x4x10x12xf32>", "tensor<1x4x20x24xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<4x4x1x1xf32> -> tensor<4x4x1x1xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
    : tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x10x12xf32>
  %1 = nn.reduce mean %0 axes [2, 3] keep_dims true : tensor<1x4x10x12xf32> -> tensor<1x4x1x1xf32>
  %2 = nn.binary mul %0, %1 : tensor<1x4x10x12xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x10x12xf32>
  %3 = nn.resize nearest %2 scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest round_prefer_floor
    : tensor<1x4x10x12xf32> -> tensor<1x4x20x24xf32>
  return %3 : tensor<1x4x20x24xf32>)");
  EXPECT_FALSE(planes->of(layer("nn.reduce")->getResult(0)));
  EXPECT_EQ(dependenceOf("nn.reduce").kind, Dependence::Kind::All);
  EXPECT_EQ(dependenceOf("nn.binary", 1).kind, Dependence::Kind::All);
  expectHeld("nn.binary", 0);
  expectHeld("nn.resize");
  EXPECT_EQ(dependenceOf("nn.resize").rows, (Window{1, 2, 0, 0}));
}

/// Rows and columns in one dimension are no plane.
TEST_F(DependenceTest, Flattened) {
  parse("%x: tensor<1x4x10x12xf32>", "tensor<1x4x120xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<4x4x1x1xf32> -> tensor<4x4x1x1xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
    : tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x10x12xf32>
  %1 = nn.reshape %0 : tensor<1x4x10x12xf32> -> tensor<1x4x120xf32>
  return %1 : tensor<1x4x120xf32>)");
  EXPECT_EQ(dependenceOf("nn.reshape").kind, Dependence::Kind::All);
}

/// Interpolated pixels need neighbours.
TEST_F(DependenceTest, LinearResize) {
  parse("%x: tensor<1x4x10x12xf32>", "tensor<1x4x25x24xf32>", R"(
  %w = nn.constant dense<0.5> : tensor<4x4x1x1xf32> -> tensor<4x4x1x1xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
    : tensor<1x4x10x12xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x10x12xf32>
  %1 = nn.resize linear %0 scales [1.0, 1.0, 2.5, 2.0] coordinates half_pixel nearest floor
    : tensor<1x4x10x12xf32> -> tensor<1x4x25x24xf32>
  return %1 : tensor<1x4x25x24xf32>)");
  expectHeld("nn.resize", 0, /*tight=*/false);
  Window rows = dependenceOf("nn.resize").rows;
  EXPECT_EQ(rows.num, 2);
  EXPECT_EQ(rows.den, 5);
  // Two rows, and less than one more.
  EXPECT_LE(rows.high - rows.low, 2 * rows.den);
}
