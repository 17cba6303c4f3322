//===- Registry.cpp - All processors --------------------------------------===//

#include "compiler/processors/Processor.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

static llvm::SmallVector<const Processor *> &all() {
  static llvm::SmallVector<const Processor *> all = {&cpuProcessor(),
                                                     &gpuProcessor()};
  return all;
}

llvm::ArrayRef<const Processor *> nnv12::processors() { return all(); }

[[maybe_unused]] static bool isAsked = false;

void nnv12::addProcessor(const Processor &processor) {
  assert(!isAsked && "the routines of all hosts are asked for later");
  all().push_back(&processor);
}

static RoutineSet routinesOfHosts() {
  isAsked = true;
  llvm::SmallVector<const Routine *> routines;
  for (const Processor *processor : processors())
    if (processor->role() == Processor::Role::Host)
      llvm::append_range(routines, processor->routines().all());
  return RoutineSet(std::move(routines));
}

const RoutineSet &nnv12::hostRoutines() {
  static const RoutineSet routines = routinesOfHosts();
  return routines;
}

const Processor &nnv12::hostOf(const Routine &routine) {
  const Processor *const *found =
      llvm::find_if(processors(), [&](const Processor *processor) {
        return processor->role() == Processor::Role::Host &&
               llvm::is_contained(processor->routines().all(), &routine);
      });
  assert(found != processors().end() && "it is a routine of a host");
  return **found;
}

llvm::SmallVector<const Routine *>
Processor::candidates(Operation *layer, llvm::StringRef target) const {
  llvm::SmallVector<const Routine *> result = routines().agreeing(layer);
  llvm::erase_if(result, [&](const Routine *routine) {
    return !refusal(layer, *routine, target).empty();
  });
  return result;
}
