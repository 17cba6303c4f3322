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

/// Whether this reader knows all that program `number` of a well-formed bundle,
/// whose target exists, makes use of. Where not, nothing else of it may be
/// looked at but its target, and `why` (Fault::Unsupported) names the first
/// thing. Takes time in proportion to the program's size.
[[nodiscard]] bool isUnderstood(const bundle::Bundle *bundle, unsigned number,
                                Fault &why);

/// Whether all is known of the part for a GPU of an understood program, which
/// has one. If it is not, the program is as good as one without.
[[nodiscard]] bool isUnderstood(const bundle::Bundle *bundle,
                                const bundle::GpuOverlays *overlays,
                                const bundle::Program *program, unsigned number,
                                Fault &why);

/// The part for a GPU of an understood program, in verified overlays; null
/// where it has none that this reader understands.
const bundle::ProgramGpu *gpuOf(const bundle::Bundle *bundle,
                                const bundle::GpuOverlays *overlays,
                                const bundle::Program *program);

/// The same for the part for video.
[[nodiscard]] bool isUnderstood(const bundle::Bundle *bundle,
                                const bundle::VideoOverlays *overlays,
                                const bundle::Program *program, unsigned number,
                                Fault &why);

/// The first program that this reader understands. A verified bundle has one.
const bundle::Program *firstUnderstood(const bundle::Bundle *bundle);

/// The first overlay for a GPU of the programs that it understands. Overlays of
/// other programs lie in the same segment. Null: there is none.
const bundle::Overlay *gpuOverlayIn(const bundle::Bundle *bundle);

/// The overlays for GPUs of a bundle whose file is at `image`; null where it
/// has none. Nothing of them has been checked.
const bundle::GpuOverlays *gpuOverlaysIn(const bundle::Bundle *bundle,
                                         const void *image);

/// The same for video.
const bundle::Overlay *videoOverlayIn(const bundle::Bundle *bundle);
const bundle::VideoOverlays *videoOverlaysIn(const bundle::Bundle *bundle,
                                             const void *image);

/// Whether the bundle's kind is known.
[[nodiscard]] bool isUnderstood(const bundle::Bundle *bundle, Fault &why);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_COMPATIBILITY_H
