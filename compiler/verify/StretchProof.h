//===- StretchProof.h - Proves that a GPU computes its layers ---*- C++ -*-===//
//
// The GPU's half of PlanProof.h. Each stretch is followed by itself, from the
// CPU's memory before its first execute to that behind its last one, as both
// are in a run of the CPU alone. That suffices for any choice of stretches:
//
// A byte of the CPU's memory is "live" if an execute or the caller reads it
// later, before it is written again. If the live bytes before some execute are
// those of a run of the CPU alone, so are the live bytes behind it. The same
// holds for a stretch:
//   - It copies in live bytes only (artifact/GpuFlowVerifier.cpp). So it reads
//     the same as here, where the CPU has computed all before it.
//   - It writes only bytes of `out` (the same verifier). It leaves the contents
//     there that the CPU would have left: that is proven here.
//   - Other live bytes stay as they are, as they would in a run of the CPU
//     alone: `out` has all live bytes that executes of the stretch write (the
//     same verifier).
// So it holds at the end, whichever stretches a first run or a later one took.
//
// On devices that copy, boundaries lie in the GPU's arena. Other devices work
// in the CPU's arena, and copy inputs and outputs. Each stretch is followed for
// both. Dispatches are followed one by one: two that may overlap touch nothing
// of each other's, by the barriers that the same verifier checks.
//
// A stretch that is split is computed by both at once. Its dispatches find and
// leave parts of tensors, its parts are followed beside them (SplitProof.h),
// and all live bytes behind it are those of a run of the CPU alone.
//
// Taken for granted: a kernel computes the step of its key, as its routine
// declares that (GpuStep.h).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_STRETCHPROOF_H
#define NNV12_COMPILER_VERIFY_STRETCHPROOF_H

#include "compiler/verify/ProgramImage.h"

#include <memory>

namespace nnv12 {

/// Shows of each stretch that
///   - its dispatches are the steps of its layers, by the routines of the
///     claim: kernels, groups and push words;
///   - each binding that is read holds, byte by byte, the contents that the
///     step reads, in the form and element type that its kernel has;
///   - the contents that it hands back are those of a run of the CPU alone.
class StretchProof {
public:
  /// `image`, which must outlive it, follows the program's own operations. It
  /// has a claim about a GPU.
  static std::unique_ptr<StretchProof> of(ProgramImage &image);
  virtual ~StretchProof() = default;

  /// Follows the uploads. All preparations of the program have been followed.
  virtual mlir::LogicalResult begin() = 0;
  /// The executes before number `execute` have been followed: looks at
  /// stretches that end or begin there.
  virtual mlir::LogicalResult reach(size_t execute) = 0;
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_STRETCHPROOF_H
