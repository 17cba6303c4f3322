//===- Registry.cpp - All routines of CPUs --------------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"

namespace nnv12::codegen {

const RoutineSet &cpuRoutines() {
  static const RoutineSet set = [] {
    llvm::SmallVector<const Routine *> all;
    for (Variants routines : {convFirstRoutines(),
                              convFewRoutine(),
                              convTransposeFewRoutine(),
                              convDepthwiseRoutines(),
                              convGemmRoutines(),
                              convDirectRoutines(),
                              convIm2colRoutines(),
                              convWinogradRoutines(),
                              convTransposeRoutine(),
                              qconvFirstRoutines(),
                              qconvDepthwiseRoutine(),
                              qconvGemmRoutines(),
                              qconvDirectRoutines(),
                              bitsMatMulRoutine(),
                              bitsMatMulBytesRoutine(),
                              qmatmulPanelsRoutines(),
                              qmatmulPackingRoutine(),
                              matmulPanelsRoutines(),
                              matmulPanels64Routine(),
                              matmulPackingRoutine(),
                              poolRoutine(),
                              cumSumRoutine(),
                              nonMaxSuppressionRoutine(),
                              normalizeRoutine(),
                              recurrentRoutine(),
                              scatterRoutine(),
                              softmaxRoutine(),
                              topKRoutine(),
                              elementRoutine()})
      llvm::append_range(all, routines);
    return RoutineSet(all);
  }();
  return set;
}

} // namespace nnv12::codegen
