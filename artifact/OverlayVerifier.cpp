//===- OverlayVerifier.cpp - Checks overlays before a GPU takes over ------===//
#include "artifact/Compatibility.h"
#include "artifact/GpuVerifier.h"
#include "artifact/MetadataBudget.h"
#include "artifact/PlanVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"

#include <cassert>

namespace nnv12::artifact {

const bundle::GpuOverlays *verifyOverlays(const bundle::Bundle *bundle,
                                          uint32_t segment, const void *bytes,
                                          Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(bytes) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *buffer = static_cast<const uint8_t *>(bytes);
  if (!verifyOverlaysBuffer(buffer, bundle->segments()->Get(segment)->size(),
                            fault))
    return nullptr;
  auto *overlays = flatbuffers::GetRoot<bundle::GpuOverlays>(buffer);
  if (!verifyGpu(bundle, overlays->gpu(), fault))
    return nullptr;
  // Each is one program's, so that none is checked for many.
  uint32_t next = 0;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    Fault why;
    if (!findOverlay(program, bundle::OverlayKind_Gpu) ||
        !isUnderstood(bundle, i, why))
      continue;
    uint32_t index =
        findOverlay(program, bundle::OverlayKind_Gpu)->head()->index();
    if (index < next || index >= overlays->programs()->size()) {
      fault.set(Fault::BadBundle,
                "program %u: overlay: index: found %u, expected at least %u, "
                "less than %u",
                i, index, next, overlays->programs()->size());
      return nullptr;
    }
    next = index + 1;
    const bundle::ProgramGpu *gpu = gpuOf(bundle, overlays, program);
    if (gpu &&
        !(verifyOverlay(bundle, overlays, program, i, fault) &&
          verifyPlan(targetOf(bundle, program), program, gpu, i, fault) &&
          verifyFlow(bundle, overlays, program, i, fault)))
      return nullptr;
  }
  return overlays;
}

bool verifyOverlaysIn(const bundle::Bundle *bundle, const void *image,
                      Fault &fault) {
  const bundle::Overlay *overlay = gpuOverlayIn(bundle);
  if (!overlay)
    return true;
  uint32_t index = overlay->segment();
  const uint8_t *bytes = static_cast<const uint8_t *>(image) +
                         bundle->segments()->Get(index)->offset();
  return verifySegment(bundle, index, bytes, fault) &&
         verifyOverlays(bundle, index, bytes, fault);
}

} // namespace nnv12::artifact
