//===- LaterTest.cpp - Later routines against the best choice -------------===//

#include "compiler/search/Later.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace nnv12::search;

static double laterGain(const LaterProblem &problem,
                        const LaterChoice &choice) {
  double sum = 0;
  for (size_t i = 0; i < choice.size(); ++i)
    if (choice[i])
      sum += problem.layers[i][*choice[i]].gain;
  return sum;
}

static double laterBytes(const LaterProblem &problem,
                         const LaterChoice &choice) {
  std::vector<bool> needed(problem.bytes.size());
  double sum = 0;
  for (size_t i = 0; i < choice.size(); ++i)
    if (choice[i])
      for (uint32_t need : problem.layers[i][*choice[i]].needs) {
        if (!needed[need])
          sum += problem.bytes[need];
        needed[need] = true;
      }
  return sum;
}

static bool fits(const LaterProblem &problem, const LaterChoice &choice) {
  double bytes = laterBytes(problem, choice);
  return bytes <= problem.most &&
         laterGain(problem, choice) >= problem.price * bytes - 1e-9;
}

/// The largest gain of all choices that keep to price and limit, by trying all.
static double bestByTrying(const LaterProblem &problem, LaterChoice &choice,
                           size_t layer = 0) {
  if (layer == problem.layers.size())
    return fits(problem, choice) ? laterGain(problem, choice) : 0;
  choice[layer] = std::nullopt;
  double best = bestByTrying(problem, choice, layer + 1);
  for (unsigned k = 0; k < problem.layers[layer].size(); ++k) {
    choice[layer] = k;
    best = std::max(best, bestByTrying(problem, choice, layer + 1));
  }
  choice[layer] = std::nullopt;
  return best;
}

/// Layers with routines that need weights of their own, weights that others
/// need as well, and code that many share.
static LaterProblem randomLater(Random &random) {
  LaterProblem p;
  unsigned layers = 1 + random.below(6), shared = 1 + random.below(4);
  for (unsigned i = 0; i < shared; ++i)
    p.bytes.push_back(
        std::floor(random.flip() ? 4096 : random.between(1e4, 4e6)));
  for (unsigned i = 0; i < layers; ++i) {
    std::vector<LaterRoutine> &routines = p.layers.emplace_back();
    for (unsigned n = random.below(4); n > 0; --n) {
      LaterRoutine routine;
      routine.gain = random.between(0.001, 2);
      if (random.below(4)) {
        routine.needs.push_back(uint32_t(p.bytes.size()));
        p.bytes.push_back(std::floor(random.between(1e4, 8e6)));
      }
      for (unsigned k = 0; k < shared; ++k)
        if (random.below(3) == 0)
          routine.needs.push_back(k);
      routines.push_back(routine);
    }
  }
  p.price = random.below(5) ? random.between(0.05, 1) * 1e-6 : 0;
  return p;
}

TEST(Later, nothing) {
  EXPECT_TRUE(chooseLater({}).empty());
  LaterProblem p;
  p.layers.resize(2);
  EXPECT_EQ(chooseLater(p), (LaterChoice{std::nullopt, std::nullopt}));
}

TEST(Later, gainsWhatItsMemoryCosts) {
  LaterProblem p;
  p.bytes = {4e6, 1e6};
  p.layers = {{{0.9, {0}}, {0.4, {1}}}};
  p.price = 0.25e-6;
  EXPECT_EQ(chooseLater(p), LaterChoice{1}) << "0.9 < 1, 0.4 > 0.25";
  p.price = 0.2e-6;
  EXPECT_EQ(chooseLater(p), LaterChoice{0}) << "0.9 > 0.8, more than 0.4";
  p.price = 0.39e-6;
  EXPECT_EQ(chooseLater(p), LaterChoice{1});
  p.price = 1e-6;
  EXPECT_EQ(chooseLater(p), LaterChoice{std::nullopt});
  p.price = 0;
  EXPECT_EQ(chooseLater(p), LaterChoice{0});
  p.most = 2e6;
  EXPECT_EQ(chooseLater(p), LaterChoice{1}) << "what fits";
  p.most = 0;
  EXPECT_EQ(chooseLater(p), LaterChoice{std::nullopt});
}

