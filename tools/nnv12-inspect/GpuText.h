//===- GpuText.h - A GPU's part, as text and JSON ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_GPUTEXT_H
#define NNV12_TOOLS_NNV12_INSPECT_GPUTEXT_H

#include "bundle_generated.h"
#include "tools/common/Json.h"

namespace nnv12::tools {

/// Prints the modules and pipelines of a verified bundle, if it has any: how
/// many, and, unless `summary`, which.
void printGpu(const bundle::GpuOverlays *overlays, bool summary);

/// Prints what a GPU may take over of an understood program, if there is
/// anything: memories, and, unless `summary`, boundaries, preparations and the
/// dispatches of each stretch between its hand-overs.
void printOverlay(const bundle::Bundle *bundle,
                  const bundle::GpuOverlays *overlays,
                  const bundle::Program *program, bool summary);

/// Adds the member "gpu" that printGpu() or printOverlay() prints to the object
/// that is open, or none. An overlay for newer readers is the member
/// "newer_gpu", which says why.
void addGpu(Json &json, const bundle::GpuOverlays *overlays);
void addOverlay(Json &json, const bundle::Bundle *bundle,
                const bundle::GpuOverlays *overlays,
                const bundle::Program *program, bool summary);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_GPUTEXT_H
