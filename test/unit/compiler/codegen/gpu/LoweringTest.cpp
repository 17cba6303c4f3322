//===- LoweringTest.cpp - The instructions of modules of GPUs -------------===//

#include "test/unit/compiler/codegen/LayerShader.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace nnv12::test;
using nnv12::codegen::GpuFeature;
using nnv12::codegen::GpuFeatures;
using nnv12::codegen::GpuTarget;
using nnv12::codegen::SpirvModule;

namespace {

// Instructions of the tests, by their numbers in the SPIR-V specification.
enum Op : uint32_t {
  OpExtension = 10,
  OpExtInst = 12,
  OpEntryPoint = 15,
  OpExecutionMode = 16,
  OpCapability = 17,
  OpTypeVector = 23,
  OpVariable = 59,
  OpDecorate = 71,
  OpBitcast = 124,
};
enum Capability : uint32_t {
  Shader = 1,
  Float16 = 9,
  Float64 = 10,
  Int64 = 11,
  Int16 = 22,
  Int8 = 39,
  StorageBuffer16BitAccess = 4433,
  StorageBuffer8BitAccess = 4448,
};
constexpr uint32_t decorationNonWritable = 24, decorationBinding = 33,
                   decorationDescriptorSet = 34;

using Words = std::vector<uint32_t>;

/// The operands of all instructions with an opcode.
std::vector<Words> instructions(const SpirvModule &module, uint32_t opcode) {
  std::vector<Words> found;
  for (size_t at = 5; at < module.words.size();) {
    uint32_t length = module.words[at] >> 16;
    if ((module.words[at] & 0xffff) == opcode)
      found.emplace_back(module.words.begin() + at + 1,
                         module.words.begin() + at + length);
    if (length == 0)
      break;
    at += length;
  }
  return found;
}

std::set<uint32_t> capabilities(const SpirvModule &module) {
  std::set<uint32_t> result;
  for (const Words &words : instructions(module, OpCapability))
    result.insert(words[0]);
  return result;
}

std::string unary(const std::string &function, const std::string &type) {
  return "func.func @main(%0: " + type + ") -> " + type +
         " {\n  %1 = nn.unary %0 <" + function + "> : " + type + " -> " + type +
         "\n  return %1 : " + type + "\n}\n";
}

std::string cast(const std::string &from, const std::string &to) {
  return "func.func @main(%0: " + from + ") -> " + to +
         " {\n  %1 = nn.cast %0 : " + from + " -> " + to +
         "\n  return %1 : " + to + "\n}\n";
}

/// There and back, with nothing of the other type in memory.
std::string castInBetween(const std::string &type, const std::string &other) {
  return "func.func @main(%0: " + type + ") -> " + type +
         " {\n  %1 = nn.fuse (%a = %0) : (" + type + ") -> " + type +
         " {\n    %2 = nn.cast %a : " + type + " -> " + other +
         "\n    %3 = nn.cast %2 : " + other + " -> " + type +
         "\n    nn.yield %3 : " + type + "\n  }\n  return %1 : " + type +
         "\n}\n";
}

std::string binary(const std::string &kind, const std::string &type,
                   const std::string &result) {
  return "func.func @main(%0: " + type + ", %1: " + type + ") -> " + result +
         " {\n  %2 = nn.binary " + kind + " %0, %1 : " + type + ", " + type +
         " -> " + result + "\n  return %2 : " + result + "\n}\n";
}

std::unique_ptr<LayerShader> compiled(const std::string &text) {
  std::string error;
  auto shader = LayerShader::compile(text, error);
  EXPECT_TRUE(shader) << error << "\n" << text;
  return shader;
}

GpuFeatures features(std::initializer_list<GpuFeature> list) {
  GpuFeatures set;
  for (GpuFeature feature : list)
    set.add(feature);
  return set;
}

} // namespace

TEST(GpuTarget, NamesAreWhatTheyStandFor) {
  EXPECT_TRUE(GpuTarget::byName("vulkan1.1")->features.empty());
  EXPECT_EQ(GpuTarget::byName("vulkan1.1")->name, "vulkan1.1");
  auto two = GpuTarget::byName("vulkan1.1+storage8+int64");
  ASSERT_TRUE(two);
  EXPECT_TRUE(two->features ==
              features({GpuFeature::Int64, GpuFeature::Storage8}));
  EXPECT_EQ(two->name, "vulkan1.1+int64+storage8");
  EXPECT_EQ(GpuTarget::byName("vulkan1.1+all")->name,
            "vulkan1.1+int64+float64+int8+int16+storage8+storage16");
  for (const char *name :
       {"", "vulkan", "vulkan1.2", "vulkan1.1+", "+int64", "vulkan1.1+float16"})
    EXPECT_FALSE(GpuTarget::byName(name)) << name;
}

