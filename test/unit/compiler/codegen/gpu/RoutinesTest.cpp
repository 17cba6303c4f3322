//===- RoutinesTest.cpp - Features of single routines of GPUs -------------===//
//
// The tests of layers beside this folder run them all on usual layers.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/CheckLayer.h"
#include "test/unit/compiler/codegen/LayerCheck.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace nnv12::test;

namespace {

class Routines : public testing::Test {
protected:
  void SetUp() override {
    if (!ShaderRunner::instance().isAvailable())
      GTEST_SKIP() << "SKIPPED: " << ShaderRunner::instance().reason();
  }

  /// Checks that a layer has the routines, and runs all that it has.
  static void checkHas(const std::string &text,
                       std::initializer_list<const char *> names) {
    std::vector<std::string> all = gpuRoutinesOf(text);
    for (const char *name : names)
      EXPECT_TRUE(llvm::is_contained(all, name)) << name << "\n" << text;
    checkOnGpu(text);
  }
};

} // namespace

TEST_F(Routines, SharedMemory) {
  // Pixels and outputs that end in the middle of a square, and strides.
  for (auto [side, c, o, stride] : std::vector<std::array<int64_t, 4>>{
           {1, 17, 5, 1}, {9, 40, 70, 1}, {13, 16, 130, 2}, {6, 33, 64, 3}}) {
    ConvCase x;
    x.n = 2, x.c = c, x.o = o, x.h = x.w = side;
    x.strideH = x.strideW = stride;
    x.residual = true, x.residualActivation = "relu";
    checkHas(x.text(), {"gpu.conv.shared.32x32", "gpu.conv.shared.64x64"});
  }
}

TEST_F(Routines, WindowsThroughSharedMemory) {
  // Padding on all sides and on one, windows that are all padding, strides,
  // dilations, and windows that differ in rows and columns.
  struct {
    int64_t side, c, o, kh, kw, pad, stride, dilation;
  } cases[] = {{9, 17, 40, 3, 3, 1, 1, 1},
               {12, 33, 20, 3, 5, 0, 2, 1},
               {7, 16, 70, 1, 7, 3, 1, 1},
               {5, 20, 16, 3, 3, 4, 3, 2},
               {8, 40, 33, 1, 1, 2, 2, 1}};
  for (auto [side, c, o, kh, kw, pad, stride, dilation] : cases) {
    ConvCase x;
    x.n = 2, x.c = c, x.o = o, x.h = x.w = side, x.kh = kh, x.kw = kw;
    x.top = x.left = pad, x.right = pad / 2;
    x.strideH = x.strideW = stride, x.dilationH = x.dilationW = dilation;
    x.residual = true, x.residualActivation = "relu";
    checkHas(x.text(), {"gpu.conv.shared.32x32", "gpu.conv.shared.64x64"});
  }
  for (auto [c, o] : {std::pair(80, 16), std::pair(144, 40)}) {
    ConvCase x;
    x.n = 1, x.c = c, x.o = o, x.h = x.w = 7, x.kh = x.kw = 3;
    x.top = x.left = x.bottom = x.right = 1;
    x.activation = "clip [-0.5, 6.0]", x.residual = true;
    checkHas(x.text(), {"gpu.conv.split.32x32", "gpu.conv.split.64x64"});
  }
}

TEST_F(Routines, SumsInParts) {
  for (auto [side, c, o] : std::vector<std::array<int64_t, 3>>{
           {1, 128, 16}, {5, 144, 40}, {3, 200, 100}}) {
    ConvCase x;
    x.n = 2, x.c = c, x.o = o, x.h = x.w = side;
    x.activation = "clip [-0.5, 6.0]", x.residual = true;
    checkHas(x.text(), {"gpu.conv.split.32x32", "gpu.conv.split.64x64"});
    x.residual = x.bias = false, x.activation = "sigmoid";
    checkHas(x.text(), {"gpu.conv.split.32x32"});
  }
}

