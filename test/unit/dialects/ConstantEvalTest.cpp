//===- ConstantEvalTest.cpp - Constant evaluation against brute force -----===//

#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/StridedLoop.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
class ConstantEval : public ::testing::Test {
protected:
  ConstantEval() { context.loadDialect<NNDialect>(); }

  RankedTensorType type(ArrayRef<int64_t> shape, Type element = {}) {
    return RankedTensorType::get(shape, element ? element
                                                : Float32Type::get(&context));
  }

  /// 0, 1, 2… as f32: every element says where it came from.
  ElementsAttr iota(ArrayRef<int64_t> shape) {
    RankedTensorType t = type(shape);
    SmallVector<float> values;
    for (int64_t i = 0; i < t.getNumElements(); ++i)
      values.push_back(static_cast<float>(i));
    return makeConstant(
        t, ArrayRef<char>(reinterpret_cast<const char *>(values.data()),
                          values.size() * sizeof(float)));
  }

  static ConstantData operand(Attribute attr) {
    auto result = ConstantData::get(attr);
    EXPECT_TRUE(result.has_value());
    return *result;
  }

  MLIRContext context;
};

/// Calls `visit` with every index of the shape, in row-major order.
void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t size : shape)
    if (size == 0)
      return;
  while (true) {
    visit(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

int64_t offsetOf(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t offset = 0;
  for (auto [i, size] : llvm::zip(index, shape))
    offset = offset * size + i;
  return offset;
}
} // namespace

// Every number of 16 bits survives the way to double and back, and the numbers
// between two of them round to the nearer one, to the even one of two as near.
TEST_F(ConstantEval, HalfRounding) {
  for (Type element :
       {Type(Float16Type::get(&context)), Type(BFloat16Type::get(&context))}) {
    const ElementCodec *codec = ElementCodec::get(element);
    const auto &semantics = cast<FloatType>(element).getFloatSemantics();
    auto store = [&](double value) {
      uint16_t bits;
      codec->storeDouble(&value, 1, reinterpret_cast<char *>(&bits));
      return bits;
    };
    auto expected = [&](double value) {
      llvm::APFloat f(value);
      bool loses;
      f.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
      return static_cast<uint16_t>(f.bitcastToAPInt().getZExtValue());
    };
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto stored = static_cast<uint16_t>(bits);
      double value;
      codec->loadDouble(reinterpret_cast<const char *>(&stored), 1, 1, &value);
      if (std::isnan(value))
        continue;
      ASSERT_EQ(store(value), stored);
      double next = std::nextafter(value, INFINITY);
      ASSERT_EQ(store(next), expected(next)) << next;
      // Half-way to the next one, exactly in double.
      auto following = static_cast<uint16_t>(stored + 1);
      double upper;
      codec->loadDouble(reinterpret_cast<const char *>(&following), 1, 1,
                        &upper);
      if (std::isfinite(value) && std::isfinite(upper)) {
        double middle = value / 2 + upper / 2;
        ASSERT_EQ(store(middle), expected(middle)) << middle;
      }
    }
    EXPECT_EQ(store(1e300), expected(1e300));
    EXPECT_EQ(store(-1e-300), expected(-1e-300));
  }
}

TEST_F(ConstantEval, IntegersClampAndWrap) {
  auto cast = [&](double value, Type element) {
    const ElementCodec *codec = ElementCodec::get(element);
    alignas(8) char bytes[8];
    codec->storeDouble(&value, 1, bytes);
    int64_t result;
    codec->loadInt(bytes, 1, 1, &result);
    return result;
  };
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return IntegerType::get(&context, width,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  EXPECT_EQ(cast(1e30, integer(64)), INT64_MAX);
  EXPECT_EQ(cast(-1e30, integer(64)), INT64_MIN);
  EXPECT_EQ(cast(-129, integer(8)), -128);
  EXPECT_EQ(cast(-1, integer(8, true)), 0);
  EXPECT_EQ(cast(256, integer(8, true)), 255);
  EXPECT_EQ(static_cast<uint64_t>(cast(1e30, integer(64, true))), UINT64_MAX);
  EXPECT_EQ(cast(NAN, integer(32)), 0);
  EXPECT_EQ(cast(-0.5, integer(1)), 1);
}

TEST_F(ConstantEval, Transpose) {
  SmallVector<int64_t> shape{3, 1, 4, 5}, perm{2, 0, 3, 1};
  SmallVector<int64_t> to{4, 3, 5, 1};
  ConstantData input = operand(iota(shape));
  ConstantData result = operand(evalTranspose(perm, input, type(to)));
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(4);
    for (size_t i = 0; i < 4; ++i)
      from[perm[i]] = index[i];
    EXPECT_EQ(result.asDouble(offsetOf(index, to)),
              input.asDouble(offsetOf(from, shape)));
  });
}

