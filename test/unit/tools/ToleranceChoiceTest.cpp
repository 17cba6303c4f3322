//===- ToleranceChoiceTest.cpp - Which tolerances a clip allows -----------===//
#include "tools/common/ToleranceChoice.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <tuple>

using namespace nnv12::tools;

static ToleranceTrial trialOf(double saved, double age, double worst = 1,
                              double skippingWorst = 10) {
  ToleranceTrial trial;
  trial.saved = saved;
  trial.age.age = age;
  trial.age.worst = worst;
  trial.skipping.worst = skippingWorst;
  return trial;
}

TEST(ToleranceChoice, TriesEachOnceTheStrictestFirst) {
  std::set<std::tuple<float, float, uint32_t>> seen;
  std::vector<Tolerances> all = tolerancesToTry();
  for (const Tolerances &one : all) {
    EXPECT_TRUE(one.input > 0 && one.input <= 1);
    EXPECT_TRUE(one.value > 0 && one.value <= 1);
    EXPECT_GT(one.refresh, 0u);
    EXPECT_GE(one.input, all.front().input);
    EXPECT_GE(one.value, all.front().value);
    seen.insert({one.input, one.value, one.refresh});
  }
  EXPECT_EQ(seen.size(), all.size());
}

TEST(ToleranceChoice, NoiseAllowsWhatItDoesItself) {
  EXPECT_EQ(ageLimit(0.5, 0.1), 0.5);
  EXPECT_EQ(ageLimit(0.5, 1), 1.3);
  EXPECT_EQ(ageLimit(0, 0), 0);
}

TEST(ToleranceChoice, TakesWhatSavesMost) {
  std::vector<ToleranceTrial> trials = {trialOf(0.2, 0.1), trialOf(0.5, 0.5),
                                        trialOf(0.4, 0.2), trialOf(0.6, 0.51)};
  EXPECT_EQ(chooseTolerances(trials, 0.5), 1u);
  EXPECT_EQ(chooseTolerances(trials, 0.6), 3u);
  EXPECT_EQ(chooseTolerances(trials, 0.3), 2u);
  trials.push_back(trialOf(0.6, 0.5));
  trials.push_back(trialOf(0.6, 0.5));
  EXPECT_EQ(chooseTolerances(trials, 0.6), 4u) << "the youngest, and the first";
}

TEST(ToleranceChoice, TellsWhyThereIsNone) {
  std::vector<ToleranceTrial> trials = {trialOf(0.05, 0.1), trialOf(0.19, 0.2)};
  auto why = [&] {
    EXPECT_FALSE(chooseTolerances(trials, 0.5));
    return whyNone(trials, 0.5);
  };
  EXPECT_EQ(why(), "found 19 % of the work saved at most, expected 20 %");
  trials.push_back(trialOf(0.3, 0.9));
  trials.push_back(trialOf(0.2, 0.7));
  EXPECT_EQ(why(), "found an age of 0.70, expected at most 0.50");
  trials.push_back(trialOf(0.2, 0.4, 0.006, 0.01));
  trials.push_back(trialOf(0.2, 0.4, 0.008, 0.02 - 1e-3));
  trials[5].age.worst = 0.0099;
  EXPECT_EQ(why(), "found a worst frame of 6, expected half of the 10 of "
                   "leaving out frames");
  trials.push_back(trialOf(0.2, 0.5, 0.005, 0.01));
  EXPECT_EQ(chooseTolerances(trials, 0.5), 6u);
}

/// Where no answer differs from the one before nothing is old.
TEST(ToleranceChoice, TakesStillClips) {
  std::vector<ToleranceTrial> trials = {trialOf(0.95, 0, 0, 0),
                                        trialOf(0.95, 0, 0, 0)};
  EXPECT_EQ(chooseTolerances(trials, ageLimit(0, 0)), 0u);
}

TEST(ToleranceChoice, IsTheBestOfAllWithin) {
  std::mt19937 random(1);
  auto real = [&] { return double(random() % 1000) / 1000; };
  for (int round = 0; round < 500; ++round) {
    std::vector<ToleranceTrial> trials;
    for (unsigned i = 0; i <= random() % 30; ++i)
      trials.push_back(trialOf(real(), real(), real(), 2 * real()));
    double limit = real();
    double best = -1;
    for (const ToleranceTrial &trial : trials)
      if (trial.saved >= 0.2 && trial.age.age <= limit &&
          2 * trial.age.worst <= trial.skipping.worst)
        best = std::max(best, trial.saved);
    auto found = chooseTolerances(trials, limit);
    ASSERT_EQ(found ? trials[*found].saved : -1, best);
    if (!found) {
      ASSERT_FALSE(whyNone(trials, limit).empty());
    }
  }
}
