//===- RoutineSet.cpp - All routines of a processor -----------------------===//

#include "compiler/routines/RoutineSet.h"

#include "dialects/nn/Layout.h"
#include "llvm/ADT/StringSet.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

[[maybe_unused]] static bool
haveOwnNames(llvm::ArrayRef<const Routine *> routines) {
  llvm::StringSet<> names;
  return llvm::all_of(routines, [&](const Routine *routine) {
    return names.insert(routine->name()).second;
  });
}

RoutineSet::RoutineSet(llvm::SmallVector<const Routine *> list)
    : routines(std::move(list)) {
  assert(haveOwnNames(routines) && "named() tells them apart");
}

const Routine *RoutineSet::named(llvm::StringRef name) const {
  for (const Routine *routine : routines)
    if (routine->name() == name)
      return routine;
  return nullptr;
}

const Routine *RoutineSet::preferred(Operation *layer) const {
  const Routine *fallback = nullptr;
  for (const Routine *routine : routines) {
    if ((routine->isFallback() && fallback) || !routine->matches(layer))
      continue;
    if (!routine->isFallback())
      return routine;
    fallback = routine;
  }
  return fallback;
}

static bool agrees(llvm::ArrayRef<std::optional<std::string>> wanted,
                   TypeRange types) {
  assert(wanted.size() == types.size() && "a routine speaks of each value");
  return llvm::all_of(llvm::zip(wanted, types), [](auto pair) {
    auto &[tag, type] = pair;
    return !tag || *tag == nn::layoutTag(type);
  });
}

/// The routines that fit, a fallback only where there is no other.
static llvm::SmallVector<const Routine *>
select(llvm::ArrayRef<const Routine *> routines,
       llvm::function_ref<bool(const Routine &)> fits) {
  llvm::SmallVector<const Routine *> result, fallbacks;
  for (const Routine *routine : routines) {
    // Too slow even to be measured where another one fits.
    if (routine->isFallback() && !result.empty())
      continue;
    if (fits(*routine))
      (routine->isFallback() ? fallbacks : result).push_back(routine);
  }
  return result.empty() ? fallbacks : result;
}

llvm::SmallVector<const Routine *>
RoutineSet::matching(Operation *layer) const {
  return select(routines,
                [&](const Routine &routine) { return routine.matches(layer); });
}

llvm::SmallVector<const Routine *>
RoutineSet::agreeing(Operation *layer) const {
  return select(routines, [&](const Routine &routine) {
    if (!routine.matches(layer))
      return false;
    LayoutRequest request = routine.layouts(layer);
    return agrees(request.operands, layer->getOperandTypes()) &&
           agrees(request.results, layer->getResultTypes());
  });
}
