//===- GpuWarmUp.h - First dispatches that compute nothing ------*- C++ -*-===//
//
// A device that is software compiles a pipeline when it is first dispatched,
// which takes up to half a second. One group whose push constants are zero has
// nothing to compute: such a dispatch brings that forward.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_GPUWARMUP_H
#define NNV12_RUNTIME_GPU_GPUWARMUP_H

#include "runtime/gpu/GpuCommands.h"
#include "runtime/gpu/GpuMemory.h"
#include "runtime/gpu/GpuPipelines.h"

namespace nnv12::runtime {

class GpuWarmUp {
public:
  /// For the pipelines of a verified bundle. All of the others must stay.
  [[nodiscard]] bool create(const bundle::Gpu *gpu, GpuDevice &device,
                            const GpuMemory &memory,
                            const GpuPipelines &pipelines,
                            artifact::Fault &fault);
  void destroy();

  /// Returns when these pipelines, which are made, are compiled. Any thread;
  /// they take turns. Each pipeline once.
  [[nodiscard]] bool run(const uint32_t *indices, uint32_t count,
                         artifact::Fault &fault);
  bool isHung() const { return commands_.isHung(); }

private:
  GpuDevice *device_ = nullptr;
  const GpuMemory *memory_ = nullptr;
  const GpuPipelines *pipelines_ = nullptr;
  pthread_mutex_t turn_ = PTHREAD_MUTEX_INITIALIZER;
  GpuCommands commands_;
  VkDescriptorPool descriptors_ = nullptr;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUWARMUP_H
