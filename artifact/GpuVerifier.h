//===- GpuVerifier.h - Checks what a GPU may take over ----------*- C++ -*-===//
//
// First each table by itself: indices, ranges, counts; GpuSplitVerifier.cpp has
// those of split stretches. Then the order of dispatches, hand-overs and
// executes (GpuFlowVerifier.cpp); PlanVerifier also checks the waits of
// preparations. The words of the modules are not looked at:
// a caller that makes a pipeline of them must check them after verifyModule().
//
// These rules of the order hold in any run, for any choice of stretches that a
// GPU takes over, and whether it works in the CPU's memory or copies:
//   - a stretch is recorded, with pipelines and weights that are there;
//   - bytes that its dispatches read were copied in, uploaded, or written
//     before;
//   - two dispatches that touch the same bytes, one of them writing, have a
//     barrier between them;
//   - results of its executes that something reads later are handed back. No
//     bytes are handed back that anyone still needs as they were before, so
//     that the CPU can compute the stretch itself when the GPU has failed.
// The operands of the CPU's kernels say which bytes they write.
//
// While a GPU computes its part of a split stretch, CPUs compute theirs, and
// both may work in the same memory. So these hold as well:
//   - each byte that the stretch computes is handed back or written by a part,
//     never both;
//   - no part reads bytes that are handed back;
//   - no part writes bytes that anyone still needs as they were before the
//     stretch, which includes all that the GPU reads.
// Tile maps say which bytes a part writes. The words and numbers of a kernel
// are not looked at: no check tells whether a part reads rows that the CPU has
// computed.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_GPUVERIFIER_H
#define NNV12_ARTIFACT_GPUVERIFIER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// Checks what a GPU may take over of `program`, number `number` of the bundle,
/// whose tables and plan were found good.
[[nodiscard]] bool verifyFlow(const bundle::Bundle *bundle,
                              const bundle::GpuOverlays *overlays,
                              const bundle::Program *program, uint32_t number,
                              Fault &fault);

/// The same for the parts of split stretches and the bytes that their
/// dispatches touch, before verifyFlow().
[[nodiscard]] bool verifySplits(const bundle::Bundle *bundle,
                                const bundle::GpuOverlays *overlays,
                                const bundle::Program *program, uint32_t number,
                                Fault &fault);

/// Checks the digest of module `index` of verified ones; `words` is where its
/// words are.
[[nodiscard]] bool verifyModule(const bundle::Gpu *gpu, uint32_t index,
                                const void *words, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_GPUVERIFIER_H
