//===- GpuRoutines.h - The routines of all files ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H

#include "compiler/codegen/gpu/GpuRoutine.h"

namespace nnv12::codegen {

enum class ConvKind {
  Flat,     ///< 1x1 of stride 1 and no padding
  Window,   ///< any other
  First,    ///< of up to four channels, which are dense
  Depthwise ///< each channel by itself
};
/// SharedProduct::Square
enum class SquareSize { Small, Large };
enum class RightMatrix { Dense, Panels };

// One line a routine here and one in Registry.cpp, which has their order of
// preference. They live as long as the process.
/// The only routine of a class.
template <typename T> const Routine *theRoutine() {
  static const T routine;
  return &routine;
}
const Routine *gpuArgReduceRoutine();
const Routine *gpuConcatRoutine();
const Routine *gpuConvFewRoutine();
const Routine *gpuConvRoutine(ConvKind kind);
const Routine *gpuConvSharedRoutine(SquareSize size);
const Routine *gpuConvSplitRoutine(SquareSize size);
const Routine *gpuConvTransposeFewRoutine();
const Routine *gpuConvTransposeRoutine();
const Routine *gpuConvWinogradRoutine(SquareSize size);
const Routine *gpuElementRoutine();
const Routine *gpuMapRoutine();
const Routine *gpuMatMulRowRoutine(RightMatrix right);
const Routine *gpuMatMulTileRoutine(RightMatrix right);
const Routine *gpuPoolRoutine();
const Routine *gpuRowRoutine();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUROUTINES_H
