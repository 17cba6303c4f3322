//===- HalfMemoryTest.cpp - Layers of f32 with tensors in f16 -------------===//
//
// Where operands are halves, a kernel that has some of its tensors in f16 gives
// the results of the kernel with all of them in f32, rounded where the result
// is in f16 as well.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/CheckLayer.h"

#include "compiler/codegen/gpu/GpuKernelTable.h"

#include <cmath>

using namespace nnv12;
using namespace nnv12::test;
using codegen::GpuFeature;
using codegen::HalfTensors;

namespace {

class HalfMemory : public testing::Test {
protected:
  void SetUp() override {
    if (!ShaderRunner::instance().isAvailable())
      GTEST_SKIP() << "SKIPPED: " << ShaderRunner::instance().reason();
  }

  static std::vector<Bytes> halfOperands(mlir::Operation *layer) {
    std::vector<Bytes> result;
    for (const Floats &operand : randomOperands(layer))
      result.push_back(fromHalf(toHalf(toBytes(operand))));
    return result;
  }

  static Floats run(const LayerShader &shader) {
    std::string error;
    auto results = shader.run(halfOperands(shader.layer()), error);
    EXPECT_EQ(results.size(), 1u) << error;
    return results.empty() ? Floats() : toFloats(results[0]);
  }

  /// All tensors in f16 by all routines of the layer; only the result, and all
  /// but it, by the first one.
  static void check(const std::string &text) {
    for (const std::string &routine : gpuRoutinesOf(text)) {
      SCOPED_TRACE(routine + ": " + text);
      std::string error;
      auto plain = LayerShader::compile(text, error, routine);
      ASSERT_TRUE(plain) << error;
      Floats expected = run(*plain);
      mlir::Operation *layer = plain->layer();
      HalfTensors result = HalfTensors::result(0), operands;
      for (unsigned i = 0; i < layer->getNumOperands(); ++i)
        operands.add(HalfTensors::operand(layer, i));
      if (auto form = plain->routine().weightForm(layer))
        operands.bits &= ~HalfTensors::operand(layer, form->operand).bits;
      HalfTensors all = operands;
      all.add(result);
      checkSame(text, routine, all, expected);
      if (routine != gpuRoutinesOf(text).front())
        continue;
      for (HalfTensors half : {result, operands})
        checkSame(text, routine, half, expected);
    }
  }

private:
  static void checkSame(const std::string &text, const std::string &routine,
                        HalfTensors half, const Floats &expected) {
    SCOPED_TRACE("tensors in f16: " + std::to_string(half.bits));
    std::string error;
    auto shader =
        LayerShader::compile(text, error, routine, "vulkan1.1+all", half);
    ASSERT_TRUE(shader) << error;
    codegen::GpuFeatures features;
    for (const codegen::SpirvModule &module : shader->modules())
      features.bits |= module.features.bits;
    EXPECT_TRUE(features.has(GpuFeature::Storage16));
    Floats actual = run(*shader);
    ASSERT_EQ(actual.size(), expected.size());
    // The device may round between these as it likes: to nearest or to zero.
    bool rounds = half.has(HalfTensors::result(0));
    float relative = rounds ? 1.0f / 1024 : 1e-6f, least = 1e-6f;
    int wrong = 0;
    for (size_t i = 0; i < actual.size() && wrong < 3; ++i) {
      bool isSame = std::fabs(actual[i] - expected[i]) <=
                    relative * std::fabs(expected[i]) + least;
      wrong += !isSame;
      EXPECT_TRUE(isSame) << "element " << i << ": found " << actual[i]
                          << ", expected " << expected[i];
    }
  }
};

std::string unary(const std::string &layer, const std::string &in,
                  const std::string &out) {
  return "func.func @main(%0: " + in + ") -> " + out + " {\n  %r = " + layer +
         " : " + in + " -> " + out + "\n  return %r : " + out + "\n}\n";
}

} // namespace

TEST_F(HalfMemory, Convolutions) {
  ConvCase x;
  x.n = 2, x.c = 32, x.o = 40, x.h = 5, x.w = 7, x.constant = true;
  x.residual = true, x.activation = "relu";
  check(x.text());
  x.residual = x.bias = false;
  x.kh = x.kw = 3, x.top = x.left = x.bottom = x.right = 1;
  check(x.text()); // winograd4, direct
  x.c = 3, x.strideH = x.strideW = 2;
  check(x.text()); // first
  x = ConvCase();
  x.c = x.o = x.groups = 24, x.h = x.w = 9, x.kh = x.kw = 3;
  check(x.text()); // depthwise
  x = ConvCase();
  x.c = 200, x.o = 100, x.h = x.w = 3, x.residual = true;
  check(x.text()); // sums in parts
  x = ConvCase();
  x.transpose = true, x.n = 2, x.c = 40, x.o = 24, x.h = 5, x.w = 7;
  x.kh = x.kw = 4, x.strideH = x.strideW = 2, x.top = x.left = 1;
  x.residual = x.constant = true, x.activation = "relu";
  check(x.text()); // transposed
  x.o = 3;
  check(x.text()); // and few
  x.transpose = x.bias = false;
  check(x.text()); // few
}

