//===- NearWeightsTest.cpp - Constants that fewer bits hold nearly -----===//

#include "compiler/weights/NearWeights.h"

#include "compiler/weights/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <tuple>

using namespace mlir;
using namespace nnv12;
using plan::Narrowing;

namespace {

class NearWeightsTest : public testing::Test {
protected:
  NearWeightsTest()
      : context(MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<nn::NNDialect>();
    builder.setInsertionPointToEnd(&block);
  }

  RankedTensorType type(llvm::ArrayRef<int64_t> shape, StringRef tag) {
    return nn::withLayout(RankedTensorType::get(shape, builder.getF32Type()),
                          tag);
  }
  Value constant(RankedTensorType type, ElementsAttr elements) {
    return nn::ConstantOp::create(builder, builder.getUnknownLoc(), type,
                                  elements);
  }
  Value constant(RankedTensorType type, const std::vector<float> &dense) {
    ArrayRef<char> bytes(reinterpret_cast<const char *>(dense.data()),
                         dense.size() * sizeof(float));
    return constant(type, nn::makeConstant(nn::withLayout(type, ""), bytes));
  }

  static std::vector<float> normals(RankedTensorType type) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<float> values(type.getNumElements());
    for (float &value : values)
      value = normal(random);
    return values;
  }

  /// The exact narrowing of the constant as it is rounded; none where it stays.
  std::optional<Narrowing> narrowing(RankedTensorType type,
                                     const std::vector<float> &dense,
                                     WeightBits bits,
                                     std::optional<unsigned> outputs = {}) {
    ElementsAttr rounded = nearWeights(constant(type, dense), bits, outputs);
    if (!rounded)
      return std::nullopt;
    double difference = 0, squares = 0;
    nn::ConstantData data = *nn::ConstantData::get(rounded);
    for (auto [i, value] : llvm::enumerate(dense)) {
      difference += std::pow(data.asDouble(i) - value, 2);
      squares += double(value) * value;
    }
    error = std::sqrt(difference / squares);
    sumError = 0;
    for (unsigned axis = outputs.value_or(0), o = 0; o < type.getDimSize(axis);
         ++o) {
      double sum = 0;
      for (auto [i, value] : llvm::enumerate(dense))
        if (indexAlong(type, axis, i) == o)
          sum += data.asDouble(i) - value;
      sumError = std::max(sumError, std::fabs(sum));
    }
    return worthNarrowing(constant(type, rounded));
  }

  static unsigned indexAlong(RankedTensorType type, unsigned axis, size_t i) {
    for (unsigned d = unsigned(type.getRank()); --d > axis;)
      i /= size_t(type.getDimSize(d));
    return unsigned(i % size_t(type.getDimSize(axis)));
  }

  /// The error of all weights, and the largest one of an output's sum.
  double error = 0, sumError = 0;
  MLIRContext context;
  Block block;
  OpBuilder builder;
};

} // namespace

TEST_F(NearWeightsTest, TheirNarrowingIsExact) {
  for (const auto &[shape, tag] :
       std::initializer_list<std::pair<llvm::SmallVector<int64_t>, StringRef>>{
           {{40, 24, 3, 3}, "ABcd16b16a"},
           {{240, 1, 3, 3}, "Abcd16a"},
           {{70, 50}, "Ba16b"},
           {{50, 70}, "Ab16a"},
           {{40, 90}, ""},
           {{90, 40}, "ba"},
           {{3, 40, 6, 6}, "aBcd16b"}}) {
    SCOPED_TRACE(tag.str());
    RankedTensorType type = this->type(shape, tag);
    std::vector<float> dense = normals(type);
    EXPECT_EQ(narrowing(type, dense, WeightBits::F16), Narrowing::f16);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 1.0 / 4096);
    EXPECT_EQ(narrowing(type, dense, WeightBits::Q8), Narrowing::q8);
    EXPECT_GT(error, 1.0 / 1024);
    EXPECT_LT(error, smallWeightError);
    EXPECT_EQ(narrowing(type, dense, WeightBits::Auto), Narrowing::q8);
    EXPECT_EQ(narrowing(type, dense, WeightBits::F32), std::nullopt);
  }
}

