//===- FirstTouch.h - Memory that is about to be used -----------*- C++ -*-===//
//
// The system supplies a page at its first use, and clears it: for 2 MB that
// takes as long as a layer of a small model. Threads that wait for the storage,
// or have nothing left to prepare, ask for the pages of the arena and of the
// outputs before the executes come to them. Contents do not change.
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
  FirstTouch() = default;
  FirstTouch(const FirstTouch &) = delete;
  FirstTouch &operator=(const FirstTouch &) = delete;
  ~FirstTouch() { close(); }

  /// Room for so many ranges. False when memory ran out.
  bool create(size_t ranges);
  /// Memory that will be written, after what was added before it. One thread
  /// adds, while others touch. The memory must stay until close().
  void add(void *data, size_t size);
  /// Asks for the pages of the next piece, the size of a huge page at most.
  /// False where none is left. Any thread, not after *this is gone.
  bool touchNext();
  /// Touches no more, and waits for those that are at it.
  void close();

private:
  /// Of whole pages.
  struct Range {
    uintptr_t begin, end;
    std::atomic<uintptr_t> next;
  };

  bool touchNext(Range &range);

  uintptr_t page = 4096;
  artifact::Array<Range> table;
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> touching{0};
  std::atomic<bool> closed{false};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_FIRSTTOUCH_H
