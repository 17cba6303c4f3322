//===- Routines.h - The routines of all files -------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H

#include "compiler/codegen/cpu/CpuRoutine.h"

namespace nnv12::codegen {

// One line a routine, or a routine with its variants (the plain one first),
// here and one in Registry.cpp, which has their order of preference. They live
// as long as the process.
using Variants = ArrayRef<const Routine *>;

/// The only routine of a class.
template <typename T> Variants onlyRoutine() {
  static const T routine;
  static const Routine *const pointer = &routine;
  return pointer;
}

Variants bitsMatMulBytesRoutine();
Variants bitsMatMulRoutine();
Variants convDepthwiseRoutines();
Variants convDirectRoutines();
Variants convFewRoutine();
Variants convFirstRoutines();
Variants convGemmRoutines();
Variants convIm2colRoutines();
Variants convTransposeFewRoutine();
Variants convTransposeRoutine();
Variants convWinogradRoutines();
Variants cumSumRoutine();
Variants elementRoutine();
Variants matmulPackingRoutine();
Variants matmulPanels64Routine();
Variants matmulPanelsRoutines();
Variants nonMaxSuppressionRoutine();
Variants normalizeRoutine();
Variants poolRoutine();
Variants qconvDepthwiseRoutine();
Variants qconvDirectRoutines();
Variants qconvFirstRoutines();
Variants qconvGemmRoutines();
Variants qmatmulPackingRoutine();
Variants qmatmulPanelsRoutines();
Variants recurrentRoutine();
Variants scatterRoutine();
Variants softmaxRoutine();
Variants topKRoutine();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H
