//===- GpuLanes.h - Preparations for a GPU, in order ------------*- C++ -*-===//
//
// Each lane of the overlay is a queue, as in runtime/Lanes.h, but all of its
// threads do nothing else, and nobody waits for them. A thread with nothing
// ready in its queue takes from another's, so that any number of threads is
// right. A preparation that waits for one that will never be done, here or in
// the session's own plan, is dropped.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPULANES_H
#define NNV12_RUNTIME_GPULANES_H

#include "runtime/Preparations.h"

namespace nnv12::runtime {

class GpuLanes {
public:
  /// Makes lanes of the verified overlay of a program, whose own preparations
  /// are `host`. False when memory ran out.
  bool create(const bundle::Program *program, const bundle::ProgramGpu *overlay,
              const Preparations &host);

  static constexpr uint32_t none = ~0u;
  /// Takes a preparation that may begin, for the caller to do. Prefers lane
  /// `own`, and uploads before all others where the caller says so. `none`:
  /// there may be one after the next event, unless isOver().
  uint32_t take(uint32_t own, bool prefersUploads);
  /// Ends preparation `index`; `good` says whether it succeeded.
  void finish(uint32_t index, bool good);
  /// Whether all are done or dropped.
  bool isOver() const { return left_.load(std::memory_order_acquire) == 0; }

  /// Whether the operations that `after` names are done. Any thread.
  bool areDone(const After *after) const;
  uint32_t numLanes() const { return gpu_->lanes()->size(); }

private:
  enum class State : uint8_t { Waiting, Taken, Done, Dropped };

  uint32_t takeNext(uint32_t own, bool onlyUploads);
  State stateOf(uint32_t operation) const;
  State stateOf(const After *after) const;

  const bundle::ProgramGpu *gpu_ = nullptr;
  const Preparations *host_ = nullptr;
  uint32_t executes_ = 0, operations_ = 0; ///< of the program
  artifact::Array<std::atomic<State>> states_;
  std::atomic<uint32_t> left_{0};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPULANES_H
