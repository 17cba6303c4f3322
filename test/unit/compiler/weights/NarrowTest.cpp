//===- NarrowTest.cpp - Constants in fewer bits ---------------------------===//

#include "compiler/weights/Narrow.h"

#include "compiler/weights/Exact.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace nnv12;
using plan::Narrowing;

namespace {

class NarrowTest : public testing::Test {
protected:
  NarrowTest() : context(MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<nn::NNDialect>();
    builder.setInsertionPointToEnd(&block);
  }

  RankedTensorType type(llvm::ArrayRef<int64_t> shape, StringRef tag) {
    return nn::withLayout(RankedTensorType::get(shape, builder.getF32Type()),
                          tag);
  }

  Value constant(RankedTensorType type, const std::vector<float> &dense) {
    ArrayRef<char> bytes(reinterpret_cast<const char *>(dense.data()),
                         dense.size() * sizeof(float));
    return nn::ConstantOp::create(
        builder, builder.getUnknownLoc(), type,
        nn::makeConstant(nn::withLayout(type, ""), bytes));
  }

  /// q * scale(channel), q random, channels along `axis`.
  static std::vector<float> quantizedAlong(RankedTensorType type,
                                           unsigned axis) {
    std::mt19937 random(7);
    int64_t inner = 1;
    for (int64_t extent : type.getShape().drop_front(axis + 1))
      inner *= extent;
    std::vector<float> values;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      int64_t channel = i / inner % type.getDimSize(axis);
      values.push_back(float(int(random() % 255) - 127) *
                       (0.01f + 0.0007f * float(channel)));
    }
    return values;
  }

  static std::vector<float> packed(RankedTensorType type,
                                   const std::vector<float> &dense) {
    std::vector<float> result(nn::storageSize(type) / sizeof(float));
    nn::pack(type, reinterpret_cast<const char *>(dense.data()),
             reinterpret_cast<char *>(result.data()));
    return result;
  }

  MLIRContext context;
  Block block;
  OpBuilder builder;
};

/// The floats that a kernel must make of narrow weights, by the definition of
/// the grid.
std::vector<float> widened(const NarrowGrid &grid,
                           const std::vector<char> &bytes) {
  std::vector<float> scales(grid.sets * grid.lanes);
  std::memcpy(scales.data(), bytes.data(), scales.size() * sizeof(float));
  auto *q = reinterpret_cast<const int8_t *>(bytes.data() + grid.elementsAt());
  std::vector<float> result;
  for (int64_t unit = 0; unit < grid.units; ++unit)
    for (int64_t i = 0; i < grid.length; ++i)
      result.push_back(float(q[unit * grid.length + i]) *
                       scales[grid.setOf(unit) * grid.lanes + i % grid.lanes]);
  return result;
}

bool areSame(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

TEST_F(NarrowTest, EveryLayoutOfWeightsHasItsScales) {
  struct Case {
    llvm::SmallVector<int64_t> shape;
    const char *tag;
    unsigned axis;
  };
  for (const Case &c :
       std::initializer_list<Case>{{{40, 24, 3, 3}, "ABcd16b16a", 0},
                                   {{24, 1, 3, 3}, "Abcd16a", 0},
                                   {{70, 50}, "Ba16b", 1},
                                   {{50, 70}, "Ab16a", 0},
                                   {{3, 40, 2, 2}, "aBcd16b", 1},
                                   {{9, 33}, "", 0},
                                   {{5, 3, 2, 2}, "", 0}}) {
    SCOPED_TRACE(c.tag);
    RankedTensorType type = this->type(c.shape, c.tag);
    std::vector<float> dense = quantizedAlong(type, c.axis);
    Value weights = constant(type, dense);
    auto grid = narrowGrid(type, Narrowing::q8);
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->axis, c.axis);
    EXPECT_EQ(grid->elements() * 4, nn::storageSize(type));
    EXPECT_EQ(grid->elementsAt() % 64, 0);
    ASSERT_TRUE(canNarrow(weights, Narrowing::q8));
    auto bytes = narrowed(weights, Narrowing::q8);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(int64_t(bytes->size()), narrowBytes(type, Narrowing::q8));
    EXPECT_TRUE(areSame(widened(*grid, *bytes), packed(type, dense)));
    EXPECT_FALSE(canNarrow(weights, Narrowing::f16));
    EXPECT_FALSE(narrowed(weights, Narrowing::f16));
  }
}

TEST_F(NarrowTest, OneElementDecides) {
  RankedTensorType type = this->type({48, 32, 3, 3}, "ABcd16b16a");
  std::vector<float> dense = quantizedAlong(type, 0);
  ASSERT_EQ(worthNarrowing(constant(type, dense)), Narrowing::q8);
  // An element of a channel that no sample is taken of.
  dense[7 * 32 * 9 + 5] = std::nextafterf(dense[7 * 32 * 9 + 5], 100.0f);
  Value weights = constant(type, dense);
  EXPECT_FALSE(canNarrow(weights, Narrowing::q8));
  EXPECT_FALSE(narrowed(weights, Narrowing::q8));
  EXPECT_EQ(worthNarrowing(weights), std::nullopt);
}

