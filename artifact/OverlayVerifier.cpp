//===- OverlayVerifier.cpp - Checks overlays before a GPU takes over ------===//
#include "artifact/Compatibility.h"
#include "artifact/GpuVerifier.h"
#include "artifact/MetadataBudget.h"
#include "artifact/PlanVerifier.h"
#include "artifact/Verifier.h"

#include <cassert>

namespace nnv12::artifact {

bool findOverlays(const bundle::Bundle *bundle, uint32_t &segment,
                  Fault &fault) {
  segment = bundle->overlays();
  if (segment < bundle->segments()->size() &&
      bundle->segments()->Get(segment)->kind() == bundle::SegmentKind_Overlays)
    return true;
  return fault.set(Fault::BadBundle,
                   "overlays: found segment %u, expected one of kind %u "
                   "(Overlays)",
                   segment, bundle::SegmentKind_Overlays);
}

const bundle::Overlays *verifyOverlays(const bundle::Bundle *bundle,
                                       const void *bytes, Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(bytes) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *buffer = static_cast<const uint8_t *>(bytes);
  const bundle::Segment *segment = bundle->segments()->Get(bundle->overlays());
  if (!verifyOverlaysBuffer(buffer, segment->size(), fault))
    return nullptr;
  auto *overlays = flatbuffers::GetRoot<bundle::Overlays>(buffer);
  if (!verifyGpu(bundle, overlays->gpu(), fault))
    return nullptr;
  // Each is one program's, so that none is checked for many.
  uint32_t next = 0;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    Fault why;
    if (!isUnderstood(program, i, why) || !program->overlay())
      continue;
    uint32_t index = program->overlay()->index();
    if (index < next || index >= overlays->programs()->size()) {
      fault.set(Fault::BadBundle,
                "program %u: overlay: index: found %u, expected at least %u, "
                "less than %u",
                i, index, next, overlays->programs()->size());
      return nullptr;
    }
    next = index + 1;
    const bundle::ProgramGpu *gpu = gpuOf(overlays, program);
    if (gpu && !(verifyOverlay(bundle, overlays, program, i, fault) &&
                 verifyPlan(program, gpu, i, fault) &&
                 verifyFlow(bundle, overlays, program, i, fault)))
      return nullptr;
  }
  return overlays;
}

/// Whether there shall be some.
static bool hasOverlays(const bundle::Bundle *bundle) {
  if (bundle->overlays() != ~0u)
    return true;
  for (const bundle::Program *program : *bundle->programs())
    if (program->overlay())
      return true;
  return false;
}

bool verifyOverlaysIn(const bundle::Bundle *bundle, const void *image,
                      Fault &fault) {
  if (!hasOverlays(bundle))
    return true;
  uint32_t index;
  if (!findOverlays(bundle, index, fault))
    return false;
  const uint8_t *bytes = static_cast<const uint8_t *>(image) +
                         bundle->segments()->Get(index)->offset();
  return verifySegment(bundle, index, bytes, fault) &&
         verifyOverlays(bundle, bytes, fault);
}

} // namespace nnv12::artifact
