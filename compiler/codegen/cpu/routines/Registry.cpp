//===- Registry.cpp - All routines of CPUs --------------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"

namespace nnv12::codegen {

namespace {
/// A list of single routines and of variants.
class List {
public:
  template <typename... Entries> explicit List(Entries... entries) {
    (add(entries), ...);
  }
  llvm::SmallVector<const Routine *> all;

private:
  void add(const Routine *routine) { all.push_back(routine); }
  void add(Variants variants) { all.append(variants.begin(), variants.end()); }
};
} // namespace

const RoutineSet &cpuRoutines() {
  static const RoutineSet set(
      List(convFirstRoutines(), convFewRoutine(), convTransposeFewRoutine(),
           convDepthwiseRoutine(), convGemmRoutines(), convDirectRoutines(),
           convIm2colRoutines(), convWinograd4Routine(), convWinograd6Routine(),
           convWinograd2Routine(), convTransposeRoutine(),
           matmulPanelsRoutines(), matmulPanels64Routine(),
           matmulPackingRoutine(), poolRoutine(), cumSumRoutine(),
           normalizeRoutine(), recurrentRoutine(), scatterRoutine(),
           softmaxRoutine(), topKRoutine(), elementRoutine())
          .all);
  return set;
}

KernelInfo CpuRoutine::emitTransform(KernelBuilder &, mlir::Operation *,
                                     llvm::StringRef) const {
  llvm_unreachable("a routine with a weight form has a transform");
}

void CpuRoutine::transform(mlir::Operation *, const void *, void *) const {
  llvm_unreachable("a routine with a weight form has a transform");
}

} // namespace nnv12::codegen