TEST_F(Routines, Winograd) {
  // Whole windows and not, few windows and many, padding on one side.
  for (auto [c, o, h, w, top] : std::vector<std::array<int64_t, 5>>{
           {32, 32, 6, 6, 0}, {48, 33, 7, 9, 1}, {32, 80, 13, 27, 1}}) {
    ConvCase x;
    x.n = 2, x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = 3;
    x.top = x.left = x.right = top, x.constant = true;
    x.residual = true, x.residualActivation = "relu";
    checkHas(x.text(), {"gpu.conv.winograd4.32x32"});
    x.residual = x.bias = false, x.activation = "clip [-20.0, 100.0]";
    x.residualActivation = "";
    checkHas(x.text(), {"gpu.conv.winograd4.32x32"});
    // Squares that would not be half empty.
    if (h * w > 16 * 32 / x.n)
      checkHas(x.text(), {"gpu.conv.winograd4.64x64"});
  }
}

// A work group for each window of each block of channels, of 6 x 16
// invocations.
TEST_F(Routines, GroupsOfWinograd) {
  ConvCase x;
  x.n = 3, x.c = 48, x.o = 70, x.h = 7, x.w = 13, x.kh = x.kw = 3;
  x.top = x.left = x.bottom = x.right = 1, x.constant = true;
  std::string error;
  auto shader =
      LayerShader::compile(x.text(), error, "gpu.conv.winograd4.32x32");
  ASSERT_TRUE(shader) << error;
  const auto &steps = shader->steps().steps;
  ASSERT_EQ(steps.size(), 3u);
  using Three = std::array<uint32_t, 3>;
  EXPECT_EQ(steps[0].groups, (Three{4, 2, 3 * 3}));
  EXPECT_EQ(steps[2].groups, (Three{4, 2, 3 * 5}));
  for (const auto &step : {steps[0], steps[2]}) {
    const auto &module = shader->modules()[step.kernel];
    EXPECT_EQ(Three(module.localSize), (Three{96, 1, 1}));
    EXPECT_GT(module.sharedBytes, 0u);
    EXPECT_EQ(step.grid.barriers, 1u);
  }
}

// Strides and dilations with and without a common divisor, unequal in rows and
// columns; phases without taps, and without outputs.
TEST_F(Routines, TransposedWindows) {
  struct {
    int64_t h, w, kh, kw, strideH, strideW, dilationH, dilationW;
    int64_t pad, outputPadding;
  } cases[] = {{5, 7, 3, 3, 1, 1, 1, 1, 1, 0}, {9, 15, 2, 2, 2, 2, 1, 1, 0, 0},
               {6, 5, 4, 4, 2, 2, 1, 1, 1, 1}, {7, 4, 3, 5, 3, 3, 1, 1, 2, 2},
               {5, 6, 2, 2, 3, 3, 1, 1, 0, 2}, {6, 6, 3, 3, 2, 2, 2, 2, 1, 1},
               {5, 5, 3, 4, 2, 3, 3, 2, 2, 0}, {4, 6, 5, 2, 1, 2, 3, 1, 3, 0},
               {6, 5, 4, 3, 4, 6, 6, 4, 1, 3}, {8, 8, 1, 1, 3, 2, 5, 1, 0, 1},
               {1, 1, 3, 3, 5, 7, 1, 1, 1, 0}, {3, 9, 4, 4, 2, 1, 2, 1, 6, 1},
               {1, 9, 1, 7, 1, 3, 1, 2, 0, 0}};
  for (auto [h, w, kh, kw, strideH, strideW, dilationH, dilationW, pad,
             outputPadding] : cases) {
    ConvCase x;
    x.transpose = true, x.n = 2, x.c = 20, x.o = 37, x.h = h, x.w = w;
    x.kh = kh, x.kw = kw, x.strideH = strideH, x.strideW = strideW;
    x.dilationH = dilationH, x.dilationW = dilationW;
    x.top = x.left = pad, x.right = pad / 2, x.outputPadding = outputPadding;
    x.activation = "relu";
    checkHas(x.text(), {"gpu.conv_transpose.16x4"});
    x.c = 48, x.o = 16, x.n = 1, x.bias = false;
    checkHas(x.text(), {"gpu.conv_transpose.16x4"});
  }
}

