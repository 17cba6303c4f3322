//===- TransposePhases.h - Phases of a transposed convolution ---*- C++ -*-===//
//
// Output positions whose distance is a multiple of the stride take the same
// kernel taps: for each such phase a transposed convolution is a convolution of
// stride one with a part of the kernel, going backwards over the input.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_TRANSPOSEPHASES_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_TRANSPOSEPHASES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace nnv12::codegen {

/// One phase along one dimension.
struct Phase {
  int64_t firstOutput; ///< its outputs are firstOutput, firstOutput + stride, …
  int64_t outputs;
  int64_t firstTap, taps, tapStep;
  int64_t input;     ///< input position of the first output and tap
  int64_t inputStep; ///< how far the input goes back from tap to tap
  int64_t lowest() const { return taps ? input - (taps - 1) * inputStep : 0; }
  int64_t highest() const { return taps ? input : 0; }
};

inline llvm::SmallVector<Phase> phasesOf(int64_t outputs, int64_t kernel,
                                         int64_t stride, int64_t dilation,
                                         int64_t padLow) {
  llvm::SmallVector<Phase> phases;
  for (int64_t o = 0; o < std::min(stride, outputs); ++o) {
    Phase phase;
    phase.firstOutput = o;
    phase.outputs = int64_t(llvm::divideCeil(outputs - o, stride));
    int64_t common = std::gcd(stride, dilation);
    phase.tapStep = stride / common;
    phase.inputStep = dilation / common;
    phase.firstTap = 0;
    while (phase.firstTap < kernel &&
           (o + padLow - phase.firstTap * dilation) % stride != 0)
      ++phase.firstTap;
    phase.taps =
        int64_t(llvm::divideCeil(kernel - phase.firstTap, phase.tapStep));
    phase.input = (o + padLow - phase.firstTap * dilation) / stride;
    phases.push_back(phase);
  }
  return phases;
}

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_TRANSPOSEPHASES_H
