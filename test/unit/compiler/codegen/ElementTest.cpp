//===- ElementTest.cpp - Layers element by element ------------------------===//
//
// Each layer against a formula of its result's index, on all targets, in dense
// and blocked layouts.
//
//===----------------------------------------------------------------------===//

#include "LayerCheck.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <sstream>

using namespace nnv12::test;

namespace {

const std::vector<std::string> layouts4 = {"", "aBcd16b", "acdb"};

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

TEST(Element, ReluInEveryLayout) {
  for (int64_t channels : {1, 3, 16, 17, 24, 32})
    for (const std::string &from : layouts4)
      for (const std::string &to : layouts4) {
        Tensor x = random({2, channels, 3, 5}, channels, from);
        bool adapts = from != to;
        std::string layer =
            adapts ? "nn.adapt %0 : $0 -> $r" : "nn.unary %0 <relu> : $0 -> $r";
        check(layer, {x}, {x.shape, "f32", to, {}}, [&](const Indices &i) {
          return adapts ? x.at(i) : std::max(0.0, x.at(i));
        });
      }
}

TEST(Element, Ranks) {
  for (Shape shape : {Shape{},
                      {1},
                      {7},
                      {16},
                      {33},
                      {3, 5},
                      {2, 3, 17},
                      {2, 1, 3, 1, 4},
                      {2, 3, 2, 3, 2, 3},
                      {0},
                      {3, 0, 2}}) {
    Tensor x = random(shape);
    check("nn.unary %0 <neg> : $0 -> $r", {x}, {shape, "f32", "", {}},
          [&](const Indices &i) { return -x.at(i); });
  }
}

TEST(Element, Broadcast) {
  struct Case {
    Shape a, b, r;
    std::string layout;
  };
  for (const Case &c :
       {Case{{2, 3, 4}, {4}, {2, 3, 4}, ""},
        {{2, 3, 4}, {3, 1}, {2, 3, 4}, ""},
        {{2, 1, 40}, {5, 1}, {2, 5, 40}, ""},
        {{}, {5, 20}, {5, 20}, ""},
        {{2, 24, 5, 7}, {24, 1, 1}, {2, 24, 5, 7}, "aBcd16b"},
        {{2, 24, 5, 7}, {1, 24, 1, 1}, {2, 24, 5, 7}, "aBcd16b"},
        {{2, 32, 5, 7}, {2, 32, 1, 1}, {2, 32, 5, 7}, "aBcd16b"},
        {{1, 17, 5, 7}, {5, 7}, {1, 17, 5, 7}, "aBcd16b"},
        {{1, 17, 5, 7}, {1}, {1, 17, 5, 7}, "aBcd16b"},
        {{2, 24, 5, 7}, {24, 1, 1}, {2, 24, 5, 7}, "acdb"}}) {
    Tensor a = random(c.a, 1, c.layout), b = random(c.b, 2);
    if (c.layout == "aBcd16b" && c.b.size() == 4)
      b.layout = c.layout;
    check("nn.binary sub %0, %1 : $0, $1 -> $r", {a, b},
          {c.r, "f32", c.layout, {}}, [&](const Indices &i) {
            auto get = [&](const Tensor &t) {
              Indices own(i.end() - t.shape.size(), i.end());
              for (size_t d = 0; d < own.size(); ++d)
                if (t.shape[d] == 1)
                  own[d] = 0;
              return t.at(own);
            };
            return get(a) - get(b);
          });
  }
}

TEST(Element, FusedChain) {
  for (const std::string &layout : {std::string(), std::string("aBcd16b")})
    for (int64_t channels : {16, 20}) {
      Tensor x = random({1, channels, 9, 10}, 1, layout),
             s = random({1, channels, 1, 1}, 2, layout);
      std::string xt = x.type(), st = s.type();
      check("nn.fuse (%a = %0, %b = %1) : ($0, $1) -> $r {\n"
            "  %2 = nn.unary %b <sigmoid> : $1 -> $1\n"
            "  %3 = nn.binary mul %a, %2 : $0, $1 -> $0\n"
            "  %4 = nn.unary %3 <hard_swish> : $0 -> $0\n"
            "  %5 = nn.binary add %4, %a : $0, $0 -> $r\n"
            "  nn.yield %5 : $r\n}",
            {x, s}, {x.shape, "f32", layout, {}}, [&](const Indices &i) {
              double v = x.at(i) / (1 + std::exp(-s.at({0, i[1], 0, 0})));
              return v * std::clamp(v / 6 + 0.5, 0.0, 1.0) + x.at(i);
            });
    }
}

TEST(Element, SelectAndTypes) {
  Tensor c = integers({3, 21}, "i1", 0, 1),
         a = integers({3, 21}, "i64", -9, 9, 2),
         b = integers({1, 21}, "i64", -9, 9, 3);
  check("nn.select %0, %1, %2 : $0, $1, $2 -> $r", {c, a, b},
        {{3, 21}, "i64", "", {}}, [&](const Indices &i) {
          return c.at(i) != 0 ? a.at(i) : b.at({0, i[1]});
        });
  check("nn.binary less %0, %1 : $0, $1 -> $r", {a, b}, {{3, 21}, "i1", "", {}},
        [&](const Indices &i) { return double(a.at(i) < b.at({0, i[1]})); });
  Tensor f = random({50}, 5, "", 300);
  for (std::string to :
       {"i8", "ui8", "i16", "i32", "i64", "f64", "i1", "f16"}) {
    double lo = to == "i8"    ? -128
                : to == "ui8" ? 0
                              : -1e9,
           hi = to == "i8"    ? 127
                : to == "ui8" ? 255
                              : 1e9;
    check("nn.cast %0 : $0 -> $r", {f}, {{50}, to, "", {}},
          [&](const Indices &i) {
            double x = f.at(i);
            return to == "f64"   ? x
                   : to == "f16" ? roundToHalf(x)
                   : to == "i1"  ? double(x != 0)
                                 : std::clamp(std::trunc(x), lo, hi);
          });
  }
  Tensor u = integers({40}, "ui8", 0, 255), h = random({40}, 3);
  h.element = "f16";
  check("nn.cast %0 : $0 -> $r", {u}, {{40}, "f32", "", {}},
        [&](const Indices &i) { return u.at(i); });
  check(
      "nn.unary %0 <exp> : $0 -> $r", {h}, {{40}, "f16", "", {}},
      [&](const Indices &i) {
        return roundToHalf(std::exp(roundToHalf(h.at(i))));
      },
      1e-3);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Through a type that is nowhere in memory, as where numbers are quantized and
/// at once no longer.
TEST(Element, CastsInBetween) {
  Tensor f = random({50}, 5, "", 300);
  Tensor n = integers({50}, "i32", -70000, 70000, 6);
  for (std::string to : {"i8", "ui8", "i16", "ui16", "i1", "f16"}) {
    unsigned width = to.back() == '8' ? 8 : 16;
    double lo = to[0] == 'u' ? 0 : -std::ldexp(1.0, int(width) - 1),
           hi = std::ldexp(1.0, int(width) - (to[0] != 'u')) - 1;
    std::string narrow = "tensor<50x" + to + ">";
    check("nn.fuse (%a = %0) : ($0) -> $r {\n"
          "  %1 = nn.cast %a : $0 -> " +
              narrow + "\n  %2 = nn.cast %1 : " + narrow +
              " -> $r\n  nn.yield %2 : $r\n}",
          {f}, {{50}, "f32", "", {}}, [&](const Indices &i) {
            return to == "i1"    ? double(f.at(i) != 0)
                   : to == "f16" ? roundToHalf(f.at(i))
                                 : std::clamp(std::trunc(f.at(i)), lo, hi);
          });
    if (to[0] == 'f' || to == "i1")
      continue;
    // Integers wrap. A sum in between is arithmetic of that type.
    auto wrap = [&](double x) {
      double all = std::ldexp(1.0, int(width));
      return x - std::floor((x - lo) / all) * all;
    };
    for (std::string wide : {"i32", "i64"})
      check("nn.fuse (%a = %0) : ($0) -> $r {\n"
            "  %1 = nn.cast %a : $0 -> " +
                narrow + "\n  %2 = nn.cast %1 : " + narrow +
                " -> $r\n  nn.yield %2 : $r\n}",
            {n}, {{50}, wide, "", {}},
            [&](const Indices &i) { return wrap(n.at(i)); });
    check("nn.fuse (%a = %0) : ($0) -> $r {\n"
          "  %1 = nn.cast %a : $0 -> " +
              narrow + "\n  %2 = nn.binary add %1, %1 : " + narrow + ", " +
              narrow + " -> " + narrow + "\n  %3 = nn.cast %2 : " + narrow +
              " -> $r\n  nn.yield %3 : $r\n}",
          {n}, {{50}, "i32", "", {}},
          [&](const Indices &i) { return wrap(2 * wrap(n.at(i))); });
  }
}

/// Quantized and at once no longer: whole steps of the scale.
TEST(Element, RoundTrip) {
  Tensor x = random({64}, 5, "", 40);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.375,    -0.375,    1.125, -1.875, 0.0,   -0.0,
                            infinity, -infinity, NAN,   1e30,   -1e30, 1e-40,
                            -0.1,     0.37499,   95.6,  -96.4};
  llvm::copy(special, x.data.begin());
  for (std::string type : {"ui8", "i8", "ui16"})
    for (double zero : {0.0, 3.0}) {
      int bits = type.back() == '8' ? 8 : 16;
      double lo = type[0] == 'u' ? 0 : -std::ldexp(1.0, bits - 1);
      double hi = lo + std::ldexp(1.0, bits) - 1;
      std::string narrow = "tensor<64x" + type + ">";
      check("nn.fuse (%a = %0, %s = %1, %z = %2) : ($0, $1, $2) -> $r {\n"
            "  %3 = nn.quantize %a scale %s zero %z : $0, $1, $2 -> " +
                narrow + "\n  %4 = nn.dequantize %3 scale %s zero %z : " +
                narrow + ", $1, $2 -> $r\n  nn.yield %4 : $r\n}",
            {x, {{}, "f32", "", {0.75}}, {{}, type, "", {zero}}},
            {{64}, "f32", "", {}}, [&](const Indices &i) {
              double q = x.at(i);
              q = std::isnan(q)
                      ? lo
                      : std::nearbyint(double(float(q) / 0.75f)) + zero;
              return (std::clamp(q, lo, hi) - zero) * 0.75;
            });
    }
}

/// With a scale that is known now, products take the place of the division.
TEST(Element, ConstantScale) {
  constexpr float scale = 0.05f;
  Tensor x = random({331}, 6, "", 10);
  for (size_t i = 0; i < x.data.size(); i += 3) {
    float middle = (float(int(i) - 140) + 0.5f) * scale;
    for (int steps = int(i / 3) % 7 - 3; steps; steps += steps < 0 ? 1 : -1)
      middle = std::nextafter(middle, steps < 0 ? -1e9f : 1e9f);
    x.data[i] = double(middle);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {infinity, -infinity, NAN, 3e38, -3e38, 1e-40, -0.0};
  llvm::copy(special, x.data.begin() + 1);
  for (std::string type : {"ui8", "i8", "ui16"})
    for (int zero : {0, 101}) {
      int bits = type.back() == '8' ? 8 : 16;
      double lo = type[0] == 'u' ? 0 : -std::ldexp(1.0, bits - 1);
      double hi = lo + std::ldexp(1.0, bits) - 1;
      auto quantized = [&](double number) {
        float q = std::nearbyint(float(number) / scale);
        return std::isnan(q) ? lo : std::clamp(double(q) + zero, lo, hi);
      };
      std::string narrow = "tensor<331x" + type + ">",
                  head = "nn.fuse (%a = %0) : ($0) -> $r {\n"
                         "  %s = nn.constant dense<0.05> : tensor<f32>\n"
                         "  %z = nn.constant dense<" +
                         std::to_string(zero) + "> : tensor<" + type +
                         ">\n  %3 = nn.quantize %a scale %s zero %z : $0, "
                         "tensor<f32>, tensor<" +
                         type + "> -> " + narrow + "\n";
      check(head + "  nn.yield %3 : " + narrow + "\n}", {x},
            {{331}, type, "", {}},
            [&](const Indices &i) { return quantized(x.at(i)); });
      check(head + "  %4 = nn.dequantize %3 scale %s zero %z : " + narrow +
                ", tensor<f32>, tensor<" + type +
                "> -> $r\n  nn.yield %4 : $r\n}",
            {x}, {{331}, "f32", "", {}}, [&](const Indices &i) {
              return double(float(quantized(x.at(i)) - zero) * scale);
            });
    }
}

TEST(Element, Transpose) {
  for (const std::string &from : layouts4)
    for (Shape perm :
         {Shape{0, 2, 3, 1}, {0, 1, 3, 2}, {3, 2, 1, 0}, {0, 3, 1, 2}}) {
      Tensor x = random({2, 20, 5, 7}, 1, from);
      Shape shape;
      std::string p;
      for (int64_t d : perm) {
        shape.push_back(x.shape[d]);
        p += (p.empty() ? "" : ", ") + std::to_string(d);
      }
      check("nn.transpose %0 [" + p + "] : $0 -> $r", {x},
            {shape, "f32", "", {}}, [&](const Indices &i) {
              Indices j(4);
              for (int d = 0; d < 4; ++d)
                j[perm[d]] = i[d];
              return x.at(j);
            });
    }
}

TEST(Element, Reshape) {
  for (auto [from, to] :
       std::vector<std::pair<Shape, Shape>>{{{2, 20, 5, 7}, {2, 4, 5, 35}},
                                            {{2, 3, 4}, {24}},
                                            {{24}, {2, 3, 4}},
                                            {{6, 5}, {5, 6}},
                                            {{1, 6, 1}, {6}},
                                            {{2, 12}, {2, 3, 4, 1}}})
    for (const std::string &layout : {std::string(), std::string("aBcd16b")}) {
      if (!layout.empty() && from.size() != 4)
        continue;
      Tensor x = random(from, 1, layout);
      check("nn.reshape %0 : $0 -> $r", {x}, {to, "f32", "", {}},
            [&, to = to](const Indices &i) {
              int64_t linear = 0;
              for (size_t d = 0; d < to.size(); ++d)
                linear = linear * to[d] + i[d];
              return x.data[linear];
            });
    }
}

TEST(Element, ChannelShuffle) {
  Tensor x = random({1, 48, 4, 5}, 1, "aBcd16b");
  check("nn.fuse (%a = %0) : ($0) -> $r {\n"
        "  %1 = nn.reshape %a : $0 -> tensor<1x2x24x4x5xf32>\n"
        "  %2 = nn.transpose %1 [0, 2, 1, 3, 4] : tensor<1x2x24x4x5xf32> -> "
        "tensor<1x24x2x4x5xf32>\n"
        "  %3 = nn.reshape %2 : tensor<1x24x2x4x5xf32> -> $r\n"
        "  nn.yield %3 : $r\n}",
        {x}, {{1, 48, 4, 5}, "f32", "aBcd16b", {}}, [&](const Indices &i) {
          return x.at({0, i[1] % 2 * 24 + i[1] / 2, i[2], i[3]});
        });
}

TEST(Element, Slice) {
  for (const std::string &layout : layouts4) {
    Tensor x = random({2, 40, 6, 9}, 1, layout);
    check("nn.slice %0 starts [0, 16, 5, 1] sizes [2, 24, 6, 4] steps [1, 1, "
          "-1, 2] : $0 -> $r",
          {x}, {{2, 24, 6, 4}, "f32", layout, {}}, [&](const Indices &i) {
            return x.at({i[0], 16 + i[1], 5 - i[2], 1 + 2 * i[3]});
          });
    check("nn.slice %0 starts [1, 3, 0, 8] sizes [1, 20, 6, 9] steps [1, 1, 1, "
          "-1] : $0 -> $r",
          {x}, {{1, 20, 6, 9}, "f32", layout, {}}, [&](const Indices &i) {
            return x.at({1, 3 + i[1], i[2], 8 - i[3]});
          });
  }
}

TEST(Element, Concat) {
  for (const std::string &layout : layouts4)
    for (int axis : {1, 3})
      for (int64_t size : {16, 24}) {
        Shape a = {2, 32, 3, 5}, b = a, c = a, r = a;
        b[axis] = size;
        c[axis] = 7;
        r[axis] = a[axis] + b[axis] + c[axis];
        Tensor x = random(a, 1, layout), y = random(b, 2, layout),
               z = random(c, 3, layout);
        check("nn.concat %0, %1, %2 axis " + std::to_string(axis) +
                  " : $0, $1, $2 -> $r",
              {x, y, z}, {r, "f32", layout, {}}, [&](Indices i) {
                for (const Tensor *t : {&x, &y, &z}) {
                  if (i[axis] < t->shape[axis])
                    return t->at(i);
                  i[axis] -= t->shape[axis];
                }
                return 0.0;
              });
      }
}

/// Vectors that end in the middle: bits are moved, whatever the target has for
/// bfloat16.
TEST(Element, HalfTails) {
  for (std::string element : {"f16", "bf16"})
    for (int64_t size : {3, 6, 18}) {
      Tensor x = integers({2, 3, size}, element, -9, 9);
      check("nn.pad constant %0 low [0, 0, 0] high [0, 0, 2] : $0 -> $r", {x},
            {{2, 3, size + 2}, element, "", {}},
            [&](const Indices &i) { return i[2] < size ? x.at(i) : 0.0; });
    }
}

TEST(Element, BitCast) {
  Tensor f = values("f32", {0, 1, -2, 0.5, 1e-40});
  check("nn.bitcast %0 : $0 -> $r", {f}, {f.shape, "i32", "", {}},
        [&](const Indices &i) {
          float v = float(f.at(i));
          int32_t bits;
          std::memcpy(&bits, &v, sizeof v);
          return double(bits);
        });
}

TEST(Element, Pad) {
  for (const std::string &layout : layouts4)
    for (std::string mode : {"constant", "reflect", "edge", "wrap"}) {
      Tensor x = random({1, 18, 4, 6}, 1, layout);
      check("nn.pad " + mode +
                " %0 low [0, 1, 2, 3] high [0, 0, 2, 5] : $0 -> $r",
            {x}, {{1, 19, 8, 14}, "f32", layout, {}}, [&](const Indices &i) {
              Indices j(4), low = {0, 1, 2, 3};
              for (int d = 0; d < 4; ++d) {
                int64_t n = x.shape[d], p = i[d] - low[d];
                if (p < 0 || p >= n) {
                  if (mode == "constant")
                    return 0.0;
                  if (mode == "edge")
                    p = std::clamp<int64_t>(p, 0, n - 1);
                  if (mode == "wrap")
                    p = ((p % n) + n) % n;
                  if (mode == "reflect")
                    while (n > 1 && (p < 0 || p >= n))
                      p = p < 0 ? -p : 2 * (n - 1) - p;
                  if (n == 1)
                    p = 0;
                }
                j[d] = p;
              }
              return x.at(j);
            });
    }
}

TEST(Element, Gathers) {
  Tensor x = random({5, 7, 20}), k = integers({3, 2}, "i64", -9, 9);
  auto wrap = [](int64_t i, int64_t n) {
    return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n - 1);
  };
  for (int axis : {0, 1, 2}) {
    Shape r = x.shape;
    r.erase(r.begin() + axis);
    r.insert(r.begin() + axis, {3, 2});
    check("nn.gather %0, %1 axis " + std::to_string(axis) + " : $0, $1 -> $r",
          {x, k}, {r, "f32", "", {}}, [&](Indices i) {
            int64_t j =
                wrap(int64_t(k.at({i[axis], i[axis + 1]})), x.shape[axis]);
            i.erase(i.begin() + axis);
            i[axis] = j;
            return x.at(i);
          });
  }
  Tensor e = integers({4, 7, 19}, "i32", -7, 6, 3);
  check("nn.gather_elements %0, %1 axis 1 : $0, $1 -> $r", {x, e},
        {{4, 7, 19}, "f32", "", {}}, [&](const Indices &i) {
          return x.at({i[0], wrap(int64_t(e.at(i)), 7), i[2]});
        });
  Tensor t = integers({5, 3, 1}, "i64", -8, 8, 4);
  check("nn.gather_nd %0, %1 {batch_dims = 1 : i64} : $0, $1 -> $r", {x, t},
        {{5, 3, 20}, "f32", "", {}}, [&](const Indices &i) {
          return x.at({i[0], wrap(int64_t(t.at({i[0], i[1], 0})), 7), i[2]});
        });
  Tensor l = integers({7}, "i64", 0, 5, 5);
  check("nn.reverse_sequence %0, %1 batch 1 time 0 : $0, $1 -> $r", {x, l},
        {x.shape, "f32", "", {}}, [&](Indices i) {
          int64_t n = int64_t(l.at({i[1]}));
          if (i[0] < n)
            i[0] = n - 1 - i[0];
          return x.at(i);
        });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(Element, Reduce) {
  for (const std::string &layout : layouts4)
    for (Shape axes : {Shape{2, 3}, {1}, {3}, {0, 1, 2, 3}, {1, 2, 3}, {0, 2}})
      for (std::string kind : {"sum", "mean", "max"}) {
        Tensor x = random({2, 37, 5, 19}, 1, layout);
        Shape r = x.shape;
        std::string list;
        int64_t count = 1;
        for (int64_t a : axes) {
          count *= r[a];
          r[a] = 1;
          list += (list.empty() ? "" : ", ") + std::to_string(a);
        }
        check(
            "nn.reduce " + kind + " %0 axes [" + list +
                "] keep_dims true : $0 -> $r",
            {x}, {r, "f32", layout, {}},
            [&](const Indices &i) {
              double sum = 0, max = -INFINITY;
              Indices j = i;
              for (int64_t n = 0; n < count; ++n) {
                int64_t rest = n;
                for (int64_t a : axes) {
                  j[a] = rest % x.shape[a];
                  rest /= x.shape[a];
                }
                sum += x.at(j);
                max = std::max(max, x.at(j));
              }
              return kind == "sum" ? sum : kind == "mean" ? sum / count : max;
            },
            2e-5);
      }
  Tensor x = integers({3, 50}, "i64", -100, 100);
  check("nn.reduce prod %0 axes [0] keep_dims false : $0 -> $r", {x},
        {{50}, "i64", "", {}}, [&](const Indices &i) {
          return x.at({0, i[0]}) * x.at({1, i[0]}) * x.at({2, i[0]});
        });
  check("nn.reduce min %0 axes [1] keep_dims false : $0 -> $r", {x},
        {{3}, "i64", "", {}}, [&](const Indices &i) {
          return *std::min_element(x.data.begin() + 50 * i[0],
                                   x.data.begin() + 50 * i[0] + 50);
        });
  check("nn.arg_reduce max %0 axis 1 keep_dims false select_last false : $0 -> "
        "$r",
        {x}, {{3}, "i64", "", {}}, [&](const Indices &i) {
          auto b = x.data.begin() + 50 * i[0];
          return double(std::max_element(b, b + 50) - b);
        });
  check(
      "nn.arg_reduce min %0 axis 0 keep_dims true select_last true : $0 -> $r",
      {x}, {{1, 50}, "i64", "", {}}, [&](const Indices &i) {
        int best = 0;
        for (int r = 1; r < 3; ++r)
          if (x.at({r, i[1]}) <= x.at({best, i[1]}))
            best = r;
        return double(best);
      });
}

TEST(Element, MatMul) {
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      Tensor a = random(left ? Shape{2, 1, 30, 5} : Shape{2, 1, 5, 30}, 1),
             b = random(right ? Shape{3, 18, 30} : Shape{3, 30, 18}, 2),
             c = random({18}, 3);
      std::string flags = std::string("{transpose_lhs = ") +
                          (left ? "true" : "false") +
                          ", transpose_rhs = " + (right ? "true" : "false") +
                          ", activation = #nn.fn<relu>}";
      check(
          "nn.matmul %0, %1 bias %2 " + flags + " : $0, $1 bias $2 -> $r",
          {a, b, c}, {{2, 3, 5, 18}, "f32", "", {}},
          [&](const Indices &i) {
            double sum = c.at({i[3]});
            for (int64_t k = 0; k < 30; ++k)
              sum +=
                  (left ? a.at({i[0], 0, k, i[2]}) : a.at({i[0], 0, i[2], k})) *
                  (right ? b.at({i[1], i[3], k}) : b.at({i[1], k, i[3]}));
            return std::max(0.0, sum);
          },
          1e-5);
    }
  // 8-bit integers give i32, others their own type.
  struct Integers {
    const char *lhs, *rhs, *result;
    int64_t low, high;
  };
  for (Integers t : {Integers{"ui8", "i8", "i32", -128, 127},
                     {"i16", "i16", "i16", -60, 60},
                     {"i32", "i32", "i32", -10000, 10000},
                     {"ui32", "ui32", "ui32", 0, 20000},
                     {"i64", "i64", "i64", -3000000, 3000000},
                     {"ui64", "ui64", "ui64", 0, 3000000}}) {
    Tensor a = integers({4, 9}, t.lhs, *t.lhs == 'u' ? 0 : t.low, t.high),
           b = integers({9, 20}, t.rhs, t.low, t.high, 2);
    check("nn.matmul %0, %1 : $0, $1 -> $r", {a, b},
          {{4, 20}, t.result, "", {}}, [&](const Indices &i) {
            double sum = 0;
            for (int64_t k = 0; k < 9; ++k)
              sum += a.at({i[0], k}) * b.at({k, i[1]});
            return sum;
          });
  }
}

TEST(Element, Conv) {
  for (std::string element : {"f32", "f64"})
    for (int64_t groups : {1, 2}) {
      Tensor x = random({2, 6, 7, 9}, 1), w = random({8, 6 / groups, 3, 2}, 2),
             b = random({8}, 3);
      x.element = w.element = b.element = element;
      check(
          "nn.conv %0, %1 bias %2 strides [2, 1] dilations [1, 2] pads [1, 0], "
          "[2, 1] "
          "{groups = " +
              std::to_string(groups) + " : i64} : $0, $1 bias $2 -> $r",
          {x, w, b}, {{2, 8, 4, 8}, element, "", {}},
          [&](const Indices &i) {
            double sum = b.at({i[1]});
            for (int64_t c = 0; c < 6 / groups; ++c)
              for (int64_t u = 0; u < 3; ++u)
                for (int64_t v = 0; v < 2; ++v) {
                  int64_t h = i[2] * 2 - 1 + u, q = i[3] + 2 * v;
                  if (h >= 0 && h < 7 && q < 9)
                    sum += x.at({i[0], i[1] / (8 / groups) * (6 / groups) + c,
                                 h, q}) *
                           w.at({i[1], c, u, v});
                }
            return sum;
          },
          1e-5);
    }
  Tensor x = random({1, 4, 5}, 1), w = random({4, 3, 4}, 2);
  check(
      "nn.conv_transpose %0, %1 strides [3] dilations [2] pads [2], [1] "
      "output_padding [1] "
      "{groups = 2 : i64} : $0, $1 -> $r",
      {x, w}, {{1, 6, 17}, "f32", "", {}},
      [&](const Indices &i) {
        double sum = 0;
        int64_t g = i[1] / 3;
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t s = 0; s < 5; ++s)
            for (int64_t t = 0; t < 4; ++t)
              if (s * 3 + t * 2 - 2 == i[2])
                sum += x.at({0, g * 2 + c, s}) * w.at({g * 2 + c, i[1] % 3, t});
        return sum;
      },
      1e-5);
  // Dilation and stride that divide each other, one result more than vectors
  // take: its place is a constant less a multiple of the stride.
  x = random({1, 1, 7}, 3), w = random({1, 2, 5}, 4);
  check(
      "nn.conv_transpose %0, %1 strides [2] dilations [2] pads [2], [2] "
      "output_padding [0] : $0, $1 -> $r",
      {x, w}, {{1, 2, 17}, "f32", "", {}},
      [&](const Indices &i) {
        double sum = 0;
        for (int64_t s = 0; s < 7; ++s)
          for (int64_t t = 0; t < 5; ++t)
            if (s * 2 + t * 2 - 2 == i[2])
              sum += x.at({0, 0, s}) * w.at({0, i[1], t});
        return sum;
      },
      1e-5);
}

