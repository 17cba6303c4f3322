//===- AxisTest.cpp - Routines that work along an axis --------------------===//

#include "LayerCheck.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace nnv12::test;

namespace {

/// The elements of x along `axis` through `index`.
std::vector<double> along(const Tensor &x, Indices index, int axis) {
  std::vector<double> row;
  for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis])
    row.push_back(x.at(index));
  return row;
}

TEST(Softmax, EveryAxis) {
  for (Shape shape : {Shape{3, 5, 37}, {2, 21, 4}, {1, 1, 200}, {2, 3, 16}})
    for (int axis : {0, 1, 2})
      for (bool log : {false, true})
        for (std::string element : {"f32", "f64", "f16"}) {
          Tensor x = random(shape, 1, "", 10);
          x.element = element;
          if (element == "f16")
            x.data = values("f16", x.data).data;
          check(
              "nn.softmax %0 axis " + std::to_string(axis) +
                  " {log = " + (log ? "true" : "false") + "} : $0 -> $r",
              {x}, {shape, element, "", {}},
              [&](const Indices &i) {
                std::vector<double> row = along(x, i, axis);
                double max = *std::max_element(row.begin(), row.end()), sum = 0;
                for (double v : row)
                  sum += std::exp(v - max);
                double v = x.at(i) - max;
                return log ? v - std::log(sum) : std::exp(v) / sum;
              },
              element == "f16" ? 2e-3 : 1e-6, testTargets(), "softmax");
        }
}

/// A mask puts elements far below the largest one: they become 0. Elements with
/// a normal exponential do not.
TEST(Softmax, FarBelowTheLargest) {
  std::vector<double> row = {5};
  for (double below = 80; below < 120; below += 0.25)
    row.push_back(5 - below);
  row.insert(row.end(), {-1e30, -std::numeric_limits<double>::infinity()});
  auto size = int64_t(row.size());
  for (bool alongRows : {false, true}) {
    Shape shape = {alongRows ? 1 : size, alongRows ? size : 1};
    Tensor x{shape, "f32", "", row};
    for (const std::string &target : layerTargets()) {
      auto out =
          evaluate(std::string("nn.softmax %0 axis ") +
                       (alongRows ? "1" : "0") + " {log = false} : $0 -> $r",
                   {x}, {{shape, "f32", "", {}}}, target, "softmax");
      ASSERT_FALSE(out.empty());
      for (size_t i = 0; i < row.size(); ++i) {
        double y = out[0].data[i], want = std::exp(row[i] - 5);
        double smallest = double(std::numeric_limits<float>::min());
        // Subnormal numbers may be flushed.
        if (want >= smallest)
          EXPECT_NEAR(y / want, 1, 1e-6) << target << " " << row[i];
        else if (want >= smallest / 2)
          EXPECT_LT(y, smallest) << target << " " << row[i];
        else
          EXPECT_EQ(y, 0) << target << " " << row[i];
      }
    }
  }
}

TEST(Normalize, Rows) {
  for (Shape shape : {Shape{3, 5, 37}, {2, 300}, {1, 1, 1}, {4, 16, 16}})
    for (int axis : {1, int(shape.size()) - 1}) {
      Tensor x = random(shape, 3, "", 4);
      check(
          "nn.normalize %0 axis " + std::to_string(axis) +
              " epsilon 1.0e-5 : $0 -> $r",
          {x}, {shape, "f32", "", {}},
          [&](const Indices &index) {
            int64_t n = 1, linear = 0;
            for (size_t d = 0; d < shape.size(); ++d) {
              linear = linear * shape[d] + index[d];
              if (int(d) >= axis)
                n *= shape[d];
            }
            const double *row = &x.data[linear / n * n];
            double mean = 0, variance = 0;
            for (int64_t i = 0; i < n; ++i)
              mean += row[i] / n;
            for (int64_t i = 0; i < n; ++i)
              variance += (row[i] - mean) * (row[i] - mean) / n;
            return (x.at(index) - mean) / std::sqrt(variance + 1e-5);
          },
          1e-5, testTargets(), "normalize");
    }
}