TEST_F(ConstantEval, SlicesGoBackwards) {
  SmallVector<int64_t> shape{4, 7}, starts{3, 1}, steps{-2, 3}, to{2, 2};
  ConstantData input = operand(iota(shape));
  ConstantData result = operand(evalSlice(starts, steps, input, type(to)));
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    EXPECT_EQ(result.asDouble(offsetOf(index, to)),
              (starts[0] + index[0] * steps[0]) * 7 + starts[1] +
                  index[1] * steps[1]);
  });
}

// Broadcasting from every side, in rows longer and shorter than a block.
TEST_F(ConstantEval, BinaryBroadcasts) {
  struct Case {
    SmallVector<int64_t> lhs, rhs, to;
  };
  for (const Case &c :
       {Case{{2, 3}, {2, 3}, {2, 3}}, Case{{5, 1, 3}, {4, 1}, {5, 4, 3}},
        Case{{1500}, {3, 1}, {3, 1500}}, Case{{}, {2, 700}, {2, 700}},
        Case{{2, 0, 3}, {1, 1, 3}, {2, 0, 3}}}) {
    ConstantData lhs = operand(iota(c.lhs)), rhs = operand(iota(c.rhs));
    ConstantData result =
        operand(evalBinary(BinaryKind::sub, lhs, rhs, type(c.to)));
    auto at = [&](const ConstantData &from, ArrayRef<int64_t> index) {
      SmallVector<int64_t> own(index.take_back(from.shape().size()));
      for (auto [i, size] : llvm::zip(own, from.shape()))
        i = size == 1 ? 0 : i;
      return from.asDouble(offsetOf(own, from.shape()));
    };
    forEachIndex(c.to, [&](ArrayRef<int64_t> index) {
      ASSERT_EQ(result.asDouble(offsetOf(index, c.to)),
                at(lhs, index) - at(rhs, index));
    });
  }
}

// The arithmetic of f32 itself, though computed in double.
TEST_F(ConstantEval, FloatArithmeticIsExact) {
  std::mt19937 random(1);
  SmallVector<float> a, b;
  for (int i = 0; i < 4096; ++i) {
    uint32_t bits[2] = {static_cast<uint32_t>(random()),
                        static_cast<uint32_t>(random())};
    float values[2];
    std::memcpy(values, bits, sizeof(values));
    if (std::isnan(values[0]) || std::isnan(values[1]))
      continue;
    a.push_back(values[0]);
    b.push_back(values[1]);
  }
  auto constant = [&](ArrayRef<float> values) {
    return makeConstant(
        type({static_cast<int64_t>(values.size())}),
        ArrayRef<char>(reinterpret_cast<const char *>(values.data()),
                       values.size() * sizeof(float)));
  };
  ElementsAttr lhs = constant(a), rhs = constant(b);
  auto check = [&](BinaryKind kind, float (*expected)(float, float)) {
    ConstantData result =
        operand(evalBinary(kind, operand(lhs), operand(rhs),
                           type({static_cast<int64_t>(a.size())})));
    for (size_t i = 0; i < a.size(); ++i) {
      float want = expected(a[i], b[i]);
      if (std::isnan(want))
        continue;
      ASSERT_EQ(result.asDouble(i), want) << a[i] << " " << b[i];
    }
  };
  check(BinaryKind::add, [](float x, float y) { return x + y; });
  check(BinaryKind::mul, [](float x, float y) { return x * y; });
  check(BinaryKind::div, [](float x, float y) { return x / y; });
}

