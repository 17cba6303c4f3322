//===- Registry.cpp - All routines of GPUs --------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"

namespace nnv12::codegen {

const RoutineSet &gpuRoutines() {
  static const RoutineSet set(
      {gpuConvFirstRoutine(), gpuConvFewRoutine(), gpuConvTransposeFewRoutine(),
       gpuConvDepthwiseRoutine(), gpuConvGemmRoutine(), gpuConvDirectRoutine(),
       // For GPUs with memory of their own, whose profiles say so.
       gpuConvSharedRoutine(/*isLarge=*/false, /*isSplit=*/false),
       gpuConvSharedRoutine(/*isLarge=*/true, /*isSplit=*/false),
       gpuConvSharedRoutine(/*isLarge=*/false, /*isSplit=*/true),
       gpuConvSharedRoutine(/*isLarge=*/true, /*isSplit=*/true),
       gpuConvWinogradRoutine(/*isLarge=*/false),
       gpuConvWinogradRoutine(/*isLarge=*/true), gpuConvTransposeRoutine(),
       gpuMatMulRoutine(/*isTile=*/false, /*hasPanels=*/true),
       gpuMatMulRoutine(/*isTile=*/true, /*hasPanels=*/true),
       gpuMatMulRoutine(/*isTile=*/false, /*hasPanels=*/false),
       gpuMatMulRoutine(/*isTile=*/true, /*hasPanels=*/false), gpuPoolRoutine(),
       gpuRowRoutine(), gpuArgReduceRoutine(), gpuConcatRoutine(),
       gpuMapRoutine(), gpuElementRoutine()});
  return set;
}

} // namespace nnv12::codegen