TEST_F(Routines, WhatFollowsTransposedSums) {
  ConvCase x;
  x.transpose = true, x.c = 17, x.o = 16, x.h = 9, x.w = 20, x.kh = x.kw = 4;
  x.strideH = x.strideW = 2, x.top = x.left = x.bottom = x.right = 1;
  x.activation = "clip [-0.5, 6.0]", x.residual = true;
  x.residualActivation = "relu";
  checkHas(x.text(), {"gpu.conv_transpose.16x4"});
  x.bias = false, x.residual = false, x.residualActivation = "";
  x.activation = "sigmoid";
  checkHas(x.text(), {"gpu.conv_transpose.16x4"});
}

TEST_F(Routines, TransposedGroups) {
  for (auto [groups, c, o] : std::vector<std::array<int64_t, 3>>{
           {2, 32, 96}, {3, 96, 48}, {4, 64, 128}}) {
    ConvCase x;
    x.transpose = true, x.n = 2, x.groups = groups, x.c = c, x.o = o;
    x.h = 5, x.w = 6, x.kh = 3, x.kw = 4, x.strideH = 2, x.strideW = 3;
    x.top = 1, x.residual = true, x.activation = "relu";
    checkHas(x.text(), {"gpu.conv_transpose.16x4"});
  }
}

TEST_F(Routines, FewOutputs) {
  for (int64_t o : {1, 2, 3}) {
    ConvCase x;
    x.n = 2, x.c = 20, x.o = o, x.h = 9, x.w = 21, x.kh = 3, x.kw = 4;
    x.top = x.left = 1, x.right = 2, x.activation = "sigmoid";
    checkHas(x.text(), {"gpu.conv.few"});
    x.strideH = 2, x.dilationW = 2, x.c = 48, x.bias = false;
    x.residual = true, x.residualActivation = "relu";
    checkHas(x.text(), {"gpu.conv.few"});
    x.transpose = true, x.outputPadding = 1;
    checkHas(x.text(), {"gpu.conv_transpose.few"});
    x.strideH = 1, x.outputPadding = 0;
    checkHas(x.text(), {"gpu.conv_transpose.few"});
    x.strideH = 2, x.outputPadding = 1;
    x.strideW = 3, x.dilationH = 4, x.c = 5, x.bias = true, x.kw = 2;
    x.activation = "clip [-0.5, 6.0]";
    checkHas(x.text(), {"gpu.conv_transpose.few"});
  }
  ConvCase x;
  x.o = 4;
  EXPECT_FALSE(llvm::is_contained(gpuRoutinesOf(x.text()), "gpu.conv.few"));
  x.o = 2, x.groups = 2, x.c = 32;
  EXPECT_FALSE(llvm::is_contained(gpuRoutinesOf(x.text()), "gpu.conv.few"));
}

// Layers that it leaves to the general routine.
TEST_F(Routines, OtherTransposedWindows) {
  const std::vector<std::string> general = {"gpu.element"};
  ConvCase usual;
  usual.transpose = true, usual.kh = usual.kw = 2;
  ConvCase x = usual;
  x.groups = 2, x.c = 24, x.o = 32; // no whole blocks of channels
  EXPECT_EQ(gpuRoutinesOf(x.text()), general);
  checkOnGpu(x.text());
  x = usual, x.left = -1;
  EXPECT_EQ(gpuRoutinesOf(x.text()), general);
  checkOnGpu(x.text());
  // More phases than a grid has groups.
  x = usual, x.n = 300, x.c = x.o = 1, x.h = x.w = 1;
  x.strideH = x.strideW = x.kh = x.kw = 15;
  EXPECT_EQ(gpuRoutinesOf(x.text()), general);
  // Strides of one output are no phases.
  x.strideH = x.strideW = 1000, x.kh = x.kw = 1, x.h = x.w = 1;
  checkHas(x.text(), {"gpu.conv_transpose.16x4"});
  x.dilationH = 1 << 15;
  EXPECT_EQ(gpuRoutinesOf(x.text()), general);
}

