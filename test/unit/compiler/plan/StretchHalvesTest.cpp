//===- StretchHalvesTest.cpp - Tensors that a GPU stores in f16 -----------===//
//
// Networks of a few layers, and of each layer the tensors that are halves: "r0"
// is its first result, "o1" its second operand.
//
//===----------------------------------------------------------------------===//

#include "compiler/plan/StretchHalves.h"
#include "compiler/processors/Processor.h"
#include "tools/nnv12c/Compiler.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;
using codegen::HalfTensors;
using Names = std::vector<std::string>;
using Floats = std::vector<float>;

namespace {

// Types: images of 16 channels, 1x1 and 3x3 weights of them, a bias.
constexpr const char *image = "tensor<1x16x8x8xf32, #nn.layout<\"aBcd16b\">>";
constexpr const char *dense = "tensor<16x16x1x1xf32>";
constexpr const char *packed =
    "tensor<16x16x1x1xf32, #nn.layout<\"ABcd16b16a\">>";
constexpr const char *bias = "tensor<16xf32, #nn.layout<\"A16a\">>";

std::string function(const std::string &arguments, const std::string &body,
                     const std::string &results, const std::string &types) {
  return "func.func @main(" + arguments + ") -> (" + types + ") {\n" + body +
         "return " + results + " : " + types + "\n}\n";
}
std::string weights(const std::string &name, const std::string &value) {
  return name + " = nn.constant dense<" + value + "> : " + dense + " -> " +
         packed + "\n";
}
std::string biasOf(const std::string &name) {
  return name + " = nn.constant dense<2.0> : tensor<16xf32> -> " + bias + "\n";
}
std::string conv(const std::string &out, const std::string &in,
                 const std::string &matrix, const std::string &added = "",
                 const std::string &residual = "") {
  std::string type = image, text = out + " = nn.conv " + in + ", " + matrix,
              types = " : " + type + ", " + packed;
  if (!added.empty())
    text += " bias " + added, types += std::string(" bias ") + bias;
  if (!residual.empty())
    text += " residual " + residual, types += " residual " + type;
  return text + " strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]" + types +
         " -> " + type + "\n";
}
std::string unary(const std::string &out, const std::string &in,
                  const std::string &type) {
  return out + " = nn.unary " + in + " <exp> : " + type + " -> " + type + "\n";
}
std::string binary(const std::string &out, const std::string &a,
                   const std::string &b, const std::string &type) {
  return out + " = nn.binary add " + a + ", " + b + " : " + type + ", " + type +
         " -> " + type + "\n";
}
/// The whole of `body`, which reads %x and ends with %y.
std::string network(const std::string &body, const std::string &type) {
  return function("%x: " + type, body, "%y", type);
}

class StretchHalvesTest : public testing::Test {
protected:
  StretchHalvesTest() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
  }

  void parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto main = module->lookupSymbol<func::FuncOp>("main");
    order.emplace(main);
    layers.clear();
    for (const ExecutedLayer &layer : executedLayers(*order))
      layers.push_back({layer, {}});
  }
  /// The value of a constant of the model that was parsed.
  void setConstant(const Floats &values) {
    module->walk([&](nn::ConstantOp constant) {
      auto type = cast<RankedTensorType>(constant.getValue().getType());
      ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()),
                           values.size() * sizeof(float));
      constant.setValueAttr(nn::makeConstant(type, bytes));
    });
  }

  const GpuRoutine *routineOf(size_t layer, StringRef name) {
    auto all = gpuProcessor().candidates(layers[layer].layer.op,
                                         codegen::GpuTarget::everything().name);
    for (const Routine *routine : all)
      if (name.empty() || routine->name() == name)
        return &GpuRoutine::of(*routine);
    EXPECT_EQ(name, "") << "layer " << layer;
    // Any routine for a layer that none computes: results do not depend on it.
    return &GpuRoutine::of(*codegen::gpuRoutines().named("gpu.element"));
  }
  std::string text(size_t layer, HalfTensors half) {
    Operation *op = layers[layer].layer.op;
    std::string result;
    auto add = [&](const std::string &name) {
      result += (result.empty() ? "" : " ") + name;
    };
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (half.has(HalfTensors::result(i)))
        add("r" + std::to_string(i));
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (half.has(HalfTensors::operand(op, i)))
        add("o" + std::to_string(i));
    return result;
  }
  /// The halves of a stretch; all layers without `count`. All by this routine,
  /// or each by the one that it prefers.
  Names halves(size_t first = 0, size_t count = 0, StringRef routine = "",
               HalfUse use = HalfUse::All) {
    count = count ? count : layers.size();
    StretchHalves half(*order, layers, use);
    Names result;
    for (size_t i = first; i < first + count; ++i)
      result.push_back(
          text(i, half.of(i, *routineOf(i, routine), first, first + count)));
    return result;
  }
  /// The most halves of each layer amid others.
  Names most() {
    StretchHalves half(*order, layers);
    Names result;
    for (size_t i = 0; i < layers.size(); ++i)
      result.push_back(
          text(i, half.of(i, *routineOf(i, ""), 0, layers.size())));
    return result;
  }
  /// Whether weights of this value, or these values, are halves.
  bool areHalves(const std::string &value) {
    parse(network(weights("%w", value) + conv("%y", "%x", "%w"), image));
    return halves() == Names{"o1"};
  }
  bool areHalves(const Floats &values) {
    parse(network(weights("%w", "1.0") + conv("%y", "%x", "%w"), image));
    setConstant(values);
    return halves() == Names{"o1"};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<ExecutionOrder> order;
  std::vector<PlannedLayer> layers;
};

