//===- SmallFloatTest.cpp - Small floats by the books' formulas -----------===//
#include "artifact/SmallFloat.h"

#include <gtest/gtest.h>
#include <vector>

using namespace nnv12::artifact;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// A format as ONNX's documentation writes it down, code by code.
struct Book {
  ElementType type;
  int codes;
  double (*value)(int code);
  bool hasSign;
  double overflow; ///< of a number that is too large and does not saturate
};

double sign(int code, int bit) { return code >> bit & 1 ? -1 : 1; }

const Book books[] = {
    {ElementType::F8E4M3FN, 256,
     [](int c) {
       int e = c >> 3 & 15, m = c & 7;
       return e == 15 && m == 7 ? notANumber
              : e == 0          ? sign(c, 7) * m * 0x1p-9
                                : sign(c, 7) * (1 + m / 8.0) * std::exp2(e - 7);
     },
     true, notANumber},
    {ElementType::F8E4M3FNUZ, 256,
     [](int c) {
       int e = c >> 3 & 15, m = c & 7;
       return c == 0x80 ? notANumber
              : e == 0  ? sign(c, 7) * m * 0x1p-10
                        : sign(c, 7) * (1 + m / 8.0) * std::exp2(e - 8);
     },
     true, notANumber},
    {ElementType::F8E5M2, 256,
     [](int c) {
       int e = c >> 2 & 31, m = c & 3;
       return e == 31  ? (m == 0 ? sign(c, 7) * infinity : notANumber)
              : e == 0 ? sign(c, 7) * m * 0x1p-16
                       : sign(c, 7) * (1 + m / 4.0) * std::exp2(e - 15);
     },
     true, infinity},
    {ElementType::F8E5M2FNUZ, 256,
     [](int c) {
       int e = c >> 2 & 31, m = c & 3;
       return c == 0x80 ? notANumber
              : e == 0  ? sign(c, 7) * m * 0x1p-17
                        : sign(c, 7) * (1 + m / 4.0) * std::exp2(e - 16);
     },
     true, notANumber},
    {ElementType::F8E8M0, 256,
     [](int c) { return c == 255 ? notANumber : std::exp2(c - 127); }, false,
     notANumber},
    {ElementType::F4E2M1, 16,
     [](int c) {
       const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
       return sign(c, 3) * values[c & 7];
     },
     true, 6},
};

const SmallFloat &formatOf(const Book &book) {
  const SmallFloat *format = SmallFloat::get(book.type);
  EXPECT_NE(format, nullptr);
  return *format;
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : a == b && std::signbit(a) == std::signbit(b);
}

/// The finite numbers from zero up, by their codes.
std::vector<double> magnitudes(const Book &book) {
  std::vector<double> values;
  for (int code = 0; code < (book.hasSign ? book.codes / 2 : book.codes);
       ++code)
    if (std::isfinite(book.value(code)))
      values.push_back(book.value(code));
  return values;
}
} // namespace

TEST(SmallFloat, DecodesEveryCode) {
  for (const Book &book : books)
    for (int code = 0; code < book.codes; ++code)
      EXPECT_TRUE(same(formatOf(book).decode(uint8_t(code)), book.value(code)))
          << int(book.type) << " " << code;
}

TEST(SmallFloat, EveryNumberIsItsOwnCode) {
  for (const Book &book : books)
    for (int code = 0; code < book.codes; ++code)
      for (bool saturate : {false, true}) {
        double value = book.value(code);
        if (std::isfinite(value)) {
          EXPECT_EQ(formatOf(book).encode(value, saturate), code);
        }
      }
}

// Ties, and the numbers of f32 and f64 beside them, around every number, above
// the largest one as if the exponent had no end.
TEST(SmallFloat, RoundsToNearestEven) {
  for (const Book &book : books) {
    if (!book.hasSign)
      continue;
    const SmallFloat &format = formatOf(book);
    std::vector<double> values = magnitudes(book);
    size_t last = values.size() - 1;
    values.push_back(2 * values[last] - values[last - 1]);
    for (size_t i = 0; i <= last; ++i) {
      double middle = (values[i] + values[i + 1]) / 2;
      auto check = [&](double x, size_t index) {
        for (double s : {1.0, -1.0})
          for (bool saturate : {false, true}) {
            double want = s * values[index];
            if (index > last)
              want = saturate ? s * values[last] : s * book.overflow;
            double got = format.decode(format.encode(s * x, saturate));
            EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
                << int(book.type) << ": " << s * x << " to " << got
                << ", expected " << want;
          }
      };
      check(middle, i % 2 == 0 ? i : i + 1);
      for (bool narrow : {false, true}) {
        auto next = [&](double to) {
          return narrow ? double(std::nextafter(float(middle), float(to)))
                        : std::nextafter(middle, to);
        };
        check(next(0), i);
        check(next(1e30), i + 1);
      }
    }
  }
}

