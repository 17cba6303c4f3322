//===- GpuCommands.h - Commands of a thread that prepares -------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_GPUCOMMANDS_H
#define NNV12_RUNTIME_GPU_GPUCOMMANDS_H

#include "runtime/gpu/GpuDevice.h"

namespace nnv12::runtime {

/// Nanoseconds after which a device is taken for dead that should long have
/// finished; of work that is expected to take longer, a hundred times that. A
/// device that is software shares the CPUs with all else that runs there, and
/// has 60 times as long.
uint64_t gpuPatience(const GpuDevice &device, uint64_t predicted = 0);

/// Two command buffers in turns: one is recorded while the other runs. One
/// thread at a time.
class GpuCommands : artifact::NonCopyable {
public:
  [[nodiscard]] bool create(GpuDevice &device, artifact::Fault &fault);
  void destroy();

  /// Gives the command buffer whose turn is next. Waits until its last
  /// submission is finished.
  [[nodiscard]] bool begin(uint32_t &turn, VkCommandBuffer &commands,
                           artifact::Fault &fault);
  /// Submits the commands that were recorded since begin().
  [[nodiscard]] bool submit(artifact::Fault &fault);
  /// Until nothing runs any more.
  [[nodiscard]] bool finish(artifact::Fault &fault);
  /// The device gave no answer: the memory that it uses must stay.
  bool isHung() const { return hung_; }

private:
  [[nodiscard]] bool wait(uint32_t turn, artifact::Fault &fault);

  GpuDevice *device_ = nullptr;
  VkCommandPool pools_[2] = {};
  VkCommandBuffer buffers_[2] = {};
  VkFence fences_[2] = {};
  bool running_[2] = {};
  uint32_t next_ = 0;
  bool hung_ = false;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_GPUCOMMANDS_H
