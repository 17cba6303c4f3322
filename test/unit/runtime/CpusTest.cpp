//===- CpusTest.cpp -------------------------------------------------------===//
#include "runtime/system/Cpus.h"
#include "test/unit/runtime/CpuSet.h"

#include <gtest/gtest.h>
#include <set>

using namespace nnv12::runtime;
using nnv12::test::cpusOf;

namespace {

TEST(CpusTest, AThreadMayUseWhatItIsAllowed) {
  CpuMask before;
  before.get();
  ASSERT_TRUE(before.isKnown());
  EXPECT_LE(availableCpus(), cpusOf(before).size());
  EXPECT_GE(availableCpus(), 1u);
  CpuMask one;
  one.add(*cpusOf(before).begin());
  one.apply();
  EXPECT_EQ(availableCpus(), 1u);
  Cpus cpus;
  cpus.find();
  EXPECT_EQ(cpusOf(cpus.allowed()), cpusOf(one));
  EXPECT_FALSE(cpus.part(Cpus::Any, 0, 1).isKnown()) << "the caller is there";
  before.apply();
}

TEST(CpusTest, PartsAreDisjointAndNotTheCallers) {
  Cpus cpus;
  cpus.find();
  size_t count = cpusOf(cpus.allowed()).size();
  for (uint32_t parts = 1; parts < count; ++parts) {
    std::set<int> all;
    size_t sum = 0;
    for (uint32_t i = 0; i < parts; ++i) {
      std::set<int> part = cpusOf(cpus.part(Cpus::Any, i, parts));
      EXPECT_FALSE(part.empty());
      sum += part.size();
      all.insert(part.begin(), part.end());
    }
    EXPECT_EQ(sum, all.size());
    EXPECT_EQ(sum, count - 1);
  }
  EXPECT_FALSE(cpus.part(Cpus::Any, 0, uint32_t(count)).isKnown())
      << "not enough for all";
}

TEST(CpusTest, RoundAndRound) {
  Cpus cpus;
  EXPECT_EQ(cpus.at(Cpus::Any, 0), -1) << "none before find()";
  cpus.find();
  uint32_t count = uint32_t(cpusOf(cpus.allowed()).size());
  std::set<int> seen;
  for (uint32_t i = 0; i < count; ++i)
    seen.insert(cpus.at(Cpus::Any, i));
  EXPECT_EQ(seen, cpusOf(cpus.allowed()));
  EXPECT_EQ(cpus.at(Cpus::Any, count), cpus.at(Cpus::Any, 0));
}

} // namespace
