//===- ErrorTest.cpp - How far results are from those of floats -----------===//

#include "compiler/calibrate/Error.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace nnv12::calibrate;

TEST(ErrorMeter, NothingDiffers) {
  float values[] = {1, -2, 3, 0};
  ErrorMeter meter;
  meter.add(values, values, 1, 4);
  EXPECT_EQ(meter.rmse(), 0);
  EXPECT_NEAR(meter.cosine(), 1, 1e-12);
  EXPECT_EQ(meter.top1(), 0);
  EXPECT_EQ(meter.snr(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(meter.meets({Measure::Snr, 200}));
  EXPECT_TRUE(meter.meets({Measure::Rmse, 0}));
}

TEST(ErrorMeter, Measures) {
  float exact[] = {3, 4, 0, 1}, found[] = {3, 5, 2, 1};
  ErrorMeter meter;
  // Two rows of two: the second one's largest element is another.
  meter.add(exact, found, 2, 2);
  EXPECT_NEAR(meter.rmse(), std::sqrt(5.0 / 26), 1e-12);
  EXPECT_NEAR(meter.cosine(), (9 + 20 + 1) / std::sqrt(26.0 * 39), 1e-12);
  EXPECT_NEAR(meter.top1(), 0.5, 1e-12);
  EXPECT_NEAR(meter.snr(), 10 * std::log10(26.0 / 5), 1e-12);
  // A second sample: sums of squares, means of cosines and rows.
  float zeros[2] = {};
  meter.add(zeros, zeros, 1, 2);
  EXPECT_NEAR(meter.rmse(), std::sqrt(5.0 / 26), 1e-12);
  EXPECT_NEAR(meter.cosine(), (1 + 30 / std::sqrt(26.0 * 39)) / 2, 1e-12);
  EXPECT_NEAR(meter.top1(), 1.0 / 3, 1e-12);
  EXPECT_EQ(meter.samples(), 2u);
}

TEST(ErrorMeter, WhatIsNoNumberMeetsNothing) {
  float exact[] = {1, 2}, found[] = {1, std::nanf("")};
  ErrorMeter meter;
  meter.add(exact, found, 1, 2);
  for (Measure measure : {Measure::Rmse, Measure::Cosine, Measure::Snr})
    for (double bound : {-1.0, 0.0, 1.0, 200.0})
      EXPECT_FALSE(meter.meets({measure, bound})) << measureName(measure);
}

TEST(ErrorBound, Parse) {
  for (const char *text :
       {"rmse:0.01", "cos:0.995", "top1:1%", "snr:30", "rmse:0", "cos:-1"})
    EXPECT_EQ(ErrorBound::parse(text)->text(), text);
  EXPECT_EQ(ErrorBound::parse("top1:0.01")->value, 0.01);
  EXPECT_EQ(ErrorBound::parse("top1:1%")->value, 0.01);
  for (const char *text :
       {"", "rmse", "rmse:", "rmse:x", "rmse:-1", "cos:1.5", "top1:200%",
        "top1:2", "snr:1%", "max:1", "rmse:0.1 ", "rmse:nan"})
    EXPECT_FALSE(ErrorBound::parse(text)) << text;
}

TEST(ErrorBound, IsMetBy) {
  EXPECT_TRUE((ErrorBound{Measure::Cosine, 0.99}).isMetBy(0.995));
  EXPECT_FALSE((ErrorBound{Measure::Cosine, 0.99}).isMetBy(0.98));
  EXPECT_TRUE((ErrorBound{Measure::Rmse, 0.01}).isMetBy(0.01));
  EXPECT_FALSE((ErrorBound{Measure::Rmse, 0.01}).isMetBy(0.02));
}
