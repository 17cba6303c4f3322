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
/// What is handed back.
constexpr uint32_t backStretch = 2;
/// From here on kernels.
constexpr uint32_t firstKernelStretch = 3;

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_GPUTUNING_H