// One spatial dimension.
TEST_F(Routines, TransposedRows) {
  Tensor a = random({2, 19, 11}, 1, "aBc16b"),
         w = random({19, 21, 4}, 2, "BAc16a16b"),
         bias = random({21}, 3, "A16a");
  auto formula = [&](const Indices &i) {
    double sum = bias.at({i[1]});
    for (int64_t c = 0; c < 19; ++c)
      for (int64_t x = 0; x < 11; ++x) {
        // Stride 3, dilation 2, padding 1 in front.
        int64_t reach = i[2] + 1 - x * 3;
        if (reach >= 0 && reach % 2 == 0 && reach / 2 < 4)
          sum += a.at({i[0], c, x}) * w.at({c, i[1], reach / 2});
      }
    return sum;
  };
  std::string layer =
      "nn.conv_transpose %0, %1 bias %2 strides [3] dilations [2] pads [1], "
      "[0] output_padding [1] : $0, $1 bias $2 -> $r";
  check(layer, {a, w, bias}, {{2, 21, 37}, "f32", "aBc16b", {}}, formula, 1e-5,
        {gpuTarget});
}

TEST_F(Routines, Products) {
  MatMulCase x;
  x.m = 3, x.n = 50, x.k = 37, x.constant = true, x.activation = "relu";
  checkHas(x.text(), {"gpu.matmul.panels.1x16", "gpu.matmul.panels.64x64",
                      "gpu.matmul.dense.1x16", "gpu.matmul.dense.64x64"});
  // More steps than the invocations of a group take at once.
  for (int64_t k : {128, 131, 517}) {
    x.k = k;
    checkHas(x.text(), {"gpu.matmul.panels.1x16", "gpu.matmul.dense.1x16"});
  }
  // More than a tile in each direction.
  x = MatMulCase();
  x.m = 70, x.n = 130, x.k = 20, x.transposeLhs = x.transposeRhs = true;
  x.lhsBatch = {2, 3}, x.rhsBatch = {1, 3};
  checkHas(x.text(), {"gpu.matmul.dense.64x64"});
}

// Panels of more than every device can bind are bound in parts; the last one is
// no multiple of anything.
TEST_F(Routines, LargePanels) {
  MatMulCase x;
  x.m = 2, x.k = 2047, x.n = 16500, x.constant = true, x.activation = "relu";
  checkHas(x.text(), {"gpu.matmul.panels.1x16", "gpu.matmul.panels.64x64"});
}

// Bias of any shape that broadcasts.
TEST_F(Routines, BiasOfProducts) {
  for (Shape shape : std::vector<Shape>{
           {}, {1}, {5}, {4, 1}, {4, 5}, {2, 1, 5}, {2, 4, 1}, {2, 4, 5}}) {
    Tensor a = random({2, 4, 3}), b = random({3, 5}, 2),
           bias = random(shape, 3);
    auto formula = [&](const Indices &i) {
      Indices at;
      for (size_t d = 0; d < shape.size(); ++d)
        at.push_back(shape[d] == 1 ? 0 : i[3 - shape.size() + d]);
      double sum = bias.at(at);
      for (int64_t k = 0; k < 3; ++k)
        sum += a.at({i[0], i[1], k}) * b.at({k, i[2]});
      return sum;
    };
    check("nn.matmul %0, %1 bias %2 : $0, $1 bias $2 -> $r", {a, b, bias},
          {{2, 4, 5}, "f32", "", {}}, formula, 1e-5, {gpuTarget});
  }
}

// Rows of a work group, of an invocation, longer than a group, and many; groups
// that take a part of neighbours, or several times all of them.
static const std::vector<std::pair<Shape, int>> rows = {
    {{3, 5, 37}, 2}, {{3, 5, 37}, 1},  {{2, 300}, 1},
    {{2, 300}, 0},   {{1, 1, 1}, 2},   {{70, 1, 9}, 1},
    {{200, 64}, 1},  {{3, 5, 128}, 1}, {{5, 3, 32}, 1}};

/// The elements of a row, through element `i`.
static std::vector<double> rowOf(const Tensor &x, Indices i, int axis) {
  std::vector<double> row;
  for (i[axis] = 0; i[axis] < x.shape[axis]; ++i[axis])
    row.push_back(x.at(i));
  return row;
}

TEST_F(Routines, Softmax) {
  for (const auto &[shape, axis] : rows)
    for (bool log : {false, true}) {
      Tensor x = random(shape, 1, "", 10);
      check("nn.softmax %0 axis " + std::to_string(axis) +
                " {log = " + (log ? "true" : "false") + "} : $0 -> $r",
            {x}, {shape, "f32", "", {}},
            [&, axis = axis, log](const Indices &i) {
              std::vector<double> row = rowOf(x, i, axis);
              double max = *std::max_element(row.begin(), row.end()), sum = 0;
              for (double v : row)
                sum += std::exp(v - max);
              double v = x.at(i) - max;
              return log ? v - std::log(sum) : std::exp(v) / sum;
            },
            2e-6, {gpuTarget});
    }
}