TEST(Later, paysAsAWhole) {
  // The first gains 0.65 more than its bytes cost, the second 0.6 less, the
  // third 0.1 less.
  LaterProblem p;
  p.bytes = {1e6, 4e6, 2e6};
  p.layers = {{{0.9, {0}}}, {{0.4, {1}}}, {{0.4, {2}}}};
  p.price = 0.25e-6;
  EXPECT_EQ(chooseLater(p), (LaterChoice{0, std::nullopt, 0}))
      << "1.3 for 3 MB, 1.7 for 7 MB";
  p.layers[0][0].gain = 1;
  EXPECT_EQ(chooseLater(p), (LaterChoice{0, 0, 0})) << "1.8 for 7 MB";
  p.most = 6e6;
  EXPECT_EQ(chooseLater(p), (LaterChoice{0, std::nullopt, 0}));
}

TEST(Later, countsWhatLayersShareOnce) {
  // None is worth it alone, three are together.
  LaterProblem p;
  p.bytes = {4e6};
  p.layers.assign(3, {{0.4, {0}}});
  p.price = 0.25e-6;
  LaterChoice choice = chooseLater(p);
  EXPECT_EQ(choice, (LaterChoice{0, 0, 0}));
  EXPECT_DOUBLE_EQ(laterBytes(p, choice), 4e6);
  EXPECT_DOUBLE_EQ(laterGain(p, choice), 1.2);
  p.layers.pop_back();
  EXPECT_EQ(chooseLater(p), LaterChoice(2)) << "0.8 where 4 MB must gain 1";
  // Bytes that are there for another one cost nothing more.
  p.layers.push_back({{0.9, {0}}});
  EXPECT_EQ(chooseLater(p), (LaterChoice{0, 0, 0}));
}

TEST(Later, randomAgainstBest) {
  for (bool limited : {false, true}) {
    Random random(limited ? 31 : 30);
    int equal = 0, rounds = 2000;
    double worst = 1, all = 0, best = 0;
    for (int round = 0; round < rounds; ++round) {
      LaterProblem p = randomLater(random);
      if (limited)
        p.most = std::floor(random.between(0, 1e7));
      LaterChoice choice = chooseLater(p), tried(p.layers.size());
      double found = laterGain(p, choice), exact = bestByTrying(p, tried);
      ASSERT_TRUE(fits(p, choice)) << round;
      ASSERT_LE(found, exact + 1e-9) << round;
      equal += found > exact - 1e-9;
      if (exact > 0)
        worst = std::min(worst, found / exact);
      all += found;
      best += exact;
    }
    printf("%s: best %d of %d, worst %.4f, sum %.5f of the best\n",
           limited ? "limited" : "unlimited", equal, rounds, worst, all / best);
    EXPECT_GE(equal, rounds * (limited ? 90 : 97) / 100);
    EXPECT_GE(all / best, limited ? 0.99 : 0.999);
  }
}

TEST(Later, deterministic) {
  Random random(32);
  for (int round = 0; round < 100; ++round) {
    LaterProblem p = randomLater(random);
    p.most = random.between(0, 1e7);
    EXPECT_EQ(chooseLater(p), chooseLater(p));
  }
}

TEST(Later, largeOneEnds) {
  Random random(33);
  LaterProblem p;
  for (unsigned i = 0; i < 20; ++i)
    p.bytes.push_back(4096);
  for (unsigned i = 0; i < 1500; ++i) {
    std::vector<LaterRoutine> &routines = p.layers.emplace_back();
    for (unsigned k = 0; k < 8; ++k) {
      routines.push_back({random.between(0.001, 1),
                          {random.below(20), uint32_t(p.bytes.size())}});
      p.bytes.push_back(std::floor(random.between(1e4, 1e6)));
    }
  }
  p.price = 0.25e-6;
  double free = laterBytes(p, chooseLater(p));
  p.most = free / 3;
  LaterChoice choice = chooseLater(p);
  EXPECT_LE(laterBytes(p, choice), p.most);
  EXPECT_GT(laterBytes(p, choice), 0.9 * p.most);
}