TEST(CumSum, Directions) {
  Tensor f = random({3, 7, 19}), n = integers({3, 7, 19}, "i64", -9, 9);
  for (const Tensor &x : {f, n})
    for (int axis : {0, 1, 2})
      for (bool exclusive : {false, true})
        for (bool reverse : {false, true})
          check(
              "nn.cumsum %0 axis " + std::to_string(axis) + " exclusive " +
                  (exclusive ? "true" : "false") + " reverse " +
                  (reverse ? "true" : "false") + " : $0 -> $r",
              {x}, {x.shape, x.element, "", {}},
              [&](const Indices &i) {
                std::vector<double> row = along(x, i, axis);
                double sum = 0;
                for (int64_t j = 0; j < int64_t(row.size()); ++j)
                  if ((reverse ? j > i[axis] : j < i[axis]) ||
                      (j == i[axis] && !exclusive))
                    sum += row[j];
                return sum;
              },
              1e-5, testTargets(), "cumsum");
}

TEST(CumSum, Products) {
  Tensor f = random({3, 7, 19}, 1, "", 2),
         n = integers({3, 7, 19}, "i32", -3, 3);
  for (const Tensor &x : {f, n})
    for (int axis : {0, 1})
      for (bool exclusive : {false, true})
        check(
            "nn.cumsum %0 axis " + std::to_string(axis) + " exclusive " +
                (exclusive ? "true" : "false") +
                " reverse false {product = true} : $0 -> $r",
            {x}, {x.shape, x.element, "", {}},
            [&](const Indices &i) {
              std::vector<double> row = along(x, i, axis);
              double product = 1;
              for (int64_t j = 0; j < i[axis] + !exclusive; ++j)
                product *= row[j];
              return product;
            },
            1e-5, testTargets(), "cumsum");
}

TEST(TopK, SortedAndStable) {
  Tensor f = random({3, 37, 5}), n = integers({3, 37, 5}, "i32", -5, 5);
  f.data[7] = f.data[12];
  for (const Tensor &x : {f, n})
    for (int axis : {0, 1, 2})
      for (bool largest : {false, true})
        for (int64_t k : {int64_t(1), std::min<int64_t>(x.shape[axis], 9)}) {
          Shape shape = x.shape;
          shape[axis] = k;
          auto order = [&](const Indices &i) {
            std::vector<double> row = along(x, i, axis);
            std::vector<int64_t> places(row.size());
            for (size_t j = 0; j < row.size(); ++j)
              places[j] = j;
            std::stable_sort(
                places.begin(), places.end(), [&](int64_t a, int64_t b) {
                  return largest ? row[a] > row[b] : row[a] < row[b];
                });
            return places[i[axis]];
          };
          checkAll("nn.topk %0 k " + std::to_string(k) + " axis " +
                       std::to_string(axis) + " largest " +
                       (largest ? "true" : "false") + " : $0 -> $r0, $r1",
                   {x}, {{shape, x.element, "", {}}, {shape, "i64", "", {}}},
                   {[&](const Indices &i) {
                      Indices j = i;
                      j[axis] = order(i);
                      return x.at(j);
                    },
                    [&](const Indices &i) { return double(order(i)); }},
                   0, "topk");
        }
}

TEST(Scatter, Elements) {
  Tensor x = random({5, 7, 4}), k = integers({3, 6, 4}, "i64", -9, 9),
         u = random({3, 6, 4}, 2);
  for (int axis : {0, 1})
    for (std::string reduction : {"none", "add", "max"}) {
      std::vector<double> want = x.data;
      for (int64_t a = 0; a < 3; ++a)
        for (int64_t b = 0; b < 6; ++b)
          for (int64_t c = 0; c < 4; ++c) {
            Indices i = {a, b, c};
            int64_t n = x.shape[axis], p = int64_t(k.at(i));
            double v = u.at(i);
            i[axis] = std::clamp<int64_t>(p < 0 ? p + n : p, 0, n - 1);
            double &t = want[(i[0] * 7 + i[1]) * 4 + i[2]];
            t = reduction == "none"  ? v
                : reduction == "add" ? t + v
                                     : std::max(t, v);
          }
      check(
          "nn.scatter_elements " + reduction + " %0, %1, %2 axis " +
              std::to_string(axis) + " : $0, $1, $2 -> $r",
          {x, k, u}, {x.shape, "f32", "", {}},
          [&](const Indices &i) { return want[(i[0] * 7 + i[1]) * 4 + i[2]]; },
          1e-5, testTargets(), "scatter");
    }
}

