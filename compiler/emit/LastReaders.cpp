//===- LastReaders.cpp - Weights that nobody else uses --------------------===//
#include "compiler/emit/LastReaders.h"

#include <algorithm>

using namespace nnv12;

namespace {

/// Bytes of a segment that one operation uses.
struct Use {
  uint32_t segment;
  uint32_t owner; ///< preparations by number, then whatever else there is
  uint64_t begin, end;
};

} // namespace

void nnv12::markLastReaders(artifact::Program &program) {
  for (artifact::Operation &operation : program.preparations)
    operation.lastReader =
        operation.kind != artifact::OperationKind::Read &&
        operation.operands.size() > 1 &&
        operation.operands[1].space == artifact::Space::Weights;
  std::vector<Use> uses;
  uint32_t owner = 0;
  auto add = [&](const artifact::Operation &operation) {
    for (const artifact::Operand &operand : operation.operands)
      if (operand.space == artifact::Space::Weights && operand.size &&
          operation.kind != artifact::OperationKind::Read)
        uses.push_back({operand.index, owner, operand.offset,
                        operand.offset + operand.size});
    ++owner;
  };
  for (const artifact::Operation &operation : program.preparations)
    add(operation);
  for (const artifact::Operation &operation : program.operations)
    add(operation);
  for (const artifact::Switch &change : program.switches)
    add(change.replacement);
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
    return a.segment != b.segment ? a.segment < b.segment : a.begin < b.begin;
  });
  // A use shares bytes with another owner's that begins before it and ends
  // behind its begin. If there are several such ones they share already, so it
  // suffices to look at the one that reaches furthest. If that one is the same
  // owner's, it begins before and shares the same bytes with others.
  const Use *furthest = nullptr;
  for (const Use &use : uses) {
    bool isReached = furthest && furthest->segment == use.segment;
    if (isReached && furthest->owner != use.owner && furthest->end > use.begin)
      for (uint32_t owner : {furthest->owner, use.owner})
        if (owner < program.preparations.size())
          program.preparations[owner].lastReader = false;
    if (!isReached || use.end > furthest->end)
      furthest = &use;
  }
}
