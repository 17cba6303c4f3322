//===- Registry.cpp - All routines of GPUs --------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"

namespace nnv12::codegen {

const RoutineSet &gpuRoutines() {
  static const RoutineSet set(
      {gpuConvRoutine(ConvKind::First), gpuConvFewRoutine(),
       gpuConvTransposeFewRoutine(), gpuConvRoutine(ConvKind::Depthwise),
       gpuConvRoutine(ConvKind::Flat), gpuConvRoutine(ConvKind::Window),
       // For GPUs with memory of their own, whose profiles say so.
       gpuConvSharedRoutine(SquareSize::Small),
       gpuConvSharedRoutine(SquareSize::Large),
       gpuConvSplitRoutine(SquareSize::Small),
       gpuConvSplitRoutine(SquareSize::Large),
       gpuConvWinogradRoutine(SquareSize::Small),
       gpuConvWinogradRoutine(SquareSize::Large), gpuConvTransposeRoutine(),
       gpuMatMulRowRoutine(RightMatrix::Panels),
       gpuMatMulTileRoutine(RightMatrix::Panels),
       gpuMatMulRowRoutine(RightMatrix::Dense),
       gpuMatMulTileRoutine(RightMatrix::Dense), gpuPoolRoutine(),
       gpuRowRoutine(), gpuArgReduceRoutine(), gpuConcatRoutine(),
       gpuMapRoutine(), gpuElementRoutine()});
  return set;
}

} // namespace nnv12::codegen
