//===- KernelParts.cpp - Kernels that are compiled by themselves ----------===//

#include "compiler/codegen/cpu/KernelParts.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace mlir;

/// More parts than a machine has CPUs cost little, fewer leave some idle.
static constexpr size_t mostParts = 8;
/// Groups of functions that a part is worth.
static constexpr size_t leastGroups = 4;

namespace {
/// Functions that refer to one another.
struct Group {
  SmallVector<Operation *> functions;
  size_t operations = 0;
};
} // namespace

static std::vector<Group> groupsOf(ModuleOp module) {
  llvm::EquivalenceClasses<Operation *> related;
  SymbolTable symbols(module);
  for (Operation &function : module.getOps()) {
    related.insert(&function);
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(&function);
    assert(uses && "all operations are known");
    for (const SymbolTable::SymbolUse &use : *uses)
      if (Operation *other =
              symbols.lookup(use.getSymbolRef().getRootReference()))
        related.unionSets(&function, other);
  }
  llvm::MapVector<Operation *, Group> groups;
  for (Operation &function : module.getOps()) {
    Group &group = groups[related.getLeaderValue(&function)];
    group.functions.push_back(&function);
    function.walk([&](Operation *) { ++group.operations; });
  }
  std::vector<Group> result;
  for (auto &entry : groups)
    result.push_back(std::move(entry.second));
  return result;
}

std::vector<OwningOpRef<ModuleOp>>
nnv12::codegen::splitKernels(ModuleOp module) {
  std::vector<Group> groups = groupsOf(module);
  size_t count = std::clamp<size_t>(groups.size() / leastGroups, 1, mostParts);
  // The largest first, each to the part that is smallest so far.
  std::vector<size_t> order(groups.size()), partOf(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups[a].operations > groups[b].operations;
  });
  std::vector<size_t> sizes(count, 0);
  for (size_t number : order) {
    size_t smallest =
        std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
    partOf[number] = smallest;
    sizes[smallest] += groups[number].operations;
  }
  std::vector<OwningOpRef<ModuleOp>> parts;
  for (size_t i = 0; i < count; ++i) {
    parts.push_back(ModuleOp::create(module.getLoc()));
    parts.back()->getOperation()->setAttrs(module->getAttrDictionary());
  }
  llvm::DenseMap<Operation *, Block *> places;
  for (size_t number = 0; number < groups.size(); ++number)
    for (Operation *function : groups[number].functions)
      places[function] = parts[partOf[number]]->getBody();
  for (Operation &function : llvm::make_early_inc_range(module.getOps())) {
    Block *place = places.at(&function);
    function.moveBefore(place, place->end());
  }
  return parts;
}
