//===- Routines.h - The routines of all files -------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H

#include "compiler/codegen/cpu/CpuRoutine.h"

namespace nnv12::codegen {

// One line a routine, or a routine with its variants (the plain one first),
// here and one in Registry.cpp, which has their order of preference. They live
// as long as the process.
using Variants = llvm::ArrayRef<const Routine *>;

Variants convDirectRoutines();
Variants convFirstRoutines();
Variants convGemmRoutines();
Variants convIm2colRoutines();
Variants matmulPanelsRoutines();
const Routine *convDepthwiseRoutine();
const Routine *convFewRoutine();
const Routine *convTransposeFewRoutine();
const Routine *convTransposeRoutine();
const Routine *convWinograd2Routine();
const Routine *convWinograd4Routine();
const Routine *convWinograd6Routine();
const Routine *cumSumRoutine();
const Routine *elementRoutine();
const Routine *matmulPackingRoutine();
const Routine *matmulPanels64Routine();
const Routine *normalizeRoutine();
const Routine *poolRoutine();
const Routine *recurrentRoutine();
const Routine *scatterRoutine();
const Routine *softmaxRoutine();
const Routine *topKRoutine();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROUTINES_H
