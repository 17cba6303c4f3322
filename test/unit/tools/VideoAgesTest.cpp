//===- VideoAgesTest.cpp - How old the answers to frames are --------------===//
#include "tools/common/VideoAges.h"
#include "test/unit/tools/TensorInfo.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace nnv12::test;
using namespace nnv12::tools;

namespace {

double length(const Answer &a) {
  long double sum = 0;
  for (double x : a)
    sum += (long double)(x)*x;
  return double(std::sqrt(sum));
}

Answer minus(const Answer &a, const Answer &b) {
  Answer result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(a[i] - b[i]);
  return result;
}

double awayFrom(const Answer &a, const Answer &b) {
  long double product = 0;
  for (size_t i = 0; i < a.size(); ++i)
    product += (long double)(a[i]) * b[i];
  return 1 - double(product) / length(a) / length(b);
}

/// The definition, over all answers at once.
AnswerAge oracle(const std::vector<Answer> &full,
                 const std::vector<Answer> &given) {
  AnswerAge result;
  double steps = 0;
  for (size_t i = 1; i < full.size(); ++i) {
    result.distance += length(minus(given[i], full[i]));
    steps += length(minus(full[i], full[i - 1]));
    double away = awayFrom(given[i], full[i]);
    if (away > result.worst + 1e-12) {
      result.worst = away;
      result.worstFrame = i;
    }
  }
  result.age = result.distance / steps;
  result.distance /= double(full.size() - 1);
  return result;
}

void expectNear(const AnswerAge &found, const AnswerAge &expected) {
  EXPECT_NEAR(found.distance, expected.distance, 1e-9 * expected.distance);
  EXPECT_NEAR(found.age, expected.age, 1e-9 * expected.age);
  EXPECT_NEAR(found.worst, expected.worst, 1e-12);
  EXPECT_EQ(found.worstFrame, expected.worstFrame);
}

} // namespace

TEST(VideoAges, IsThatOfTheDefinition) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    size_t frames = 2 + random() % 30, size = 1 + random() % 20,
           ways = seed % 3;
    std::vector<Answer> full(frames);
    std::vector<std::vector<Answer>> given(ways, full);
    for (size_t i = 0; i < frames; ++i)
      for (size_t k = 0; k < size; ++k) {
        double now = normal(random) + (i ? full[i - 1][k] : 0);
        full[i].push_back(now);
        for (auto &way : given)
          way[i].push_back(now + 0.1 * normal(random));
      }
    VideoAges ages(ways);
    for (size_t i = 0; i < frames; ++i) {
      std::vector<Answer> answers;
      for (auto &way : given)
        answers.push_back(way[i]);
      ages.add(full[i], answers);
    }
    SCOPED_TRACE(seed);
    EXPECT_EQ(ages.numFrames(), frames);
    for (size_t i = 0; i < ways; ++i)
      expectNear(ages.way(i), oracle(full, given[i]));
    for (size_t i = 0; i < std::size(VideoAges::skips); ++i) {
      std::vector<Answer> old(frames);
      for (size_t k = 0; k < frames; ++k)
        old[k] = full[k - k % VideoAges::skips[i]];
      expectNear(ages.skipping(i), oracle(full, old));
    }
  }
}

/// Leaving out: a frame has the last answer where another whole one is due.
TEST(VideoAges, OfSharesThatAreLeftOut) {
  std::mt19937 random(1);
  std::vector<Answer> full;
  for (size_t i = 0; i < 70; ++i)
    full.push_back({double(random() % 100), double(random() % 100)});
  VideoAges ages(0, /*knowsShares=*/true);
  for (const Answer &answer : full)
    ages.add(answer, {});
  for (int percent : {5, 35, 50, 65, 95}) {
    std::vector<Answer> old = {full[0]};
    for (int i = 1; i < 70; ++i) {
      bool isLeftOut = i * percent / 100 > (i - 1) * percent / 100;
      old.push_back(isLeftOut ? old.back() : full[size_t(i)]);
    }
    SCOPED_TRACE(percent);
    expectNear(ages.leavingOut(percent / 100.0), oracle(full, old));
    expectNear(ages.leavingOut(percent / 100.0 + 0.02), oracle(full, old));
  }
  expectNear(ages.leavingOut(0), ages.leavingOut(0.05));
  expectNear(ages.leavingOut(1), ages.leavingOut(0.95));
}