TEST(Element, Pool) {
  for (const std::string &layout : layouts4)
    for (std::string kind : {"max", "average"})
      for (bool include : {false, true}) {
        Tensor x = random({1, 18, 7, 9}, 1, layout);
        check(
            "nn.pool " + kind +
                " %0 kernel [3, 2] strides [2, 3] dilations [1, 1] pads [1, "
                "1], [1, 2] "
                "{count_include_pad = " +
                (include ? "true" : "false") +
                ", counted_pads_high = array<i64: 1, 1>} : $0 -> $r",
            {x}, {{1, 18, 4, 4}, "f32", layout, {}},
            [&](const Indices &i) {
              double sum = 0, max = -INFINITY, count = 0;
              for (int64_t u = 0; u < 3; ++u)
                for (int64_t v = 0; v < 2; ++v) {
                  int64_t h = i[2] * 2 - 1 + u, w = i[3] * 3 - 1 + v;
                  bool inside = h >= 0 && h < 7 && w >= 0 && w < 9;
                  count += inside || (include && h < 8 && w < 10);
                  if (inside) {
                    sum += x.at({0, i[1], h, w});
                    max = std::max(max, x.at({0, i[1], h, w}));
                  }
                }
              return kind == "max" ? max : sum / count;
            },
            1e-5);
      }
  Tensor x = random({1, 2, 6, 6});
  check("nn.max_pool_indices %0 kernel [2, 2] strides [2, 2] dilations [1, 1] "
        "pads [0, 0], [0, 0] : $0 -> $r",
        {x}, {{1, 2, 3, 3}, "i64", "", {}}, [&](const Indices &i) {
          int64_t best = -1;
          for (int64_t u = 0; u < 2; ++u)
            for (int64_t v = 0; v < 2; ++v) {
              int64_t p = i[1] * 36 + (i[2] * 2 + u) * 6 + i[3] * 2 + v;
              if (best < 0 || x.data[p] > x.data[best])
                best = p;
            }
          return double(best);
        });
}

