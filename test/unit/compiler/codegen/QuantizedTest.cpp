//===- QuantizedTest.cpp - Products of bytes against brute force ----------===//

#include "LayerCheck.h"
#include "RandomLayer.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace nnv12::test;

namespace {

/// The targets of other tests, and the extensions with instructions for bytes.
/// qemu runs the targets of Arm slowly, so that few tests ask for them.
std::vector<std::string> quantizedTargets(bool withArm = isTier("full")) {
  std::vector<std::string> targets = testTargets();
  targets.insert(targets.end(), {"x86-64-v4+vnni", "x86-64-v4+amx"});
  if (withArm && emulatesArm())
    for (std::string name : {"aarch64", "aarch64+dotprod", "aarch64+i8mm"})
      if (!llvm::is_contained(targets, name))
        targets.push_back(name);
  return targets;
}

/// A random quantised convolution.
struct QConvCase {
  int64_t n = 1, c = 16, o = 16, h = 5, w = 5, kh = 1, kw = 1, strideH = 1,
          strideW = 1, dilationH = 1, dilationW = 1, groups = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool padding = false, bias = true, rows = false, shift = false,
       outScale = false, smallWeights = false, nanScale = false, middle = true;
  std::string activation, result = "ui8", input = "ui8";
  /// Numbers go on behind y, which is rounded where there is a `middle`.
  bool goesOn = false, offset = false, finalScale = false;
  std::string residualType, finalActivation;   ///< empty: none
  std::optional<double> allInputs, allWeights; ///< else at random
  unsigned seed = 1;