/// By hand: the answer grows by one each frame.
TEST(VideoAges, OfEvenSteps) {
  VideoAges ages(1);
  for (double i = 0; i < 5; ++i)
    ages.add({0, i}, {{0, i + 2}});
  EXPECT_EQ(ages.step(), 1);
  EXPECT_EQ(ages.way(0).age, 2);
  EXPECT_EQ(ages.way(0).worst, 0);
  EXPECT_EQ(ages.skipping(0).age, 0.5);     // 1 0 1 0
  EXPECT_EQ(ages.skipping(1).age, 1);       // 1 2 0 1
  EXPECT_EQ(ages.skipping(2).age, 6.0 / 4); // 1 2 3 0
  EXPECT_EQ(ages.skipping(0).worst, 1);     // the first one is zero
  EXPECT_EQ(ages.skipping(0).worstFrame, 1u);
}

TEST(VideoAges, WithoutChange) {
  VideoAges ages(1);
  EXPECT_EQ(ages.step(), 0);
  EXPECT_EQ(ages.way(0).age, 0);
  for (int i = 0; i < 3; ++i) {
    ages.add({1, 2}, {{1, 3}});
    EXPECT_EQ(ages.step(), 0);
    EXPECT_EQ(ages.way(0).age, 0);
    EXPECT_EQ(ages.way(0).distance, i > 0);
    EXPECT_EQ(ages.skipping(0).distance, 0);
    EXPECT_EQ(ages.skipping(0).worst, 0);
  }
  EXPECT_NEAR(ages.way(0).worst, 1 - 7 / std::sqrt(50), 1e-15);
}

TEST(VideoAges, Cosines) {
  EXPECT_EQ(cosineDistance({}, {}), 0);
  EXPECT_EQ(cosineDistance({0, 0}, {0, 0}), 0);
  EXPECT_EQ(cosineDistance({0, 0}, {0, 1}), 1);
  EXPECT_EQ(cosineDistance({0, 3}, {0, 5}), 0);
  EXPECT_EQ(cosineDistance({0, 3}, {2, 0}), 1);
  EXPECT_EQ(cosineDistance({3}, {-7}), 2);
  // Never less than 0 where rounding would have it so.
  for (double x = 0.1; x < 10; x += 0.1)
    EXPECT_GE(cosineDistance({x, 1, 0.3}, {3 * x, 3, 0.9}), 0);
  EXPECT_EQ(distance({1, 2}, {4, 6}), 5);
}

TEST(VideoAges, AnswersOfEachType) {
  std::vector<Tensor> outputs;
  Answer expected;
  const std::vector<int64_t> shape = {2, 3};
  for (nnv12_type type : {NNV12_F32, NNV12_F16, NNV12_BF16, NNV12_F64, NNV12_I8,
                          NNV12_U8, NNV12_I64, NNV12_BOOL}) {
    Tensor &output = outputs.emplace_back(infoOf(type, shape));
    for (size_t i = 0; i < 6; ++i) {
      double value = type == NNV12_BOOL ? i % 2 : double(i * 7);
      setElement(type, output.data.data(), i, value);
      expected.push_back(value);
    }
  }
  Answer answer = {1, 2, 3};
  EXPECT_EQ(makeAnswer(outputs, answer), outputs.size());
  EXPECT_EQ(answer, expected);
  for (double fault : {double(NAN), std::numeric_limits<double>::infinity()}) {
    setElement(NNV12_F64, outputs[3].data.data(), 5, fault);
    EXPECT_EQ(makeAnswer(outputs, answer), 3u);
  }
  setElement(NNV12_F16, outputs[1].data.data(), 0, NAN);
  EXPECT_EQ(makeAnswer(outputs, answer), 1u);
}
