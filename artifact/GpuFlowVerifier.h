//===- GpuFlowVerifier.h - Checks hand-overs and dispatches -----*- C++ -*-===//
//
// What holds of any run, whichever stretches a GPU takes over in it, and
// whether it works in the CPU's memory or copies:
//   - a stretch is recorded, with pipelines and weights that are there;
//   - what its dispatches read was copied in, uploaded, or written before;
//   - two dispatches that touch the same bytes, one of them writing, have a
//     barrier between them;
//   - what its executes would have written, and something reads later, is
//     handed back; and nothing is that anyone still needs as it was before, so
//     that the CPU can compute the stretch itself when the GPU has failed.
// Which bytes the CPU's kernels write is what their operands say.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_GPUFLOWVERIFIER_H
#define NNV12_ARTIFACT_GPUFLOWVERIFIER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// Checks what a GPU may take over of `program`, number `number` of the bundle,
/// whose tables and plan were found good.
[[nodiscard]] bool verifyFlow(const bundle::Bundle *bundle,
                              const bundle::Overlays *overlays,
                              const bundle::Program *program, uint32_t number,
                              Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_GPUFLOWVERIFIER_H
