//===- AnswerChangeTest.cpp - Classes and boxes that change ---------------===//
#include "tools/common/AnswerChange.h"
#include "test/unit/tools/TensorInfo.h"

#include <gtest/gtest.h>

using namespace nnv12::test;
using namespace nnv12::tools;
using Kind = AnswerChange::Kind;

static AnswerChange changeOf(const std::vector<std::vector<int64_t>> &shapes) {
  std::vector<nnv12_tensor_info> outputs;
  for (const std::vector<int64_t> &shape : shapes)
    outputs.push_back(infoOf(NNV12_F32, shape));
  return AnswerChange(outputs);
}

TEST(AnswerChange, KnowsClassifiers) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{1, 3}, {1, 3, 1, 1}})
    EXPECT_EQ(changeOf({shape}).kind(), Kind::TopOne);
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {1}, {3}, {1, 1}, {1, 3, 2, 2}, {2, 3}})
    EXPECT_EQ(changeOf({shape}).kind(), Kind::None);
  AnswerChange change = changeOf({{1, 3}});
  change.look({-5, 7, 0});
  EXPECT_EQ(change.kind(), Kind::TopOne) << "logits are scores";
  EXPECT_EQ(change.between({1, 3, 2}, {0, 9, 8}), 0);
  EXPECT_EQ(change.between({1, 3, 2}, {0, 8, 9}), 1);
}

TEST(AnswerChange, CountsRowsOfScores) {
  AnswerChange change = changeOf({{1, 2, 3}, {1, 2, 4}, {1, 2, 1}, {1, 2, 2}});
  ASSERT_EQ(change.kind(), Kind::Rows);
  Answer full = {0.1, 0.2, 0.9, 0.3, 0.2, 0.1,       // scores
                 1,   1,   1,   1,   0,   0,   0, 0, // corners
                 0.5, 0.6,                           // scores
                 2,   -1,  0,   0};                  // none
  change.look(full);
  ASSERT_EQ(change.kind(), Kind::Rows);
  EXPECT_EQ(change.between(full, full), 0);
  Answer given = full;
  for (size_t i : {6, 7, 16, 17})
    given[i] += 0.5;
  EXPECT_EQ(change.between(full, given), 0) << "no scores";
  given[2] = 0.84; // and 0.9 before
  given[4] = 0.34; // 0.3 of another class before
  given[14] = 0.56;
  EXPECT_EQ(change.between(full, given), 2);
  given[3] = 0.4;
  EXPECT_EQ(change.between(full, given), 3);
}

TEST(AnswerChange, HasNoneWithoutScores) {
  AnswerChange change = changeOf({{1, 2, 2}, {1, 5}});
  EXPECT_EQ(change.kind(), Kind::Rows);
  change.look({0, 1, 1.5, 1, 0, 0, 0, 0, 0});
  EXPECT_EQ(change.kind(), Kind::None);
  EXPECT_EQ(change.between({0}, {1}), 0);
}
