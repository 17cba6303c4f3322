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

/// The use that reaches furthest of those seen so far, and the one that does so
/// among those of other owners.
class Furthest {
public:
  void add(uint32_t owner, uint64_t reach) {
    if (owner == first.owner) {
      first.reach = std::max(first.reach, reach);
    } else if (reach >= first.reach) {
      second = first;
      first = {owner, reach};
    } else if (reach >= second.reach) {
      second = {owner, reach};
    }
  }
  /// The reach of owners other than `owner`; 0: there are none.
  uint64_t ofOthers(uint32_t owner) const {
    return owner == first.owner ? second.reach : first.reach;
  }

private:
  struct Reach {
    uint32_t owner = ~0u;
    uint64_t reach = 0;
  };
  Reach first, second;
};

} // namespace

/// Calls visit(owner, operation) for all that use weights: preparations, by
/// number, before all others.
template <typename Visit>
static void forEachUser(const artifact::Program &program, Visit visit) {
  uint32_t owner = 0;
  for (const artifact::Operation &operation : program.preparations) {
    if (operation.kind != artifact::OperationKind::Read)
      visit(owner, operation);
    ++owner;
  }
  for (const artifact::Operation &operation : program.operations)
    visit(owner++, operation);
  for (const artifact::Switch &change : program.switches)
    visit(owner++, change.replacement);
}

static std::vector<Use> collectUses(const artifact::Program &program) {
  std::vector<Use> uses;
  forEachUser(program,
              [&](uint32_t owner, const artifact::Operation &operation) {
                for (const artifact::Operand &operand : operation.operands)
                  if (operand.space == artifact::Space::Weights && operand.size)
                    uses.push_back({operand.index, owner, operand.offset,
                                    operand.offset + operand.size});
              });
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
    return a.segment != b.segment ? a.segment < b.segment : a.begin < b.begin;
  });
  return uses;
}

void nnv12::markLastReaders(artifact::Program &program) {
  for (artifact::Operation &operation : program.preparations)
    operation.lastReader =
        operation.kind != artifact::OperationKind::Read &&
        operation.operands.size() > 1 &&
        operation.operands[1].space == artifact::Space::Weights;
  std::vector<Use> uses = collectUses(program);
  auto share = [&](const Use &use) {
    if (use.owner < program.preparations.size())
      program.preparations[use.owner].lastReader = false;
  };
  // One that begins before it and ends behind its begin...
  Furthest ends;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (i && uses[i].segment != uses[i - 1].segment)
      ends = {};
    if (ends.ofOthers(uses[i].owner) > uses[i].begin)
      share(uses[i]);
    ends.add(uses[i].owner, uses[i].end);
  }
  // ... or one that begins behind it and before its end, seen from the other
  // side: the smallest begin counts, so the largest complement.
  Furthest begins;
  for (size_t i = uses.size(); i-- > 0;) {
    if (i + 1 < uses.size() && uses[i].segment != uses[i + 1].segment)
      begins = {};
    if (begins.ofOthers(uses[i].owner) > ~uses[i].end)
      share(uses[i]);
    begins.add(uses[i].owner, ~uses[i].begin);
  }
}
