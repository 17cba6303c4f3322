//===- GpuPlanJson.h - A GPU's part of a plan, for the page -----*- C++ -*-===//
#ifndef NNV12_TOOLS_PAGE_GPUPLANJSON_H
#define NNV12_TOOLS_PAGE_GPUPLANJSON_H

#include "bundle_generated.h"
#include "tools/common/Json.h"

#include <string>
#include <vector>

namespace nnv12::tools {

/// "device", "pipeline", "upload" or "record".
std::string stageName(bundle::GpuStage stage);

/// The name of the module that a pipeline is made of.
const char *moduleName(const bundle::Gpu *code, uint32_t pipeline);

/// A thread's task that prepares a GPU. Times are nanoseconds.
struct PlannedGpuPreparation {
  uint32_t index; ///< among the program's for GPUs: that of records
  std::string id; ///< "g7"
  bundle::GpuStage stage;
  uint32_t lane;
  std::string what;       ///< it brings about, for people
  uint32_t pipelines = 0; ///< that it makes
  uint64_t bytes = 0;     ///< of weights that it brings there
  std::vector<std::string> after;
  uint64_t start = 0, end = 0; ///< as predicted

  /// Nothing that a bundle says of times is verified.
  bool isPredicted() const { return end != 0 && end >= start; }
};

/// Lane by lane, each lane in the order of its queue. None where there is no
/// part for GPUs of `program`. `overlays`: verified, and null where that part
/// is for newer readers.
std::vector<PlannedGpuPreparation>
plannedGpuPreparations(const bundle::GpuOverlays *overlays,
                       const bundle::Program *program);

/// Adds the member "gpu" to the object that is open: the GPU's preparations,
/// lane by lane, and its stretches. Nothing where there is none. Times are
/// microseconds.
void addGpuPlan(Json &json, const bundle::GpuOverlays *overlays,
                const bundle::Program *program);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_PAGE_GPUPLANJSON_H