TEST_F(HalfMemory, Products) {
  MatMulCase x;
  x.m = 3, x.n = 50, x.k = 37, x.constant = true, x.activation = "relu";
  check(x.text());
  x = MatMulCase();
  x.m = 70, x.n = 130, x.k = 20, x.transposeRhs = true;
  check(x.text());
}

TEST_F(HalfMemory, Pools) {
  for (bool isMax : {true, false}) {
    PoolCase x;
    x.c = 20, x.h = x.w = 9, x.k = 3, x.high = 1;
    x.max = isMax;
    check(x.text());
  }
}

TEST_F(HalfMemory, RowsAndElements) {
  std::string type = "tensor<5x36xf32>";
  check(unary("nn.softmax %0 axis 1", type, type));
  check(unary("nn.normalize %0 axis 1 epsilon 1.0e-5", type, type));
  check(unary("nn.reduce mean %0 axes [0] keep_dims false", type,
              "tensor<36xf32>"));
  check(unary("nn.unary %0 <sigmoid>", type, type));
  check(unary("nn.transpose %0 [1, 0]", type, "tensor<36x5xf32>"));
}

// The result is a number of an element: halves give the same one.
TEST_F(HalfMemory, PlacesOfTheLargest) {
  for (auto [axis, out] :
       {std::pair("0", "tensor<36xi64>"), std::pair("1", "tensor<5xi64>")}) {
    std::string text = unary(std::string("nn.arg_reduce max %0 axis ") + axis +
                                 " keep_dims false select_last false",
                             "tensor<5x36xf32>", out);
    for (std::string routine : {"gpu.arg_reduce", "gpu.element"}) {
      SCOPED_TRACE(routine + ": " + text);
      std::string error;
      auto plain = LayerShader::compile(text, error, routine);
      ASSERT_TRUE(plain) << error;
      auto half = LayerShader::compile(text, error, routine, "vulkan1.1+all",
                                       HalfTensors::operand(plain->layer(), 0));
      ASSERT_TRUE(half) << error;
      std::vector<Bytes> operands = halfOperands(plain->layer());
      std::vector<Bytes> expected = plain->run(operands, error);
      ASSERT_EQ(expected.size(), 1u) << error;
      EXPECT_TRUE(half->run(operands, error) == expected) << error;
    }
  }
}

TEST_F(HalfMemory, Concatenations) {
  std::string a = "tensor<2x8xf32>", b = "tensor<2x4xf32>",
              r = "tensor<2x12xf32>";
  check("func.func @main(%0: " + a + ", %1: " + b + ") -> " + r +
        " {\n  %r = nn.concat %0, %1 axis 1 : " + a + ", " + b + " -> " + r +
        "\n  return %r : " + r + "\n}\n");
}

// A number beyond f16 stays a number, and NaN stays NaN.
TEST_F(HalfMemory, LargestNumbers) {
  std::string type = "tensor<4xf32>", error;
  auto shader =
      LayerShader::compile(unary("nn.unary %0 <neg>", type, type), error, "",
                           "vulkan1.1+storage16", HalfTensors::result(0));
  ASSERT_TRUE(shader) << error;
  auto results = shader->run({toBytes({-1e9f, INFINITY, NAN, 3})}, error);
  ASSERT_EQ(results.size(), 1u) << error;
  Floats actual = toFloats(results[0]);
  EXPECT_EQ(actual[0], 65504);
  EXPECT_EQ(actual[1], -65504);
  EXPECT_TRUE(std::isnan(actual[2]));
  EXPECT_EQ(actual[3], -3);
}

TEST_F(HalfMemory, NeedsMemoryOfSixteenBits) {
  std::string type = "tensor<4xf32>", error;
  auto shader =
      LayerShader::compile(unary("nn.unary %0 <neg>", type, type), error, "",
                           "vulkan1.1", HalfTensors::result(0));
  EXPECT_FALSE(shader);
  EXPECT_NE(error.find("tensors in f16 need storage16, which vulkan1.1 lacks"),
            std::string::npos)
      << error;
}
