//===- RoundingErrorTest.cpp - The model with a GPU's roundings -----------===//

#include "tools/nnv12c/RoundingError.h"
#include "tools/nnv12c/Compiler.h"

#include "compiler/layers/ExecutionOrder.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace nnv12;
using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

namespace {

/// A product, layers behind it, and an output that is read again. The first two
/// layers' weights and results are halves in later runs; other
/// stretches have more of them.
const char *model = R"(
  func.func @main(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %w = nn.constant dense<1.0> : tensor<8x4xf32> -> tensor<8x4xf32>
    %b = nn.constant dense<0.1> : tensor<4xf32> -> tensor<4xf32>
    %0 = nn.matmul %x, %w bias %b : tensor<2x8xf32>, tensor<8x4xf32> bias tensor<4xf32> -> tensor<2x4xf32>
    %1 = nn.unary %0 <exp> : tensor<2x4xf32> -> tensor<2x4xf32>
    %2 = nn.binary add %0, %1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %3 = nn.unary %2 <exp> : tensor<2x4xf32> -> tensor<2x4xf32>
    return %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>
  }
  plan.program "x86-64-v3" threads(1) {
    %e0 = plan.execute 0 routine("element")
    %e1 = plan.execute 1 routine("element")
    %e2 = plan.execute 2 routine("element")
    %e3 = plan.execute 3 routine("element")
    plan.gpu "vulkan1.1+storage16" profile("test") start(at_open) {
      %d = plan.device
      %p = plan.pipeline ["k"] after(%d)
      %r0 = plan.record 0 after(%d, %p)
      %r1 = plan.record 1 after(%d, %p)
      %r2 = plan.record 2 after(%d, %p)
      plan.stretch layers(0, 4) after(%r0) cold {
        plan.dispatch 0 routine("r") kernels(["k"]) half(5)
        plan.dispatch 1 routine("r") kernels(["k"]) half(3)
        plan.dispatch 2 routine("r") kernels(["k"]) half(7)
        plan.dispatch 3 routine("r") kernels(["k"]) half(2)
      }
      plan.stretch layers(0, 2) after(%r1) warm {
        plan.dispatch 0 routine("r") kernels(["k"]) half(5)
        plan.dispatch 1 routine("r") kernels(["k"]) half(3)
      }
      plan.stretch layers(2, 2) after(%r2) cold warm {
        plan.dispatch 2 routine("r") kernels(["k"]) half(6)
        plan.dispatch 3 routine("r") kernels(["k"])
      }
      plan.gpu_lane queue(%d, %p, %r0, %r1, %r2)
    }
    plan.lane execute on any queue(%e0, %e1, %e2, %e3)
  }
)";

/// The number of 16 bits, by the definition.
double half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent ? std::ldexp(1024 + fraction, exponent - 25)
                         : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

/// The nearest of all finite halves, of two the even one, of zeros that of its
/// sign.
double nearest(float value) {
  uint16_t best = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    if ((bits >> 10 & 31) == 31 || (bits >> 15) != std::signbit(value))
      continue;
    double now = std::fabs(half(bits) - value),
           least = std::fabs(half(best) - value);
    if (now < least || (now == least && bits % 2 == 0))
      best = bits;
  }
  return half(best);
}

class RoundingErrorTest : public testing::Test {
protected:
  RoundingErrorTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(model, &context);
    main = module->lookupSymbol<func::FuncOp>("main");
  }

  /// The layer with this number in the model; roundings, which a copy has
  /// besides, do not count.
  static Operation *layer(func::FuncOp main, size_t number) {
    auto isRounding = [](Operation *op) {
      auto unary = dyn_cast<nn::UnaryOp>(op);
      return isa<nn::CastOp>(op) ||
             (unary && unary.getFunction().getKind() == nn::UnaryKind::clip);
    };
    ExecutionOrder order(main);
    return *std::next(
        llvm::make_filter_range(order.layers(), std::not_fn(isRounding))
            .begin(),
        number);
  }
  static Floats valuesOf(Value constant) {
    auto data = nn::ConstantData::get(constant);
    ArrayRef<char> bytes = data->bytes();
    Floats result(bytes.size() / sizeof(float));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  /// The weights as they are multiplied on the GPU.
  Floats rounded(Floats values) {
    values.resize(32, 1);
    auto constant =
        layer(main, 0)->getOperand(1).getDefiningOp<nn::ConstantOp>();
    auto type = cast<RankedTensorType>(constant.getValue().getType());
    ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()),
                         values.size() * sizeof(float));
    constant.setValueAttr(nn::makeConstant(type, bytes));
    OwningOpRef<ModuleOp> copy = roundedAsOnGpu(*module);
    EXPECT_TRUE(succeeded(verify(*copy)));
    EXPECT_EQ(valuesOf(constant), values) << "the model itself is as it was";
    return valuesOf(
        layer(copy->lookupSymbol<func::FuncOp>("main"), 0)->getOperand(1));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
};

} // namespace

