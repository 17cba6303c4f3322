//===- GpuSearch.cpp - A GPU as the search sees it ------------------------===//

#include "compiler/device/GpuSearch.h"

#include <algorithm>

namespace nnv12::device {

search::Coprocessor searchGpu(const GpuProfile &gpu) {
  search::Coprocessor result;
  result.start = gpu.startMs;
  result.threads = std::max(1u, gpu.pipelineThreads);
  result.batch = std::max(1u, gpu.pipelineBatch);
  result.pipelineScaling = gpu.pipelineScaling;
  result.uploadBandwidth = gpu.uploadGBps * 1e6; // GB/s to bytes/ms
  result.submit = gpu.submitUs * 1e-3;
  result.sync = gpu.syncUs * 1e-3;
  // Where there is one memory nothing is copied, but caches are written back.
  bool copies = gpu.kind == GpuKind::Discrete;
  result.inPerByte =
      copies ? 1 / (gpu.inputGBps * 1e6) : gpu.flushUsPerMB * 1e-9;
  result.outPerByte =
      copies ? 1 / (gpu.downloadGBps * 1e6) : gpu.flushUsPerMB * 1e-9;
  result.hostCores = gpu.kind == GpuKind::Software ? gpu.hostCores : 0;
  return result;
}

search::Pipeline searchPipeline(const GpuProfile &gpu) {
  return {gpu.pipelineMs, gpu.pipelineCachedMs};
}

} // namespace nnv12::device