//===----------------------------------------------------------------------===//
// Resampling
//===----------------------------------------------------------------------===//

TEST(Element, Resize) {
  for (const std::string &layout : layouts4) {
    Tensor x = random({1, 20, 5, 6}, 1, layout);
    check("nn.resize nearest %0 scales [1.0, 1.0, 2.0, 2.0] coordinates "
          "asymmetric nearest floor : $0 -> $r",
          {x}, {{1, 20, 10, 12}, "f32", layout, {}}, [&](const Indices &i) {
            return x.at({0, i[1], i[2] / 2, i[3] / 2});
          });
    check("nn.resize linear %0 scales [1.0, 1.0, 2.0, 3.0] coordinates "
          "half_pixel nearest floor : $0 -> $r",
          {x}, {{1, 20, 10, 18}, "f32", layout, {}}, [&](const Indices &i) {
            double h = std::clamp((i[2] + 0.5) / 2 - 0.5, 0.0, 4.0);
            double w = std::clamp((i[3] + 0.5) / 3 - 0.5, 0.0, 5.0);
            int64_t h0 = int64_t(h), w0 = int64_t(w),
                    h1 = std::min<int64_t>(h0 + 1, 4),
                    w1 = std::min<int64_t>(w0 + 1, 5);
            double fh = h - h0, fw = w - w0;
            auto at = [&](int64_t a, int64_t b) {
              return x.at({0, i[1], a, b});
            };
            return (1 - fh) * ((1 - fw) * at(h0, w0) + fw * at(h0, w1)) +
                   fh * ((1 - fw) * at(h1, w0) + fw * at(h1, w1));
          });
  }
}