constexpr float largest = 65504, leastNormal = 1.0f / 16384;

} // namespace

// Model inputs and outputs are the caller's, biases are few.
TEST_F(StretchHalvesTest, WeightsAndWhatLayersHandToEachOther) {
  parse(network(weights("%v", "1.0") + weights("%w", "2.0") + biasOf("%b") +
                    biasOf("%c") + conv("%0", "%x", "%v", "%b") +
                    conv("%1", "%0", "%w", "%c", "%0") +
                    unary("%y", "%1", image),
                image));
  Names all = {"r0 o1", "r0 o0 o1 o3", "o0"};
  EXPECT_EQ(halves(), all);
  EXPECT_EQ(most(), all);
  EXPECT_EQ(layers[1].layer.op->getNumOperands(), 4u);
}

TEST_F(StretchHalvesTest, WithoutRoundingOnlyWeightsThatAreHalves) {
  parse(network(weights("%v", "1.0") + weights("%w", "0.1") +
                    conv("%0", "%x", "%v") + conv("%1", "%0", "%w") +
                    unary("%y", "%1", image),
                image));
  EXPECT_EQ(halves(0, 0, "", HalfUse::Exact), Names({"o1", "", ""}));
  EXPECT_EQ(halves(0, 0, "", HalfUse::None), Names({"", "", ""}));
}

// Tensors that CPUs write or read are theirs, but whether a layer is the first
// or the last of a stretch says nothing of its weights.
TEST_F(StretchHalvesTest, WhatPassesTheEndsOfAStretchStays) {
  parse(network(weights("%w", "1.0") + conv("%0", "%x", "%w") +
                    unary("%1", "%0", image) + binary("%2", "%0", "%1", image) +
                    unary("%y", "%2", image),
                image));
  EXPECT_EQ(halves(), Names({"r0 o1", "r0 o0", "r0 o0 o1", "o0"}));
  EXPECT_EQ(halves(0, 1), Names({"o1"}));
  EXPECT_EQ(halves(0, 2), Names({"o1", ""})) << "layer 2 reads both";
  EXPECT_EQ(halves(0, 3), Names({"r0 o1", "r0 o0", "o0 o1"}));
  EXPECT_EQ(halves(1, 2), Names({"r0", "o1"}));
  EXPECT_EQ(halves(2, 2), Names({"r0", "o0"}));
  EXPECT_EQ(halves(3, 1), Names({""}));
  EXPECT_EQ(most(), halves());
}

// An output is the caller's, also where a later layer reads it.
TEST_F(StretchHalvesTest, OutputsStay) {
  parse(function("%x: " + std::string(image),
                 unary("%0", "%x", image) + unary("%1", "%0", image), "%0, %1",
                 std::string(image) + ", " + image));
  EXPECT_EQ(halves(), Names({"", ""}));
  EXPECT_EQ(most(), Names({"", ""}));
}