  void run(const std::string &routine, const std::string &target) const;
};

std::string operand(bool isThere, const std::string &word, int &next) {
  return isThere ? " " + word + " %" + std::to_string(next++) : "";
}
std::string typeOf(bool isThere, const std::string &word, int &next) {
  return isThere ? " " + word + " $" + std::to_string(next++) : "";
}

void QConvCase::run(const std::string &routine,
                    const std::string &target) const {
  auto extent = [](int64_t in, int64_t low, int64_t high, int64_t k, int64_t d,
                   int64_t s) {
    return (in + low + high - (k - 1) * d - 1) / s + 1;
  };
  int64_t oh = extent(h, top, bottom, kh, dilationH, strideH),
          ow = extent(w, left, right, kw, dilationW, strideW);
  bool isByte = result == "ui8" || result == "i8", scaled = result != "i32";
  std::vector<Tensor> in = {
      integers({n, c, h, w}, input, input == "ui8" ? 0 : -128,
               input == "ui8" ? 255 : 127, seed),
      integers({o, c / groups, kh, kw}, "i8", -128, 127, seed + 1)};
  // The extremes, side by side: where pairs of products would saturate.
  for (size_t i = 0; i < in[1].data.size(); i += 7)
    in[1].data[i] = i % 2 ? 127 : -128;
  if (smallWeights)
    for (double &w : in[1].data)
      w = std::clamp(w, -64.0, 64.0);
  for (size_t i = 0; i < in[0].data.size(); i += 5)
    in[0].data[i] = input == "ui8" ? 255 : 127;
  for (auto [tensor, all] :
       {std::pair(&in[0], allInputs), std::pair(&in[1], allWeights)})
    if (all)
      tensor->data.assign(tensor->data.size(), *all);
  int next = 2;
  std::string text = "nn.qconv %0, %1", types = " : $0, $1";
  auto add = [&](bool isThere, const std::string &word, Tensor tensor) {
    int same = next;
    text += operand(isThere, word, next);
    types += typeOf(isThere, word, same);
    if (isThere)
      in.push_back(std::move(tensor));
  };
  double fill = padding ? 77 : 0;
  Tensor biases = integers({o}, "i32", -20000, 20000, seed + 2);
  Tensor scales = random({o}, seed + 3, "", 0.001),
         shifts = random({o}, seed + 4, "", 50);
  for (double &x : scales.data)
    x = float(std::fabs(x) + 0.0002);
  if (nanScale)
    scales.data[1] = std::nan("");
  add(padding, "padding", {{}, input, "", {fill}});
  add(bias, "bias", biases);
  bool adds = goesOn && !residualType.empty();
  std::string middleType = isByte ? result : "ui8";
  auto zeroOf = [](const std::string &type, double number) {
    return type == "ui8" ? number : number - 103;
  };
  Tensor others = residualType == "f32"
                      ? random({n, o, oh, ow}, seed + 6, "", 100)
                      : integers({n, o, oh, ow}, residualType,
                                 residualType == "ui8" ? 0 : -128,
                                 residualType == "ui8" ? 255 : 127, seed + 6);
  add(adds, "residual", others);
  Tensor terms = integers({n, 1, oh, ow}, "i32", -30000, 30000, seed + 5);
  add(rows, "rows", terms);
  add(scaled, "scale", scales);
  add(scaled && shift, "shift", shifts);
  bool rounds = goesOn ? middle : isByte;
  add(rounds && outScale, "out_scale", {{}, "f32", "", {0.75}});
  double outZero = zeroOf(middleType, 100);
  add(rounds, "out_zero", {{}, middleType, "", {outZero}});
  Tensor steps = random({o}, seed + 7), offsets = random({o}, seed + 8, "", 20);
  const float residualScale = 1.3f, lastScale = 0.7f;
  bool hasResidualZero = adds && residualType != "f32" && seed % 2,
       hasFinalZero = goesOn && isByte && seed % 3;
  double residualZero = zeroOf(residualType, 90),
         finalZero = zeroOf(result, 50);
  add(goesOn, "step", steps);
  add(goesOn && offset, "offset", offsets);
  add(adds, "residual_scale", {{}, "f32", "", {residualScale}});
  add(hasResidualZero, "residual_zero", {{}, residualType, "", {residualZero}});
  add(goesOn && isByte && finalScale, "final_scale",
      {{}, "f32", "", {lastScale}});
  add(hasFinalZero, "final_zero", {{}, result, "", {finalZero}});
  auto pair = [](int64_t a, int64_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  text +=
      " strides " + pair(strideH, strideW) + " dilations " +
      pair(dilationH, dilationW) + " pads " + pair(top, left) + ", " +
      pair(bottom, right) + " {groups = " + std::to_string(groups) + " : i64" +
      (activation.empty() ? "" : ", activation = #nn.fn<" + activation + ">") +
      (finalActivation.empty() || !goesOn
           ? ""
           : ", final_activation = #nn.fn<" + finalActivation + ">") +
      (smallWeights ? ", small_weights" : "") + "}" + types + " -> $r";
  int64_t group = c / groups, outputs = o / groups;
  auto formula = [&](const Indices &i) -> double {
    int64_t sum = bias ? int64_t(biases.data[i[1]]) : 0;
    if (rows)
      sum += int64_t(terms.at({i[0], 0, i[2], i[3]}));
    for (int64_t ci = 0; ci < group; ++ci)
      for (int64_t y = 0; y < kh; ++y)
        for (int64_t x = 0; x < kw; ++x) {
          int64_t row = i[2] * strideH - top + y * dilationH,
                  col = i[3] * strideW - left + x * dilationW;
          bool inside = row >= 0 && row < h && col >= 0 && col < w;
          double value =
              inside ? in[0].at({i[0], i[1] / outputs * group + ci, row, col})
                     : fill;
          sum += int64_t(value) * int64_t(in[1].at({i[1], ci, y, x}));
        }
    if (!scaled)
      return double(int32_t(sum));
    float y = float(int32_t(sum)) * float(scales.data[i[1]]);
    if (shift)
      y = y + float(shifts.data[i[1]]);
    if (activation == "relu")
      y = std::max(y, 0.0f);
    auto limited = [](double steps, double zero, const std::string &type) {
      double least = type == "ui8" ? 0 : -128;
      return std::isnan(steps)
                 ? least
                 : std::clamp(std::nearbyint(steps) + zero, least, least + 255);
    };
    if (rounds) {
      if (outScale)
        y = y / 0.75f;
      double bytes = limited(y, outZero, middleType);
      if (!goesOn)
        return bytes;
      y = float(bytes - outZero);
    }
    if (!goesOn)
      return y;
    y = y * float(steps.data[i[1]]);
    if (offset)
      y = y + float(offsets.data[i[1]]);
    if (adds) {
      float r =
          float(others.at(i)) - (hasResidualZero ? float(residualZero) : 0.0f);
      float added = r * residualScale;
      y = y + added;
    }
    if (finalActivation == "relu")
      y = std::max(y, 0.0f);
    if (!isByte)
      return y;
    if (finalScale)
      y = y / lastScale;
    return limited(y, hasFinalZero ? finalZero : 0, result);
  };
  SCOPED_TRACE(text);
  check(text, in, {{n, o, oh, ow}, result}, formula, 0, {target}, routine);
}

struct QMatMulCase {
  Shape batch, rhsBatch;
  int64_t m = 4, n = 16, k = 16;
  bool transposeRhs = false, rows = false, smallWeights = false,
       residual = false;
  std::string result = "ui8";

  void run(const std::string &routine, const std::string &target) const;
};

void QMatMulCase::run(const std::string &routine,
                      const std::string &target) const {
  Shape left = batch, right = {k, n}, out = batch;
  left.insert(left.end(), {m, k});
  out.insert(out.end(), {m, n});
  if (transposeRhs)
    right = {n, k};
  right.insert(right.begin(), rhsBatch.begin(), rhsBatch.end());
  bool isByte = result == "ui8", scaled = result != "i32";
  std::vector<Tensor> in = {integers(left, "ui8", 0, 255),
                            integers(right, "i8", -128, 127, 2),
                            integers({n}, "i32", -20000, 20000, 3)};
  std::string text = "nn.qmatmul %0, %1 bias %2", types = "$0, $1 bias $2";
  auto add = [&](const std::string &word, Tensor tensor) {
    std::string number = std::to_string(in.size());
    text += " " + word + " %" + number, types += " " + word + " $" + number;
    in.push_back(std::move(tensor));
  };
  Shape termShape = out;
  termShape.back() = 1;
  Tensor terms = integers(termShape, "i32", -30000, 30000, 5),
         scales = random({n}, 4, "", 0.001),
         others = integers(out, "ui8", 0, 255, 6);
  bool adds = residual && isByte;
  if (adds)
    add("residual", others);
  if (rows)
    add("rows", terms);
  if (scaled)
    add("scale", scales);
  if (isByte)
    add("out_zero", {{}, "ui8", "", {9}});
  const float residualScale = 1.3f;
  Tensor steps = random({n}, 7);
  if (adds) {
    add("step", steps);
    add("residual_scale", {{}, "f32", "", {residualScale}});
    add("final_zero", {{}, "ui8", "", {3}});
  }
  text += std::string(" {transpose_rhs = ") +
          (transposeRhs ? "true" : "false") +
          (smallWeights ? ", small_weights" : "") + "} : " + types + " -> $r";
  // The extremes, side by side.
  for (size_t j = 0; smallWeights && j < in[1].data.size(); ++j)
    in[1].data[j] = in[1].data[j] < 0 ? -64 : 64;
  for (size_t j = 0; smallWeights && j < in[0].data.size(); j += 3)
    in[0].data[j] = 255;
  auto formula = [&](const Indices &i) -> double {
    int64_t column = i.back(), sum = int64_t(in[2].data[column]);
    Indices row(i.begin(), i.end());
    row.back() = 0;
    if (rows)
      sum += int64_t(terms.at(row));
    for (int64_t j = 0; j < k; ++j) {
      row.back() = j;
      Indices other; // the last batch dimensions, if they are not one
      for (size_t d = 0; d < rhsBatch.size(); ++d)
        other.push_back(
            rhsBatch[d] == 1 ? 0 : i[batch.size() - rhsBatch.size() + d]);
      other.push_back(transposeRhs ? column : j);
      other.push_back(transposeRhs ? j : column);
      sum += int64_t(in[0].at(row)) * int64_t(in[1].at(other));
    }
    if (!scaled)
      return double(int32_t(sum));
    float y = float(int32_t(sum)) * float(scales.data[column]);
    if (!isByte)
      return y;
    double q = std::clamp(std::nearbyint(double(y)) + 9, 0.0, 255.0);
    if (!adds)
      return q;
    float scaled = float(q - 9) * float(steps.data[column]),
          added = float(others.at(i)) * residualScale;
    return std::clamp(std::nearbyint(double(scaled + added)) + 3, 0.0, 255.0);
  };
  SCOPED_TRACE(text);
  in[1].isConstant = routine == "qmatmul.panels";
  check(text, in, {out, result}, formula, 0, {target}, routine);
}

QConvCase qconv(int64_t c, int64_t o, int64_t h, int64_t w, int64_t k,
                int64_t stride, int64_t pad) {
  QConvCase x;
  x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = k;
  x.strideH = x.strideW = stride;
  x.top = x.left = x.bottom = x.right = pad;
  x.padding = pad > 0;
  return x;
}

void onAll(const QConvCase &x, const std::string &routine,
           bool withArm = isTier("full")) {
  for (const std::string &target :
       routine == "element" ? layerTargets() : quantizedTargets(withArm))
    x.run(routine, target);
}

} // namespace

/// A kernel packs weights that are stored as the model has them.
TEST(QPack, Weights) {
  for (auto [shape, layout] : std::vector<std::pair<Shape, std::string>>{
           {{64, 1}, "BA4a16b4a"},
           {{37, 21}, "BA4a16b4a"},
           {{21, 37}, "AB4b16a4b"},
           {{20, 40, 3, 3}, "ABcd4b16a4b"},
           {{40, 24, 5}, "ABc4b16a4b"},
           {{20, 3, 3, 7}, "AbcD16a4d"},
           {{20, 3, 9}, "AbC16a4c"},
           {{40, 19}, "Ab16a"}}) {
    Tensor x = integers(shape, "i8", -128, 127);
    Tensor y{shape, "i8", layout};
    check(
        "nn.adapt %0 : $0 -> $r", {x}, y,
        [&](const Indices &i) { return x.at(i); }, 0);
  }
}

TEST(QConvElement, Ends) {
  QConvCase x = qconv(5, 3, 6, 7, 3, 1, 1);
  onAll(x, "element");
  x.input = "i8", x.result = "i8", x.outScale = true, x.activation = "relu";
  onAll(x, "element");
  x.shift = true, x.result = "f32", x.groups = 1, x.rows = true;
  onAll(x, "element");
  x = qconv(6, 4, 5, 5, 3, 2, 1);
  x.groups = 2, x.result = "i32";
  onAll(x, "element");
}

/// All zero points are there or absent; y is rounded before it goes on, or not.
TEST(QConvRest, Ends) {
  for (unsigned seed : {1, 2, 3, 6})
    for (std::string result : {"ui8", "i8", "f32"})
      for (bool middle : {false, true}) {
        QConvCase x = qconv(20, 24, 5, 7, 1, 1, 0);
        x.goesOn = true, x.middle = middle, x.result = result, x.seed = seed;
        x.residualType = seed == 6   ? ""
                         : seed == 3 ? "f32"
                         : middle    ? "ui8"
                                     : "i8";
        x.offset = seed != 2, x.finalScale = seed > 2;
        x.finalActivation = seed % 2 ? "relu" : "";
        x.shift = middle, x.nanScale = middle || result != "f32";
        onAll(x, "element");
        onAll(x, "qconv.gemm.nChw16c", /*withArm=*/seed == 1);
      }
  QConvCase x = qconv(32, 40, 7, 7, 3, 1, 1);
  x.goesOn = x.rows = x.outScale = true, x.residualType = "ui8";
  onAll(x, "qconv.direct.nChw16c");
  x = qconv(128, 72, 17, 19, 1, 1, 0);
  x.goesOn = x.offset = true, x.n = 2, x.residualType = "f32";
  onAll(x, "qconv.gemm.nChw16c");
  x.result = "f32", x.residualType = "ui8";
  onAll(x, "qconv.gemm.nChw16c");
  x = qconv(3, 40, 9, 9, 3, 1, 1);
  x.goesOn = x.offset = true;
  onAll(x, "qconv.first.nChw16c");
  x = qconv(20, 20, 9, 12, 3, 1, 1);
  x.goesOn = x.offset = true, x.residualType = "ui8", x.groups = 20;
  onAll(x, "qconv.depthwise.nChw16c");
}

TEST(QConvGemm, Sizes) {
  onAll(qconv(16, 16, 5, 5, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(40, 72, 7, 9, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(15, 3, 4, 4, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(64, 128, 14, 14, 1, 1, 0), "qconv.gemm.nChw16c");
  QConvCase x = qconv(32, 64, 5, 5, 1, 1, 0);
  x.groups = 2, x.n = 2, x.activation = "relu", x.result = "f32";
  x.rows = true;
  onAll(x, "qconv.gemm.nChw16c");
}

/// Where sums of two or four products leave 16 bits, or the signs of all are
/// the same.
TEST(QConvGemm, Extremes) {
  for (double x : {0, 128, 255})
    for (double w : {-128, 127}) {
      QConvCase c = qconv(72, 40, 3, 7, 1, 1, 0);
      c.allInputs = x, c.allWeights = w, c.result = "i32";
      onAll(c, "qconv.gemm.nChw16c");
      c = qconv(16, 16, 5, 6, 3, 1, 1);
      c.allInputs = x, c.allWeights = w, c.result = "i32", c.groups = 16;
      onAll(c, "qconv.depthwise.nChw16c");
    }
}

/// NaN, from a scale that a model computes, is the same byte on all targets.
TEST(QConvGemm, NotANumber) {
  for (std::string result : {"ui8", "i8"})
    for (bool outScale : {false, true}) {
      QConvCase x = qconv(16, 20, 3, 7, 1, 1, 0);
      x.nanScale = true, x.result = result, x.outScale = outScale;
      onAll(x, "qconv.gemm.nChw16c", /*withArm=*/true);
      onAll(x, "element");
    }
}

/// Positions of a tile, and those that remain.
TEST(QConvGemm, Positions) {
  for (int64_t positions : {1, 2, 3, 17, 19, 21})
    for (int64_t outputs : {24, 56}) {
      QConvCase x = qconv(68, outputs, 1, positions, 1, 1, 0);
      x.result = "i32", x.rows = positions % 4 == 1;
      onAll(x, "qconv.gemm.nChw16c");
    }
}

/// Weights of seven bits, whose pairs of products fit in 16 bits.
TEST(QConvGemm, SmallWeights) {
  for (double w : {-64, 64}) {
    QConvCase x = qconv(72, 40, 3, 7, 1, 1, 0);
    x.allInputs = 255, x.allWeights = w, x.result = "i32";
    x.smallWeights = true;
    onAll(x, "qconv.gemm.nChw16c");
    x = qconv(3, 40, 9, 9, 3, 1, 1);
    x.allInputs = 255, x.allWeights = w, x.smallWeights = true;
    onAll(x, "qconv.first.nChw16c");
  }
}

TEST(QConvDirect, Window) {
  onAll(qconv(32, 32, 9, 9, 1, 2, 0), "qconv.direct.nChw16c");
  onAll(qconv(32, 48, 14, 14, 3, 1, 1), "qconv.direct.nChw16c");
  onAll(qconv(24, 40, 7, 7, 3, 1, 1), "qconv.direct.nChw16c");
  onAll(qconv(16, 16, 13, 11, 3, 2, 1), "qconv.direct.nChw16c");
  onAll(qconv(20, 16, 10, 10, 5, 1, 0), "qconv.direct.nChw16c");
  QConvCase x = qconv(16, 16, 9, 12, 3, 1, 0);
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2, x.n = 2;
  x.padding = true;
  onAll(x, "qconv.direct.nChw16c");
  x.strideW = 2, x.dilationW = 2, x.bottom = 2, x.c = 7, x.o = 19;
  onAll(x, "qconv.direct.nChw16c");
  x.top = 9, x.left = 12; // padding wider than the window
  onAll(x, "qconv.direct.nChw16c");
  x = qconv(48, 96, 8, 8, 3, 1, 1);
  x.groups = 3, x.n = 2;
  onAll(x, "qconv.direct.nChw16c");
}

TEST(QConvDirect, Ends) {
  for (std::string result : {"ui8", "i8", "f32", "i32"})
    for (bool flag : {false, true}) {
      QConvCase x = qconv(16, 24, 7, 7, 3, 1, 1);
      x.result = result, x.bias = flag, x.shift = flag, x.outScale = flag;
      x.rows = flag;
      if (result != "i32")
        x.activation = flag ? "relu" : "";
      onAll(x, "qconv.direct.nChw16c");
    }
}

/// Enough products for a matrix unit: rests of tiles, of steps and of panels.
TEST(QConvMatrix, Flat) {
  onAll(qconv(128, 32, 12, 12, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(144, 72, 7, 9, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(150, 56, 8, 8, 1, 1, 0), "qconv.gemm.nChw16c");
  onAll(qconv(176, 65, 7, 7, 1, 1, 0), "qconv.gemm.nChw16c");
  QConvCase x = qconv(256, 128, 8, 8, 1, 1, 0);
  x.groups = 2, x.n = 2, x.rows = true, x.shift = true;
  onAll(x, "qconv.gemm.nChw16c");
}

TEST(QConvMatrix, Window) {
  onAll(qconv(128, 64, 17, 17, 1, 2, 0), "qconv.direct.nChw16c");
  onAll(qconv(24, 40, 17, 15, 3, 2, 1), "qconv.direct.nChw16c");
  onAll(qconv(32, 24, 9, 8, 5, 1, 2), "qconv.direct.nChw16c");
  onAll(qconv(16, 33, 12, 12, 7, 1, 0), "qconv.direct.nChw16c");
  QConvCase x = qconv(40, 72, 9, 12, 3, 1, 0);
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2;
  x.padding = true, x.rows = true;
  onAll(x, "qconv.direct.nChw16c");
  x.strideW = 2, x.dilationW = 2, x.bottom = 2, x.n = 2;
  onAll(x, "qconv.direct.nChw16c");
  x = qconv(96, 96, 8, 8, 3, 1, 1);
  x.groups = 3;
  onAll(x, "qconv.direct.nChw16c");
}

/// Rows of tiles are neighbouring pixels.
TEST(QConvMatrix, InPlace) {
  onAll(qconv(16, 40, 14, 28, 3, 1, 1), "qconv.direct.nChw16c");
  onAll(qconv(32, 33, 27, 28, 3, 2, 1), "qconv.direct.nChw16c");
  QConvCase x = qconv(20, 24, 9, 59, 3, 1, 0);
  x.kw = 4, x.rows = true;
  onAll(x, "qconv.direct.nChw16c");
  x = qconv(64, 64, 9, 30, 3, 1, 1);
  x.groups = 2, x.n = 2, x.dilationH = 2;
  onAll(x, "qconv.direct.nChw16c");
}

TEST(QConvMatrix, Ends) {
  for (std::string result : {"ui8", "i8", "f32", "i32"})
    for (bool flag : {false, true}) {
      QConvCase x = qconv(32, 40, 7, 7, 3, 1, 1);
      x.result = result, x.bias = flag, x.shift = flag, x.outScale = flag;
      x.rows = flag;
      if (result != "i32")
        x.activation = flag ? "relu" : "";
      onAll(x, "qconv.direct.nChw16c");
    }
}

/// Blocks of rows begin anywhere in a row of the image.
TEST(QConvMatrix, Blocks) {
  for (std::string suffix : {"", ".p1", ".p4", ".fine"}) {
    onAll(qconv(128, 72, 17, 19, 1, 1, 0), "qconv.gemm.nChw16c" + suffix);
    onAll(qconv(16, 136, 11, 13, 3, 1, 1), "qconv.direct.nChw16c" + suffix);
    onAll(qconv(16, 64, 9, 56, 3, 1, 1), "qconv.direct.nChw16c" + suffix);
  }
}

TEST(QConvFirst, Window) {
  onAll(qconv(3, 32, 28, 28, 3, 2, 1), "qconv.first.nChw16c");
  onAll(qconv(3, 64, 30, 30, 7, 2, 3), "qconv.first.nChw16c");
  onAll(qconv(1, 8, 28, 28, 5, 1, 2), "qconv.first.nChw16c");
  onAll(qconv(4, 20, 10, 11, 3, 1, 0), "qconv.first.nChw16c");
  onAll(qconv(2, 20, 10, 11, 1, 1, 0), "qconv.first.nChw16c");
}

/// Layers of one geometry, with other numbers of channels in their last block.
TEST(QConvDepthwise, LastBlocks) {
  QConvCase x;
  x.h = x.w = 9, x.kh = x.kw = 3, x.outScale = true;
  for (int64_t channels : {24, 58, 40, 48})
    x.c = x.o = x.groups = channels, onAll(x, "qconv.depthwise.nChw16c");
}

TEST(QConvDepthwise, Window) {
  for (int64_t stride : {1, 2})
    for (int64_t kernel : {3, 5}) {
      QConvCase x = qconv(40, 40, 17, 31, kernel, stride, kernel / 2);
      x.groups = 40, x.n = 2, x.activation = "relu", x.result = "f32";
      onAll(x, "qconv.depthwise.nChw16c");
    }
  QConvCase x = qconv(16, 16, 7, 7, 3, 1, 1);
  x.groups = 16;
  onAll(x, "qconv.depthwise.nChw16c");
  x = qconv(16, 16, 4, 70, 1, 1, 0);
  x.groups = 16, x.bias = false;
  onAll(x, "qconv.depthwise.nChw16c");
  x = qconv(20, 20, 9, 12, 3, 1, 0);
  x.groups = 20, x.padding = true;
  x.kw = 5, x.top = 1, x.left = 3, x.right = 1, x.dilationH = 2;
  onAll(x, "qconv.depthwise.nChw16c");
  x.strideW = 2, x.strideH = 3, x.dilationW = 2, x.bottom = 2;
  onAll(x, "qconv.depthwise.nChw16c");
  x.top = 7, x.left = 12; // padding wider than the window
  onAll(x, "qconv.depthwise.nChw16c");
}

namespace {

/// A layer of a routine, with random sizes.
QConvCase randomConv(const std::string &routine, Random &random) {
  QConvCase x;
  bool isFlat = routine == "qconv.gemm", isFirst = routine == "qconv.first",
       isDepthwise = routine == "qconv.depthwise";
  x.seed = unsigned(random.below(1 << 20));
  x.n = random.from(1, 2);
  x.groups = isFirst || random.oneOf(2) ? 1 : random.from(2, 3);
  // Groups are of whole blocks.
  int64_t block = x.groups > 1 ? 16 : 1;
  x.c = x.groups * block * random.from(1, block > 1 ? 3 : isFirst ? 4 : 70);
  x.o = x.groups * block * random.from(1, block > 1 ? 3 : 70);
  if (isDepthwise)
    x.groups = x.o = x.c = random.from(2, 50);
  x.h = random.from(1, 14), x.w = random.from(1, 20);
  if (!isFlat) {
    x.kh = random.from(1, 5), x.kw = random.from(1, 5);
    x.strideH = random.from(1, 3), x.strideW = random.from(1, 3);
    x.dilationH = random.from(1, 2);
    x.dilationW = isFirst ? 1 : random.from(1, 2);
    x.top = random.below(4), x.bottom = random.below(4);
    x.left = random.below(4), x.right = random.below(4);
    x.h += (x.kh - 1) * x.dilationH, x.w += (x.kw - 1) * x.dilationW;
    if (routine == "qconv.direct" && x.kh * x.kw == 1)
      x.strideH = 2; // else it is flat
    x.padding = random.oneOf(2);
  }
  for (bool *flag : {&x.bias, &x.rows, &x.shift, &x.outScale, &x.smallWeights,
                     &x.middle, &x.goesOn, &x.offset, &x.finalScale})
    *flag = random.oneOf(2);
  const char *results[] = {"ui8", "ui8", "i8", "f32", "i32"};
  x.result = results[random.below(5)];
  x.activation = x.result != "i32" && random.oneOf(2) ? "relu" : "";
  x.goesOn &= x.result != "i32";
  const char *residuals[] = {"", "ui8", "i8", "f32"};
  x.residualType = residuals[random.below(4)];
  x.finalActivation = random.oneOf(2) ? "relu" : "";
  return x;
}

/// More than a few where a measurement asks for them.
int64_t numRandom() {
  const char *text = std::getenv("NNV12_RANDOM_LAYERS");
  return text ? std::atoll(text) : 8;
}

} // namespace

TEST(QConvRandom, Layers) {
  Random random(1);
  const char *routines[] = {"qconv.gemm", "qconv.direct", "qconv.first",
                            "qconv.depthwise"};
  for (int64_t i = 0; i < numRandom() && !::testing::Test::HasFailure(); ++i) {
    std::string routine = routines[i % 4];
    bool hasRows = routine != "qconv.depthwise";
    QConvCase x = randomConv(routine, random);
    x.rows &= hasRows;
    onAll(x, routine + ".nChw16c", /*withArm=*/true);
  }
}

TEST(QMatMulRandom, Layers) {
  Random random(2);
  for (int64_t i = 0; i < numRandom() && !::testing::Test::HasFailure(); ++i) {
    QMatMulCase x;
    bool isPacked = i % 2;
    x.m = random.from(1, 40), x.n = random.from(1, 80);
    x.k = random.from(1, 150), x.transposeRhs = random.oneOf(2);
    if (random.oneOf(2))
      x.batch = {random.from(1, 3)};
    if (isPacked && random.oneOf(2))
      x.rhsBatch = x.batch;
    x.rows = random.oneOf(2), x.residual = random.oneOf(2);
    x.smallWeights = !isPacked && random.oneOf(2);
    const char *results[] = {"ui8", "f32", "i32"};
    x.result = results[random.below(3)];
    for (const std::string &target : quantizedTargets(/*withArm=*/true))
      x.run(isPacked ? "qmatmul.packing" : "qmatmul.panels", target);
  }
}

TEST(QPool, Maximum) {
  for (std::string type : {"ui8", "i8"})
    for (int64_t c : {16, 20})
      for (int64_t stride : {1, 2}) {
        int64_t h = 11, w = 33, k = 3, low = 1;
        int64_t oh = (h + 2 * low - k) / stride + 1,
                ow = (w + 2 * low - k) / stride + 1;
        Tensor x = integers({2, c, h, w}, type, type == "ui8" ? 0 : -128,
                            type == "ui8" ? 255 : 127);
        std::string strides = std::to_string(stride);
        check(
            "nn.pool max %0 kernel [3, 3] strides [" + strides + ", " +
                strides + "] dilations [1, 1] pads [1, 1], [1, 1] : $0 -> $r",
            {x}, {{2, c, oh, ow}, type},
            [&](const Indices &i) {
              double best = -1000;
              for (int64_t y = 0; y < k; ++y)
                for (int64_t z = 0; z < k; ++z) {
                  int64_t row = i[2] * stride - low + y,
                          col = i[3] * stride - low + z;
                  if (row >= 0 && row < h && col >= 0 && col < w)
                    best = std::max(best, x.at({i[0], i[1], row, col}));
                }
              return best;
            },
            0, testTargets(), "pool.nChw16c");
      }
}

TEST(QConvVariants, Panels) {
  for (std::string suffix : {".p1", ".p4", ".fine"}) {
    onAll(qconv(40, 72, 7, 9, 1, 1, 0), "qconv.gemm.nChw16c" + suffix);
    onAll(qconv(24, 136, 17, 19, 3, 1, 1), "qconv.direct.nChw16c" + suffix);
    onAll(qconv(3, 72, 28, 27, 3, 2, 1), "qconv.first.nChw16c" + suffix);
  }
}

TEST(QMatMul, Sizes) {
  for (const std::string &target : quantizedTargets())
    for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 16, 16},
                                                              {1, 300, 70},
                                                              {7, 33, 19},
                                                              {64, 48, 128},
                                                              {13, 10, 3},
                                                              {64, 1, 64},
                                                              {64, 64, 64},
                                                              {19, 40, 84},
                                                              {16, 100, 76},
                                                              {9, 64, 4096},
                                                              {16, 128, 256},
                                                              {49, 80, 320},
                                                              {70, 17, 448},
                                                              {17, 24, 4096}})
      for (bool transposed : {false, true}) {
        QMatMulCase x;
        x.m = m, x.n = n, x.k = k, x.transposeRhs = transposed;
        x.result = transposed ? "f32" : "ui8", x.rows = transposed;
        x.residual = m % 2;
        x.run("qmatmul.panels", target);
      }
  QMatMulCase x;
  x.batch = {2, 3}, x.result = "i32", x.k = 20;
  x.run("qmatmul.panels", "x86-64-v4+vnni");
  x.batch = {}, x.n = 1, x.m = 64, x.k = 64;
  x.run("qmatmul.panels", "x86-64-v4+vnni");
}

TEST(QMatMul, Packing) {
  for (const std::string &target : quantizedTargets())
    for (bool transposed : {false, true}) {
      QMatMulCase x;
      x.m = 33, x.n = 40, x.k = 70, x.transposeRhs = transposed;
      x.batch = {2, 3}, x.rhsBatch = {2, 3}, x.rows = true;
      x.run("qmatmul.packing", target);
      x.rhsBatch = {2, 1}, x.k = 131, x.n = 16, x.result = "i32";
      x.run("qmatmul.packing", target);
      x.rhsBatch = {}, x.k = 3, x.n = 7, x.result = "f32";
      x.run("qmatmul.packing", target);
      x = QMatMulCase(), x.transposeRhs = transposed, x.result = "i32";
      x.batch = {1, 4}, x.rhsBatch = {1, 4}, x.m = 1, x.n = 64, x.k = 16;
      x.run("qmatmul.packing", target);
    }
}

namespace {

/// Weights of few bits: codes, scales, zeros or one zero, and maybe a bias.
/// The left matrix has floats, or `isBytes`.
void checkBits(int64_t m, int64_t n, int64_t k, int64_t bits, int64_t block,
               bool zeros, bool bias, const std::string &routine,
               std::vector<std::string> targets, bool isBytes = false,
               double zero = 7) {
  int64_t blocks = (k + block - 1) / block, bytes = (k * bits + 7) / 8;
  std::vector<Tensor> in = {
      isBytes ? integers({m, k}, "ui8", 0, 255, 1) : random({m, k}),
      integers({n, bytes}, "ui8", 0, 255, 2), random({n, blocks}, 3)};
  std::string text = "nn.bits_matmul %0, %1 scales %2",
              types = "$0, $1 scales $2";
  int next = 3;
  auto add = [&](const std::string &word, Tensor tensor) {
    text += operand(true, word, next);
    --next;
    types += typeOf(true, word, next);
    in.push_back(std::move(tensor));
  };
  if (zeros)
    add("zeros", integers({n, blocks}, "f32", 0, (1 << bits) - 1, 4));
  size_t lhsScales = in.size();
  if (isBytes)
    add("lhs_scales", random({m, blocks}, 6));
  if (bias)
    add("bias", random({n}, 5));
  text += " bits " + std::to_string(bits) + " block " + std::to_string(block) +
          " {zero = " + std::to_string(zero) +
          (bias ? ", activation = #nn.fn<relu>" : "") + "} : " + types +
          " -> $r";
  SCOPED_TRACE(text);
  check(
      text, in, {{m, n}},
      [&](const Indices &i) {
        double sum = 0;
        for (int64_t j = 0; j < k; ++j) {
          int code = int(in[1].at({i[1], j * bits / 8}));
          if (bits == 4)
            code = j % 2 ? code >> 4 : code & 15;
          double middle = zeros ? in[3].at({i[1], j / block}) : zero;
          double x = in[0].at({i[0], j});
          if (isBytes)
            x = (x - 128) * in[lhsScales].at({i[0], j / block});
          sum += x * (code - middle) * in[2].at({i[1], j / block});
        }
        if (bias)
          sum = std::max(sum + in.back().at({i[1]}), 0.0);
        return sum;
      },
      1e-4, targets, routine);
}

} // namespace

TEST(BitsMatMul, Sizes) {
  checkBits(2, 5, 40, 4, 16, true, true, "element", layerTargets());
  checkBits(2, 5, 40, 8, 16, false, false, "element", layerTargets());
  for (int64_t bits : {4, 8})
    for (bool zeros : {false, true})
      for (int64_t m : {1, 3, 9}) {
        checkBits(m, 40, 96, bits, 32, zeros, false, "bits_matmul.panels",
                  testTargets());
        checkBits(m, 131, 71, bits, 16, zeros, true, "bits_matmul.panels",
                  testTargets());
      }
}

TEST(BitsMatMul, Bytes) {
  checkBits(2, 5, 48, 4, 16, true, true, "element", layerTargets(), true);
  for (int64_t bits : {4, 8})
    for (bool zeros : {false, true})
      for (int64_t m : {1, 3, 29}) {
        checkBits(m, 40, 96, bits, 32, zeros, false, "bits_matmul.bytes",
                  quantizedTargets(), true);
        checkBits(m, 131, 48, bits, 16, zeros, true, "bits_matmul.bytes",
                  quantizedTargets(), true, 7.25);
        checkBits(m, 16, 256, bits, 128, zeros, true, "bits_matmul.bytes",
                  quantizedTargets(), true, 0);
      }
}
