//===- LastReadersTest.cpp - Shared weights, by comparing all with all ----===//
#include "compiler/emit/LastReaders.h"

#include <gtest/gtest.h>
#include <random>

using namespace nnv12;
using namespace nnv12::artifact;

namespace {

struct RandomProgram : Program {
  std::mt19937 random;

  explicit RandomProgram(unsigned seed) : random(seed) {
    for (unsigned i = below(12); i-- > 0;)
      preparations.push_back(
          operation(OperationKind(1 + below(3)), 1 + below(3)));
    for (unsigned i = below(4); i-- > 0;)
      operations.push_back(operation(OperationKind::Execute, below(3)));
    for (unsigned i = below(3); i-- > 0;)
      switches.push_back({0, operation(OperationKind::Execute, below(3))});
  }

  unsigned below(unsigned n) { return random() % n; }

  Operation operation(OperationKind kind, unsigned count) {
    Operation result;
    result.kind = kind;
    while (count--)
      result.operands.push_back({below(4) ? Space::Weights : Space::Prepared,
                                 below(2), below(100),
                                 below(8) ? below(20) : 0});
    return result;
  }
};

bool overlap(const Operand &a, const Operand &b) {
  return a.space == Space::Weights && b.space == Space::Weights &&
         a.index == b.index && a.size && b.size &&
         a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

bool overlap(const Operation &a, const Operation &b) {
  for (const Operand &x : a.operands)
    for (const Operand &y : b.operands)
      if (overlap(x, y))
        return true;
  return false;
}

} // namespace

TEST(LastReaders, AsComparingAllWithAllSays) {
  size_t found = 0, total = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomProgram program(seed);
    markLastReaders(program);
    std::vector<const Operation *> users;
    for (const Operation &operation : program.preparations)
      if (operation.kind != OperationKind::Read)
        users.push_back(&operation);
    for (const Operation &operation : program.operations)
      users.push_back(&operation);
    for (const Switch &change : program.switches)
      users.push_back(&change.replacement);
    for (const Operation &one : program.preparations) {
      bool expected = one.kind != OperationKind::Read &&
                      one.operands.size() > 1 &&
                      one.operands[1].space == Space::Weights;
      if (!expected) {
        EXPECT_FALSE(one.lastReader);
        continue;
      }
      for (const Operation *other : users)
        expected &= other == &one || !overlap(one, *other);
      EXPECT_EQ(one.lastReader, expected) << "seed " << seed;
      found += expected;
      ++total;
    }
    for (const Operation &operation : program.operations)
      EXPECT_FALSE(operation.lastReader);
  }
  // Neither is rare.
  EXPECT_GT(found, total / 10);
  EXPECT_LT(found, total * 9 / 10);
}