TEST(SpirvLowering, TheInterfaceIsTheDocumentedOne) {
  auto shader = compiled(binary("add", "tensor<3x5xf32>", "tensor<3x5xf32>"));
  ASSERT_TRUE(shader);
  const SpirvModule &module = shader->module();
  EXPECT_EQ(module.words[0], 0x07230203u);
  EXPECT_EQ(module.words[1], 0x00010300u) << "SPIR-V 1.3";
  EXPECT_EQ(module.bindings, 3u);
  EXPECT_EQ(module.written, 1u);
  EXPECT_EQ(module.pushWords, 1u);
  EXPECT_EQ(module.sharedBytes, 0u);
  EXPECT_TRUE(module.features.empty());
  EXPECT_EQ(module.localSize, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(capabilities(module), std::set<uint32_t>{Shader});
  EXPECT_TRUE(instructions(module, OpExtension).empty());

  std::vector<Words> entries = instructions(module, OpEntryPoint);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0][0], 5u) << "GLCompute";
  EXPECT_STREQ(reinterpret_cast<const char *>(&entries[0][2]), "main");
  std::vector<Words> modes = instructions(module, OpExecutionMode);
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_EQ(Words(modes[0].begin() + 1, modes[0].end()), (Words{17, 64, 1, 1}))
      << "LocalSize";

  // Each buffer has a place of its own in set 0, and only the result may be
  // written; push constants have neither set nor binding.
  std::map<uint32_t, uint32_t> bindings;
  std::set<uint32_t> constant;
  for (const Words &words : instructions(module, OpDecorate)) {
    if (words[1] == decorationBinding)
      bindings[words[0]] = words[2];
    if (words[1] == decorationDescriptorSet) {
      EXPECT_EQ(words[2], 0u);
    }
    if (words[1] == decorationNonWritable)
      constant.insert(words[0]);
  }
  ASSERT_EQ(bindings.size(), 3u);
  std::set<uint32_t> places;
  for (auto [variable, place] : bindings) {
    places.insert(place);
    EXPECT_EQ(constant.count(variable), place == 0 ? 0u : 1u) << place;
  }
  EXPECT_EQ(places, (std::set<uint32_t>{0, 1, 2}));
}

TEST(SpirvLowering, CapabilitiesAreThoseUsed) {
  struct Case {
    std::string text;
    std::set<uint32_t> capabilities;
    GpuFeatures features;
  };
  using F = GpuFeature;
  for (const Case &c : {
           Case{unary("relu", "tensor<7xi64>"),
                {Shader, Int64},
                features({F::Int64})},
           {unary("relu", "tensor<7xf64>"),
            {Shader, Float64},
            features({F::Float64})},
           // Half precision is memory, computed in f32.
           {unary("relu", "tensor<7xf16>"),
            {Shader, StorageBuffer16BitAccess},
            features({F::Storage16})},
           {unary("relu", "tensor<7xbf16>"),
            {Shader, StorageBuffer16BitAccess},
            features({F::Storage16})},
           {unary("relu", "tensor<7xi8>"),
            {Shader, Int8, StorageBuffer8BitAccess},
            features({F::Int8, F::Storage8})},
           {unary("relu", "tensor<7xi16>"),
            {Shader, Int16, StorageBuffer16BitAccess},
            features({F::Int16, F::Storage16})},
           // A conversion is no arithmetic.
           {cast("tensor<7xi8>", "tensor<7xi32>"),
            {Shader, StorageBuffer8BitAccess},
            features({F::Storage8})},
           {cast("tensor<7xi32>", "tensor<7xf16>"),
            {Shader, StorageBuffer16BitAccess},
            features({F::Storage16})},
           // Nor is one there and back, for which no such memory is needed; but
           // numbers of f16 are of such.
           {castInBetween("tensor<7xf32>", "tensor<7xi8>"), {Shader}, {}},
           {castInBetween("tensor<7xi32>", "tensor<7xui16>"), {Shader}, {}},
           {castInBetween("tensor<7xf32>", "tensor<7xbf16>"), {Shader}, {}},
           {castInBetween("tensor<7xf32>", "tensor<7xf16>"),
            {Shader, StorageBuffer16BitAccess},
            features({F::Storage16})},
           // The sine of f32 is computed in f64, quotients of integers not.
           {unary("sin", "tensor<7xf32>"),
            {Shader, Float64},
            features({F::Float64})},
           // Signs of f64 are bits of integers.
           {unary("atan", "tensor<7xf32>"),
            {Shader, Float64, Int64},
            features({F::Float64, F::Int64})},
           {binary("div", "tensor<7xi32>", "tensor<7xi32>"), {Shader}, {}},
       }) {
    SCOPED_TRACE(c.text);
    auto shader = compiled(c.text);
    ASSERT_TRUE(shader);
    EXPECT_EQ(capabilities(shader->module()), c.capabilities);
    EXPECT_TRUE(shader->module().features == c.features)
        << shader->module().features.text();
  }
}

