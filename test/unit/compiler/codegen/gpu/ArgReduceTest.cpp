//===- ArgReduceTest.cpp - Where the largest of a row is, by GPUs ---------===//
//
// Against brute force, and where there is no largest number, against CPUs.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/LayerCheck.h"
#include "test/unit/compiler/codegen/LayerShader.h"
#include "test/unit/compiler/codegen/ShaderRunner.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace nnv12::test;

namespace {

/// A search along an axis.
struct Search {
  int axis = 0;
  bool isMax = true, isLast = false, keepsDims = false;

  std::string text() const {
    auto name = [](bool is) { return is ? "true" : "false"; };
    return std::string("nn.arg_reduce ") + (isMax ? "max" : "min") +
           " %0 axis " + std::to_string(axis) + " keep_dims " +
           name(keepsDims) + " select_last " + name(isLast) + " : $0 -> $r";
  }
  Tensor resultOf(const Tensor &x) const {
    Shape shape = x.shape;
    if (keepsDims)
      shape[axis] = 1;
    else
      shape.erase(shape.begin() + axis);
    return {shape, "i64", "", {}};
  }
  /// The number, as all targets have it: the first element stays until another
  /// is better. No number is better than NaN, nor NaN than a number.
  double of(const Tensor &x, Indices at) const {
    if (!keepsDims)
      at.insert(at.begin() + axis, 0);
    at[axis] = 0;
    double best = x.at(at);
    int64_t number = 0;
    for (int64_t i = 1; i < x.shape[axis]; ++i) {
      at[axis] = i;
      double y = x.at(at);
      if ((isMax ? y > best : y < best) || (isLast && y == best))
        best = y, number = i;
    }
    return double(number);
  }
};

class ArgReduce : public testing::Test {
protected:
  void SetUp() override {
    if (!ShaderRunner::instance().isAvailable())
      GTEST_SKIP() << "SKIPPED: " << ShaderRunner::instance().reason();
  }

  /// By the own routine of GPUs, and by `others`, with their targets.
  static void
  check(const Tensor &x, const Search &search,
        std::vector<std::pair<std::string, std::string>> others = {}) {
    others.push_back({gpuTarget, "gpu.arg_reduce"});
    const Tensor out = search.resultOf(x);
    std::vector<double> expected;
    Indices at(out.shape.size(), 0);
    for (int64_t i = 0; i < out.size(); ++i) {
      int64_t rest = i;
      for (size_t d = at.size(); d-- > 0; rest /= out.shape[d])
        at[d] = rest % out.shape[d];
      expected.push_back(search.of(x, at));
    }
    for (const auto &[target, routine] : others) {
      auto found = evaluate(search.text(), {x}, {out}, target, routine);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_TRUE(found[0].data == expected)
          << target << " " << routine << ", " << x.type() << ": "
          << search.text();
    }
  }
  static void checkAllSearches(const Tensor &x, int axis) {
    for (bool isMax : {true, false})
      for (bool isLast : {true, false})
        check(x, {axis, isMax, isLast, /*keepsDims=*/isLast});
  }
};

} // namespace

TEST_F(ArgReduce, IsPreferred) {
  const std::string text =
      "func.func @main(%0: tensor<3x50xf32>) -> tensor<3xi64> {\n"
      "  %1 = nn.arg_reduce max %0 axis 1 keep_dims false select_last false : "
      "tensor<3x50xf32> -> tensor<3xi64>\n"
      "  return %1 : tensor<3xi64>\n}\n";
  EXPECT_EQ(gpuRoutinesOf(text),
            (std::vector<std::string>{"gpu.arg_reduce", "gpu.element"}));
  // Its numbers are of 64 bits, but nothing computes in them.
  std::string error;
  EXPECT_TRUE(LayerShader::compile(text, error, "", "vulkan1.1")) << error;
}

// Few values: most rows have the largest one many times.
TEST_F(ArgReduce, EqualOnes) {
  for (const auto &[shape, axis] :
       std::vector<std::pair<Shape, int>>{{{3, 5, 37}, 0},
                                          {{3, 5, 37}, 1},
                                          {{3, 5, 37}, 2},
                                          {{2, 1000}, 1},
                                          {{1000, 2}, 0},
                                          {{2, 300, 7}, 1},
                                          {{1, 1, 1}, 1},
                                          {{70, 1, 9}, 1},
                                          {{64}, 0},
                                          {{65}, 0},
                                          {{2, 33, 40, 40}, 1}}) {
    Tensor x = integers(shape, "f32", -3, 3);
    checkAllSearches(x, axis);
  }
}

