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
  EXPECT_EQ(meter.snr(), ErrorMeter::mostDecibels);
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
  float more[2] = {0, 2};
  meter.add(more, more, 1, 2);
  EXPECT_NEAR(meter.rmse(), std::sqrt(5.0 / 30), 1e-12);
  EXPECT_NEAR(meter.cosine(), (1 + 30 / std::sqrt(26.0 * 39)) / 2, 1e-12);
  EXPECT_NEAR(meter.top1(), 1.0 / 3, 1e-12);
  // Nothing in both has no angle and no class.
  float zeros[2] = {}, tiny[2] = {1e-9f, -1e-8f};
  meter.add(zeros, tiny, 1, 2);
  EXPECT_NEAR(meter.cosine(), (1 + 30 / std::sqrt(26.0 * 39)) / 2, 1e-12);
  EXPECT_NEAR(meter.top1(), 1.0 / 3, 1e-12);
  EXPECT_EQ(meter.samples(), 3u);
}

/// Outputs of which nothing is in any sample: noise is no error, results are.
TEST(ErrorMeter, NextToNothing) {
  for (float exact : {0.0f, 1e-30f, -1e-9f}) {
    float values[] = {exact, exact, 0, exact};
    float zeros[4] = {}, noise[] = {0, 1e-9f, -1e-9f, 1e-9f},
          wrong[] = {0, 1e-3f, 0, 0};
    ErrorMeter equal, rounded, noisy, another;
    equal.add(values, values, 2, 2);
    EXPECT_EQ(equal.rmse(), 0);
    EXPECT_EQ(equal.cosine(), 1);
    EXPECT_EQ(equal.snr(), ErrorMeter::mostDecibels);
    rounded.add(values, zeros, 2, 2);
    noisy.add(values, noise, 2, 2);
    for (const ErrorMeter &meter : {rounded, noisy}) {
      EXPECT_LT(meter.rmse(), 0.01);
      EXPECT_EQ(meter.cosine(), 1);
      EXPECT_EQ(meter.top1(), 0);
      EXPECT_GT(meter.snr(), 40);
    }
    another.add(values, wrong, 2, 2);
    EXPECT_GT(another.rmse(), 100);
    EXPECT_TRUE(std::isfinite(another.rmse()));
    EXPECT_NEAR(another.cosine(), 0, 0.6);
    EXPECT_LT(another.snr(), -40);
  }
}

/// A part of a step of 8 bits is nothing beside the set's largest result; a
/// step is something.
TEST(ErrorMeter, FloorIsRelativeToTheLargestResult) {
  float large[] = {1000, -500}, small[] = {0.1f, 0}, step[] = {4, 0},
        zeros[2] = {};
  ErrorMeter meter;
  meter.add(large, large, 1, 2);
  meter.add(small, zeros, 1, 2);
  EXPECT_NEAR(meter.floor(), 1000.0 / 1024, 1e-9);
  EXPECT_EQ(meter.cosine(), 1);
  EXPECT_LT(meter.rmse(), 1e-3);
  meter.add(step, zeros, 1, 2);
  EXPECT_NEAR(meter.cosine(), 0.5, 1e-12);
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
  for (const char *text : {"rmse:0.01", "cos:0.995", "top1:1%", "snr:30",
                           "rmse:0", "cos:-1", "boxes:99%", "wer:1.5%"})
    EXPECT_EQ(ErrorBound::parse(text)->text(), text);
  EXPECT_EQ(ErrorBound::parse("top1:0.01")->value, 0.01);
  EXPECT_EQ(ErrorBound::parse("top1:1%")->value, 0.01);
  for (const char *text :
       {"", "rmse", "rmse:", "rmse:x", "rmse:-1", "cos:1.5", "top1:200%",
        "top1:2", "snr:1%", "max:1", "rmse:0.1 ", "rmse:nan", "boxes:101%",
        "wer:-1", "boxes"})
    EXPECT_FALSE(ErrorBound::parse(text)) << text;
}

TEST(Measure, IsBetter) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (Measure measure : measures) {
    bool more = measure == Measure::Cosine || measure == Measure::Snr;
    EXPECT_EQ(isBetter(measure, 0.5, 0.1), more) << measureName(measure);
    EXPECT_EQ(isBetter(measure, 0.1, 0.5), !more);
    EXPECT_FALSE(isBetter(measure, 0.5, 0.5));
    EXPECT_TRUE(isBetter(measure, worstValue(measure), nan));
    EXPECT_FALSE(isBetter(measure, nan, worstValue(measure)));
    EXPECT_FALSE(isBetter(measure, worstValue(measure), 0.5));
  }
}

TEST(ErrorBound, IsMetBy) {
  EXPECT_TRUE((ErrorBound{Measure::Cosine, 0.99}).isMetBy(0.995));
  EXPECT_FALSE((ErrorBound{Measure::Cosine, 0.99}).isMetBy(0.98));
  EXPECT_TRUE((ErrorBound{Measure::Rmse, 0.01}).isMetBy(0.01));
  EXPECT_FALSE((ErrorBound{Measure::Rmse, 0.01}).isMetBy(0.02));
  EXPECT_TRUE((ErrorBound{Measure::Boxes, 0.99}).isMetBy(1));
  EXPECT_FALSE((ErrorBound{Measure::Words, 0.01}).isMetBy(0.02));
}

/// Noise of 1/100 as each measure tells it.
TEST(ErrorBound, NoiseAt) {
  EXPECT_NEAR(noiseAt({Measure::Rmse, 0.1}), 0.01, 1e-12);
  EXPECT_NEAR(noiseAt({Measure::Snr, 20}), 0.01, 1e-12);
  EXPECT_NEAR(noiseAt({Measure::Cosine, 0.995}), 0.01, 1e-12);
  for (Measure measure : {Measure::Top1, Measure::Boxes, Measure::Words})
    EXPECT_TRUE(std::isinf(noiseAt({measure, 0.1}))) << measureName(measure);
}

TEST(ErrorBound, RoomFor) {
  EXPECT_NEAR(roomFor({Measure::Rmse, 0.1}, 0.05), 4, 1e-9);
  EXPECT_NEAR(roomFor({Measure::Snr, 20}, 30), 10, 1e-9);
  EXPECT_NEAR(roomFor({Measure::Snr, 30}, 20), 0.1, 1e-9);
  EXPECT_NEAR(roomFor({Measure::Cosine, 0.99}, 0.995), 2, 1e-9);
  EXPECT_NEAR(roomFor({Measure::Top1, 0.01}, 0.02), 0.25, 1e-9);
  EXPECT_NEAR(roomFor({Measure::Boxes, 0.99}, 0.98), 0.25, 1e-9);
  // A bound that allows nothing, and an equal result.
  EXPECT_GE(roomFor({Measure::Top1, 0}, 0), 1);
  EXPECT_LT(roomFor({Measure::Top1, 0}, 0.1), 1e-6);
  EXPECT_GT(roomFor({Measure::Rmse, 0.1}, 0), 1e6);
}
