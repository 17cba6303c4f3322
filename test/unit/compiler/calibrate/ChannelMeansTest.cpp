//===- ChannelMeansTest.cpp - How large a tensor's channels are -----------===//

#include "compiler/calibrate/ChannelMeans.h"

#include <gtest/gtest.h>

using nnv12::calibrate::ChannelMeans;

TEST(ChannelMeans, Images) {
  float first[] = {1, 2, 10, 20, 3, 4, 30, 40},
        second[] = {5, 6, 0, 0, 0, 1, 0, 20};
  ChannelMeans means;
  EXPECT_TRUE(means.means().empty());
  means.add(first, {2, 2, 1, 2});
  EXPECT_EQ(means.means(), (std::vector<double>{2.5, 25}));
  means.add(second, {2, 2, 1, 2});
  EXPECT_EQ(means.means(), (std::vector<double>{22.0 / 8, 15}));
  EXPECT_EQ(means.largest(), (std::vector<float>{6, 40}));
}

TEST(ChannelMeans, MatricesAndOthers) {
  float values[] = {1, 2, 3, 5, 6, -7};
  ChannelMeans matrix, vector;
  matrix.add(values, {2, 3});
  EXPECT_EQ(matrix.means(), (std::vector<double>{3, 4, -2}));
  EXPECT_EQ(matrix.largest(), (std::vector<float>{5, 6, 7}));
  vector.add(values, {6});
  EXPECT_TRUE(vector.means().empty());
}
