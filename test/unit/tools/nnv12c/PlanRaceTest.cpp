//===- PlanRaceTest.cpp - Which plan's first inference is faster ----------===//

#include "tools/nnv12c/PlanRace.h"

#include <gtest/gtest.h>

using namespace nnv12;

/// Five lost rounds may be chance, six are not, nor are eight of nine.
TEST(PlanRace, IsBeaten) {
  Racer fast{"", {1, 1, 1, 1, 1}}, slow{"", {2, 2, 2, 2, 2}};
  EXPECT_FALSE(isBeaten(slow, fast));
  fast.milliseconds.push_back(1);
  slow.milliseconds.push_back(1.01);
  EXPECT_TRUE(isBeaten(slow, fast));
  EXPECT_FALSE(isBeaten(fast, slow));
  slow.milliseconds.back() = 1; // as fast is no loss
  EXPECT_FALSE(isBeaten(slow, fast));
  for (int i = 0; i < 2; ++i) {
    fast.milliseconds.push_back(1);
    slow.milliseconds.push_back(2);
  }
  EXPECT_FALSE(isBeaten(slow, fast));
  fast.milliseconds.push_back(1);
  slow.milliseconds.push_back(2);
  EXPECT_TRUE(isBeaten(slow, fast));
}

/// Rounds that one of them has not run do not count.
TEST(PlanRace, ComparesRoundsOfBoth) {
  Racer fast{"", std::vector<double>(15, 1)}, slow{"", {2, 2, 2}};
  EXPECT_FALSE(isBeaten(slow, fast));
  EXPECT_FALSE(isBeaten(Racer{""}, fast));
}

TEST(PlanRace, AreAlike) {
  Racer a{"", {10, 10, 30}}, b{"", {10.2, 10.2, 11}}, c{"", {10.6, 9, 11}};
  EXPECT_TRUE(areAlike({&a, &b}));
  EXPECT_FALSE(areAlike({&a, &b, &c}));
  EXPECT_TRUE(areAlike({&c}));
}

TEST(PlanRace, Fastest) {
  Racer a{"", {10, 10, 30}}, b{"", {10.05, 10.05, 11}}, c{"", {12, 12, 12}},
      none{""};
  EXPECT_EQ(fastest({&a, &b, &c, &none}), &b);
  EXPECT_EQ(fastest({&a, &c}), &a);
}