TEST_F(NarrowTest, HalvesLieAsThePackedFloats) {
  RankedTensorType type = this->type({40, 20, 3, 3}, "ABcd16b16a");
  std::mt19937 random(3);
  std::vector<float> dense;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    dense.push_back(
        std::ldexp(float(int(random() % 2047) - 1023), -int(random() % 14)));
  Value weights = constant(type, dense);
  ASSERT_EQ(worthNarrowing(weights), Narrowing::f16);
  auto bytes = narrowed(weights, Narrowing::f16);
  ASSERT_TRUE(bytes);
  std::vector<float> floats = packed(type, dense);
  ASSERT_EQ(bytes->size(), floats.size() * 2);
  for (size_t i = 0; i < floats.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes->data() + i * 2, 2);
    ASSERT_EQ(exactHalf(floats[i]), bits);
  }
  dense.back() = 0.1f;
  EXPECT_FALSE(canNarrow(constant(type, dense), Narrowing::f16));
}

TEST_F(NarrowTest, HalvesOfAScaledChannelHaveItsScale) {
  struct Case {
    llvm::SmallVector<int64_t> shape;
    const char *tag;
    Narrowing narrowing;
    unsigned axis;
  };
  for (const Case &c : std::initializer_list<Case>{
           {{40, 24, 3, 3}, "ABcd16b16a", Narrowing::f16Outputs, 0},
           {{70, 50}, "Ba16b", Narrowing::f16Outputs, 1},
           {{70, 50}, "Ba16b", Narrowing::f16Inputs, 0},
           {{50, 70}, "Ab16a", Narrowing::f16Inputs, 1},
           {{40, 24, 3, 3}, "Abcd16a", Narrowing::f16Inputs, 1},
           {{40, 50, 3, 3}, "ABcd16b16a", Narrowing::f16Inputs, 1},
           {{24, 40, 3, 3}, "aBcd16b", Narrowing::f16Inputs, 0},
           {{40, 90}, "", Narrowing::f16Outputs, 0},
           {{40, 90}, "", Narrowing::f16Inputs, 1}}) {
    SCOPED_TRACE(c.tag + std::string(plan::text(c.narrowing)));
    RankedTensorType type = this->type(c.shape, c.tag);
    int64_t inner = 1;
    for (int64_t extent : llvm::drop_begin(c.shape, c.axis + 1))
      inner *= extent;
    std::mt19937 random(9);
    std::vector<float> dense;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      int64_t channel = i / inner % type.getDimSize(c.axis);
      double half =
          std::ldexp(double(int(random() % 4095) - 2047), -int(random() % 4));
      dense.push_back(float(half * (0.1 + 0.00077 * double(channel))));
    }
    Value weights = constant(type, dense);
    auto grid = narrowGrid(type, c.narrowing);
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->axis, c.axis);
    EXPECT_EQ(grid->elements() * 4, nn::storageSize(type));
    ASSERT_EQ(worthNarrowing(weights), c.narrowing);
    auto bytes = narrowed(weights, c.narrowing);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(int64_t(bytes->size()), narrowBytes(type, c.narrowing));
    std::vector<double> scales(grid->sets * grid->lanes);
    std::memcpy(scales.data(), bytes->data(), scales.size() * sizeof(double));
    std::vector<float> floats = packed(type, dense);
    for (size_t i = 0; i < floats.size(); ++i) {
      double scale = scales[grid->setOf(i / grid->length) * grid->lanes +
                            i % grid->length % grid->lanes];
      uint16_t bits;
      std::memcpy(&bits, bytes->data() + grid->elementsAt() + i * 2, 2);
      ASSERT_EQ(floats[i] == 0 ? 0 : scaledHalf(floats[i], scale), bits);
    }
    dense[dense.size() / 2 + 1] = std::nextafterf(0.1f, 1);
    EXPECT_EQ(worthNarrowing(constant(type, dense)), std::nullopt);
  }
}

TEST_F(NarrowTest, IsWorthBytesAlone) {
  // A scale of four bytes an element is no gain, two bytes are.
  RankedTensorType one = this->type({2048, 1}, "");
  EXPECT_EQ(worthNarrowing(constant(one, std::vector<float>(2048, 0.5f))),
            Narrowing::f16);
  // Too few to be worth a call.
  RankedTensorType few = this->type({16, 16}, "");
  EXPECT_EQ(worthNarrowing(constant(few, std::vector<float>(256, 0.5f))),
            std::nullopt);
}

TEST_F(NarrowTest, OtherElementsHaveNoGrid) {
  for (Type element : {Type(builder.getF16Type()), Type(builder.getI32Type()),
                       Type(builder.getF64Type())}) {
    auto type = RankedTensorType::get({64, 64}, element);
    EXPECT_FALSE(narrowGrid(type, Narrowing::q8));
    EXPECT_FALSE(narrowGrid(type, Narrowing::f16));
  }
  EXPECT_FALSE(narrowGrid(this->type({}, ""), Narrowing::q8));
  EXPECT_FALSE(narrowGrid(this->type({0, 4}, ""), Narrowing::f16));
}
