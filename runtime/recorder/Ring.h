//===- Ring.h - Records of one thread ---------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_RECORDER_RING_H
#define NNV12_RUNTIME_RECORDER_RING_H

#include "runtime/recorder/Format.h"

#include <algorithm>
#include <cstring>

namespace nnv12::runtime {

/// Writes a ring for one thread, while others may read it. Borrows the memory.
class RingWriter {
public:
  RingWriter() = default;
  /// `capacity` is a power of two.
  RingWriter(RingHeader &header, SharedRecord *records, uint64_t capacity)
      : header_(&header), records_(records), mask_(capacity - 1) {}

  void write(const Record &record) {
    uint64_t words[wordsPerRecord];
    memcpy(words, &record, sizeof words);
    // Releases, so that a reader that sees a word of this record also sees that
    // the record before is complete. So it knows which record may be
    // incomplete: see read().
    SharedRecord &slot = records_[next_ & mask_];
    for (unsigned i = 0; i < wordsPerRecord; ++i)
      slot.words[i].store(words[i], std::memory_order_release);
    header_->head.store(++next_, std::memory_order_release);
  }

private:
  RingHeader *header_ = nullptr;
  SharedRecord *records_ = nullptr;
  uint64_t mask_ = 0;
  uint64_t next_ = 0; ///< the head, which nobody else writes
};

/// Reads a ring, in this process or in one that maps the same memory. The
/// numbers are the caller's: the recording's own may have changed since they
/// were checked.
struct RingReader {
  const RingHeader *header;
  const SharedRecord *records;
  uint64_t capacity; ///< a power of two

  /// Copies records from number `cursor` on, at most `most`, and moves the
  /// cursor behind them; adds to `lost` how many of them were overwritten
  /// before they could be read. How many were copied: all of `records` before
  /// that are whole.
  size_t read(uint64_t &cursor, Record *out, size_t most,
              uint64_t &lost) const {
    uint64_t head = header->head.load(std::memory_order_acquire);
    // A writer that is behind the cursor is another one.
    if (cursor > head)
      cursor = head;
    uint64_t first = std::max(cursor, oldest(head));
    size_t count = std::min<uint64_t>(head - first, most);
    for (size_t i = 0; i < count; ++i) {
      uint64_t words[wordsPerRecord];
      const SharedRecord &slot = records[(first + i) & (capacity - 1)];
      for (unsigned w = 0; w < wordsPerRecord; ++w)
        words[w] = slot.words[w].load(std::memory_order_acquire);
      memcpy(&out[i], words, sizeof words);
    }
    // The writer is at record `now` at least, if any of its words were seen.
    uint64_t now = header->head.load(std::memory_order_relaxed),
             whole = std::max(first, now < capacity ? 0 : now - capacity + 1);
    size_t torn = std::min<uint64_t>(whole - first, count);
    memmove(out, out + torn, (count - torn) * sizeof *out);
    lost += first + torn - cursor;
    cursor = first + count;
    return count - torn;
  }

private:
  /// The oldest record that is safe to read once `head` were written: the next
  /// one may be about to be overwritten.
  uint64_t oldest(uint64_t head) const {
    return head < capacity ? 0 : head - capacity + 1;
  }
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_RING_H
