//===- FirstTouch.h - Memory that is about to be used -----------*- C++ -*-===//
//
// The system supplies a page at its first use, and clears it: for 2 MB that
// takes as long as a layer of a small model. Threads that wait for the storage,
// or have nothing left to prepare, ask for the pages of the arena and of the
// outputs before the executes come to them. Contents do not change.
//
// Nobody waits for a thread that touches. If it had no CPU for a while, the
// caller's memory may be gone when it continues. So it asks the system, which
// first looks whether the memory is there.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_FIRSTTOUCH_H
#define NNV12_RUNTIME_FIRSTTOUCH_H

#include "artifact/Array.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nnv12::runtime {

class FirstTouch {
public:
  /// Room for so many ranges. False when memory ran out.
  bool create(size_t ranges);
  /// Adds memory that will be written after all memory added before. One thread
  /// adds while others touch. Memory that is `ours` must stay as long as *this
  /// and the threads that touch; other memory must stay until close(), and may
  /// be anything then.
  void add(void *data, size_t size, bool ours);
  /// Asks for the pages of the next piece, the size of a huge page at most.
  /// False where none is left. Any thread, not after *this is gone.
  bool touchNext();
  /// No more pieces are begun.
  void close() { closed_.store(true, std::memory_order_relaxed); }

private:
  /// A range of whole pages.
  struct Range {
    uintptr_t begin, end;
    std::atomic<uintptr_t> next;
    bool ours;
  };

  bool touchNext(Range &range);

  uintptr_t page_ = 4096;
  artifact::Array<Range> table_;
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> closed_{false};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_FIRSTTOUCH_H
