//===- PreparedWeights.h - Weights that sessions share ----------*- C++ -*-===//
//
// The decoded and transformed weights of a bundle's program are made once, by
// the threads of whichever session comes to them first. They stay until the
// last session is closed. Sessions that differ in mode or threads want
// different ones of them; runtime/Lanes.h knows which.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_PREPAREDWEIGHTS_H
#define NNV12_RUNTIME_PREPAREDWEIGHTS_H

#include "runtime/Preparations.h"
#include "runtime/core/LoadedProgram.h"
#include "runtime/system/Memory.h"

namespace nnv12::runtime {

/// The reads, decodes and transforms of a program.
class WeightPreparations final : public Preparations {
public:
  /// `prepared`: where the program's prepared memory lies.
  [[nodiscard]] bool create(const LoadedProgram &of, uint8_t *prepared);
  using Preparations::restart;
  bool reportFailure(uint32_t index, artifact::Fault &fault) const;

  bool usesZstd() const { return zstd_; }
  /// The largest result that a decode puts together from planes.
  uint64_t largestSplit() const { return split_; }

private:
  struct Source {
    const bundle::Operation *operation;
    artifact::KernelFn kernel; ///< of a transform
    void **operands;
    bool forgets; ///< nothing else needs the weights that it reads
  };

  void resolve(uint32_t index, const bundle::Operation *operation,
               const LoadedProgram &of, uint8_t *prepared, void **&operands);
  End compute(uint32_t index, uint64_t begin, uint64_t end,
              Preparer &preparer) override;
  bool isTiles(uint32_t index, Step &step) const override;
  void ended(uint32_t index) override;

  artifact::Array<Source> sources_;
  artifact::Array<void *> operandTable_;
  bool zstd_ = false;
  uint64_t split_ = 0;
};

class PreparedWeights : artifact::NonCopyable {
public:
  /// A huge page that the system has supplied already, or nothing: the first
  /// one of the first session that wants huge pages. To be filled in before
  /// there are sessions.
  Pages &early() { return early_; }

  /// For a session that begins: allocates `own` bytes of its own, a multiple of
  /// pages, of which the first `supplied` are early ones. The first session's
  /// prepared weights lie behind these, so that both share huge pages.
  /// `listener` hears of the end of preparations. False without memory.
  [[nodiscard]] bool join(const LoadedProgram &of, uint64_t own,
                          uint64_t alignment, Pages &pages, uint64_t &supplied,
                          Listener &listener);
  /// For a session that has joined, once its threads have ended.
  void leave(Listener &listener);

  // For sessions that have joined.
  uint8_t *data() { return pages_.data(); }
  WeightPreparations &preparations() { return *preparations_; }

private:
  void lock();
  void makeAnew();
  void free();
  [[nodiscard]] bool allocate(const LoadedProgram &of, uint64_t own,
                              uint64_t alignment, Pages &pages,
                              uint64_t &supplied);

  /// The process whose threads use the mutex; negative: that makes it anew.
  std::atomic<int32_t> process_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  uint32_t sessions_ = 0;
  WeightPreparations *preparations_ = nullptr; ///< while there are any
  Pages pages_, early_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_PREPAREDWEIGHTS_H