TEST_F(StretchHalvesTest, WeightsBeyondHalvesStay) {
  EXPECT_TRUE(areHalves("65504.0"));
  EXPECT_TRUE(areHalves("-65504.0"));
  EXPECT_FALSE(areHalves("65505.0"));
  EXPECT_FALSE(areHalves("-65505.0"));
  EXPECT_FALSE(areHalves("0x7F800000")) << "infinity";
  EXPECT_FALSE(areHalves("0xFF800000"));
  EXPECT_FALSE(areHalves("0x7FC00000")) << "no number";
  EXPECT_TRUE(areHalves("0.0"));
  // One of them is enough.
  Floats values(256, 0.5f);
  EXPECT_TRUE(areHalves(values));
  for (float value :
       {std::nextafter(largest, 1e9f), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    values[77] = value;
    EXPECT_FALSE(areHalves(values)) << value;
  }
  values[77] = largest;
  EXPECT_TRUE(areHalves(values));
}

// Against the definition: those below 2^-14 are less than 2^-11 of all, as
// roots of sums of squares.
TEST_F(StretchHalvesTest, WeightsOfWhichDevicesFlushManyStay) {
  EXPECT_TRUE(areHalves(Floats(256, leastNormal)));
  EXPECT_FALSE(areHalves(Floats(256, std::nextafter(leastNormal, 0.0f))));
  std::mt19937 random(7);
  int numFit = 0;
  constexpr int rounds = 40;
  for (int i = 0; i < rounds; ++i) {
    // Some large ones, so that small ones are about as much as is allowed.
    Floats values(256);
    std::uniform_real_distribution<float> small(-leastNormal, leastNormal),
        large(0.001f, std::ldexp(0.01f, i % 8));
    size_t numLarge = 1 + i % 100;
    for (size_t j = 0; j < values.size(); ++j)
      values[j] = j < numLarge ? large(random) : small(random);
    std::shuffle(values.begin(), values.end(), random);
    long double all = 0, lost = 0;
    for (float value : values) {
      long double square = (long double)value * value;
      all += square;
      if (std::fabs(value) < leastNormal)
        lost += square;
    }
    long double ratio = std::sqrt(lost / all) * 2048;
    ASSERT_GT(std::fabs(ratio - 1), 1e-6) << "too close to say";
    EXPECT_EQ(areHalves(values), ratio < 1) << ratio;
    numFit += ratio < 1;
  }
  EXPECT_GT(numFit, rounds / 10);
  EXPECT_LT(numFit, rounds * 9 / 10);
}

// The second layer's bias is its largest constant that no layer has read
// before. That is of the CPU's plan.
TEST_F(StretchHalvesTest, WeightsThatLayersShare) {
  parse(network(weights("%w", "1.0") + biasOf("%b") + conv("%0", "%x", "%w") +
                    conv("%y", "%0", "%w", "%b"),
                image));
  EXPECT_EQ(layers[1].layer.mainOperand, 2u);
  EXPECT_EQ(halves(), Names({"r0 o1", "o0 o1"}));
}

TEST_F(StretchHalvesTest, OneMatrixOfTwoThatAreConstant) {
  std::string type = "tensor<16x16xf32>";
  auto matrix = [&](const std::string &name, const std::string &value) {
    return name + " = nn.constant dense<" + value + "> : " + type + " -> " +
           type + "\n";
  };
  auto product = [&](const std::string &out, const std::string &a,
                     const std::string &b) {
    return out + " = nn.matmul " + a + ", " + b + " : " + type + ", " + type +
           " -> " + type + "\n";
  };
  parse(network(matrix("%l", "1.0") + matrix("%r", "2.0") +
                    product("%0", "%l", "%x") + product("%y", "%0", "%r"),
                type));
  EXPECT_EQ(halves(), Names({"r0 o0", "o0 o1"}));
}

// They are few, or nothing but handed on: no sum is shorter for it.
TEST_F(StretchHalvesTest, ConstantsOfOtherLayersStay) {
  std::string type = "tensor<16x16xf32>",
              table = "%t = nn.constant dense<1.0> : " + type + " -> " + type +
                      "\n";
  parse(network(table + binary("%y", "%x", "%t", type), type));
  EXPECT_EQ(layers[0].layer.mainOperand, 1u);
  EXPECT_EQ(halves(), Names{""});
}

// Transforms amplify the error of halves; tensors are halves all the same.
TEST_F(StretchHalvesTest, WeightsOfWinogradStay) {
  std::string type = "tensor<1x32x8x8xf32, #nn.layout<\"aBcd16b\">>",
              weights = "tensor<32x32x3x3xf32, #nn.layout<\"ABcd16b16a\">>",
              text = "%w = nn.constant dense<1.0> : tensor<32x32x3x3xf32> -> " +
                     weights + "\n";
  for (auto [out, in] : {std::pair("%0", "%x"), {"%y", "%0"}})
    text +=
        std::string(out) + " = nn.conv " + in +
        ", %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : " + type +
        ", " + weights + " -> " + type + "\n";
  parse(network(text, type));
  EXPECT_EQ(halves(0, 2, "gpu.conv.winograd4.32x32"), Names({"r0", "o0"}));
  EXPECT_EQ(halves(0, 2, "gpu.conv.direct.16x4"), Names({"r0 o1", "o0 o1"}));
}

// Halves lie at half the place, which has to be a multiple of 256 bytes. A
// tensor has one element type, so one such part decides for all of it.
TEST_F(StretchHalvesTest, PartsOfConcatenations) {
  auto concat = [](int64_t height, int64_t width) {
    auto type = [&](int64_t channels) {
      return "tensor<1x" + std::to_string(channels) + "x" +
             std::to_string(height) + "x" + std::to_string(width) +
             "xf32, #nn.layout<\"aBcd16b\">>";
    };
    std::string one = type(16), both = type(32);
    return function("%x: " + one,
                    unary("%0", "%x", one) + unary("%1", "%0", one) +
                        unary("%2", "%0", one) +
                        "%3 = nn.concat %1, %2 axis 1 : " + one + ", " + one +
                        " -> " + both + "\n" + unary("%y", "%3", both),
                    "%y", both);
  };
  Names all = {"r0", "r0 o0", "r0 o0", "o0"},
        parts = {"r0", "o0", "o0", ""}; // %0 is no part
  parse(concat(2, 4));                  // 512 bytes
  EXPECT_EQ(halves(), all);
  EXPECT_EQ(most(), all);
  for (int64_t width : {6, 2}) { // 768 and 256 bytes
    parse(concat(2, width));
    EXPECT_EQ(halves(), parts) << width;
    EXPECT_EQ(most(), parts) << width;
  }
}

TEST_F(StretchHalvesTest, ViewsAreTheirTensor) {
  std::string type = "tensor<16x64xf32>", flat = "tensor<1024xf32>",
              part = "tensor<8x64xf32>";
  parse(function("%x: " + type,
                 unary("%0", "%x", type) + "%1 = nn.reshape %0 : " + type +
                     " -> " + flat + "\n" + unary("%2", "%1", flat) +
                     "%3 = nn.slice %0 starts [8, 0] sizes [8, 64] steps "
                     "[1, 1] : " +
                     type + " -> " + part + "\n" + unary("%4", "%3", part),
                 "%2, %4", flat + ", " + part));
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(halves(), Names({"r0", "o0", "o0"}));
  // The slice's reader is outside.
  EXPECT_EQ(halves(0, 2), Names({"", ""}));
}

TEST_F(StretchHalvesTest, OtherElementTypesStay) {
  std::string x = "tensor<4x16xf32>", i = "tensor<4xi64>",
              h = "tensor<4x16xf16>";
  parse(function("%x: " + x,
                 unary("%0", "%x", x) +
                     "%1 = nn.arg_reduce max %0 axis 1 keep_dims false "
                     "select_last false : " +
                     x + " -> " + i + "\n" + "%2 = nn.cast %1 : " + i +
                     " -> tensor<4xf32>\n%3 = nn.cast %0 : " + x + " -> " + h +
                     "\n%4 = nn.cast %3 : " + h + " -> " + x + "\n",
                 "%2, %4", "tensor<4xf32>, " + x));
  EXPECT_EQ(halves(), Names({"r0", "o0", "", "o0", ""}));
}

// Memory is bound in whole words.
TEST_F(StretchHalvesTest, OddTensorsStay) {
  for (auto [type, first, last] :
       {std::tuple("tensor<3xf32>", "", ""), {"tensor<4xf32>", "r0", "o0"}}) {
    parse(network(unary("%0", "%x", type) + unary("%y", "%0", type), type));
    EXPECT_EQ(halves(), Names({first, last})) << type;
  }
}

// There is no bit for them.
TEST_F(StretchHalvesTest, LayersOfManyTensorsStay) {
  for (int count : {63, 64}) {
    std::string one = "tensor<4x2xf32>",
                all = "tensor<4x" + std::to_string(2 * count) + "xf32>",
                body = unary("%0", "%x", one), operands, types;
    for (int i = 0; i < count; ++i) {
      operands += std::string(i ? ", " : "") + "%0";
      types += (i ? ", " : "") + one;
    }
    body += "%1 = nn.concat " + operands + " axis 1 : " + types + " -> " + all +
            "\n" + unary("%y", "%1", all);
    parse(function("%x: " + one, body, "%y", all));
    Names found = halves();
    EXPECT_EQ(found[0], count == 63 ? "r0" : "");
    EXPECT_EQ(found[2], count == 63 ? "o0" : "");
    EXPECT_EQ(found[1].empty(), count == 64) << found[1];
    EXPECT_EQ(most(), found);
  }
}
