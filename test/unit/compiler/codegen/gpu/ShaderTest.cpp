//===- ShaderTest.cpp - Kernels on a GPU ----------------------------------===//
//
// Cases that the tests of layers beside this folder leave out, and proof that
// the runner of kernels notices faults.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/LayerCheck.h"
#include "test/unit/compiler/codegen/LayerShader.h"
#include "test/unit/compiler/codegen/Reference.h"

#include "compiler/codegen/gpu/SpirvLowering.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace nnv12::test;
using nnv12::codegen::GpuBuilder;
using nnv12::codegen::GpuDispatch;
using nnv12::codegen::GpuTarget;
using nnv12::codegen::SpirvModule;
using nnv12::codegen::Values;

namespace {

class Shader : public testing::Test {
protected:
  void SetUp() override {
    if (!ShaderRunner::instance().isAvailable())
      GTEST_SKIP() << "SKIPPED: " << ShaderRunner::instance().reason();
  }
};

/// A kernel that stores 1.0 at a place of its own making.
SpirvModule lone(llvm::function_ref<void(GpuBuilder &, mlir::Value)> body,
                 int operands = 1) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  GpuTarget target = GpuTarget::everything();
  GpuBuilder builder(context, target);
  mlir::OwningOpRef<mlir::ModuleOp> module(builder.module);
  std::vector<mlir::Type> all(operands, builder.b.getF32Type());
  builder.kernel(all, 1, {1, 1, 1}, [&](mlir::ValueRange memories) {
    body(builder, memories[0]);
  });
  auto result = nnv12::codegen::lowerToSpirv(*module, target);
  EXPECT_TRUE(mlir::succeeded(result));
  return mlir::succeeded(result) ? *result : SpirvModule();
}

Floats runUnary(const std::string &function, const Floats &values) {
  std::string type = "tensor<" + std::to_string(values.size()) + "xf32>";
  std::string error;
  auto shader = LayerShader::compile(
      "func.func @main(%0: " + type + ") -> " + type +
          " {\n  %1 = nn.unary %0 <" + function + "> : " + type + " -> " +
          type + "\n  return %1 : " + type + "\n}\n",
      error);
  EXPECT_TRUE(shader) << error;
  if (!shader)
    return {};
  std::vector<Bytes> results = shader->run({toBytes(values)}, error);
  EXPECT_EQ(error, "");
  return results.empty() ? Floats() : toFloats(results[0]);
}

} // namespace

TEST_F(Shader, AWriteBeyondTheResultIsNoticed) {
  auto store = [](int64_t place) {
    return lone([&](GpuBuilder &k, mlir::Value memory) {
      mlir::Value words = k.pushWord(0);
      k.ifThen(k.lessUnsigned(k.constant(0), words),
               [&] { k.store(k.fconst(1, k.b.getF32Type()), memory, place); });
    });
  };
  GpuDispatch once{{1, 1, 1}, {1}};
  std::string error;
  std::vector<Bytes> results =
      ShaderRunner::instance().run(store(9), once, {Bytes(40)}, error);
  ASSERT_EQ(error, "");
  Floats values = toFloats(results[0]);
  EXPECT_EQ(values[9], 1);
  EXPECT_TRUE(std::isnan(values[0])) << "results begin as garbage";
  (void)ShaderRunner::instance().run(store(10), once, {Bytes(40)}, error);
  EXPECT_EQ(error, "it writes beyond its results, or to an operand");
}

TEST_F(Shader, AWriteWithoutBeingAskedIsNoticed) {
  SpirvModule module = lone([](GpuBuilder &k, mlir::Value memory) {
    k.store(k.fconst(1, k.b.getF32Type()), memory, 0);
  });
  std::string error;
  (void)ShaderRunner::instance().run(module, {{1, 1, 1}, {1}}, {Bytes(40)},
                                     error);
  EXPECT_EQ(error, "with all push words zero it writes something");
}

TEST_F(Shader, AWrongMapIsNoticed) {
  std::string error;
  ConvCase x;
  x.n = 2, x.o = 40;
  auto shader = LayerShader::compile(x.text(), error, "gpu.conv.gemm.16x4");
  ASSERT_TRUE(shader) << error;
  nnv12::codegen::GpuStep step = shader->steps().steps.front();
  auto run = [&] {
    std::vector<Bytes> operands = {Bytes(2 * 48 * 64 * 4)};
    for (size_t size : {2 * 16 * 64, 48 * 16, 48, 48 * 16})
      operands.push_back(toBytes(randomFloats(size, 1)));
    (void)ShaderRunner::instance().run(shader->module(), step, operands, error);
    return error;
  };
  EXPECT_EQ(run(), "");
  // Blocks for images.
  std::swap(step.maps[0].parts[0].cuts[0], step.maps[0].parts[0].cuts[1]);
  EXPECT_NE(run().find("differs from a run of all groups"), std::string::npos);
}

