//===- GpuPipelines.h - Pipelines of a bundle on a device -------*- C++ -*-===//
//
// The driver gets a copy of a module's words. Their digest has been checked,
// and artifact/SpirvVerifier.h accepts them, so a change of the file meanwhile
// does no harm.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_GPUPIPELINES_H
#define NNV12_RUNTIME_GPU_GPUPIPELINES_H

#include "bundle_generated.h"
#include "runtime/gpu/GpuDevice.h"
#include "runtime/gpu/PipelineCacheFile.h"

namespace nnv12::runtime {

/// A property of a device: it has `found`, and kernels need `expected`. False
/// where the device has enough.
struct Lack {
  const char *what = nullptr;
  uint64_t found = 0, expected = 0;

  explicit operator bool() const { return found < expected; }

  /// Notes a property if it is not enough, and none before it was a lack.
  void need(const char *thing, uint64_t has, uint64_t wants) {
    if (!*this && has < wants)
      *this = {thing, has, wants};
  }
};

class GpuPipelines {
public:
  /// Looks which pipelines of `gpu` the device can run; `gpu` is of the
  /// verified bundle whose file is at `image`. Looks, too, whether a file holds
  /// their compiled code from before (PipelineCacheFile.h explains `folder`).
  [[nodiscard]] bool create(const bundle::Bundle *bundle,
                            const bundle::Gpu *gpu, const uint8_t *image,
                            GpuDevice &device, const char *folder,
                            artifact::Fault &fault);
  void destroy();

  /// The device's lack for pipeline `index`, if there is any.
  const Lack &lack(uint32_t index) const { return lacks_[index]; }
  /// Makes the pipelines that are not made yet, in one call of the driver. Any
  /// thread, but no two threads the same pipeline.
  [[nodiscard]] bool make(const uint32_t *indices, uint32_t count,
                          artifact::Fault &fault);
  /// A pipeline that has been made.
  const MadePipeline &operator[](uint32_t index) const { return *made_[index]; }
  /// Writes the file after the last pipeline, if it is worth one.
  void save();

  uint32_t numMade() const {
    return madeCount_.load(std::memory_order_relaxed);
  }
  /// How many of the made pipelines the driver took from the file. It need not
  /// say.
  uint32_t numCached() const {
    return cachedCount_.load(std::memory_order_relaxed);
  }
  nnv12_gpu_cache cacheState() const {
    return state_.load(std::memory_order_relaxed);
  }
  bool isCached() const { return cacheState() == NNV12_GPU_CACHE_HIT; }

private:
  struct Job;

  Lack findLack(const bundle::GpuPipeline *pipeline) const;
  [[nodiscard]] bool prepare(uint32_t index, Job &job, artifact::Fault &fault);
  [[nodiscard]] bool makeModule(const bundle::GpuPipeline *pipeline, Job &job,
                                artifact::Fault &fault);
  void finish(Job &job);
  [[nodiscard]] bool makeSome(Job *jobs, const uint32_t *indices,
                              uint32_t count, artifact::Fault &fault);
  void makeCache();

  const bundle::Bundle *bundle_ = nullptr;
  const bundle::Gpu *gpu_ = nullptr;
  const uint8_t *image_ = nullptr;
  GpuDevice *device_ = nullptr;
  artifact::Array<Lack> lacks_;
  artifact::Array<const MadePipeline *> made_;
  PipelineCacheFile file_;
  VkPipelineCache cache_ = nullptr;
  std::atomic<uint32_t> madeCount_{0}, cachedCount_{0};
  std::atomic<nnv12_gpu_cache> state_{NNV12_GPU_CACHE_OFF};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUPIPELINES_H