TEST(Scatter, ND) {
  Tensor x = random({5, 7, 20});
  for (int length : {1, 2, 3}) {
    Shape slice(x.shape.begin() + length, x.shape.end()), shape = {4};
    shape.insert(shape.end(), slice.begin(), slice.end());
    Tensor k = integers({4, length}, "i64", -6, 6), u = random(shape, 2);
    int64_t n = u.size() / 4;
    std::vector<double> want = x.data;
    for (int64_t t = 0; t < 4; ++t) {
      int64_t at = 0;
      for (int d = 0; d < length; ++d) {
        int64_t p = int64_t(k.at({t, d})), size = x.shape[d];
        at = at * size + std::clamp<int64_t>(p < 0 ? p + size : p, 0, size - 1);
      }
      for (int64_t i = 0; i < n; ++i)
        want[at * n + i] += u.data[t * n + i];
    }
    check(
        "nn.scatter_nd add %0, %1, %2 : $0, $1, $2 -> $r", {x, k, u},
        {x.shape, "f32", "", {}},
        [&](const Indices &i) { return want[(i[0] * 7 + i[1]) * 20 + i[2]]; },
        1e-5, testTargets(), "scatter");
  }
}

//===----------------------------------------------------------------------===//
// Recurrent
//===----------------------------------------------------------------------===//

struct RecurrentCase {
  std::string kind;
  int64_t hidden;
  bool reverse = false, lengths = false, peepholes = false, before = false,
       inputForget = false;
  double clip = 0;
  std::string element = "f32";
};

