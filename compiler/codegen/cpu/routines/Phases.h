//===- Phases.h - Outputs that take the same taps ---------------*- C++ -*-===//
//
// Output positions of a transposed convolution whose distance is a multiple of
// the stride take the same kernel taps: for each such phase it is a convolution
// of stride one with a part of the kernel, going backwards over the input.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PHASES_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PHASES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace nnv12::codegen {

/// One phase along one dimension.
struct Phase {
  int64_t firstOutput, outputs, outputStep;
  int64_t firstTap, taps, tapStep;
  int64_t input;     ///< input position of the first output and tap
  int64_t inputStep; ///< how far the input goes on from output to output
  int64_t tapInput;  ///< and from tap to tap; negative: it goes back
  /// Inputs of the first output; 0 where there is no tap.
  int64_t lowest() const { return taps ? std::min(input, last()) : 0; }
  int64_t highest() const { return taps ? std::max(input, last()) : 0; }
  int64_t last() const { return input + (taps - 1) * tapInput; }
};

/// The only phase of a convolution. `low` is the padding in front.
inline llvm::SmallVector<Phase> onePhase(int64_t outputs, int64_t kernel,
                                         int64_t stride, int64_t dilation,
                                         int64_t low) {
  return {{0, outputs, 1, 0, kernel, 1, -low, stride, dilation}};
}

/// The phases of a transposed convolution.
inline llvm::SmallVector<Phase> phasesOf(int64_t outputs, int64_t kernel,
                                         int64_t stride, int64_t dilation,
                                         int64_t low) {
  llvm::SmallVector<Phase> phases;
  for (int64_t o = 0; o < std::min(stride, outputs); ++o) {
    Phase phase;
    phase.firstOutput = o;
    phase.outputs = int64_t(llvm::divideCeil(outputs - o, stride));
    phase.outputStep = stride;
    int64_t common = std::gcd(stride, dilation);
    phase.tapStep = stride / common;
    phase.firstTap = 0;
    while (phase.firstTap < kernel &&
           (o + low - phase.firstTap * dilation) % stride != 0)
      ++phase.firstTap;
    phase.taps =
        int64_t(llvm::divideCeil(kernel - phase.firstTap, phase.tapStep));
    phase.input = (o + low - phase.firstTap * dilation) / stride;
    phase.inputStep = 1;
    phase.tapInput = -(dilation / common);
    phases.push_back(phase);
  }
  return phases;
}

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PHASES_H