TEST_F(NearWeightsTest, SumsOfOutputsStay) {
  for (const auto &[shape, tag, outputs] : std::initializer_list<
           std::tuple<llvm::SmallVector<int64_t>, StringRef, unsigned>>{
           {{40, 24, 3, 3}, "ABcd16b16a", 0},
           {{240, 1, 3, 3}, "Abcd16a", 0},
           {{70, 50}, "Ba16b", 1},
           {{40, 90}, "", 1},
           {{3, 40, 6, 6}, "aBcd16b", 1}}) {
    SCOPED_TRACE(tag.str());
    RankedTensorType type = this->type(shape, tag);
    std::vector<float> dense = normals(type);
    for (auto [bits, narrow, step] :
         {std::tuple(WeightBits::F16, Narrowing::f16, 1.0 / 2048),
          std::tuple(WeightBits::Q8, Narrowing::q8, 0.6 / 127)}) {
      ASSERT_EQ(narrowing(type, dense, bits, outputs), narrow);
      EXPECT_LT(sumError, step / 2);
      double balanced = error, ofSums = sumError;
      ASSERT_EQ(narrowing(type, dense, bits), narrow);
      EXPECT_LT(balanced, 1.3 * error);
      EXPECT_GE(outputs == 0 ? sumError : step, 1.5 * ofSums);
    }
  }
}

TEST_F(NearWeightsTest, SomeStayAsTheyAre) {
  RankedTensorType type = this->type({64, 32, 3, 3}, "ABcd16b16a");
  std::vector<float> dense = normals(type);
  auto with = [&](float value) {
    std::vector<float> result = dense;
    result[1234] = value;
    return result;
  };
  using Limits = std::numeric_limits<float>;
  for (float value :
       {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
    for (WeightBits bits : {WeightBits::F16, WeightBits::Q8, WeightBits::Auto})
      EXPECT_EQ(narrowing(type, with(value), bits), std::nullopt);
  // Beyond the largest half: 8 bits do not mind, but for the error.
  EXPECT_EQ(narrowing(type, with(65505), WeightBits::F16), std::nullopt);
  EXPECT_EQ(narrowing(type, with(65504), WeightBits::F16), Narrowing::f16);
  EXPECT_EQ(narrowing(type, with(1e6), WeightBits::Q8), Narrowing::q8);
  // Too small for halves.
  std::vector<float> tiny = dense;
  for (float &value : tiny)
    value *= 1e-5f;
  EXPECT_EQ(narrowing(type, tiny, WeightBits::F16), std::nullopt);
  EXPECT_EQ(narrowing(type, tiny, WeightBits::Q8), Narrowing::q8);
  // Few.
  RankedTensorType few = this->type({16, 1, 3, 3}, "Abcd16a");
  EXPECT_EQ(narrowing(few, normals(few), WeightBits::Q8), std::nullopt);
}

TEST_F(NearWeightsTest, NarrowOnesStayNarrow) {
  RankedTensorType type = this->type({64, 32, 3, 3}, "ABcd16b16a");
  ElementsAttr halves =
      nearWeights(constant(type, normals(type)), WeightBits::F16, {});
  ElementsAttr bytes =
      nearWeights(constant(type, normals(type)), WeightBits::Q8, {});
  EXPECT_FALSE(nearWeights(constant(type, halves), WeightBits::F16, {}));
  for (WeightBits bits : {WeightBits::F16, WeightBits::Q8, WeightBits::Auto})
    EXPECT_FALSE(nearWeights(constant(type, bytes), bits, {}));
  ElementsAttr less = nearWeights(constant(type, halves), WeightBits::Q8, {});
  ASSERT_TRUE(less);
  EXPECT_EQ(worthNarrowing(constant(type, less)), Narrowing::q8);
}

TEST_F(NearWeightsTest, AutoTakesHalvesWhereBytesAreCoarse) {
  RankedTensorType type = this->type({64, 32, 3, 3}, "ABcd16b16a");
  std::vector<float> dense = normals(type);
  // Channels with a large weight have few steps for the others.
  for (size_t i = 0; i < dense.size(); i += 32 * 9) {
    dense[i] = 1;
    for (size_t j = 1; j < 32 * 9; ++j)
      dense[i + j] *= 0.3f;
  }
  EXPECT_EQ(narrowing(type, dense, WeightBits::Q8), Narrowing::q8);
  EXPECT_GT(error, smallWeightError);
  EXPECT_EQ(narrowing(type, dense, WeightBits::Auto), Narrowing::f16);
  dense[5] = 1e5f;
  std::optional<Narrowing> found = narrowing(type, dense, WeightBits::Auto);
  EXPECT_EQ(found, std::nullopt);
}
