//===- TuningStretches.h - A GPU's tuning bundle, by stretch ----*- C++ -*-===//
//
// Compiler and nnv12-tune agree on it; compiler/emit/TuningDispatches.h has the
// rest.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_TUNINGSTRETCHES_H
#define NNV12_ARTIFACT_TUNINGSTRETCHES_H

#include <cstdint>

namespace nnv12::artifact {

/// Stretches by number. One dispatch that computes nothing.
constexpr uint32_t idleStretch = 0;
/// `idleDispatches` of them.
constexpr uint32_t idlesStretch = 1;
constexpr uint32_t idleDispatches = 257;
/// So many bytes of the input, as much as a picture, are handed in, and again
/// in the next one, which is the one that counts: programs have just made their
/// input, so that it is in a CPU's cache.
constexpr uint32_t firstInStretch = 2, inStretch = 3;
constexpr uint64_t inBytes = 1 << 19;
/// The stretch that hands back.
constexpr uint32_t backStretch = 4;
/// From here on kernels.
constexpr uint32_t firstKernelStretch = 5;

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_TUNINGSTRETCHES_H