TEST_F(RoundingErrorTest, WeightsAreTheNearestHalves) {
  Floats values = {
      0.1f, -1.0f / 3, 65504, -65504,
      // Halfway: to even ones, down and up; and next to that.
      1 + 1.0f / 2048, 1 + 3.0f / 2048, std::nextafter(1 + 1.0f / 2048, 2.0f),
      std::nextafter(1 + 3.0f / 2048, 1.0f), 2047.5f, -2048.5f,
      // Denormals, and numbers below half of the smallest.
      std::ldexp(1.0f, -14), std::ldexp(1.3f, -15), std::ldexp(-1.7f, -20),
      std::ldexp(1.0f, -24), std::ldexp(1.5f, -24), std::ldexp(2.5f, -24),
      std::ldexp(1.0f, -25), std::nextafter(std::ldexp(1.0f, -25), 1.0f),
      -std::ldexp(1.0f, -26), Limits::min(), 0.0f, -0.0f};
  Floats found = rounded(values);
  for (auto [i, value] : llvm::enumerate(values)) {
    EXPECT_EQ(found[i], nearest(value)) << value;
    EXPECT_EQ(std::signbit(found[i]), std::signbit(value)) << value;
  }
  unsigned seed = 1;
  for (int round = 0; round < 8; ++round) {
    for (float &value : values = Floats(32)) {
      seed = seed * 1664525 + 1013904223;
      value = std::ldexp(float(int32_t(seed)), -31 - int(seed >> 7 & 15));
    }
    found = rounded(values);
    for (auto [i, value] : llvm::enumerate(values))
      EXPECT_EQ(found[i], nearest(value)) << value;
  }
}

// Tensors between layers that are halves in later runs are rounded, once,
// within the largest halves; nothing else is changed.
TEST_F(RoundingErrorTest, ResultsAreRoundedWhereLaterRunsHaveHalves) {
  OwningOpRef<ModuleOp> copy = roundedAsOnGpu(*module);
  ASSERT_TRUE(succeeded(verify(*copy)));
  EXPECT_TRUE(copy->getOps<plan::ProgramOp>().empty());
  EXPECT_FALSE(module->getOps<plan::ProgramOp>().empty());
  auto function = copy->lookupSymbol<func::FuncOp>("main");
  unsigned casts = 0;
  function.walk([&](nn::CastOp) { ++casts; });
  EXPECT_EQ(casts, 4u) << "two results, there and back";
  for (int64_t i : {0, 1}) {
    Operation *of = layer(function, i);
    ASSERT_TRUE(of->hasOneUse());
    auto inside = dyn_cast<nn::UnaryOp>(*of->user_begin());
    ASSERT_TRUE(inside);
    nn::FunctionAttr clip = inside.getFunction();
    EXPECT_EQ(clip.getKind(), nn::UnaryKind::clip);
    EXPECT_EQ(clip.getParams(), ArrayRef<double>({-65504, 65504}));
    ASSERT_TRUE(inside->hasOneUse());
    auto narrow = dyn_cast<nn::CastOp>(*inside->user_begin());
    ASSERT_TRUE(narrow);
    EXPECT_TRUE(getElementTypeOrSelf(narrow.getType()).isF16());
    ASSERT_TRUE(narrow->hasOneUse());
    auto wide = dyn_cast<nn::CastOp>(*narrow->user_begin());
    ASSERT_TRUE(wide);
    EXPECT_EQ(wide.getType(), of->getResult(0).getType());
    // All that read it read the rounded one.
    EXPECT_TRUE(llvm::is_contained(wide->getUsers(), layer(function, 2)));
  }
  EXPECT_TRUE(
      llvm::is_contained(layer(function, 2)->getUsers(), layer(function, 3)));
  EXPECT_EQ(valuesOf(layer(function, 0)->getOperand(2)),
            valuesOf(layer(main, 0)->getOperand(2)))
      << "the bias";
  EXPECT_EQ(layer(function, 0)->getOperand(0), function.getArgument(0));
}
