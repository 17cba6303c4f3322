//===- GpuPlan.h - A GPU's part of a plan, for the page ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_PAGE_GPUPLAN_H
#define NNV12_TOOLS_PAGE_GPUPLAN_H

#include "bundle_generated.h"
#include "tools/common/Json.h"

namespace nnv12::tools {

/// "device", "pipeline", "upload" or "record".
const char *stageName(bundle::GpuStage stage);

/// Adds the member "gpu" to the object that is open: what threads prepare for
/// the GPU, lane by lane, and what it takes over. Nothing where `program` has
/// no part for GPUs, or one for newer readers. Times are microseconds.
void addGpuPlan(Json &json, const bundle::Overlays *overlays,
                const bundle::Program *program);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_PAGE_GPUPLAN_H
