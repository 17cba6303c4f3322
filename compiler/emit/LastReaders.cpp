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
  struct Reach {
    uint32_t owner = ~0u;
    uint64_t end = 0;
  };

  void add(Reach use) {
    if (use.owner == first.owner) {
      first.end = std::max(first.end, use.end);
    } else if (use.end >= first.end) {
      second = first;
      first = use;
    } else if (use.end >= second.end) {
      second = use;
    }
  }
  /// The reach of owners other than `owner`; 0: there are none.
  Reach ofOthers(uint32_t owner) const {
    return owner == first.owner ? second : first;
  }

private:
  Reach first, second;
};

} // namespace

static std::vector<Use> collectUses(const artifact::Program &program) {
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
  return uses;
}

void nnv12::markLastReaders(artifact::Program &program) {
  for (artifact::Operation &operation : program.preparations)
    operation.lastReader =
        operation.kind != artifact::OperationKind::Read &&
        operation.operands.size() > 1 &&
        operation.operands[1].space == artifact::Space::Weights;
  std::vector<Use> uses = collectUses(program);
  auto share = [&](uint32_t owner) {
    if (owner < program.preparations.size())
      program.preparations[owner].lastReader = false;
  };
  // A use shares bytes with another owner's that begins before it and ends
  // behind its begin. If there are several such ones they share already.
  Furthest ends;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (i && uses[i].segment != uses[i - 1].segment)
      ends = {};
    Furthest::Reach other = ends.ofOthers(uses[i].owner);
    if (other.end > uses[i].begin) {
      share(uses[i].owner);
      share(other.owner);
    }
    ends.add({uses[i].owner, uses[i].end});
  }
}
