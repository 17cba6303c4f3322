//===- GpuTuning.h - What is where in tuning bundles of GPUs ----*- C++ -*-===//
//
// Compiler and nnv12-tune agree on it; compiler/emit/GpuTuningBundle.h has the
// rest.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_GPUTUNING_H
#define NNV12_ARTIFACT_GPUTUNING_H

#include <cstdint>

namespace nnv12::artifact {

/// Stretches by number. One dispatch that computes nothing.
constexpr uint32_t idleStretch = 0;
/// `idleDispatches` of them.
constexpr uint32_t idlesStretch = 1;
constexpr uint32_t idleDispatches = 257;
/// What is handed in, so many bytes of the input: as large as pictures are, and
/// as likely to be in a CPU's cache.
constexpr uint32_t inStretch = 2;
constexpr uint64_t inBytes = 1 << 20;
/// What is handed back.
constexpr uint32_t backStretch = 3;
/// From here on kernels.
constexpr uint32_t firstKernelStretch = 4;

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_GPUTUNING_H