/// Which element is nearest is decided in f32, as ONNX Runtime does: 8 / (24 /
/// 21) is a whole number there and below it in f64, and other scales the other
/// way round.
TEST(Element, ResizeNearestDividesInF32) {
  for (int64_t in : {2, 5, 7, 8, 11, 13, 14, 17, 20, 23, 26, 29, 32})
    for (int64_t out : {in + 1, in + 3, 2 * in - 1, in - 1}) {
      Tensor x = random({in}, 1);
      float scale = float(out) / float(in);
      std::ostringstream os;
      os << std::scientific << std::setprecision(17) << double(scale);
      check("nn.resize nearest %0 scales [" + os.str() +
                "] coordinates asymmetric nearest floor : $0 -> $r",
            {x}, {{out}}, [&](const Indices &i) {
              return x.at(
                  {std::min(int64_t(std::floor(float(i[0]) / scale)), in - 1)});
            });
      check(
          "nn.resize nearest %0 scales [" + os.str() +
              "] coordinates half_pixel nearest round_prefer_floor : $0 -> $r",
          {x}, {{out}}, [&](const Indices &i) {
            float at = (float(i[0]) + 0.5f) / scale - 0.5f;
            int64_t nearest = std::ceil(at - 0.5 - 1e-6);
            return x.at({std::clamp<int64_t>(nearest, 0, in - 1)});
          });
      // 4 / (8 / 7) is in the middle, though a little below it in f32.
      check("nn.resize nearest %0 scales [" + os.str() +
                "] coordinates asymmetric nearest round_prefer_ceil : $0 -> $r",
            {x}, {{out}}, [&](const Indices &i) {
              int64_t nearest = (2 * i[0] * in + out) / (2 * out);
              return x.at({std::min(nearest, in - 1)});
            });
    }
}

