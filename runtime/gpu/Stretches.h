//===- Stretches.h - The GPU's part of a run --------------------*- C++ -*-===//
//
// The commands of a stretch are recorded once. Each time it is taken, the CPU's
// tensors are copied where the GPU does not see them anyway, and the commands
// are submitted. The calling thread waits for them then, or later.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_STRETCHES_H
#define NNV12_RUNTIME_GPU_STRETCHES_H

#include "runtime/core/Executor.h"
#include "runtime/gpu/GpuMemory.h"
#include "runtime/gpu/GpuPipelines.h"
#include "runtime/gpu/StretchTimes.h"
#include "runtime/system/Structs.h"

namespace nnv12::runtime {

class Stretches {
public:
  /// Bytes that a stretch hands over, the most of all, where both sides are
  /// copied.
  static uint64_t handedOver(const bundle::ProgramGpu *gpu);

  /// For a verified overlay of a program whose arena lies at `arena`. All of
  /// the others must stay until destroy().
  [[nodiscard]] bool create(const bundle::ProgramGpu *gpu, uint8_t *arena,
                            GpuDevice &device, const GpuMemory &memory,
                            const GpuPipelines &pipelines, Recorder &recorder,
                            artifact::Fault &fault);
  void destroy();
  /// The program's arena lies there from now on.
  void moveArena(uint8_t *arena) { arena_ = arena; }

  /// The device's lack for the stretch, if there is any.
  Lack lack(uint32_t index) const;
  /// Records a stretch whose pipelines are made. Any thread, each one once.
  [[nodiscard]] bool record(uint32_t index, artifact::Fault &fault);

  using Result = Executor::Result;
  /// Hands over a stretch that has been recorded.
  [[nodiscard]] Result submit(uint32_t index, const CallersBuffers &buffers,
                              artifact::Fault &fault);
  /// Takes over the results of the stretch that was submitted last, once they
  /// are there. A device that fails is lost.
  [[nodiscard]] Result wait(uint32_t index, const CallersBuffers &buffers,
                            artifact::Fault &fault);

private:
  bool isInHost(const bundle::Boundary *boundary) const;
  VkDescriptorBufferInfo placeOf(const bundle::GpuOperand *operand) const;
  [[nodiscard]] bool bind(const bundle::Dispatch *dispatch,
                          VkCommandBuffer commands, artifact::Fault &fault);
  void copyRows(const bundle::Stretch *stretch, bool isIn,
                VkCommandBuffer commands) const;
  uint8_t *hostOf(const bundle::Boundary *boundary,
                  const CallersBuffers &buffers) const;
  VkResult handOver(const bundle::Stretch *stretch, bool isIn,
                    const CallersBuffers &buffers) const;
  VkCommandBuffer recordCommands(const bundle::Stretch *stretch, bool isStamped,
                                 artifact::Fault &fault);
  Result endAs(VkResult result, const char *what, artifact::Fault &fault);
  VkResult submit(VkCommandBuffer commands);
  VkResult sleep(uint64_t nanoseconds) const;
  VkResult sleepOn(uint64_t predicted) const;
  VkResult waitFor(uint64_t predicted) const;

  const bundle::ProgramGpu *gpu_ = nullptr;
  uint8_t *arena_ = nullptr;
  GpuDevice *device_ = nullptr;
  const GpuMemory *memory_ = nullptr;
  const GpuPipelines *pipelines_ = nullptr;
  pthread_mutex_t recording_ = PTHREAD_MUTEX_INITIALIZER;
  VkDescriptorPool descriptors_ = nullptr;
  VkCommandPool pool_ = nullptr;
  artifact::Array<VkCommandBuffer> commands_; ///< by stretch
  StretchTimes times_;
  artifact::Array<VkCommandBuffer> stamped_; ///< the same with time stamps
  /// Tells when the last submission ends: the device has one of both.
  VkSemaphore timeline_ = nullptr;
  uint64_t submitted_ = 0;
  VkFence fence_ = nullptr;
  // The last submission.
  uint64_t handedOver_ = 0; ///< a time of now()
  uint64_t submitTime_ = 0; ///< the recorder's; 0: it is not recorded
  bool isStamped_ = false;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_STRETCHES_H
