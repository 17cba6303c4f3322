//===- MathTest.cpp - Accuracy and special values of functions ------------===//

#include "LayerCheck.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace nnv12::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Distance in units in the last place of the type.
double ulps(double got, long double want, bool wide) {
  if (std::isnan(double(want)))
    return std::isnan(got) ? 0 : infinity;
  double rounded = wide ? double(want) : float(want);
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded ? 0 : infinity;
  double smallest = wide ? std::numeric_limits<double>::min()
                         : std::numeric_limits<float>::min();
  if (std::abs(rounded) < smallest && std::abs(got) <= smallest)
    return 0; // subnormal results may be flushed
  int exponent;
  std::frexp(rounded, &exponent);
  double ulp = std::ldexp(1.0, exponent - (wide ? 53 : 24));
  return double(std::abs(got - want) / ulp);
}

struct Function {
  const char *text;
  long double (*reference)(long double);
  double lo, hi;   ///< of the arguments
  double f32, f64; ///< ulps allowed
};

const Function functions[] = {
    {"exp", std::exp, -100, 89, 1.5, 1.5},
    {"exp", std::exp, -1, 1, 1.5, 1.5},
    {"log", std::log, 0, 5, 2, 2},
    {"log", std::log, 0, 1e30, 2, 2},
    {"erf", std::erf, -4, 4, 2, 4},
    {"tanh", std::tanh, -9, 9, 3, 4},
    {"tanh", std::tanh, -0.7, 0.7, 3, 4},
    {"sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, -20, 20,
     3, 3},
    // Up to where exp(-x) is infinite, or subnormal and so 0.
    {"sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, -87, 100,
     3, 3},
    {"tanh", std::tanh, -100, 100, 3, 4},
    {"sin", std::sin, -100, 100, 1, 4},
    {"cos", std::cos, -100, 100, 1, 4},
    {"tan", std::tan, -50, 50, 1, 6},
    {"asin", std::asin, -1, 1, 1, 4},
    {"acos", std::acos, -1, 1, 1, 4},
    {"atan", std::atan, -10, 10, 1, 2},
    {"sinh", std::sinh, -10, 10, 1, 4},
    {"cosh", std::cosh, -10, 10, 1, 4},
    {"asinh", std::asinh, -10, 10, 1, 4},
    {"acosh", std::acosh, 1, 20, 1, 4},
    {"atanh", std::atanh, -1, 1, 1, 4},
    {"softplus", [](long double x) { return std::log1p(std::exp(x)); }, -20, 20,
     4, 4},
    {"elu", [](long double x) { return x > 0 ? x : std::expm1(x); }, -20, 2, 4,
     4},
    {"mish",
     [](long double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -15,
     25, 5, 5},
    {"swish", [](long double x) { return x / (1 + std::exp(-x)); }, -20, 20, 4,
     4},
    {"swish", [](long double x) { return x / (1 + std::exp(-x)); }, -88.7, 100,
     4, 4},
    {"softplus", [](long double x) { return std::log1p(std::exp(x)); }, -87,
     100, 4, 4},
    {"round", [](long double x) { return std::nearbyint(x); }, -10, 10, 0, 0},
};

TEST(Math, UnaryAccuracy) {
  for (const std::string &target : layerTargets())
    for (const Function &f : functions)
      for (bool wide : {false, true}) {
        Tensor x = random({4003}, 7);
        std::string element = wide ? "f64" : "f32";
        for (size_t i = 0; i < x.data.size(); ++i) {
          double v = f.lo + (x.data[i] + 1) / 2 * (f.hi - f.lo);
          if (i % 3 == 0) // near the middle, on a logarithmic scale
            v = (f.lo > 0 ? f.lo : 0) + v * std::ldexp(1.0, -int(i % 60));
          x.data[i] = std::min(std::max(v, f.lo), f.hi);
        }
        x = values(element, x.data);
        auto out =
            evaluate(std::string("nn.unary %0 <") + f.text + "> : $0 -> $r",
                     {x}, {{{4003}, element, "", {}}}, target, "element");
        ASSERT_FALSE(out.empty());
        double worst = 0, at = 0;
        for (size_t i = 0; i < x.data.size(); ++i) {
          if (std::fpclassify(wide ? x.data[i] : double(float(x.data[i]))) ==
                  FP_SUBNORMAL ||
              (!wide && std::fpclassify(float(x.data[i])) == FP_SUBNORMAL))
            continue;
          double e = ulps(out[0].data[i], f.reference(x.data[i]), wide);
          if (!(e <= worst)) {
            worst = e;
            at = x.data[i];
          }
        }
        EXPECT_LE(worst, wide ? f.f64 : f.f32)
            << target << " " << f.text << " " << element << " at " << at;
      }
}

TEST(Math, UnarySpecialValues) {
  struct Case {
    const char *text;
    std::vector<double> in, out;
  };
  const double i = infinity;
  for (const Case &c :
       {Case{"exp", {i, -i, nan, 0, 1000, -1000}, {i, 0, nan, 1, i, 0}},
        {"log", {i, -i, nan, 0, -1, 1}, {i, nan, nan, -i, nan, 0}},
        {"tanh", {i, -i, nan, 0}, {1, -1, nan, 0}},
        {"erf", {i, -i, nan, 0}, {1, -1, nan, 0}},
        {"sigmoid", {i, -i, nan, 0, -1000, 1000}, {1, 0, nan, 0.5, 0, 1}},
        {"relu", {i, -i, nan, -2}, {i, 0, nan, 0}},
        {"clip [0.0, 6.0]", {i, -i, nan, 3}, {6, 0, nan, 3}},
        {"sqrt", {i, -1, nan, 4}, {i, nan, nan, 2}},
        {"sign", {i, -i, nan, 0, 5}, {1, -1, nan, 0, 1}},
        {"round", {0.5, 1.5, -2.5, i}, {0, 2, -2, i}},
        {"acosh", {1, 0, i}, {0, nan, i}},
        {"atanh", {1, -1, 2}, {i, -i, nan}},
        {"asin", {1, -1, 2}, {M_PI / 2, -M_PI / 2, nan}},
        {"acos", {1, -1, 2}, {0, M_PI, nan}},
        {"atan", {i, -i, nan}, {M_PI / 2, -M_PI / 2, nan}},
        {"sin", {i, nan, 0}, {nan, nan, 0}},
        {"sinh", {i, -i, 1000}, {i, -i, i}},
        {"cosh", {i, -i, 0}, {i, i, 1}},
        {"asinh", {i, -i, 1e30}, {i, -i, std::asinh(1e30)}},
        {"softplus", {i, -i, nan, -1000}, {i, 0, nan, 0}},
        {"swish", {i, nan, 1000, -1000, -1e30}, {i, nan, 1000, 0, 0}},
        {"mish", {nan, 1000, -1000, -1e30}, {nan, 1000, 0, 0}},
        {"elu [2.0]", {i, -i, nan}, {i, -2, nan}},
        {"hard_sigmoid", {i, -i, 0}, {1, 0, 0.5}},
        {"is_nan", {i, -i, nan, 1}, {0, 0, 1, 0}},
        {"is_inf [1.0, 0.0]", {i, -i, nan, 1}, {0, 1, 0, 0}}})
    for (std::string element : {"f32", "f64"}) {
      Tensor x{{int64_t(c.in.size())}, element, "", c.in};
      std::string result =
          std::string(c.text).substr(0, 3) == "is_" ? "i1" : element;
      check(std::string("nn.unary %0 <") + c.text + "> : $0 -> $r", {x},
            {x.shape, result, "", {}},
            [&](const Indices &k) { return c.out[k[0]]; });
    }
}

// Odd functions keep the sign of zero: its reciprocal depends on it.
TEST(Math, SignOfZero) {
  for (const std::string &target : layerTargets())
    for (std::string element : {"f32", "f64"})
      for (std::string function :
           {"affine [2.0, 0.0]", "tanh", "elu [2.0]", "celu [2.0]",
            "selu [2.0, 1.0]", "leaky_relu [0.1]", "erf", "sin", "tan", "asin",
            "atan", "sinh", "asinh", "atanh", "sqrt", "floor", "ceil", "round",
            "softsign"}) {
        Tensor x = values(element, {0.0, -0.0});
        auto out = evaluate("nn.unary %0 <" + function + "> : $0 -> $r", {x},
                            {{x.shape, element, "", {}}}, target, "element");
        ASSERT_FALSE(out.empty());
        EXPECT_TRUE(out[0].data[0] == 0 && !std::signbit(out[0].data[0]))
            << target << " " << element << " " << function;
        EXPECT_TRUE(out[0].data[1] == 0 && std::signbit(out[0].data[1]))
            << target << " " << element << " " << function;
      }
}

TEST(Math, Pow) {
  std::vector<double> x, y;
  const double bases[] = {0.0,       -0.0, 1,   -1,   2,     -2,
                          0.5,       -8,   10,  1e10, 1e-10, infinity,
                          -infinity, nan,  3.7, 0.999};
  const double exponents[] = {0.0,    1,   -1,       2,         3,
                              -3,     0.5, -0.5,     1.0 / 3,   10,
                              100.25, -77, infinity, -infinity, nan};
  for (double b : bases)
    for (double e : exponents) {
      x.push_back(b);
      y.push_back(e);
    }
  for (std::string element : {"f32", "f64"})
    for (const std::string &target : layerTargets()) {
      Tensor a = values(element, x), b = values(element, y);
      auto out = evaluate("nn.binary pow %0, %1 : $0, $1 -> $r", {a, b},
                          {{a.shape, element, "", {}}}, target, "element");
      ASSERT_FALSE(out.empty());
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(ulps(out[0].data[i],
                       std::pow((long double)a.data[i], (long double)b.data[i]),
                       element == "f64"),
                  4)
            << target << " " << element << " " << x[i] << "^" << y[i] << " = "
            << out[0].data[i];
    }
}

TEST(Math, FloatBinary) {
  std::vector<double> x = {5.5, -5.5, 5.5,      -5.5, 1e7, 3,
                           nan, 3,    infinity, 4,    0,   -4},
                      y = {2, 2, -2, -2, 0.1, nan, 3, infinity, 2, 0, 0, 2};
  for (std::string element : {"f32", "f64"}) {
    Tensor a = values(element, x), b = values(element, y);
    auto binary = [&](std::string kind, double (*f)(double, double),
                      std::string result = "") {
      check("nn.binary " + kind + " %0, %1 : $0, $1 -> $r", {a, b},
            {a.shape, result.empty() ? element : result, "", {}},
            [&](const Indices &i) { return f(a.at(i), b.at(i)); });
    };
    binary("fmod", [](double p, double q) { return std::fmod(p, q); });
    binary("mod", [](double p, double q) {
      double r = std::fmod(p, q);
      return r != 0 && (r < 0) != (q < 0) ? r + q : r;
    });
    binary("min", [](double p, double q) {
      return std::isnan(p) || std::isnan(q) ? nan : std::min(p, q);
    });
    binary("max", [](double p, double q) {
      return std::isnan(p) || std::isnan(q) ? nan : std::max(p, q);
    });
    binary("div", [](double p, double q) { return p / q; });
    binary("less", [](double p, double q) { return double(p < q); }, "i1");
    binary("equal", [](double p, double q) { return double(p == q); }, "i1");
  }
}

template <typename T> void checkIntegers(std::string element) {
  std::vector<double> x, y;
  double lo = double(std::numeric_limits<T>::min());
  double hi = sizeof(T) == 8 ? std::ldexp(1, 50)
                             : double(std::numeric_limits<T>::max());
  for (double a : {0.0, 1.0, 7.0, 100.0, lo, hi, hi - 1, lo / 2})
    for (double b : {0.0, 1.0, 2.0, 5.0, -1.0, -3.0, hi, lo}) {
      if (b < 0 && lo == 0)
        continue;
      x.push_back(std::trunc(a));
      y.push_back(b);
    }
  Tensor a{{int64_t(x.size())}, element, "", x},
      b{{int64_t(y.size())}, element, "", y};
  auto binary = [&](std::string kind, std::function<T(T, T)> f,
                    std::string result = "") {
    check(
        "nn.binary " + kind + " %0, %1 : $0, $1 -> $r", {a, b},
        {a.shape, result.empty() ? element : result, "", {}},
        [&](const Indices &i) { return double(f(T(a.at(i)), T(b.at(i)))); }, 0);
  };
  using W = __int128;
  binary("add", [](T p, T q) { return T(W(p) + W(q)); });
  binary("sub", [](T p, T q) { return T(W(p) - W(q)); });
  binary("div", [](T p, T q) { return q == 0 ? T(0) : T(W(p) / W(q)); });
  binary("fmod", [](T p, T q) { return q == 0 ? T(0) : T(W(p) % W(q)); });
  binary("mod", [](T p, T q) {
    if (q == 0)
      return T(0);
    W r = W(p) % W(q);
    return T(r != 0 && (r < 0) != (q < 0) ? r + q : r);
  });
  binary("min", [](T p, T q) { return std::min(p, q); });
  binary("bitwise_xor", [](T p, T q) { return T(p ^ q); });
  binary("shift_left", [](T p, T q) {
    return uint64_t(q) < sizeof(T) * 8 ? T(std::make_unsigned_t<T>(p) << q)
                                       : T(0);
  });
  binary("shift_right", [](T p, T q) {
    return uint64_t(q) < sizeof(T) * 8 ? T(p >> q) : T(p < 0 ? -1 : 0);
  });
  binary("greater_equal", [](T p, T q) { return T(p >= q); }, "i1");
  binary("pow", [](T p, T q) {
    if (q < 0)
      return T(p == 1 ? 1 : p == T(-1) ? (q % 2 ? -1 : 1) : 0);
    std::make_unsigned_t<T> result = 1, base = p;
    for (auto e = std::make_unsigned_t<T>(q); e;
         e >>= 1, base = decltype(base)(uint64_t(base) * base))
      if (e & 1)
        result = decltype(base)(uint64_t(result) * base);
    return T(result);
  });
  check(
      "nn.unary %0 <abs> : $0 -> $r", {a}, {a.shape, element, "", {}},
      [&](const Indices &i) {
        T v = T(a.at(i));
        return double(v < 0 ? T(-W(v)) : v);
      },
      0);
  check(
      "nn.unary %0 <bitwise_not> : $0 -> $r", {a}, {a.shape, element, "", {}},
      [&](const Indices &i) { return double(T(~T(a.at(i)))); }, 0);
  check(
      "nn.unary %0 <clip [1.0, 5.0]> : $0 -> $r", {a},
      {a.shape, element, "", {}},
      [&](const Indices &i) {
        return double(std::min(std::max(T(a.at(i)), T(1)), T(5)));
      },
      0);
}

TEST(Math, Integers) {
  checkIntegers<int8_t>("i8");
  checkIntegers<uint8_t>("ui8");
  checkIntegers<int16_t>("i16");
  checkIntegers<uint16_t>("ui16");
  checkIntegers<int32_t>("i32");
  checkIntegers<uint32_t>("ui32");
  checkIntegers<int64_t>("i64");
  checkIntegers<uint64_t>("ui64");
}

TEST(Math, IntegersAsNarrowFloats) {
  for (std::string element : {"i8", "ui8", "i32", "i1"})
    for (std::string to : {"f16", "bf16"})
      for (int64_t count : {1, 6, 37}) {
        Tensor x = integers({count}, element, 0, element == "i1" ? 1 : 100);
        check(
            "nn.cast %0 : $0 -> $r", {x}, {x.shape, to, "", {}},
            [&](const Indices &i) { return x.at(i); }, 0);
      }
}

TEST(Math, NarrowFloats) {
  for (std::string element : {"f16", "bf16"}) {
    Tensor x = values(element, random({37}, 1, "", 5).data),
           y = values(element, random({37}, 2).data);
    double tolerance = element == "f16" ? 1e-3 : 1e-2;
    check(
        "nn.unary %0 <sigmoid> : $0 -> $r", {x}, {x.shape, element, "", {}},
        [&](const Indices &i) { return 1 / (1 + std::exp(-x.at(i))); },
        tolerance);
    check(
        "nn.binary mul %0, %1 : $0, $1 -> $r", {x, y},
        {x.shape, element, "", {}},
        [&](const Indices &i) { return x.at(i) * y.at(i); }, tolerance);
  }
}

} // namespace
