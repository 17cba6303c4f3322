//===- WeightUsesTest.cpp - Shared weights, by comparing all with all -----===//
#include "runtime/WeightUses.h"

#include <gtest/gtest.h>
#include <random>

using namespace nnv12;
namespace fb = flatbuffers;

namespace {

struct RandomProgram {
  std::mt19937 random;
  fb::FlatBufferBuilder builder;
  const bundle::Program *program = nullptr;

  explicit RandomProgram(unsigned seed) : random(seed) {
    auto name = builder.CreateString("");
    std::vector<fb::Offset<bundle::Operation>> preparations, operations;
    std::vector<fb::Offset<bundle::Switch>> switches;
    for (unsigned i = below(12); i-- > 0;)
      preparations.push_back(
          operation(name, bundle::OperationKind(1 + below(3)), 1 + below(3)));
    for (unsigned i = below(4); i-- > 0;)
      operations.push_back(
          operation(name, bundle::OperationKind_Execute, below(3)));
    for (unsigned i = below(3); i-- > 0;)
      switches.push_back(bundle::CreateSwitch(
          builder, 0,
          operation(name, bundle::OperationKind_Execute, below(3))));
    std::vector<fb::Offset<fb::String>> features;
    std::vector<fb::Offset<bundle::Kernel>> kernels;
    builder.Finish(bundle::CreateProgramDirect(
        builder, "", "", &features, 0, &kernels, &operations, 0, &preparations,
        nullptr, &switches));
    program = fb::GetRoot<bundle::Program>(builder.GetBufferPointer());
  }

  unsigned below(unsigned n) { return random() % n; }

  fb::Offset<bundle::Operation> operation(fb::Offset<fb::String> name,
                                          bundle::OperationKind kind,
                                          unsigned count) {
    std::vector<bundle::Operand> operands;
    while (count--)
      operands.emplace_back(below(4) ? bundle::Space_Weights
                                     : bundle::Space_Prepared,
                            below(2), below(100), below(8) ? below(20) : 0);
    return bundle::CreateOperation(
        builder, name, 0, builder.CreateVectorOfStructs(operands), 0, kind);
  }
};

bool overlap(const bundle::Operand *a, const bundle::Operand *b) {
  return a->space() == bundle::Space_Weights &&
         b->space() == bundle::Space_Weights && a->index() == b->index() &&
         a->size() && b->size() && a->offset() < b->offset() + b->size() &&
         b->offset() < a->offset() + a->size();
}

bool overlap(const bundle::Operation *a, const bundle::Operation *b) {
  for (const bundle::Operand *x : *a->operands())
    for (const bundle::Operand *y : *b->operands())
      if (overlap(x, y))
        return true;
  return false;
}

} // namespace

TEST(WeightUses, AsComparingAllWithAllSays) {
  size_t found = 0, total = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomProgram sample(seed);
    const bundle::Program *program = sample.program;
    artifact::Array<bool> shared;
    ASSERT_TRUE(runtime::findSharedWeights(program, shared));
    ASSERT_EQ(shared.size(), program->preparations()->size());
    std::vector<const bundle::Operation *> users;
    for (const bundle::Operation *operation : *program->preparations())
      if (operation->kind() != bundle::OperationKind_Read)
        users.push_back(operation);
    for (const bundle::Operation *operation : *program->operations())
      users.push_back(operation);
    for (const bundle::Switch *change : *program->switches())
      users.push_back(change->replacement());
    for (uint32_t i = 0; i < shared.size(); ++i) {
      const bundle::Operation *one = program->preparations()->Get(i);
      bool expected = false;
      for (const bundle::Operation *other : users)
        expected |= other != one && one->kind() != bundle::OperationKind_Read &&
                    overlap(one, other);
      EXPECT_EQ(shared[i], expected) << "seed " << seed << ", " << i;
      found += expected;
      ++total;
    }
  }
  // Neither is rare.
  EXPECT_GT(found, total / 10);
  EXPECT_LT(found, total * 9 / 10);
}
