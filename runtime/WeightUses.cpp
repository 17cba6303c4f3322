//===- WeightUses.cpp - Whose weights nobody else uses --------------------===//
#include "runtime/WeightUses.h"

#include <algorithm>

namespace nnv12::runtime {

using artifact::Array;

namespace {

/// Bytes of a segment that one operation uses.
struct Use {
  uint32_t segment;
  uint32_t owner; ///< preparations by number, then whatever else there is
  uint64_t begin, end;
};

/// Of the uses seen so far, the one that reaches furthest, and the one that
/// does so among those of other owners.
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
  /// Of owners other than `owner`; 0: there are none.
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

/// Calls visit(owner, operation) for all that use weights.
template <typename Visit>
static void forEachUser(const bundle::Program *program, Visit visit) {
  uint32_t owner = 0;
  for (const bundle::Operation *operation : *program->preparations()) {
    if (operation->kind() != bundle::OperationKind_Read)
      visit(owner, operation);
    ++owner;
  }
  for (const bundle::Operation *operation : *program->operations())
    visit(owner++, operation);
  if (program->switches())
    for (const bundle::Switch *change : *program->switches())
      visit(owner++, change->replacement());
}

template <typename Visit>
static void forEachUse(const bundle::Program *program, Visit visit) {
  forEachUser(program, [&](uint32_t owner, const bundle::Operation *operation) {
    for (const bundle::Operand *operand : *operation->operands())
      if (operand->space() == bundle::Space_Weights && operand->size())
        visit(Use{operand->index(), owner, operand->offset(),
                  operand->offset() + operand->size()});
  });
}

bool findSharedWeights(const bundle::Program *program, Array<bool> &shared) {
  size_t count = 0;
  forEachUse(program, [&](Use) { ++count; });
  Array<Use> uses;
  if (!uses.allocate(count) ||
      !shared.allocate(program->preparations()->size()))
    return false;
  Use *next = uses.data();
  forEachUse(program, [&](Use use) { *next++ = use; });
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
    return a.segment != b.segment ? a.segment < b.segment : a.begin < b.begin;
  });
  auto mark = [&](const Use &use) {
    if (use.owner < shared.size())
      shared[use.owner] = true;
  };
  // One that begins before it and ends behind its begin...
  Furthest ends;
  for (size_t i = 0; i < count; ++i) {
    if (i && uses[i].segment != uses[i - 1].segment)
      ends = {};
    if (ends.ofOthers(uses[i].owner) > uses[i].begin)
      mark(uses[i]);
    ends.add(uses[i].owner, uses[i].end);
  }
  // ... or one that begins behind it and before its end, seen from the other
  // side: what counts is the smallest begin, so the largest complement.
  Furthest begins;
  for (size_t i = count; i-- > 0;) {
    if (i + 1 < count && uses[i].segment != uses[i + 1].segment)
      begins = {};
    if (begins.ofOthers(uses[i].owner) > ~uses[i].end)
      mark(uses[i]);
    begins.add(uses[i].owner, ~uses[i].begin);
  }
  return true;
}

} // namespace nnv12::runtime
