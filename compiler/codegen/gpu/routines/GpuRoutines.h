//===- GpuRoutines.h - The routines of all files ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H

#include "compiler/codegen/gpu/GpuRoutine.h"

namespace nnv12::codegen {

// One line a routine here and one in Registry.cpp, which has their order of
// preference. They live as long as the process.
const Routine *gpuArgReduceRoutine();
const Routine *gpuConcatRoutine();
const Routine *gpuConvDepthwiseRoutine();
const Routine *gpuConvDirectRoutine();
const Routine *gpuConvFewRoutine();
const Routine *gpuConvFirstRoutine();
const Routine *gpuConvGemmRoutine();
const Routine *gpuConvSharedRoutine(bool isLarge, bool isSplit);
const Routine *gpuConvTransposeFewRoutine();
const Routine *gpuConvTransposeRoutine();
const Routine *gpuConvWinogradRoutine(bool isLarge);
const Routine *gpuElementRoutine();
const Routine *gpuMapRoutine();
const Routine *gpuMatMulRoutine(bool isTile, bool hasPanels);
const Routine *gpuPoolRoutine();
const Routine *gpuRowRoutine();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H