void checkRecurrent(const RecurrentCase &c) {
  int64_t T = 5, B = 2, H = c.hidden;
  int64_t G = c.kind == "lstm" ? 4 : c.kind == "gru" ? 3 : 1;
  std::vector<Tensor> in = {
      random({T, B, G * H}, 1, "", 2),
      random({G * H, H}, 2, "", 1 / std::sqrt(double(H)))};
  std::string text = "\"nn.recurrent\"(%0, %1", types = "$0, $1";
  std::vector<int> segments = {1, 1, 0, 0, 0, 0, 0};
  auto add = [&](int segment, Tensor t) {
    segments[segment] = 1;
    text += ", %" + std::to_string(in.size());
    types += ", $" + std::to_string(in.size());
    in.push_back(t);
    return t;
  };
  Tensor bias, h0, c0, p, lengths;
  if (c.before)
    bias = add(2, random({H}, 3));
  h0 = add(3, random({B, H}, 4));
  if (c.kind == "lstm")
    c0 = add(4, random({B, H}, 5));
  if (c.peepholes)
    p = add(5, random({3 * H}, 6));
  for (Tensor &t : in)
    t.element = c.element;
  if (c.lengths)
    lengths = add(6, {{B}, "i32", "", {3, 5}});
  std::string functions = c.kind == "lstm"
                              ? "[#nn.fn<sigmoid>, #nn.fn<tanh>, #nn.fn<tanh>]"
                          : c.kind == "gru" ? "[#nn.fn<sigmoid>, #nn.fn<tanh>]"
                                            : "[#nn.fn<tanh>]";
  std::string list;
  for (int s : segments)
    list += (list.empty() ? "" : ", ") + std::to_string(s);
  auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
  text += ") <{operandSegmentSizes = array<i32: " + list +
          ">, kind = #nn<recurrent_kind " + c.kind +
          ">, activations = " + functions + ", reverse = " + flag(c.reverse) +
          ", linear_before_reset = " + flag(c.before) +
          ", input_forget = " + flag(c.inputForget) +
          (c.clip ? ", clip = " + std::to_string(c.clip) + " : f64" : "") +
          "}> : (" + types + ") -> ($r0, $r1, $r2)";

  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  auto limit = [&](double x) {
    return c.clip ? std::clamp(x, -c.clip, c.clip) : x;
  };
  std::vector<double> all(T * B * H, 0), lastH, lastC;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<double> h(h0.data.begin() + b * H,
                          h0.data.begin() + (b + 1) * H),
        cell = h;
    if (c.kind == "lstm")
      cell.assign(c0.data.begin() + b * H, c0.data.begin() + (b + 1) * H);
    int64_t length = c.lengths ? int64_t(lengths.data[b]) : T;
    for (int64_t s = 0; s < length; ++s) {
      int64_t t = c.reverse ? length - 1 - s : s;
      auto dot = [&](int64_t row, const std::vector<double> &v) {
        double sum = 0;
        for (int64_t i = 0; i < H; ++i)
          sum += in[1].at({row, i}) * v[i];
        return sum;
      };
      auto gate = [&](int64_t g, int64_t j) {
        return in[0].at({t, b, g * H + j});
      };
      std::vector<double> next(H), reset(H);
      if (c.kind == "gru")
        for (int64_t j = 0; j < H; ++j)
          reset[j] = h[j] * sigmoid(limit(gate(1, j) + dot(H + j, h)));
      for (int64_t j = 0; j < H; ++j) {
        if (c.kind == "rnn") {
          next[j] = std::tanh(limit(gate(0, j) + dot(j, h)));
        } else if (c.kind == "gru") {
          double z = sigmoid(limit(gate(0, j) + dot(j, h)));
          double r = sigmoid(limit(gate(1, j) + dot(H + j, h)));
          double x = c.before
                         ? gate(2, j) + r * (dot(2 * H + j, h) + bias.data[j])
                         : gate(2, j) + dot(2 * H + j, reset);
          next[j] = (1 - z) * std::tanh(limit(x)) + z * h[j];
        } else {
          auto peep = [&](int g, double v) {
            return c.peepholes ? p.data[g * H + j] * v : 0;
          };
          double i = sigmoid(limit(gate(0, j) + dot(j, h) + peep(0, cell[j])));
          double f = c.inputForget
                         ? 1 - i
                         : sigmoid(limit(gate(2, j) + dot(2 * H + j, h) +
                                         peep(2, cell[j])));
          double g = std::tanh(limit(gate(3, j) + dot(3 * H + j, h)));
          cell[j] = f * cell[j] + i * g;
          double o =
              sigmoid(limit(gate(1, j) + dot(H + j, h) + peep(1, cell[j])));
          next[j] = o * std::tanh(cell[j]);
        }
      }
      h = next;
      std::copy(h.begin(), h.end(), all.begin() + (t * B + b) * H);
    }
    lastH.insert(lastH.end(), h.begin(), h.end());
    const std::vector<double> &last = c.kind == "lstm" ? cell : h;
    lastC.insert(lastC.end(), last.begin(), last.end());
  }
  checkAll(text, in,
           {{{T, B, H}, c.element, "", {}},
            {{B, H}, c.element, "", {}},
            {{B, H}, c.element, "", {}}},
           {[&](const Indices &i) { return all[(i[0] * B + i[1]) * H + i[2]]; },
            [&](const Indices &i) { return lastH[i[0] * H + i[1]]; },
            [&](const Indices &i) { return lastC[i[0] * H + i[1]]; }},
           1e-5, "recurrent");
}

TEST(Recurrent, Kinds) {
  for (std::string kind : {"rnn", "gru", "lstm"})
    for (int64_t hidden : {1, 5, 16, 20, 150})
      for (bool reverse : {false, true})
        checkRecurrent({kind, hidden, reverse, reverse});
}

TEST(Recurrent, Options) {
  checkRecurrent({"gru", 20, false, false, false, true});
  checkRecurrent({"gru", 20, false, false, false, true, false, 0.5});
  checkRecurrent({"lstm", 20, false, false, true});
  checkRecurrent({"lstm", 20, true, true, true, false, true, 0.7});
  for (std::string kind : {"rnn", "gru", "lstm"})
    checkRecurrent({kind, 20, false, false, false, false, false, 0, "f64"});
}

} // namespace
