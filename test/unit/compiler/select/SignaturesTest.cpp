//===- SignaturesTest.cpp - Layers in all layouts that they may have ------===//

#include "compiler/select/Signatures.h"

#include "test/unit/compiler/codegen/KernelTest.h"
#include "test/unit/compiler/codegen/RandomLayer.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;

namespace {

Operation *layerOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : main.getBody().front().without_terminator())
    if (!isa<nn::ConstantOp>(op))
      return &op;
  return nullptr;
}

/// The module with its one layer in other layouts, as text.
std::string textIn(ModuleOp module, const LayerLayouts &layouts) {
  OwningOpRef<ModuleOp> copy(module.clone());
  Operation *op = layerOf(*copy);
  for (auto [operand, tag] : llvm::zip(op->getOperands(), layouts.operands))
    operand.setType(nn::withLayout(nn::typeOf(operand), tag));
  retype(op, layouts);
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  Block &block = main.getBody().front();
  main.setFunctionType(
      FunctionType::get(copy->getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
  EXPECT_TRUE(succeeded(verify(*copy)));
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  return text;
}

std::vector<Bytes> operandsOf(Operation *op, const RandomLayer &layer,
                              Random &random) {
  std::vector<Bytes> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = nn::typeOf(operand);
    int64_t size = nn::storageElementSize(type.getElementType());
    Bytes &bytes = operands.emplace_back(type.getNumElements() * size);
    for (int64_t e = 0; e < type.getNumElements(); ++e) {
      if (isa<FloatType>(type.getElementType())) {
        float x = random.real();
        std::memcpy(&bytes[e * size], &x, sizeof x);
        continue;
      }
      auto [lo, hi] = layer.ranges[i];
      int64_t x = random.from(lo, hi);
      std::memcpy(&bytes[e * size], &x, size);
    }
  }
  return operands;
}

/// Whether numbers are equal but for the order of sums.
bool areClose(Type element, const Bytes &a, const Bytes &b) {
  if (!element.isF32())
    return a == b;
  for (size_t i = 0; i < a.size(); i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, &a[i], sizeof x);
    std::memcpy(&y, &b[i], sizeof y);
    if (x != y && !(std::isnan(x) && std::isnan(y)) &&
        !(std::fabs(x - y) <= 1e-4 * std::max(1.0f, std::fabs(y))))
      return false;
  }
  return true;
}

class Signatures : public testing::TestWithParam<std::string> {};

TEST_P(Signatures, ComputeTheSame) {
  Random random(llvm::xxh3_64bits(GetParam()));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  const int layers = isTier("quick") ? 2 : isTier("full") ? 20 : 6;
  int tried = 0;
  for (int n = 0; n < layers; ++n) {
    RandomLayer layer = randomLayer(GetParam(), random);
    auto module = parseSourceString<ModuleOp>(layer.text, &context);
    ASSERT_TRUE(module);
    Operation *op = layerOf(*module);
    std::vector<LayerLayouts> all = signaturesOf(op);
    EXPECT_EQ(all.front(), LayerLayouts::of(op));
    std::vector<Bytes> operands = operandsOf(op, layer, random), expected;
    for (const LayerLayouts &layouts : all) {
      std::string text = textIn(*module, layouts), error;
      SCOPED_TRACE(text);
      auto kernel = LayerKernel::compile(text, "host", error);
      ASSERT_TRUE(kernel) << error;
      ++tried;
      std::vector<Bytes> results = kernel->run(operands);
      if (expected.empty())
        expected = results;
      for (auto [i, result] : llvm::enumerate(results))
        EXPECT_TRUE(areClose(getElementTypeOrSelf(op->getResult(i).getType()),
                             result, expected[i]));
    }
  }
  RecordProperty("tried", tried);
}

INSTANTIATE_TEST_SUITE_P(EachKind, Signatures, testing::ValuesIn(layerKinds()),
                         [](const auto &info) { return info.param; });

/// A fuse of two layers, one of which adapts: no layout of its own.
TEST(LayerIn, RetypesFuses) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    #b = #nn.layout<"aBcd16b">
    func.func @main(%x: tensor<1x32x4x4xf32, #b>) -> tensor<1x32x4x4xf32> {
      %0 = nn.fuse (%a = %x) : (tensor<1x32x4x4xf32, #b>) -> tensor<1x32x4x4xf32> {
        %1 = nn.unary %a <sin> : tensor<1x32x4x4xf32, #b> -> tensor<1x32x4x4xf32, #b>
        %2 = nn.adapt %1 : tensor<1x32x4x4xf32, #b> -> tensor<1x32x4x4xf32>
        nn.yield %2 : tensor<1x32x4x4xf32>
      }
      return %0 : tensor<1x32x4x4xf32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  LayerIn in(layerOf(*module), {{""}, {"aBcd16b"}});
  auto fuse = cast<nn::FuseOp>(in.layer());
  EXPECT_TRUE(succeeded(verify(fuse)));
  EXPECT_EQ(LayerLayouts::of(fuse), (LayerLayouts{{""}, {"aBcd16b"}}));
  EXPECT_TRUE(fuse.getBody().front().getOps<nn::AdaptOp>().empty());
}

} // namespace
