//===- GpuVerifier.h - Checks what a GPU may take over ----------*- C++ -*-===//
//
// Checks each table by itself: indices, ranges, counts. GpuFlowVerifier checks
// the order of dispatches, hand-overs and executes; PlanVerifier also checks
// the waits of preparations. The words of the modules are not looked at: a
// caller that makes a pipeline of them must check them after verifyModule().
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_GPUVERIFIER_H
#define NNV12_ARTIFACT_GPUVERIFIER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// Checks the modules and pipelines of a bundle, whose segments were found
/// good.
[[nodiscard]] bool verifyGpu(const bundle::Bundle *bundle,
                             const bundle::Gpu *gpu, Fault &fault);

/// Checks the tables of what a GPU may take over of `program`, number `number`
/// of the bundle, which has that and was found good.
[[nodiscard]] bool verifyOverlay(const bundle::Bundle *bundle,
                                 const bundle::Overlays *overlays,
                                 const bundle::Program *program,
                                 uint32_t number, Fault &fault);

/// Checks the digest of module `index` of verified ones; `words` is where its
/// words are.
[[nodiscard]] bool verifyModule(const bundle::Gpu *gpu, uint32_t index,
                                const void *words, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_GPUVERIFIER_H
