//===- Registry.cpp - All routines ----------------------------------------===//

#include "compiler/codegen/cpu/Routine.h"

namespace nnv12::codegen {

// One line a routine here and one below, the preferred ones first.
const Routine *convFirstRoutine();
const Routine *convFewRoutine();
const Routine *convTransposeFewRoutine();
const Routine *convDepthwiseRoutine();
const Routine *convDirectRoutine();
const Routine *convTransposeRoutine();
const Routine *matmulPanelsRoutine();
const Routine *matmulPackingRoutine();
const Routine *poolRoutine();
const Routine *cumSumRoutine();
const Routine *normalizeRoutine();
const Routine *recurrentRoutine();
const Routine *scatterRoutine();
const Routine *softmaxRoutine();
const Routine *topKRoutine();
const Routine *elementRoutine();

llvm::ArrayRef<const Routine *> routines() {
  static const llvm::SmallVector<const Routine *> all = {
      convFirstRoutine(),
      convFewRoutine(),
      convTransposeFewRoutine(),
      convDepthwiseRoutine(),
      convDirectRoutine(),
      convTransposeRoutine(),
      matmulPanelsRoutine(),
      matmulPackingRoutine(),
      poolRoutine(),
      cumSumRoutine(),
      normalizeRoutine(),
      recurrentRoutine(),
      scatterRoutine(),
      softmaxRoutine(),
      topKRoutine(),
      elementRoutine(), // matches nearly everything: stays last
  };
  return all;
}

const Routine *routineFor(mlir::Operation *layer) {
  for (const Routine *routine : routines())
    if (routine->matches(layer))
      return routine;
  return nullptr;
}

} // namespace nnv12::codegen