TEST(Element, ResizeNearestSymmetric) {
  for (int64_t in : {5, 14, 19}) {
    int64_t out = in * 5 / 2;
    Tensor x = random({in}, 1);
    check("nn.resize nearest %0 scales [2.5] coordinates half_pixel_symmetric "
          "nearest floor "
          ": $0 -> $r",
          {x}, {{out}}, [&](const Indices &i) {
            float offset =
                float(in) / 2 * (1 - float(out) / (2.5f * float(in)));
            float at = float(double(offset) + (double(i[0]) + 0.5) / 2.5 - 0.5);
            return x.at({std::clamp<int64_t>(std::floor(at), 0, in - 1)});
          });
  }
}

/// One element more than whole vectors, between all widths: a tile's accesses
/// end where the tensor does (LayerKernel looks at that).
TEST(Element, TailsOfOneElement) {
  for (std::string from : {"i64", "f32", "i32", "i16", "ui8", "f16"})
    for (std::string to :
         {"i64", "f64", "f32", "i32", "i16", "f16", "i8", "ui8", "i1"}) {
      Tensor x = integers({33}, from, 0, 1);
      check("nn.cast %0 : $0 -> $r", {x}, {{33}, to},
            [&](const Indices &i) { return x.at(i); });
    }
}

} // namespace
