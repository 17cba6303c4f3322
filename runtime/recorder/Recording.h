//===- Recording.h - Reads a session's records ------------------*- C++ -*-===//
//
// From memory that a session of this process writes, that another process has
// mapped, or from a file that was kept: nothing in it is trusted.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_RECORDER_RECORDING_H
#define NNV12_RUNTIME_RECORDER_RECORDING_H

#include "artifact/Fault.h"
#include "runtime/recorder/Ring.h"
#include "runtime/system/Memory.h"

namespace nnv12::runtime {

/// Ticks as nanoseconds: evenly between two pairs, and beyond the outer ones as
/// between the nearest two.
struct Timeline {
  const ClockPair *pairs; ///< ascending in both
  size_t count;

  /// Whether there is anything to go by.
  bool isKnown() const { return count >= 2; }
  uint64_t ns(uint64_t ticks) const;
};

class Recording {
public:
  /// Borrows the memory, a multiple of 64, which may change meanwhile; must be
  /// called before all others.
  [[nodiscard]] bool open(const void *memory, size_t size,
                          artifact::Fault &fault);

  const RecordingFacts &facts() const { return checked_; }
  /// Whether the last ring is of those threads that prepare for a GPU.
  bool hasGpu() const { return isLastForGpu_; }
  /// The number of the session's threads; each has a ring.
  uint32_t numThreads() const { return checked_.numRings - isLastForGpu_; }

  uint64_t runs() const {
    return header_->runs.load(std::memory_order_relaxed);
  }
  /// When the session began, nanoseconds of CLOCK_MONOTONIC.
  uint64_t startTime() const {
    return header_->pairs[0].ns.load(std::memory_order_relaxed);
  }
  bool isClosed() const {
    return header_->closed.load(std::memory_order_acquire) != 0;
  }

  /// The next records of a ring, at most `most`, with times in nanoseconds of
  /// CLOCK_MONOTONIC; adds to `lost` how many were overwritten before. None
  /// before it is known what a tick is, which is after the first run.
  size_t read(uint32_t ring, Record *out, size_t most, uint64_t &lost);

private:
  struct Ring {
    RingReader reader;
    uint64_t cursor;
  };

  size_t takePairs(ClockPair *pairs) const;

  const RecordingHeader *header_ = nullptr;
  RecordingFacts checked_ = {}; ///< as they were then
  bool isLastForGpu_ = false;   ///< the same
  Array<Ring> rings_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_RECORDING_H