TEST_F(ArgReduce, LongRows) {
  for (const auto &[shape, axis] : std::vector<std::pair<Shape, int>>{
           {{2, 100000}, 1}, {{100000, 3}, 0}, {{1, 100000}, 0}}) {
    Tensor x = random(shape);
    checkAllSearches(x, axis);
    // The last element alone.
    x.data.back() = 2;
    check(x, {axis, /*isMax=*/true});
  }
}

// As convolutions leave them, with padding that is no element.
TEST_F(ArgReduce, BlocksOfChannels) {
  for (const Shape &shape : std::vector<Shape>{{2, 17, 3, 5},
                                               {1, 100, 1, 1},
                                               {2, 48, 4, 4},
                                               {1, 33, 40, 40},
                                               {3, 5, 7, 1}}) {
    Tensor x = integers(shape, "f32", -9, 9);
    x.layout = "aBcd16b";
    checkAllSearches(x, 1);
  }
  // Rows across blocks are the general routine's.
  Tensor x = integers({2, 40, 3, 5}, "f32", -9, 9);
  x.layout = "aBcd16b";
  Search search{2};
  nnv12::test::check(
      search.text(), {x}, search.resultOf(x),
      [&](const Indices &i) { return search.of(x, i); }, 0);
}

// More work groups than a grid has in a dimension.
TEST_F(ArgReduce, ManyRows) {
  for (const auto &[shape, axis] :
       std::vector<std::pair<Shape, int>>{{{70000, 33}, 1}, {{70000, 3}, 1}})
    check(integers(shape, "f32", -30, 30), {axis, /*isMax=*/true});
}

// All orders of integers, and halves; the smallest and largest numbers, too.
TEST_F(ArgReduce, Types) {
  struct {
    const char *element;
    double low, high;
  } types[] = {{"f16", -65504, 65504},
               {"bf16", -1e38, 1e38},
               {"f64", -1e300, 1e300},
               {"i8", -128, 127},
               {"ui8", 0, 255},
               {"i16", -32768, 32767},
               {"ui16", 0, 65535},
               {"i32", -2147483648.0, 2147483647},
               {"ui32", 0, 4294967295},
               {"i64", -9223372036854775808.0, 9223372036854774784.0},
               {"ui64", 0, 18446744073709549568.0}};
  for (const auto &type : types)
    for (int64_t size : {5, 70}) {
      Tensor x = values(type.element, std::vector<double>(4 * size, 1));
      x.shape = {4, size};
      // All numbers alike; the extremes in the middle, twice; one at an end.
      for (int64_t at : {1, 3}) {
        x.data[size + at] = x.data[3 * size + at] = type.low;
        x.data[2 * size + at] = x.data[3 * size + at - 1] = type.high;
      }
      x.data[0] = type.high;
      for (int64_t i = 0; i < size; ++i)
        x.data[i] = i % 2 ? type.low : type.high;
      x.data = values(type.element, x.data).data;
      checkAllSearches(x, 1);
      checkAllSearches(x, 0);
      Tensor same = x;
      for (double extreme : {type.low, type.high}) {
        same.data.assign(4 * size, extreme);
        same.data = values(type.element, same.data).data;
        checkAllSearches(same, 1);
      }
    }
}

// The same as CPUs and the general routine of GPUs.
TEST_F(ArgReduce, NumbersThatAreNone) {
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::nan("");
  std::vector<std::pair<std::string, std::string>> others = {
      {gpuTarget, "gpu.element"}};
  for (const std::string &target : testTargets())
    others.push_back({target, "element"});
  const int64_t rows = 10;
  for (int64_t size : {5, 200}) {
    Tensor x = random({rows, size});
    auto put = [&](int64_t row, int64_t i, double value) {
      x.data[row * size + i] = value;
    };
    auto fill = [&](int64_t row, double value) {
      for (int64_t i = 0; i < size; ++i)
        put(row, i, value);
    };
    fill(0, nan);
    fill(1, -inf);
    fill(2, inf);
    put(3, 0, nan), put(3, 2, inf), put(3, 3, -inf);
    put(4, 1, nan), put(4, 2, inf), put(4, size - 1, inf);
    put(5, 1, -inf), put(5, size - 1, nan), put(5, 3, -inf);
    fill(6, nan), put(6, 0, -inf), put(6, size - 1, -inf);
    fill(7, nan), put(7, 0, inf);
    fill(8, nan), put(8, 3, 1);
    // Zeros are equal, whatever their sign.
    fill(9, 0.0);
    for (int64_t i = 1; i < size; i += 2)
      put(9, i, -0.0);
    Tensor across{{size, rows}, "f32", "", {}};
    for (int64_t i = 0; i < size; ++i)
      for (int64_t row = 0; row < rows; ++row)
        across.data.push_back(x.at({row, i}));
    for (bool isMax : {true, false})
      for (bool isLast : {true, false}) {
        check(x, {1, isMax, isLast}, others);
        check(across, {0, isMax, isLast}, others);
      }
  }
}
