//===- PlanTest.cpp - Plans against the best there are --------------------===//

#include "RandomProblem.h"
#include "compiler/search/Algorithm1.h"
#include "compiler/search/Candidates.h"
#include "compiler/search/Combinations.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace nnv12::search;

TEST(Plan, randomAgainstBest) {
  Random random(1);
  int equal = 0, rounds = 400;
  double worst = 1, gaps = 0;
  for (int round = 0; round < rounds; ++round) {
    unsigned layers = 1 + random.below(4);
    Problem p = randomProblem(random, layers, layers > 3 ? 2 : 3, random.below(3));
    Plan best = exactPlan(p);
    ASSERT_EQ(checkSchedule(p, best.choice, best.schedule), "");
    EXPECT_NEAR(simulate(p, best.choice, best.schedule).finish, best.finish, 1e-9);
    Options options;
    options.steps = 50'000;
    Plan found = plan(p, options);
    ASSERT_EQ(checkSchedule(p, found.choice, found.schedule), "");
    EXPECT_NEAR(simulate(p, found.choice, found.schedule).finish, found.finish, 1e-9);
    double ratio = found.finish / best.finish;
    EXPECT_GE(ratio, 1 - 1e-9) << "round " << round;
    EXPECT_LE(ratio, 1.05) << "round " << round;
    EXPECT_LE(lowerBound(p), best.finish) << "round " << round;
    EXPECT_LE(found.bound, found.finish);
    worst = std::max(worst, ratio);
    equal += ratio < 1.002; // what warmWeight may cost
    gaps += best.finish / lowerBound(p) - 1;
  }
  printf("worst %.4f, best %d of %d, mean distance of best and bound %.2f %%\n", worst, equal, rounds,
         100 * gaps / rounds);
  EXPECT_GE(equal, rounds * 95 / 100);
}