TEST_F(Shader, LoopsOfNothingGiveWhatTheyBeganWith) {
  // Loops of vectors, too, and where neighbours do run.
  SpirvModule module = lone([](GpuBuilder &k, mlir::Value memory) {
    mlir::Type f32 = k.b.getF32Type();
    mlir::Value words = k.pushWord(0);
    k.ifThen(k.lessUnsigned(k.constant(0), words), [&] {
      k.loop(0, 4, 1, [&](mlir::Value i) {
        Values sums =
            k.loop(i, k.val(k.sub(words, 8)), 1,
                   {k.fconst(7, f32), k.fconst(5, k.vec(2))},
                   [&](mlir::Value, mlir::ValueRange) {
                     return Values{k.fconst(1, f32), k.fconst(2, k.vec(2))};
                   });
        k.store(sums[0], memory, k.mul(i, 2));
        k.store(k.extract(sums[1], 1), memory, k.add(k.mul(i, 2), 1));
      });
    });
  });
  std::string error;
  std::vector<Bytes> results = ShaderRunner::instance().run(
      module, {{1, 1, 1}, {10}}, {Bytes(32)}, error);
  ASSERT_EQ(error, "");
  EXPECT_EQ(toFloats(results[0]), (Floats{1, 2, 1, 2, 7, 5, 7, 5}));
}

TEST_F(Shader, WordsLimitWhatIsWritten) {
  std::string error;
  auto shader = LayerShader::compile(
      "func.func @main(%0: tensor<100xf32>) -> tensor<100xf32> {\n  %1 = "
      "nn.unary %0 <relu> : tensor<100xf32> -> tensor<100xf32>\n  return %1 : "
      "tensor<100xf32>\n}\n",
      error, "gpu.element");
  ASSERT_TRUE(shader) << error;
  Floats ones(100, 1);
  // Too large a word writes all elements, a small one fewer.
  for (uint32_t word : {5u, 100u, 101u, ~0u}) {
    std::vector<Bytes> results =
        ShaderRunner::instance().run(shader->module(), {{3, 1, 1}, {word}},
                                     {Bytes(400), toBytes(ones)}, error);
    ASSERT_EQ(error, "");
    Floats values = toFloats(results[0]);
    for (uint32_t i = 0; i < 100; ++i)
      EXPECT_TRUE(i < word ? values[i] == 1 : std::isnan(values[i])) << i;
  }
}

TEST_F(Shader, NumbersThatAreNoneGoThrough) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  Floats in = {nan, inf, -inf, -0.0f, 0.0f, 7, -7};
  Floats clip = runUnary("clip [-1.0, 6.0]", in);
  ASSERT_EQ(clip.size(), in.size());
  EXPECT_TRUE(std::isnan(clip[0]));
  EXPECT_EQ(clip[1], 6);
  EXPECT_EQ(clip[2], -1);
  EXPECT_TRUE(std::signbit(clip[3]));
  Floats relu = runUnary("relu", in);
  EXPECT_TRUE(std::isnan(relu[0]));
  EXPECT_EQ(relu[1], inf);
  EXPECT_EQ(relu[2], 0);

  // The largest of a window with a NaN is NaN.
  Tensor x{{1, 1, 2, 4}, "f32", "", {1, nan, 3, 4, 5, 6, 7, 8}};
  auto out = evaluate("nn.pool max %0 kernel [2, 2] strides [2, 2] dilations "
                      "[1, 1] pads [0, 0], [0, 0] : $0 -> $r",
                      {x}, {{{1, 1, 1, 2}, "f32", "", {}}}, gpuTarget, "");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(std::isnan(out[0].data[0]));
  EXPECT_EQ(out[0].data[1], 8);
}

// More groups than a grid may have in one dimension.
TEST_F(Shader, GroupsInRows) {
  Tensor x = random({65535 * 64 + 1001});
  check("nn.unary %0 <relu> : $0 -> $r", {x}, {x.shape, "f32", "", {}},
        [&](const Indices &i) { return std::max(0.0, x.at(i)); }, 0,
        {gpuTarget});
}

TEST_F(Shader, TablesOfConstants) {
  for (std::string element : {"f32", "i32", "i64", "i8", "i1", "f64", "f16"}) {
    Tensor x = integers({3, 5}, element, 0, 1);
    check("nn.fuse (%a = %0) : ($0) -> $r {\n"
          "  %1 = nn.constant dense<[0, 1, 0, 0, 1]> : tensor<5xi32>\n"
          "  %2 = nn.cast %1 : tensor<5xi32> -> tensor<5x" +
              element +
              ">\n"
              "  %3 = nn.binary add %a, %2 : $0, tensor<5x" +
              element +
              "> -> $r\n"
              "  nn.yield %3 : $r\n}",
          {x}, {x.shape, element, "", {}},
          [&](const Indices &i) {
            double sum = x.at(i) + (i[1] == 1 || i[1] == 4);
            return element == "i1" ? std::min(sum, 1.0) : sum;
          },
          0, {gpuTarget});
  }
}

TEST_F(Shader, PaddingOfBlocksIsZero) {
  std::string error;
  std::string dense = "tensor<1x17x1x3xf32>",
              blocked = "tensor<1x17x1x3xf32, #nn.layout<\"aBcd16b\">>";
  auto shader =
      LayerShader::compile("func.func @main(%0: " + dense + ") -> " + blocked +
                               " {\n  %1 = nn.adapt %0 : " + dense + " -> " +
                               blocked + "\n  return %1 : " + blocked + "\n}\n",
                           error);
  ASSERT_TRUE(shader) << error;
  Floats ones(51, 1);
  std::vector<Bytes> results = ShaderRunner::instance().run(
      shader->module(), shader->steps().steps.front(),
      {Bytes(2 * 3 * 16 * 4), toBytes(ones)}, error);
  ASSERT_EQ(error, "");
  Floats values = toFloats(results[0]);
  for (int i = 0; i < 96; ++i)
    EXPECT_EQ(values[i], i < 48 || i % 16 == 0 ? 1 : 0) << i;
}