TEST(SpirvLowering, FunctionsArePolynomials) {
  // Only exact functions of GLSL.std.450: Vulkan promises no more of others
  // than some 2^-11.
  const std::set<uint32_t> exact = {
      2 /*RoundEven*/, 4 /*FAbs*/,  8 /*Floor*/, 9 /*Ceil*/,  31 /*Sqrt*/,
      50 /*Fma*/,      38 /*UMin*/, 39 /*SMin*/, 41 /*UMax*/, 42 /*SMax*/};
  for (std::string function :
       {"exp", "log", "tanh", "erf", "sigmoid", "sin", "gelu", "softplus",
        "clip [0.0, 6.0]", "relu", "floor", "ceil", "round", "sqrt"}) {
    auto shader = compiled(unary(function, "tensor<33xf32>"));
    ASSERT_TRUE(shader);
    for (const Words &words : instructions(shader->module(), OpExtInst))
      EXPECT_TRUE(exact.count(words[3])) << function << ": " << words[3];
    EXPECT_TRUE(llvm::all_of(instructions(shader->module(), OpTypeVector),
                             [](const Words &words) { return words[2] <= 4; }));
  }
}

TEST(SpirvLowering, IsDeterministic) {
  std::string text = binary("pow", "tensor<4x4xf32>", "tensor<4x4xf32>");
  auto first = compiled(text), second = compiled(text);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->module().words, second->module().words);
}

TEST(GpuElement, RefusesWithAReason) {
  struct Case {
    std::string text, target, reason;
  };
  const std::string plain = "vulkan1.1", all = "vulkan1.1+all";
  for (const Case &c : {
           Case{unary("relu", "tensor<7xi64>"), plain,
                "it needs int64, which vulkan1.1 lacks"},
           {unary("relu", "tensor<7xi64>"), "vulkan1.1+float64",
            "it needs int64, which vulkan1.1+float64 lacks"},
           {unary("sin", "tensor<7xf32>"), plain,
            "it needs float64, which vulkan1.1 lacks"},
           {unary("relu", "tensor<7xf16>"), plain,
            "it needs storage16, which vulkan1.1 lacks"},
           {unary("relu", "tensor<7xi8>"), "vulkan1.1+storage8",
            "it needs int8, which vulkan1.1+storage8 lacks"},
           {binary("less", "tensor<7xf32>", "tensor<7xi1>"), plain,
            "it needs int8, storage8, which vulkan1.1 lacks"},
           {cast("tensor<7xi4>", "tensor<7xi32>"), all,
            "it computes in i4, as no GPU does"},
           {unary("relu", "tensor<33554433xf32>"), all,
            "a tensor is larger than the buffers of every device (128 MiB)"},
           {"func.func @main(%0: tensor<9xf32>) -> (tensor<2xf32>, "
            "tensor<2xi64>) {\n  %1:2 = nn.topk %0 k 2 axis 0 largest true : "
            "tensor<9xf32> -> "
            "tensor<2xf32>, tensor<2xi64>\n  return %1#0, %1#1 : "
            "tensor<2xf32>, tensor<2xi64>\n}\n",
            all, "it has more results than one, or no element function"},
       }) {
    std::string error;
    EXPECT_FALSE(LayerShader::compile(c.text, error, "", c.target)) << c.text;
    EXPECT_EQ(error, c.reason) << c.text;
    // By name it is a diagnostic.
    error.clear();
    EXPECT_FALSE(LayerShader::compile(c.text, error, "gpu.element", c.target));
    EXPECT_EQ(error, "gpu.element: " + c.reason + "\n") << c.text;
  }
}