TEST_F(Routines, Normalize) {
  for (const Shape &shape : {Shape{3, 5, 37}, {2, 300}, {70, 1, 9}}) {
    int axis = int(shape.size()) - 1;
    Tensor x = random(shape, 1, "", 4);
    check("nn.normalize %0 axis " + std::to_string(axis) +
              " epsilon 1.0e-5 : $0 -> $r",
          {x}, {shape, "f32", "", {}},
          [&](const Indices &i) {
            std::vector<double> row = rowOf(x, i, axis);
            double n = double(row.size()), mean = 0, variance = 0;
            for (double v : row)
              mean += v / n;
            for (double v : row)
              variance += (v - mean) * (v - mean) / n;
            return (x.at(i) - mean) / std::sqrt(variance + 1e-5);
          },
          1e-5, {gpuTarget});
  }
}

TEST_F(Routines, Reductions) {
  for (const auto &[shape, axis] : rows)
    for (std::string kind : {"sum", "mean", "max", "min", "prod"}) {
      Tensor x = random(shape, 1, "", 1.5);
      Shape out = shape;
      out[axis] = 1;
      check("nn.reduce " + kind + " %0 axes [" + std::to_string(axis) +
                "] keep_dims true : $0 -> $r",
            {x}, {out, "f32", "", {}},
            [&, axis = axis](const Indices &i) {
              std::vector<double> row = rowOf(x, i, axis);
              double result = row[0];
              for (size_t j = 1; j < row.size(); ++j)
                result = kind == "max"    ? std::max(result, row[j])
                         : kind == "min"  ? std::min(result, row[j])
                         : kind == "prod" ? result * row[j]
                                          : result + row[j];
              return kind == "mean" ? result / double(row.size()) : result;
            },
            2e-5, {gpuTarget});
    }
}

TEST_F(Routines, NumbersThatAreNoneInRows) {
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::nan("");
  for (bool isStrided : {false, true}) {
    Tensor x{isStrided ? Shape{3, 2} : Shape{2, 3}, "f32", "", {}};
    x.data = isStrided ? std::vector<double>{1, inf, nan, 2, 3, 4}
                       : std::vector<double>{1, nan, 3, inf, 2, 4};
    std::string axis = isStrided ? "0" : "1";
    for (std::string kind : {"max", "sum"}) {
      auto out = evaluate("nn.reduce " + kind + " %0 axes [" + axis +
                              "] keep_dims false : $0 -> $r",
                          {x}, {{{2}, "f32", "", {}}}, gpuTarget, "gpu.row");
      ASSERT_EQ(out.size(), 1u);
      EXPECT_TRUE(std::isnan(out[0].data[0]));
      EXPECT_EQ(out[0].data[1], inf);
    }
    auto out = evaluate("nn.softmax %0 axis " + axis + " : $0 -> $r", {x},
                        {{x.shape, "f32", "", {}}}, gpuTarget, "gpu.row");
    ASSERT_EQ(out.size(), 1u);
    EXPECT_TRUE(std::isnan(out[0].data[0]));
  }
}

TEST_F(Routines, RowsOfBlocks) {
  for (int64_t channels : {16, 17, 48}) {
    Tensor x = random({2, channels, 3, 5}, 1, "aBcd16b");
    auto mean = [&](const Indices &i) {
      double sum = 0;
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t z = 0; z < 5; ++z)
          sum += x.at({i[0], i[1], y, z});
      return sum / 15;
    };
    check("nn.reduce mean %0 axes [2, 3] keep_dims false : $0 -> $r", {x},
          {{2, channels}, "f32", "", {}}, mean, 1e-6, {gpuTarget});
    check("nn.reduce mean %0 axes [2, 3] keep_dims true : $0 -> $r", {x},
          {{2, channels, 1, 1}, "f32", "aBcd16b", {}}, mean, 1e-6, {gpuTarget});
    auto product = [&](const Indices &i) {
      double result = 1;
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t z = 0; z < 5; ++z)
          result *= x.at({i[0], i[1], y, z});
      return result;
    };
    check("nn.reduce prod %0 axes [2, 3] keep_dims true : $0 -> $r", {x},
          {{2, channels, 1, 1}, "f32", "aBcd16b", {}}, product, 1e-6,
          {gpuTarget});
  }
}