// A splat stays one; a small constant that would become large is not stored.
TEST_F(ConstantEval, SplatsAndLimits) {
  ElementsAttr two = makeSplat(type({}), 2);
  ElementsAttr many = evalBroadcast(operand(two), type({4096, 4096}));
  EXPECT_TRUE(operand(many).isSplat());
  ElementsAttr sum = evalBinary(BinaryKind::add, operand(many), operand(many),
                                type({4096, 4096}));
  EXPECT_TRUE(operand(sum).isSplat());
  EXPECT_EQ(operand(sum).asDouble(77), 4);
  EXPECT_FALSE(evalBroadcast(operand(iota({2, 1})), type({2, 1 << 20})));
}

// Large constants are shared by their reshapes.
TEST_F(ConstantEval, ConcatWithNothing) {
  ElementsAttr empty = iota({0}), two = iota({2});
  ElementsAttr splat = DenseElementsAttr::get(type({3}), 7.0f);
  for (auto [parts, count] :
       {std::pair(SmallVector<ElementsAttr>{empty, splat}, 3),
        std::pair(SmallVector<ElementsAttr>{splat, empty, splat}, 6),
        std::pair(SmallVector<ElementsAttr>{empty, two, splat, empty}, 5)}) {
    SmallVector<ConstantData> operands;
    SmallVector<double> expected;
    for (ElementsAttr part : parts) {
      operands.push_back(operand(part));
      for (int64_t i = 0; i < part.getNumElements(); ++i)
        expected.push_back(operands.back().asDouble(i));
    }
    ElementsAttr result = evalConcat(0, operands, type({count}));
    ASSERT_TRUE(result);
    ConstantData found = operand(result);
    for (int64_t i = 0; i < count; ++i)
      EXPECT_EQ(found.asDouble(i), expected[i]) << i;
  }
}

TEST_F(ConstantEval, ReshapeSharesElements) {
  ElementsAttr value = iota({64, 64});
  ElementsAttr flat = evalReshape(value, type({4096}));
  EXPECT_EQ(operand(value).stored().data(), operand(flat).stored().data());
  EXPECT_FALSE(evalReshape(iota({4}), type({5})));
}

TEST_F(ConstantEval, Reduce) {
  ElementsAttr value = iota({2, 3, 4});
  ConstantData sum =
      operand(evalReduce(ReduceKind::sum, {0, 2}, operand(value), type({3})));
  for (int64_t j = 0; j < 3; ++j) {
    double expected = 0;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t k = 0; k < 4; ++k)
        expected += static_cast<double>(i * 12 + j * 4 + k);
    EXPECT_EQ(sum.asDouble(j), expected);
  }
  ConstantData most = operand(
      evalReduce(ReduceKind::max, {1}, operand(value), type({2, 1, 4})));
  EXPECT_EQ(most.asDouble(0), 8);
  EXPECT_EQ(most.asDouble(7), 23);
}

// Integers of more bits than a double's are rounded once, as a cast in a
// kernel.
TEST_F(ConstantEval, CastOfLargeIntegers) {
  std::mt19937_64 random(5);
  std::vector<int64_t> values = {(int64_t(1) << 60) + (int64_t(1) << 36) + 1,
                                 (int64_t(1) << 62) + (int64_t(1) << 38) + 1,
                                 9007199791611905,
                                 INT64_MIN,
                                 INT64_MAX,
                                 0,
                                 -1};
  for (int i = 0; i < 10000; ++i) // beside numbers halfway between two floats
    values.push_back(static_cast<int64_t>(
        (((random() >> (random() % 24)) >> 39 << 39) | uint64_t(1) << 38) +
        random() % 3 - 1));
  int64_t n = values.size();
  ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()), n * 8);
  for (bool isSigned : {true, false}) {
    Type element = IntegerType::get(
        &context, 64, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
    auto result = operand(
        evalCast(operand(makeConstant(type({n}, element), bytes)), type({n})));
    for (int64_t i = 0; i < n; ++i) {
      float expected = isSigned ? static_cast<float>(values[i])
                                : static_cast<float>(uint64_t(values[i]));
      ASSERT_EQ(result.asDouble(i), expected) << values[i];
    }
  }
}
