//===- Compatibility.h - Whether a program is for this reader ---*- C++ -*-===//
//
// The format grows by addition (artifact/bundle.fbs). A table that has got new
// fields is read as before; an enumerator that this reader does not know is not
// an error of the file either, but makes the program that uses it one for newer
// readers.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_COMPATIBILITY_H
#define NNV12_ARTIFACT_COMPATIBILITY_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

namespace nnv12::artifact {

/// Whether this reader knows all that the program, number `number` of a
/// well-formed bundle, makes use of. Where not, nothing else of it may be
/// looked at but its target, and `why` (Fault::Unsupported) names the first
/// thing. Takes time in proportion to the program's size.
[[nodiscard]] bool isUnderstood(const bundle::Program *program, unsigned number,
                                Fault &why);

/// Whether all of an understood program's overlay is known. If it is not, the
/// program is as good as one without.
[[nodiscard]] bool isUnderstood(const bundle::OverlayHead *head,
                                const bundle::ProgramGpu *gpu, unsigned number,
                                Fault &why);

/// A program's part of verified overlays; null where it has none that this
/// reader understands.
const bundle::ProgramGpu *gpuOf(const bundle::Overlays *overlays,
                                const bundle::Program *program);

/// Whether all is known that the bundle has besides programs.
[[nodiscard]] bool isUnderstood(const bundle::Bundle *bundle, Fault &why);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_COMPATIBILITY_H
