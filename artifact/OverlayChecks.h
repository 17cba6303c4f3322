//===- OverlayChecks.h - Checks of the overlays of a kind -------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_OVERLAYCHECKS_H
#define NNV12_ARTIFACT_OVERLAYCHECKS_H

#include "artifact/Compatibility.h"
#include "artifact/Fault.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// Calls `check(program, number)`, which says whether it is good, for each
/// program of the bundle that is understood and has an overlay of this kind.
/// Each has a part of its own among the segment's `count`, so that none is
/// checked for many. `name` is that of the overlay in messages.
template <typename Check>
bool checkOverlays(const bundle::Bundle *bundle, bundle::OverlayKind kind,
                   uint32_t count, const char *name, Fault &fault,
                   Check check) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    const bundle::Overlay *overlay = findOverlay(program, kind);
    Fault why;
    if (!overlay || !isUnderstood(bundle, i, why))
      continue;
    uint32_t index = overlay->head()->index();
    if (index < next || index >= count)
      return fault.set(Fault::BadBundle,
                       "program %u: %s: index: found %u, expected at least %u, "
                       "less than %u",
                       i, name, index, next, count);
    next = index + 1;
    if (!check(program, i))
      return false;
  }
  return true;
}

/// Checks the digest of an overlay's segment in the file image of a verified
/// bundle, and then its tables by `verify(segment, bytes)`, which returns them
/// or null. True where `overlay` is null.
template <typename Verify>
bool checkOverlayIn(const bundle::Bundle *bundle,
                    const bundle::Overlay *overlay, const void *image,
                    Fault &fault, Verify verify) {
  if (!overlay)
    return true;
  uint32_t index = overlay->segment();
  const uint8_t *bytes = static_cast<const uint8_t *>(image) +
                         bundle->segments()->Get(index)->offset();
  return verifySegment(bundle, index, bytes, fault) && verify(index, bytes);
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_OVERLAYCHECKS_H