TEST_F(Routines, Concatenations) {
  struct Case {
    std::string layout;
    int64_t axis;
    std::vector<Shape> shapes;
  };
  for (const Case &c : {
           Case{"", 1, {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}},
           {"", 2, {{2, 3, 4}, {2, 3, 8}}},
           // Groups that take a part of a run, or several runs.
           {"", 1, {{7, 64}, {7, 512}, {7, 128}}},
           {"aBcd16b", 1, {{2, 16, 3, 2}, {2, 32, 3, 2}, {2, 5, 3, 2}}},
           {"aBcd16b", 3, {{2, 17, 3, 2}, {2, 17, 3, 1}}},
           {"aBcd16b", 0, {{2, 17, 3, 2}, {1, 17, 3, 2}}},
           // By the general routine alone.
           {"", 1, {{2, 3, 3}, {2, 2, 3}}},
           {"aBcd16b", 1, {{1, 5, 2, 2}, {1, 16, 2, 2}}},
       }) {
    std::vector<Tensor> in;
    std::string operands, types;
    Shape out = c.shapes[0];
    out[c.axis] = 0;
    for (const Shape &shape : c.shapes) {
      std::string comma = in.empty() ? "" : ", ",
                  number = std::to_string(in.size());
      operands += comma + "%" + number;
      types += comma + "$" + number;
      in.push_back(random(shape, unsigned(in.size()) + 1, c.layout));
      out[c.axis] += shape[c.axis];
    }
    check("nn.concat " + operands + " axis " + std::to_string(c.axis) + " : " +
              types + " -> $r",
          in, {out, "f32", c.layout, {}},
          [&](Indices i) {
            size_t which = 0;
            while (i[c.axis] >= in[which].shape[c.axis])
              i[c.axis] -= in[which++].shape[c.axis];
            return in[which].at(i);
          },
          0, {gpuTarget});
  }
}

// NaN goes through ranges that are data as it goes through functions.
TEST_F(Routines, NumbersThatAreNoneGoThroughSums) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  ConvCase x;
  x.c = 1, x.o = 1, x.h = 1, x.w = 5, x.bias = false;
  x.activation = "clip [-1.0, 6.0]";
  for (const std::string &routine : gpuRoutinesOf(x.text())) {
    SCOPED_TRACE(routine);
    std::string error;
    auto shader = LayerShader::compile(x.text(), error, routine);
    ASSERT_TRUE(shader) << error;
    std::vector<Bytes> results =
        shader->run({toBytes({nan, inf, -inf, 3, 7}), toBytes({1})}, error);
    ASSERT_EQ(results.size(), 1u) << error;
    Floats out = toFloats(results[0]);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(Floats(out.begin() + 1, out.end()), (Floats{6, -1, 3, 6}));
  }
}

// Pointwise layers look up tables by index, whatever their layout.
TEST_F(Routines, ConstantsOfPointwiseLayers) {
  Tensor x = random({2, 4});
  check("nn.fuse (%a = %0) : ($0) -> $r {\n"
        "  %1 = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
        "  %2 = nn.binary add %a, %1 : $0, tensor<4xf32> -> $r\n"
        "  nn.yield %2 : $r\n}",
        {x}, {x.shape, "f32", "", {}},
        [&](const Indices &i) { return x.at(i) + double(i[1]) + 1; }, 1e-6,
        {gpuTarget});
  Tensor y = random({4});
  check("nn.fuse (%a = %0) : ($0) -> $r {\n"
        "  %1 = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
        "  %2 = nn.binary add %a, %1 : $0, tensor<4xf32> -> $r\n"
        "  nn.yield %2 : $r\n}",
        {y}, {y.shape, "f32", "", {}},
        [&](const Indices &i) { return y.at(i) + double(i[0]) + 1; }, 1e-6,
        {gpuTarget});
}
