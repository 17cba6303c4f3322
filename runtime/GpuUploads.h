//===- GpuUploads.h - Brings weights to a GPU -------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPUUPLOADS_H
#define NNV12_RUNTIME_GPUUPLOADS_H

#include "runtime/PreparedWeights.h"
#include "runtime/gpu/GpuCommands.h"
#include "runtime/gpu/GpuMemory.h"

namespace nnv12::runtime {

class GpuUploads {
public:
  /// `host` is the session's memory, which holds the results of the CPUs'
  /// preparations.
  [[nodiscard]] bool create(const LoadedProgram &program, Memory host,
                            GpuDevice &device, const GpuMemory &memory,
                            artifact::Fault &fault);
  void destroy();

  /// Copies, or decodes, one upload of a verified overlay whose source is
  /// there. Any thread; where too many do, they take turns.
  [[nodiscard]] bool upload(const bundle::Upload *upload,
                            artifact::Fault &fault);

  uint64_t bytes() const { return count_.load(std::memory_order_relaxed); }
  bool isHung() const;

private:
  [[nodiscard]] bool decode(const bundle::Upload *upload, const uint8_t *source,
                            uint8_t *target, artifact::Fault &fault);
  /// Pieces of the staging memory, of one thread at a time.
  struct Pieces {
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    GpuCommands commands;
    uint64_t begin; ///< in the ring
  };
  Pieces &lockPieces();
  [[nodiscard]] bool stage(Pieces &pieces, const uint8_t *source, uint64_t size,
                           uint64_t offset, artifact::Fault &fault);
  [[nodiscard]] bool bring(Pieces &pieces, const uint8_t *source, uint64_t size,
                           uint64_t offset, artifact::Fault &fault);

  LoadedProgram program_;
  Memory host_ = {};
  GpuDevice *device_ = nullptr;
  const GpuMemory *memory_ = nullptr;
  Pieces all_[GpuMemory::numFilling];
  std::atomic<uint32_t> next_{0}; ///< which ones to wait for
  std::atomic<uint64_t> count_{0};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPUUPLOADS_H