TEST(SmallFloat, WhatIsNoNumber) {
  auto encode = [](ElementType type, double x, bool saturate) {
    return int(SmallFloat::get(type)->encode(x, saturate));
  };
  using E = ElementType;
  struct Row {
    ElementType type;
    int saturated, infinite, nan, negativeNan, negativeZero, tiny;
  };
  for (Row row : {Row{E::F8E4M3FN, 0x7e, 0x7f, 0x7f, 0xff, 0x80, 0x80},
                  Row{E::F8E4M3FNUZ, 0x7f, 0x80, 0x80, 0x80, 0, 0},
                  Row{E::F8E5M2, 0x7b, 0x7c, 0x7e, 0xfe, 0x80, 0x80},
                  Row{E::F8E5M2FNUZ, 0x7f, 0x80, 0x80, 0x80, 0, 0},
                  Row{E::F4E2M1, 0x7, 0x7, 0x8, 0x8, 0x8, 0x8}}) {
    int sign = row.type == E::F4E2M1 ? 8 : 0x80;
    for (double x : {infinity, 1e6, 1e300}) {
      EXPECT_EQ(encode(row.type, x, true), row.saturated);
      EXPECT_EQ(encode(row.type, -x, true), row.saturated | sign);
      EXPECT_EQ(encode(row.type, x, false), row.infinite);
      EXPECT_EQ(encode(row.type, -x, false), row.infinite | sign);
    }
    for (bool saturate : {false, true}) {
      EXPECT_EQ(encode(row.type, notANumber, saturate), row.nan);
      EXPECT_EQ(encode(row.type, -notANumber, saturate), row.negativeNan);
      EXPECT_EQ(encode(row.type, -0.0, saturate), row.negativeZero);
      EXPECT_EQ(encode(row.type, -1e-300, saturate), row.tiny);
      EXPECT_EQ(encode(row.type, 1e-300, saturate), 0);
    }
  }
}

TEST(SmallFloat, PowersOfTwo) {
  const SmallFloat &format = *SmallFloat::get(ElementType::F8E8M0);
  using R = SmallFloat::Rounding;
  for (int code = 0; code < 254; ++code) {
    double low = std::exp2(code - 127);
    auto check = [&](double x, int nearest, int up, int down) {
      for (bool saturate : {false, true}) {
        EXPECT_EQ(format.encode(x, saturate, R::Nearest), nearest) << x;
        EXPECT_EQ(format.encode(x, saturate, R::Up), up) << x;
        EXPECT_EQ(format.encode(x, saturate, R::Down), down) << x;
      }
    };
    check(low, code, code, code);
    check(std::nextafter(low, 1e300), code, code + 1, code);
    check(std::nextafter(1.5 * low, 0), code, code + 1, code);
    check(1.5 * low, code + 1, code + 1, code); // a tie goes up
    check(std::nextafter(2 * low, 0), code + 1, code + 1, code);
  }
  for (R rounding : {R::Nearest, R::Up, R::Down}) {
    for (double x : {0.0, 0x1p-128, 1e-300, -1.0, -infinity}) {
      EXPECT_EQ(format.encode(x, true, rounding), 0) << x;
      EXPECT_EQ(format.encode(x, false, rounding), 255) << x;
    }
    for (double x : {0x1.8p127, 0x1p128, infinity}) {
      EXPECT_EQ(format.encode(x, true, rounding), 254) << x;
      EXPECT_EQ(format.encode(x, false, rounding), 255) << x;
    }
    EXPECT_EQ(format.encode(0x1p127, false, rounding), 254);
    EXPECT_EQ(format.encode(notANumber, true, rounding), 255);
    EXPECT_EQ(format.encode(-notANumber, true, rounding), 255);
  }
}
